#pragma once

#include "aten/aten.h"
#include "autograd/factories.h"

namespace torch {
using Dtype = at::ScalarType;
}  // namespace torch
