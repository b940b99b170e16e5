#pragma once

#include "aten/cuda/program/block_reduce.cuh"
