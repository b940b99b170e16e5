#pragma once

#include "aten/cuda/capture.h"
#include "aten/cuda/generator.h"
