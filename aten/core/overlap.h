#pragma once

#include "aten/core/tensor_base.h"

namespace at::structured {

// Throws where two elements of `out` lie at one place, so that writing them has no meaning.
void check_no_internal_overlap(const TensorBase& out);

}  // namespace at::structured
