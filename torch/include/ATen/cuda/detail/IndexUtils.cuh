#pragma once

#include "aten/cuda/program/index_utils.cuh"
