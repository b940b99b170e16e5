#pragma once

#include "aten/cuda/program/kernel_utils.cuh"
