#include "data/datasets/tensor.h"

#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"

namespace torch::data::datasets {

namespace {

void check_has_rows(const at::Tensor& tensor, const char* what) {
  TORCH_CHECK_VALUE(tensor.defined() && tensor.dim() > 0, what, ": expected a tensor of at least one dimension");
}

at::Tensor row(const at::Tensor& tensor, size_t index, const char* what) {
  TORCH_CHECK_INDEX(index < static_cast<size_t>(tensor.size(0)), what, ": index ", index, " is out of range for ",
                    tensor.size(0), " examples");
  return at::select(tensor, 0, static_cast<int64_t>(index));
}

}  // namespace

TensorDataset::TensorDataset(const std::vector<at::Tensor>& tensors) : TensorDataset(at::stack(tensors)) {}
TensorDataset::TensorDataset(at::Tensor t) : tensor(std::move(t)) { check_has_rows(tensor, "TensorDataset"); }
TensorExample TensorDataset::get(size_t index) { return row(tensor, index, "TensorDataset"); }
std::optional<size_t> TensorDataset::size() const { return static_cast<size_t>(tensor.size(0)); }

TensorTupleDataset::TensorTupleDataset(std::vector<at::Tensor> list) : tensors(std::move(list)) {
  TORCH_CHECK_VALUE(!tensors.empty(), "TensorTupleDataset: expected at least one tensor");
  for (const at::Tensor& t : tensors) {
    check_has_rows(t, "TensorTupleDataset");
    TORCH_CHECK_VALUE(t.size(0) == tensors[0].size(0),
                      "Size mismatch between tensors: TensorTupleDataset got first sizes ", tensors[0].size(0), " and ",
                      t.size(0));
  }
}

std::vector<at::Tensor> TensorTupleDataset::get(size_t index) {
  std::vector<at::Tensor> rows;
  rows.reserve(tensors.size());
  for (const at::Tensor& t : tensors) rows.push_back(row(t, index, "TensorTupleDataset"));
  return rows;
}
std::optional<size_t> TensorTupleDataset::size() const { return static_cast<size_t>(tensors[0].size(0)); }

TensorPairDataset::TensorPairDataset(at::Tensor d, at::Tensor t) : data(std::move(d)), target(std::move(t)) {
  check_has_rows(data, "TensorPairDataset");
  check_has_rows(target, "TensorPairDataset");
  TORCH_CHECK_VALUE(data.size(0) == target.size(0), "Size mismatch between tensors: TensorPairDataset got first sizes ",
                    data.size(0), " and ", target.size(0));
}
Example<> TensorPairDataset::get(size_t index) {
  return {row(data, index, "TensorPairDataset"), row(target, index, "TensorPairDataset")};
}
std::optional<size_t> TensorPairDataset::size() const { return static_cast<size_t>(data.size(0)); }

}  // namespace torch::data::datasets
