#include "aten/ops/join/decompositions.h"

#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"

namespace at::decompositions {

Tensor stack(TensorList tensors, int64_t dim) {
  std::vector<Tensor> slices;
  slices.reserve(tensors.size());
  for (const Tensor& t : tensors) slices.push_back(at::unsqueeze(t, dim));
  return at::cat(slices, dim);
}

}  // namespace at::decompositions
