#pragma once

#include "aten/core/tensor.h"
#include "c10/core/tensor_options.h"

namespace torch::autograd::detail {

// `fresh` as the factory that made it was asked for: a leaf that requires a gradient where `options` say so.
at::Tensor leaf(at::Tensor fresh, const at::TensorOptions& options);

}  // namespace torch::autograd::detail
