#pragma once

#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "c10/parallel/parallel.h"
