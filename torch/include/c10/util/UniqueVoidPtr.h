#pragma once

#include "c10/memory/allocator.h"
