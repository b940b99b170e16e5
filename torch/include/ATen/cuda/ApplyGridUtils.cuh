#pragma once

#include "aten/cuda/program/apply_utils.cuh"
