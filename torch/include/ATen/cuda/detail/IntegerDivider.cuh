#pragma once

#include "aten/cuda/program/integer_divider.cuh"
