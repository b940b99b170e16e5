#pragma once

#include "c10/util/complex_math.h"
