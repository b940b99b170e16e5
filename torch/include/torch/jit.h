#pragma once

#include "c10/value/stack.h"
#include "jit/api/compilation_unit.h"
