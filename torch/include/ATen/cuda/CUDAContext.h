#pragma once

#include "aten/core/context.h"
#include "aten/cuda/blas/cublas_handle.h"
#include "c10/cuda/context.h"
