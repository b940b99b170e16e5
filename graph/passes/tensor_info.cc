#include "graph/passes/tensor_info.h"

#include <algorithm>
#include <vector>

#include "aten/core/empty.h"
#include "c10/util/exception.h"

namespace torch::graph {
namespace {

bool has_strides(const TensorInfo& info, c10::ArrayRef<size_t> innermost_first) {
  if (info.strides.size() != info.sizes.size()) return false;
  // Without elements any strides are those of elements side by side.
  if (std::find(info.sizes.begin(), info.sizes.end(), IntExpr(0)) != info.sizes.end()) return true;
  IntExpr expected = 1;
  for (const size_t d : innermost_first) {
    if (info.sizes[d] == IntExpr(1)) continue;
    if (!(info.strides[d] == expected)) return false;
    expected = expected * info.sizes[d];
  }
  return true;
}

}  // namespace

bool is_row_major(const TensorInfo& info) {
  std::vector<size_t> order;
  for (size_t d = info.sizes.size(); d-- > 0;) order.push_back(d);
  return has_strides(info, order);
}
bool is_channels_last(const TensorInfo& info) {
  return info.sizes.size() == 4 && has_strides(info, {1, 3, 2, 0});
}

TensorInfo info_of(const at::Tensor& tensor) {
  TensorInfo info;
  info.dtype = tensor.scalar_type();
  info.device = tensor.device();
  info.layout = tensor.layout();
  info.requires_grad = tensor.requires_grad();
  if (tensor.is_nested()) return info;
  for (const int64_t size : tensor.sizes()) info.sizes.emplace_back(size);
  if (tensor.layout() != c10::kStrided) return info;
  for (const int64_t stride : tensor.strides()) info.strides.emplace_back(stride);
  info.storage_offset = tensor.storage_offset();
  return info;
}

at::Tensor meta_tensor(const TensorInfo& info, const std::map<std::string, int64_t>& symbols) {
  TORCH_CHECK_VALUE(info.layout == c10::kStrided, "expected the info of a strided tensor");
  constexpr c10::Device kMeta(c10::DeviceType::Meta);
  std::vector<int64_t> sizes, strides;
  for (const IntExpr& e : info.sizes) sizes.push_back(e.evaluate(symbols));
  for (const IntExpr& e : info.strides) strides.push_back(e.evaluate(symbols));
  if (strides.size() != sizes.size()) return at::empty_contiguous(sizes, info.dtype, kMeta);
  return at::empty_with_strides(sizes, strides, info.dtype, kMeta);
}

}  // namespace torch::graph
