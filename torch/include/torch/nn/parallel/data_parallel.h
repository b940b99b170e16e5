#pragma once

#include "nn/parallel/data_parallel.h"
#include "torch/cuda.h"
