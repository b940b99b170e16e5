#pragma once

#include "aten/core/tensor.h"
#include "aten/ops/matmul/ops.h"

namespace torch::detail {

/// a x for matrices a, of any layout, and dense columns x.
inline at::Tensor product(const at::Tensor& a, const at::Tensor& x) {
  return a.layout() == at::kStrided ? at::matmul(a, x) : at::mm(a, x);
}

}  // namespace torch::detail
