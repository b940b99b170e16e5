#pragma once

#include "aten/cuda/program/numeric_limits.cuh"
