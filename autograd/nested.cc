#include "autograd/nested.h"

#include <vector>

#include "aten/ops/nested/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/leaf.h"

namespace torch::nested {

at::Tensor nested_tensor(at::TensorList list, const at::TensorOptions& options) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& t : list) parts.push_back(t.defined() ? at::detach(t) : t);
  return autograd::detail::leaf(at::_nested_tensor_from_tensor_list(parts, options.requires_grad(std::nullopt)),
                                options);
}

at::Tensor nested_tensor(at::ArrayRef<torch::detail::TensorDataContainer> list, const at::TensorOptions& options) {
  std::vector<at::Tensor> parts;
  for (const torch::detail::TensorDataContainer& data : list) {
    parts.push_back(data.convert_to_tensor(options.requires_grad(std::nullopt)));
  }
  return nested_tensor(parts, options);
}

at::Tensor as_nested_tensor(at::TensorList list, std::optional<at::ScalarType> dtype,
                            std::optional<at::Device> device) {
  return at::_nested_tensor_from_tensor_list(list, at::TensorOptions().dtype(dtype).device(device));
}

at::Tensor to_padded_tensor(const at::Tensor& self, double padding, at::OptionalIntArrayRef output_size) {
  return at::nested_to_padded_tensor(self, padding, output_size);
}

}  // namespace torch::nested
