#pragma once

#include "autograd/factories.h"
