#include "autograd/derivatives/nested_functions.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/nested/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"

namespace torch::autograd::generated {

std::vector<Tensor> nested_list_grad(const Tensor& grad, size_t count) {
  return grad.defined() ? at::_nested_unbind(grad) : std::vector<Tensor>(count);
}

Tensor nested_buffer_grad(const Tensor& grad, int64_t numel, const Tensor& nested_size, const Tensor& nested_strides,
                          const Tensor& offsets) {
  const bool same_places = at::equal(at::_nested_tensor_strides(grad), nested_strides) &&
                           at::equal(at::_nested_tensor_storage_offsets(grad), offsets);
  if (grad.numel() == numel && same_places) {
    const Tensor values = at::_nested_values(grad);
    if (values.numel() == numel) return values;
  }
  const Tensor result = at::zeros({numel}, grad.options());
  const std::vector<Tensor> parts = at::_nested_unbind(grad);
  std::vector<Tensor> places =
      at::_nested_unbind(at::_nested_view_from_buffer(result, nested_size, nested_strides, offsets));
  for (size_t i = 0; i < parts.size(); ++i) at::add_(places[i], parts[i]);
  return result;
}

Tensor nested_values_grad(const Tensor& grad, const Tensor& self) {
  return at::_nested_view_from_buffer(at::contiguous(grad), at::_nested_tensor_size(self),
                                      at::_nested_tensor_strides(self), at::_nested_tensor_storage_offsets(self));
}

Tensor to_padded_grad(const Tensor& grad, const Tensor& self) {
  return at::_nested_from_padded(grad, at::_nested_tensor_size(self));
}

}  // namespace torch::autograd::generated
