#pragma once

#include "c10/cuda/caching_allocator.h"
#include "c10/cuda/capture_mode.h"
