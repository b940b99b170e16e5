#pragma once

#include "aten/core/context.h"
#include "c10/cuda/context.h"
