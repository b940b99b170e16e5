// Nested tensors: what is asked of them, and copies of them. Copies stand above autograd, the rest below.
#include <algorithm>

#include "aten/core/empty.h"
#include "aten/nested/nested_parts.h"
#include "aten/ops/copy/kernels.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/kernels.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/nested/kernels.h"
#include "aten/ops/nested/ops.h"
#include "aten/ops/random/kernels.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/kernels.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sparse/kernels.h"
#include "aten/ops/view/kernels.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

void check_format(const char* op, std::optional<MemoryFormat> format) {
  TORCH_CHECK(!format.has_value() || *format == MemoryFormat::Preserve || *format == MemoryFormat::Contiguous, op,
              ": a nested tensor is contiguous or keeps its format, it has no memory format ", *format);
}

// The options of a tensor like `self`; a nested tensor again.
TensorOptions options_like(const char* op, const Tensor& self, const TensorOptions& options) {
  const TensorOptions merged = self.options().merge_in(options);
  TORCH_CHECK_NOT_IMPLEMENTED(merged.layout() == self.layout() || merged.layout() == Layout::Strided, op,
                              ": a nested tensor of layout ", merged.layout(), " is not implemented");
  TORCH_CHECK_NOT_IMPLEMENTED(merged.device().is_cpu() || merged.device().is_cuda(), op,
                              ": nested tensors are not implemented for ", merged.device().type(), " devices");
  TORCH_CHECK_NOT_IMPLEMENTED(!merged.pinned_memory(), op, ": pinned memory is not implemented for nested tensors");
  return merged.layout(Layout::Strided);
}

nested::Shape packed_like(const NestedShape& shape) {
  return nested::packed_shape(shape.parts, shape.dims, shape.sizes);
}

// The dimensions, that of the largest stride first.
DimVector by_strides(const Tensor& t) {
  DimVector order;
  for (int64_t d = 0; d < t.dim(); ++d) order.push_back(d);
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return t.stride(a) != t.stride(b) ? t.stride(a) > t.stride(b) : a < b; });
  return order;
}

// A nested tensor of that shape, packed, whose buffer make(sizes, options) gives; a jagged one cut as `self`.
template <class F>
Tensor made_like(const char* op, const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> format,
                 const F& make) {
  check_format(op, format);
  const TensorOptions merged = options_like(op, self, options);
  const NestedTensorImpl& impl = nested::impl_of(op, self);
  if (impl.is_jagged()) {
    const Tensor& values = impl.buffer();
    if (format == MemoryFormat::Contiguous || !values.is_non_overlapping_and_dense()) {
      return nested::make_jagged(op, make(values.sizes(), merged), impl.jagged());
    }
    const DimVector order = by_strides(values);  // in memory as the values are
    DimVector sizes, back(order.size());
    for (size_t d = 0; d < order.size(); ++d) {
      sizes.push_back(values.size(order[d]));
      back[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
    }
    return nested::make_jagged(op, at::permute(make(sizes, merged), back), impl.jagged());
  }
  const int64_t numel = impl.numel();
  return nested::make_nested(make(IntArrayRef(numel), merged), packed_like(*impl.shape()));
}

// The same elements in memory of their own, copy(elements): packed, or where they fill their buffer and the format may
// be kept at the same places. The values of a jagged tensor are copied with what lies between its parts, unless it
// shall be contiguous.
template <class F>
Tensor copy_of(const Tensor& self, std::optional<MemoryFormat> format, const F& copy) {
  const NestedTensorImpl& impl = nested::impl_of("clone", self);
  const bool packs = format == MemoryFormat::Contiguous;
  if (impl.is_jagged()) {
    if (!packs || impl.fills_buffer()) return nested::with_values(copy(at::_nested_get_values(self)), self);
    const Tensor values = copy(nested::packed_values(self)), offsets = nested::offsets_of(impl.jagged().ragged->length);
    return at::_nested_view_from_jagged(values, offsets, offsets, {}, impl.jagged().dim);
  } else if (impl.fills_buffer() && (impl.is_contiguous() || !packs)) {
    return nested::in_shape(copy(at::_nested_values(self)), *impl.shape());
  }
  return nested::each_part(self, copy);
}

}  // namespace

// --- queries ---
Tensor _nested_tensor_size_nested(const Tensor& self) {
  const NestedShape& shape = *nested::impl_of("_nested_tensor_size", self).shape();
  return nested::matrix_of(shape, shape.sizes);
}
Tensor _nested_tensor_strides_nested(const Tensor& self) {
  const NestedShape& shape = *nested::impl_of("_nested_tensor_strides", self).shape();
  return nested::matrix_of(shape, shape.strides);
}
Tensor _nested_tensor_storage_offsets_nested(const Tensor& self) {
  return nested::vector_of(nested::impl_of("_nested_tensor_storage_offsets", self).shape()->offsets);
}

int64_t size_int_nested(const Tensor& self, int64_t dim) {
  return self.size(dim);
}
// Whatever the format: parts lie one behind the other, each contiguous.
bool is_contiguous_format_nested(const Tensor& self, MemoryFormat) {
  return self.is_contiguous();
}
bool is_pinned_nested(const Tensor& self, std::optional<Device> device) {
  return at::is_pinned(nested::impl_of("is_pinned", self).buffer(), device);
}

bool is_same_size_nested(const Tensor& self, const Tensor& other) {
  if (self.is_nested() && other.is_nested() && nested::is_jagged(self) && nested::is_jagged(other)) {
    const Jagged &a = nested::jagged_of(self), &b = nested::jagged_of(other);
    return a.ragged == b.ragged && a.dim == b.dim && self.sizes() == other.sizes();
  }
  return self.is_nested() && other.is_nested() &&
         nested::same_sizes(*nested::impl_of("is_same_size", self).shape(),
                            *nested::impl_of("is_same_size", other).shape());
}

bool equal_nested(const Tensor& self, const Tensor& other) {
  if (!self.is_nested() || !other.is_nested() ||
      !nested::same_sizes(*nested::impl_of("equal", self).shape(), *nested::impl_of("equal", other).shape())) {
    return false;
  }
  const std::vector<Tensor> a = nested::impl_of("equal", self).parts(), b = nested::impl_of("equal", other).parts();
  for (size_t i = 0; i < a.size(); ++i) {
    if (!at::equal(a[i], b[i])) return false;
  }
  return true;
}

// --- parts ---
std::vector<Tensor> _nested_unbind_nested(const Tensor& self) {
  return nested::impl_of("unbind", self).parts();
}
std::vector<Tensor> unbind_nested(const Tensor& self, int64_t dim) {
  const int64_t wrapped = maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK(wrapped == 0 || !nested::is_jagged(self), "unbind(): only supported for NestedTensor on dim=0");
  TORCH_CHECK(wrapped == 0, "NestedTensor can only be unbound along dimension 0 got dimension ", wrapped, " instead.");
  return at::_nested_unbind(self);
}

namespace {

Tensor buffer_of(const char* op, const Tensor& self) {
  const Tensor result = nested::plain(nested::impl_of(op, self).buffer());
  result.unsafeGetTensorImpl()->set_inference(self.is_inference());
  return result;
}

}  // namespace

Tensor _nested_values_nested(const Tensor& self) {
  TORCH_CHECK(!nested::is_jagged(self), "_nested_values: expected a nested tensor of the strided layout");
  return buffer_of("_nested_values", self);
}
Tensor values_nested(const Tensor& self) {
  return nested::is_jagged(self) ? at::_nested_get_values(self) : at::_nested_values(self);
}

// --- of the jagged layout ---
namespace {

const Jagged& checked_jagged(const char* op, const Tensor& self) {
  TORCH_CHECK(self.is_nested() && nested::is_jagged(self), op, ": expected a jagged layout NestedTensor, but got a ",
              self.toString(), " of the layout ", self.layout());
  return nested::jagged_of(self);
}

}  // namespace

Tensor _nested_view_from_jagged_nested(const Tensor& self, const Tensor& offsets, const Tensor& dummy,
                                       const std::optional<Tensor>& lengths, int64_t ragged_idx,
                                       const std::optional<Tensor>& min_seqlen,
                                       const std::optional<Tensor>& max_seqlen) {
  return native::_nested_view_from_jagged(self, offsets, dummy, lengths, ragged_idx, min_seqlen, max_seqlen);
}

Tensor _nested_get_values_nested(const Tensor& self) {
  checked_jagged("_nested_get_values", self);
  return buffer_of("_nested_get_values", self);
}
Tensor _nested_get_offsets_nested(const Tensor& self) {
  return checked_jagged("_nested_get_offsets", self).ragged->offsets;
}
Tensor _nested_get_lengths_nested(const Tensor& self) {
  return checked_jagged("_nested_get_lengths", self).ragged->lengths;
}
int64_t _nested_get_ragged_idx_nested(const Tensor& self) {
  return checked_jagged("_nested_get_ragged_idx", self).dim;
}
Tensor _nested_get_min_seqlen_nested(const Tensor& self) {
  return nested::as_size(checked_jagged("_nested_get_min_seqlen", self).shortest);
}
Tensor _nested_get_max_seqlen_nested(const Tensor& self) {
  return nested::as_size(checked_jagged("_nested_get_max_seqlen", self).longest);
}

// Any jagged tensor will do.
Tensor _nested_get_jagged_dummy_nested(const Tensor& any) {
  checked_jagged("_nested_get_jagged_dummy", any);
  const Tensor offsets = nested::offsets_of({});
  return nested::make_jagged("_nested_get_jagged_dummy", empty_contiguous({0}, any.scalar_type(), any.device()),
                             {nested::ragged_structure("_nested_get_jagged_dummy", offsets, Tensor()), 1, {}, {}});
}

Tensor to_padded_tensor_nested(const Tensor& self, double padding, OptionalIntArrayRef output_size) {
  const NestedTensorImpl& impl = nested::impl_of("to_padded_tensor", self);
  const NestedShape& shape = *impl.shape();
  const TensorOptions options = self.options().layout(Layout::Strided);
  if (shape.parts == 0 && !impl.is_jagged()) return at::empty({0}, options);
  TORCH_CHECK(impl.is_jagged() || impl.numel() > 0,
              "to_padded_tensor: at least one constituent tensor should have non-zero numel");
  DimVector sizes{shape.parts};
  for (int64_t d = 0; d < shape.dims; ++d) {
    int64_t most = impl.is_jagged() && d != impl.jagged().dim - 1 ? impl.buffer().size(d) : 0;
    for (int64_t i = 0; i < shape.parts; ++i) most = std::max(most, shape.sizes_of(i)[d]);
    sizes.push_back(most);
  }
  if (impl.is_jagged()) sizes[static_cast<size_t>(impl.jagged().dim)] = impl.jagged().padded_length();
  if (output_size.has_value()) {
    TORCH_CHECK(output_size->size() == sizes.size(),
                "Length of output_size does not match NestedTensor dims. Broadcasting is not supported.");
    for (size_t d = 0; d < sizes.size(); ++d) {
      TORCH_CHECK((*output_size)[d] >= sizes[d],
                  "Value in output_size is less than NestedTensor padded size. Truncation is not supported.");
      sizes[d] = (*output_size)[d];
    }
  }
  const Tensor result = at::full(sizes, padding, options);
  for (int64_t i = 0; i < shape.parts; ++i) {
    const IntArrayRef own = shape.sizes_of(i);
    Tensor place = at::select(result, 0, i);
    for (int64_t d = 0; d < shape.dims; ++d) place = at::slice(place, d, 0, own[d]);
    at::copy_(place, impl.part(i));
  }
  return fresh(result);
}

// --- factories ---
Tensor empty_like_nested(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> format) {
  return made_like("empty_like", self, options, format,
                   [](IntArrayRef size, const TensorOptions& o) { return at::empty(size, o); });
}
Tensor zeros_like_nested(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> format) {
  return made_like("zeros_like", self, options, format,
                   [](IntArrayRef size, const TensorOptions& o) { return at::zeros(size, o); });
}
Tensor ones_like_nested(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> format) {
  return made_like("ones_like", self, options, format,
                   [](IntArrayRef size, const TensorOptions& o) { return at::ones(size, o); });
}
Tensor full_like_nested(const Tensor& self, const Scalar& fill_value, TensorOptions options,
                        std::optional<MemoryFormat> format) {
  return made_like("full_like", self, options, format,
                   [&](IntArrayRef size, const TensorOptions& o) { return at::full(size, fill_value, o); });
}
Tensor rand_like_nested(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> format) {
  return made_like("rand_like", self, options, format,
                   [](IntArrayRef size, const TensorOptions& o) { return at::rand(size, o); });
}
Tensor randint_like_nested(const Tensor& self, int64_t high, TensorOptions options,
                           std::optional<MemoryFormat> format) {
  return randint_like_low_nested(self, 0, high, options, format);
}
Tensor randint_like_low_nested(const Tensor& self, int64_t low, int64_t high, TensorOptions options,
                               std::optional<MemoryFormat> format) {
  return made_like("randint_like", self, options, format,
                   [&](IntArrayRef size, const TensorOptions& o) { return at::randint(low, high, size, o); });
}
Tensor randn_like_nested(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> format) {
  return made_like("randn_like", self, options, format,
                   [](IntArrayRef size, const TensorOptions& o) { return at::randn(size, o); });
}

// --- copies ---
Tensor clone_nested(const Tensor& self, std::optional<MemoryFormat> memory_format) {
  check_format("clone", memory_format);
  return copy_of(self, memory_format, [&](const Tensor& t) { return at::clone(t, memory_format); });
}

Tensor _to_copy_nested(const Tensor& self, TensorOptions options, bool, std::optional<MemoryFormat> memory_format) {
  check_format("to(options)", memory_format);
  const TensorOptions merged = options_like("to(options)", self, options);
  const TensorOptions wanted = TensorOptions(merged.scalar_type()).device(merged.device());
  return copy_of(self, memory_format, [&](const Tensor& t) { return at::_to_copy(t, wanted, false, memory_format); });
}

Tensor& copy_nested_(Tensor& self, const Tensor& src, bool) {
  TORCH_CHECK(self.is_nested() && src.is_nested(),
              "copy_() between dense and nested tensors is not implemented; to_padded_tensor "
              "and as_nested_tensor convert");
  NestedTensorImpl &to = nested::impl_of("copy_", self), &from = nested::impl_of("copy_", src);
  TORCH_CHECK(nested::same_sizes(*to.shape(), *from.shape()),
              "copy_ only supports tensors that are the same size for Nested implementations");
  if (self.is_same(src)) return self;
  const bool both_jagged = to.is_jagged() && from.is_jagged() && to.jagged().dim == from.jagged().dim;
  if (to.fills_buffer() && from.fills_buffer() && to.buffer().sizes() == from.buffer().sizes() &&
      (both_jagged || (!to.is_jagged() && !from.is_jagged() && nested::same_places(*to.shape(), *from.shape())))) {
    Tensor buffer = to.buffer();
    at::copy_(buffer, from.buffer());
    return self;
  }
  for (int64_t i = 0; i < to.shape()->parts; ++i) {
    Tensor part = to.part(i);
    at::copy_(part, from.part(i));
  }
  return self;
}

Tensor& fill_scalar_nested_(Tensor& self, const Scalar& value) {
  return nested::change_elements("fill_", self, [&](Tensor& t) { at::fill_(t, value); });
}
Tensor& zero_nested_(Tensor& self) {
  return nested::change_elements("zero_", self, [](Tensor& t) { at::zero_(t); });
}

Tensor detach_nested(const Tensor& self) {
  const Tensor result = nested::plain(self);
  result.unsafeGetTensorImpl()->set_inference(self.is_inference());
  return result;
}
Tensor alias_nested(const Tensor& self) {
  return detach_nested(self);
}

}  // namespace at::native
