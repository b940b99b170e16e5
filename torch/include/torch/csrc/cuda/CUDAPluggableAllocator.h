#pragma once

#include "c10/cuda/pluggable_allocator.h"
