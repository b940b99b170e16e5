#pragma once

#include "c10/util/safe_numerics.h"
