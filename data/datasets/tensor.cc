#include "data/datasets/tensor.h"

#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"

namespace torch::data::datasets {

TensorDataset::TensorDataset(const at::Tensor& tensor) {
  TORCH_CHECK_VALUE(tensor.defined() && tensor.dim() > 0, "TensorDataset: expected a tensor of at least one dimension");
  for (int64_t i = 0; i < tensor.size(0); ++i) tensors.push_back(at::select(tensor, 0, i));
}

TensorExample TensorDataset::get(size_t index) {
  TORCH_CHECK_INDEX(index < tensors.size(), "TensorDataset: index ", index, " is out of range for ", tensors.size(), " examples");
  return tensors[index];
}

}  // namespace torch::data::datasets
