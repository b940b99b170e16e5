#pragma once

#include "aten/core/context.h"
#include "aten/cuda/blas/cublas_handle.h"
#include "aten/cuda/solver/handle.h"
#include "aten/cuda/sparse/handle.h"
#include "c10/cuda/context.h"
#include "c10/cuda/kernel_assert.h"
