#pragma once

#include "aten/core/record_function.h"
