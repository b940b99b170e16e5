#pragma once

#include "c10/cuda/host_allocator.h"
