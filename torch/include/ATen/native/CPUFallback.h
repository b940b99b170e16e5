#pragma once

#include "aten/core/cpu_fallback.h"
