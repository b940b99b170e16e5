#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "edge/xnnpack/operators.h"

namespace torch::edge {

using graph::Operand;
using graph::Value;

std::vector<size_t> own_sizes(const std::vector<int64_t>& sizes) {
  std::vector<size_t> out(sizes.begin(), sizes.end());
  if (out.size() == 4) out = {out[0], out[2], out[3], out[1]};
  return out;
}

std::vector<int64_t> sizes_of(const Value& value) {
  std::vector<int64_t> out;
  for (const graph::IntExpr& size : value.info()->sizes) out.push_back(size.value());
  return out;
}

uint32_t Definition::inner(const std::vector<int64_t>& sizes) {
  const std::vector<size_t> own = own_sizes(sizes);
  uint32_t id = XNN_INVALID_VALUE_ID;
  xnn_define_tensor_value(subgraph_, xnn_datatype_fp32, own.size(), own.data(), nullptr, XNN_INVALID_VALUE_ID, 0, &id);
  return id;
}
uint32_t Definition::fresh_like(const Value& value) {
  return inner(sizes_of(value));
}

uint32_t Definition::id(const Value& value) {
  const auto known = ids_.find(&value);
  if (known != ids_.end()) return known->second;
  return ids_[&value] = inner(sizes_of(value));
}
uint32_t Definition::id(const Operand& operand) {
  return id(*operand.value());
}

uint32_t Definition::constant(const at::Tensor& tensor) {
  // XNNPACK may read a few bytes behind the end.
  const at::Tensor whole = tensor.contiguous();
  const at::Tensor padded = at::zeros({whole.numel() + static_cast<int64_t>(XNN_EXTRA_BYTES / sizeof(float))});
  at::Tensor own = padded.narrow(0, 0, whole.numel()).view(whole.sizes());
  own.copy_(whole);
  kept_.push_back(own);
  const std::vector<size_t> sizes(own.sizes().begin(), own.sizes().end());
  uint32_t id = XNN_INVALID_VALUE_ID;
  xnn_define_tensor_value(subgraph_, xnn_datatype_fp32, sizes.size(), sizes.data(), own.data_ptr(),
                          XNN_INVALID_VALUE_ID, 0, &id);
  return id;
}
uint32_t Definition::number(double value) {
  return constant(at::full({1}, value, at::dtype(at::kFloat)));
}

}  // namespace torch::edge
