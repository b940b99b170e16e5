#include "autograd/nested.h"

#include <algorithm>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/nested/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/leaf.h"

namespace torch::nested {
namespace {

// Offsets of parts of these lengths, a tensor of one dimension, as int64.
at::Tensor offsets_of(const at::Tensor& lengths) {
  return at::cat({at::zeros({1}, at::kLong), at::cumsum(lengths, 0, at::kLong)});
}

void check_cpu(const char* op, std::optional<at::Device> device) {
  TORCH_CHECK_NOT_IMPLEMENTED(!device.has_value() || device->is_cpu(), op, ": nested tensors are on the CPU, not on ",
                              device->str());
}

// The dimension in which the tensors differ, the first where they do not.
int64_t ragged_dim_of(at::TensorList list) {
  int64_t ragged = -1;
  for (int64_t d = 0; d < list[0].dim(); ++d) {
    const bool differs =
        std::any_of(list.begin(), list.end(), [&](const at::Tensor& t) { return t.size(d) != list[0].size(d); });
    if (!differs) continue;
    TORCH_CHECK(
        ragged < 0,
        "Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the jagged "
        "layout only allows for a single ragged dimension. For example: (B, *, D_0, D_1, ..., D_N), with ragged "
        "* dim.");
    ragged = d;
  }
  return std::max<int64_t>(ragged, 0);
}

at::Tensor jagged_of(at::TensorList list, std::optional<at::ScalarType> dtype, std::optional<at::Device> device) {
  TORCH_CHECK(!list.empty(), "Cannot construct a nested tensor from an empty tensor list");
  check_cpu("nested_tensor", device);
  for (size_t i = 0; i < list.size(); ++i) {
    TORCH_CHECK(list[i].defined(), "nested_tensor: tensor ", i, " is undefined");
    TORCH_CHECK_NOT_IMPLEMENTED(list[i].layout() == at::kStrided && !list[i].is_nested() && list[i].device().is_cpu(),
                                "nested_tensor: expected dense tensors on the CPU, but tensor ", i, " is a ",
                                list[i].toString());
    TORCH_CHECK(list[i].dim() == list[0].dim(),
                "When constructing a nested tensor, all tensors in list must have the same dim");
    TORCH_CHECK(list[i].scalar_type() == list[0].scalar_type(),
                "When constructing a nested tensor, all tensors in list must have the same dtype");
  }
  TORCH_CHECK(list[0].dim() > 0, "Cannot construct a nested tensor from a list of zero-dim tensors");
  const int64_t ragged = ragged_dim_of(list);
  std::vector<int64_t> places{0};
  for (const at::Tensor& t : list) places.push_back(places.back() + t.size(ragged));
  const at::Tensor offsets = torch::detail::TensorDataContainer(places).convert_to_tensor(at::kLong);
  const at::Tensor values = at::cat(list, ragged);
  return at::_nested_view_from_jagged(dtype.has_value() ? at::to(values, *dtype) : values, offsets, offsets, {},
                                      ragged + 1);
}

void check_layout(const char* op, at::Layout layout) {
  TORCH_CHECK_NOT_IMPLEMENTED(layout == at::kStrided || layout == at::kJagged, op,
                              ": Specified layout is unsupported for nested tensors: ", layout);
}

}  // namespace

at::Tensor nested_tensor(at::TensorList list, const at::TensorOptions& options) {
  check_layout("nested_tensor", options.layout());
  TORCH_CHECK_NOT_IMPLEMENTED(!options.pinned_memory(),
                              "nested_tensor: pinned memory is not implemented for nested tensors");
  std::vector<at::Tensor> parts;
  for (const at::Tensor& t : list) parts.push_back(t.defined() ? at::detach(t) : t);
  if (options.layout() == at::kJagged) {
    return autograd::detail::leaf(
        jagged_of(parts, at::optTypeMetaToScalarType(options.dtype_opt()), options.device_opt()), options);
  }
  return autograd::detail::leaf(at::_nested_tensor_from_tensor_list(parts, options.requires_grad(std::nullopt)),
                                options);
}

at::Tensor nested_tensor(at::ArrayRef<torch::detail::TensorDataContainer> list, const at::TensorOptions& options) {
  std::vector<at::Tensor> parts;
  const at::TensorOptions of_parts = options.requires_grad(std::nullopt).layout(std::nullopt);
  for (const torch::detail::TensorDataContainer& data : list) parts.push_back(data.convert_to_tensor(of_parts));
  return nested_tensor(parts, options);
}

at::Tensor as_nested_tensor(at::TensorList list, std::optional<at::ScalarType> dtype, std::optional<at::Device> device,
                            at::Layout layout) {
  check_layout("as_nested_tensor", layout);
  if (layout == at::kJagged) return jagged_of(list, dtype, device);
  return at::_nested_tensor_from_tensor_list(list, at::TensorOptions().dtype(dtype).device(device));
}

at::Tensor detail::as_nested_batch(const at::Tensor& t, std::optional<at::ScalarType> dtype,
                                   std::optional<at::Device> device, at::Layout layout) {
  check_layout("as_nested_tensor", layout);
  check_cpu("as_nested_tensor", device);
  const at::Tensor typed = dtype.has_value() ? at::to(t, *dtype) : t;
  if (t.is_nested()) {
    TORCH_CHECK(t.layout() == layout, "as_nested_tensor(): Converting between nested tensor layouts is not supported");
    return typed;
  }
  TORCH_CHECK(t.dim() > 1, "as_nested_tensor(): Expected tensor argument to have dim() > 1");
  const at::Tensor dense = at::contiguous(typed);
  const int64_t parts = t.size(0), length = t.size(1);
  if (layout == at::kJagged) {
    const at::Tensor offsets = at::mul(at::arange(parts + 1, at::kLong), length);
    return at::_nested_view_from_jagged(at::flatten(dense, 0, 1), offsets, offsets, {}, 1);
  }
  const at::Tensor of_part = torch::detail::TensorDataContainer(t.sizes().slice(1)).convert_to_tensor(at::kLong);
  const at::Tensor sizes = at::expand(of_part, {parts, of_part.numel()});
  const auto [strides, offsets] = at::_nested_compute_contiguous_strides_offsets(sizes);
  return at::_nested_view_from_buffer(at::flatten(dense), sizes, strides, offsets);
}

at::Tensor nested_tensor_from_jagged(const at::Tensor& values, const std::optional<at::Tensor>& offsets,
                                     const std::optional<at::Tensor>& lengths, std::optional<int64_t> jagged_dim,
                                     std::optional<int64_t> min_seqlen, std::optional<int64_t> max_seqlen) {
  const auto given = [](const std::optional<at::Tensor>& t) { return t.has_value() && t->defined(); };
  TORCH_CHECK(given(offsets) || given(lengths),
              "nested_tensor_from_jagged(): At least one of offsets or lengths is required.");
  const auto as_size = [](const char* name, std::optional<int64_t> length) -> std::optional<at::Tensor> {
    if (!length.has_value()) return std::nullopt;
    TORCH_CHECK_VALUE(*length >= 0, "nested_tensor_from_jagged(): ", name, " is negative, ", *length);
    return at::empty({*length, 0});
  };
  at::Tensor places = given(offsets) ? *offsets : at::Tensor();
  if (!given(offsets)) {
    TORCH_CHECK_VALUE(lengths->dim() == 1 && lengths->layout() == at::kStrided,
                      "nested_tensor_from_jagged(): lengths must be 1D, but got ", lengths->dim(), "D");
    TORCH_CHECK_TYPE(lengths->scalar_type() == at::kLong || lengths->scalar_type() == at::kInt,
                     "nested_tensor_from_jagged(): lengths must be of dtype int64 or int32, but got ",
                     lengths->scalar_type());
    places = offsets_of(*lengths);
  }
  return at::_nested_view_from_jagged(values, places, places, given(offsets) ? lengths : std::nullopt,
                                      jagged_dim.value_or(1), as_size("min_seqlen", min_seqlen),
                                      as_size("max_seqlen", max_seqlen));
}

namespace {

// `start` and `length` of each part, as int64 of one dimension.
at::Tensor for_each_part(const at::Tensor& number, int64_t parts) {
  const bool fits = number.layout() == at::kStrided && number.device().is_cpu() &&
                    c10::isIntegralType(number.scalar_type(), false) && number.dim() <= 1 &&
                    (number.numel() == parts || number.numel() == 1);
  TORCH_CHECK(fits,
              "When constructing a jagged nested tensor using narrow(), your start and length must be Tensors that "
              "broadcast to input.shape[0]");
  return at::contiguous(at::expand(at::to(number, at::kLong), {parts}));
}

}  // namespace

at::Tensor narrow(const at::Tensor& tensor, int64_t dim, int64_t start, int64_t length, at::Layout layout) {
  if (layout == at::kJagged) {
    return nested::narrow(tensor, dim, at::full({}, start, at::kLong), at::full({}, length, at::kLong), layout);
  }
  TORCH_CHECK(layout == at::kStrided, "Specified layout is unsupported for nested narrow: ", layout);
  return as_nested_tensor(at::unbind(at::narrow(tensor, dim, start, length)));
}

at::Tensor narrow(const at::Tensor& tensor, int64_t dim, const at::Tensor& start, const at::Tensor& length,
                  at::Layout layout) {
  TORCH_CHECK(layout == at::kStrided || layout == at::kJagged,
              "Specified layout is unsupported for nested narrow: ", layout);
  TORCH_CHECK(layout == at::kJagged, "start and length must be integers for the strided layout NT impl");
  TORCH_CHECK(tensor.layout() == at::kStrided && !tensor.is_nested() && tensor.dim() >= 2,
              "narrow(): expected a dense tensor of at least two dimensions, but got a ", tensor.toString(), " of ",
              tensor.dim());
  TORCH_CHECK(dim == 1, "jagged layout only supports dim=1");
  const int64_t parts = tensor.size(0), size = tensor.size(1);
  const at::Tensor starts = for_each_part(start, parts), lengths = for_each_part(length, parts);
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t first = starts.data_ptr<int64_t>()[i], count = lengths.data_ptr<int64_t>()[i];
    TORCH_CHECK_VALUE(first >= 0 && count >= 0 && first <= size && count <= size - first, "narrow(): the part [", first,
                      ", ", first, " + ", count, ") of element ", i, " reaches out of dimension 1, of size ", size);
  }
  const at::Tensor first = at::add(at::mul(at::arange(parts, at::kLong), size), starts);
  const at::Tensor last =
      parts == 0 ? at::zeros({1}, at::kLong) : at::slice(at::add(first, lengths), 0, parts - 1, parts);
  at::DimVector sizes{parts * size};
  sizes.insert(sizes.end(), tensor.sizes().begin() + 2, tensor.sizes().end());
  return nested_tensor_from_jagged(at::view(tensor, sizes), at::cat({first, last}), lengths);
}

at::Tensor narrow(const at::Tensor& tensor, int64_t dim, int64_t start, const at::Tensor& length, at::Layout layout) {
  return nested::narrow(tensor, dim, at::full({}, start, at::kLong), length, layout);
}

at::Tensor narrow(const at::Tensor& tensor, int64_t dim, const at::Tensor& start, int64_t length, at::Layout layout) {
  return nested::narrow(tensor, dim, start, at::full({}, length, at::kLong), layout);
}

at::Tensor masked_select(const at::Tensor& tensor, const at::Tensor& mask) {
  TORCH_CHECK(tensor.layout() == at::kStrided && !tensor.is_nested(),
              "torch.nested.masked_select requires a strided tensor, given ", tensor.layout());
  TORCH_CHECK(mask.layout() == at::kStrided && !mask.is_nested(),
              "torch.nested.masked_select requires a strided mask, given ", mask.layout());
  TORCH_CHECK(mask.scalar_type() == at::kBool, "masked_select: expected BoolTensor for mask");
  TORCH_CHECK(tensor.dim() > 0, "masked_select: expected a tensor of at least one dimension");
  const at::Tensor whole = at::expand(mask, tensor.sizes());
  const at::Tensor lengths = at::reshape(at::sum(whole, at::IntArrayRef({-1}), false, at::kLong), {-1});
  return nested_tensor_from_jagged(at::masked_select(tensor, whole), offsets_of(lengths));
}

at::Tensor to_padded_tensor(const at::Tensor& self, double padding, at::OptionalIntArrayRef output_size) {
  return at::nested_to_padded_tensor(self, padding, output_size);
}

at::Tensor offsets(const at::Tensor& self) {
  return at::_nested_get_offsets(self);
}
at::Tensor lengths(const at::Tensor& self) {
  return at::_nested_get_lengths(self);
}

}  // namespace torch::nested
