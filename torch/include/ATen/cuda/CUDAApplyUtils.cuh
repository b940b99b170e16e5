#pragma once

#include "aten/cuda/program/apply_utils.cuh"
#include "c10/cuda/atomic.cuh"
