#pragma once

#include "c10/cuda/allocator_config.h"
#include "c10/cuda/caching_allocator.h"
#include "c10/cuda/stream.h"
