#pragma once

#include "aten/cuda/program/cub.cuh"
