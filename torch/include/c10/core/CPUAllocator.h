#pragma once

#include "c10/memory/allocator.h"
#include "c10/memory/cpu_allocator.h"
