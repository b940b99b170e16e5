#pragma once

#include "c10/cuda/capture_mode.h"
