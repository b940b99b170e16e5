#pragma once

#include "aten/cuda/rng_state.h"
#include "c10/cuda/frontend.h"
