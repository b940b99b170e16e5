#pragma once

// What derivative formulas in the tables may call besides at:: functions.
#include "autograd/derivatives/copy_functions.h"
#include "autograd/derivatives/matmul_functions.h"
#include "autograd/derivatives/norm_functions.h"
#include "autograd/derivatives/pointwise_functions.h"
#include "autograd/derivatives/reduce_functions.h"
#include "autograd/derivatives/view_functions.h"
