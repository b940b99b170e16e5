#pragma once

#include "aten/extension/cuda_utils.h"
