#include "data/transforms/transforms.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "c10/util/exception.h"

namespace torch::data::transforms {

Example<> Stack<Example<>>::apply_batch(std::vector<Example<>> examples) {
  std::vector<at::Tensor> data, targets;
  data.reserve(examples.size());
  targets.reserve(examples.size());
  for (Example<>& e : examples) {
    data.push_back(std::move(e.data));
    targets.push_back(std::move(e.target));
  }
  return {at::stack(data), at::stack(targets)};
}

TensorExample Stack<TensorExample>::apply_batch(std::vector<TensorExample> examples) {
  std::vector<at::Tensor> data;
  data.reserve(examples.size());
  for (TensorExample& e : examples) data.push_back(std::move(e.data));
  return at::stack(data);
}

namespace detail {

at::Tensor channel_tensor(at::ArrayRef<double> values, const char* what, bool nonzero) {
  TORCH_CHECK_VALUE(!values.empty(), "Normalize: expected at least one number for ", what);
  at::Tensor t = at::empty({static_cast<int64_t>(values.size()), 1, 1}, at::kFloat);
  for (size_t i = 0; i < values.size(); ++i) {
    TORCH_CHECK_VALUE(!nonzero || values[i] != 0, "Normalize: ", what, " is zero for channel ", i);
    t.data_ptr<float>()[i] = static_cast<float>(values[i]);
  }
  return t;
}

at::Tensor normalize(const at::Tensor& input, const at::Tensor& mean, const at::Tensor& stddev) {
  return at::div(at::sub(input, mean), stddev);
}

}  // namespace detail

}  // namespace torch::data::transforms
