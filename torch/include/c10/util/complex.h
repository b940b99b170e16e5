#pragma once

#include "c10/util/std_complex.h"
