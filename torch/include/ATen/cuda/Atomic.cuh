#pragma once

#include "c10/cuda/atomic.cuh"
