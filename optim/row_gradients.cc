#include <algorithm>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/view/ops.h"
#include "optim/optimizer.h"

namespace torch::optim {

void Optimizer::add_row_gradient(RowGradient gradient) {
  const at::Tensor& p = gradient.parameter;
  TORCH_CHECK_VALUE(p.defined() && p.dim() > 0, "add_row_gradient: expected a parameter with rows");
  TORCH_CHECK_TYPE(gradient.indices.defined() && gradient.indices.scalar_type() == at::kLong,
                   "add_row_gradient: expected indices of type Long");
  if (gradient.indices.dim() == 2 && gradient.indices.size(0) == 1)
    gradient.indices = at::select(gradient.indices, 0, 0);
  TORCH_CHECK_VALUE(gradient.indices.dim() == 1, "add_row_gradient: expected indices of one dimension, but got ",
                    gradient.indices.sizes());
  std::vector<int64_t> expected = p.sizes().vec();
  expected[0] = gradient.indices.size(0);
  TORCH_CHECK_VALUE(gradient.values.defined() && gradient.values.sizes() == at::IntArrayRef(expected),
                    "add_row_gradient: expected values of size ", at::IntArrayRef(expected), ", but got ",
                    gradient.values.defined() ? gradient.values.sizes() : at::IntArrayRef());
  TORCH_CHECK_TYPE(gradient.values.scalar_type() == p.scalar_type(), "add_row_gradient: expected values of type ",
                   p.scalar_type(), ", but got ", gradient.values.scalar_type());
  TORCH_CHECK(gradient.values.device() == p.device(), "add_row_gradient: expected values on ", p.device(), ", but got ",
              gradient.values.device());
  row_gradients_.push_back(std::move(gradient));
}

RowGradient Optimizer::row_gradient(const at::Tensor& parameter) const {
  RowGradient all;
  all.parameter = parameter;
  std::vector<at::Tensor> indices, values;
  for (const RowGradient& one : row_gradients_) {
    if (!one.parameter.is_same(parameter)) continue;
    indices.push_back(at::to(one.indices, at::Device(at::kCPU)));
    values.push_back(one.values);
  }
  if (const at::Tensor& grad = parameter.grad(); grad.defined() && grad.is_sparse()) {
    TORCH_CHECK(at::sparse_dim(grad) == 1 && grad.sizes() == parameter.sizes(),
                "optimizer step: expected a sparse gradient of rows of size ", parameter.sizes(), ", but got one of ",
                at::sparse_dim(grad), " sparse dimensions and size ", grad.sizes());
    indices.push_back(at::to(at::select(at::_indices(grad), 0, 0), at::Device(at::kCPU)));
    values.push_back(at::_values(grad));
  }
  if (indices.empty()) return all;
  const at::Tensor listed = at::contiguous(at::cat(indices));
  const int64_t* const rows = listed.const_data_ptr<int64_t>();
  const int64_t count = listed.numel();
  std::vector<int64_t> unique(rows, rows + count);
  std::sort(unique.begin(), unique.end());
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  TORCH_CHECK_INDEX(unique.empty() || (unique.front() >= 0 && unique.back() < parameter.size(0)),
                    "a row gradient's index ",
                    unique.empty()       ? 0
                    : unique.front() < 0 ? unique.front()
                                         : unique.back(),
                    " is out of bounds for a parameter of ", parameter.size(0), " rows");
  const at::TensorOptions longs = at::TensorOptions().dtype(at::kLong);
  at::Tensor sorted = at::empty({static_cast<int64_t>(unique.size())}, longs), places = at::empty({count}, longs);
  std::copy(unique.begin(), unique.end(), sorted.data_ptr<int64_t>());
  for (int64_t i = 0; i < count; ++i) {
    places.data_ptr<int64_t>()[i] = std::lower_bound(unique.begin(), unique.end(), rows[i]) - unique.begin();
  }
  std::vector<int64_t> sizes = parameter.sizes().vec();
  sizes[0] = sorted.numel();
  all.values = at::zeros(sizes, parameter.options());
  at::index_add_(all.values, 0, at::to(places, parameter.device()), at::cat(values));
  all.indices = at::to(sorted, parameter.device());
  return all;
}

}  // namespace torch::optim
