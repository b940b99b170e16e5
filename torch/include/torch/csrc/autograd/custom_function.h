#pragma once

#include "autograd/function/custom_function.h"
