#pragma once

#include "c10/util/bfloat16.h"
