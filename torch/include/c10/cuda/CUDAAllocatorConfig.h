#pragma once

#include "c10/cuda/allocator_config.h"
