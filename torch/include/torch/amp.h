#pragma once

#include "aten/autocast/autocast.h"
#include "autograd/autocast/custom_function.h"
#include "optim/amp/grad_scaler.h"
