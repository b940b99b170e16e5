#pragma once

#include "aten/cuda/philox_state.h"
