#pragma once

#include "aten/aten.h"
#include "aten/core/dispatch.h"
#include "autograd/factories.h"
#include "autograd/from_blob.h"
#include "c10/util/float8.h"
#include "c10/util/string_view.h"

namespace torch {
using Dtype = at::ScalarType;
}  // namespace torch
