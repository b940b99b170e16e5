#pragma once

#include "autograd/autograd.h"
