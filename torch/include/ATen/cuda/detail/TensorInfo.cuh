#pragma once

#include "aten/cuda/program/tensor_info.cuh"
