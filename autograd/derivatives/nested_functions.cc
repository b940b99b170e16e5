#include "autograd/derivatives/nested_functions.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
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

namespace {

// A jagged tensor of these values, cut as `self`.
Tensor cut_as(const Tensor& values, const Tensor& self) {
  const Tensor offsets = at::_nested_get_offsets(self);
  const auto given = [](const Tensor& t) { return t.defined() ? std::optional<Tensor>(t) : std::nullopt; };
  return at::_nested_view_from_jagged(values, offsets, offsets, given(at::_nested_get_lengths(self)),
                                      at::_nested_get_ragged_idx(self), given(at::_nested_get_min_seqlen(self)),
                                      given(at::_nested_get_max_seqlen(self)));
}

// Zeros of these sizes, to which the parts are added at their places.
Tensor placed(const std::vector<Tensor>& parts, IntArrayRef sizes, const TensorOptions& options, const Tensor& offsets,
              const std::optional<Tensor>& lengths, int64_t ragged_idx) {
  if (parts.empty()) return at::zeros(sizes, options);
  const int64_t dim = ragged_idx - 1, size = sizes[static_cast<size_t>(dim)];
  const Tensor packed = at::cat(parts, dim);
  const bool with_lengths = lengths.has_value() && lengths->defined();
  if (packed.size(dim) == size && !with_lengths) return packed;  // there are no other places
  const Tensor places =
      at::cat(at::_nested_unbind(at::_nested_view_from_jagged(at::arange(size, kLong), offsets, offsets, lengths, 1)));
  return at::index_add(at::zeros(sizes, options), dim, places, packed);
}

// Of a jagged tensor by its parts.
Tensor jagged_parts_grad(const std::vector<Tensor>& grads, const Tensor& self) {
  const Tensor values = at::_nested_get_values(at::detach(self));
  const Tensor lengths = at::_nested_get_lengths(self);
  return cut_as(
      placed(grads, values.sizes(), values.options(), at::_nested_get_offsets(self),
             lengths.defined() ? std::optional<Tensor>(lengths) : std::nullopt, at::_nested_get_ragged_idx(self)),
      self);
}

}  // namespace

Tensor nested_parts_grad(const std::vector<Tensor>& grads, const Tensor& self) {
  if (self.layout() == kJagged) return jagged_parts_grad(grads, self);
  return at::_nested_tensor_from_tensor_list(grads, self.scalar_type());
}

Tensor to_padded_grad(const Tensor& grad, const Tensor& self) {
  if (self.layout() != kJagged) return at::_nested_from_padded(grad, at::_nested_tensor_size(self));
  std::vector<Tensor> parts;
  const Tensor plain = at::detach(self);
  for (const Tensor& part : at::_nested_unbind(plain)) {
    Tensor own = at::select(grad, 0, static_cast<int64_t>(parts.size()));
    for (int64_t d = 0; d < part.dim(); ++d) own = at::slice(own, d, 0, part.size(d));
    parts.push_back(own);
  }
  return jagged_parts_grad(parts, self);
}

Tensor jagged_view_grad(const Tensor& grad, IntArrayRef sizes, const Tensor& offsets,
                        const std::optional<Tensor>& lengths, int64_t ragged_idx) {
  const bool with_lengths = lengths.has_value() && lengths->defined();
  if (grad.layout() == kJagged && !with_lengths && at::_nested_get_offsets(grad).is_same(offsets) &&
      at::_nested_get_ragged_idx(grad) == ragged_idx) {
    const Tensor values = at::_nested_get_values(grad);
    if (values.sizes() == sizes && values.numel() == grad.numel()) return values;  // no place is in no part
  }
  return placed(at::_nested_unbind(grad), sizes, at::TensorOptions(grad.scalar_type()).device(grad.device()), offsets,
                lengths, ragged_idx);
}

Tensor jagged_values_grad(const Tensor& grad, const Tensor& self) {
  return cut_as(grad, self);
}

}  // namespace torch::autograd::generated
