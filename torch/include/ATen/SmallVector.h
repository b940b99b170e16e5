#pragma once

#include "c10/util/small_vector.h"
