#pragma once

#include "c10/cuda/device.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/kernel_assert.h"
