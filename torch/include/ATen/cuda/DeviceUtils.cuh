#pragma once

#include "c10/cuda/warp.cuh"
