#pragma once

#include "aten/core/tensor.h"
#include "aten/extension/tensor_refs.h"
