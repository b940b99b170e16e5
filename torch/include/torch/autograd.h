#pragma once

#include "autograd/autograd.h"
#include "autograd/function/custom_function.h"
#include "autograd/factories.h"
