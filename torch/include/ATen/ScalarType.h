#pragma once

#include "c10/core/scalar_type.h"
#include "c10/util/float8.h"
