#pragma once

#include "c10/memory/allocation_observer.h"
#include "c10/memory/allocator.h"
