#pragma once

#include "c10/cuda/device.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/kernel_assert.h"
#include "c10/cuda/stream.h"
