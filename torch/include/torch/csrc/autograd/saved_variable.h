#pragma once

#include "autograd/engine/saved_variable.h"
