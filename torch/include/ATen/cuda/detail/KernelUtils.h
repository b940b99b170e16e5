#pragma once

#include "c10/cuda/kernel_assert.h"
#include "c10/cuda/kernel_loop.h"
