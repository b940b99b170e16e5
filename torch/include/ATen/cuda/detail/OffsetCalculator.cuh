#pragma once

#include "aten/cuda/program/offset_calculator.cuh"
