#pragma once

#include "jit/api/compilation_unit.h"
