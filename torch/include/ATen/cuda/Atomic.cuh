#pragma once

#include "c10/cuda/atomic.cuh"
#include "c10/cuda/kernel_assert.h"
