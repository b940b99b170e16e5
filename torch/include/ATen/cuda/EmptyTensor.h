#pragma once

#include "aten/cuda/program/empty_tensor.h"
