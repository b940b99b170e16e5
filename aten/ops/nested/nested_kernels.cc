// Nested tensors from dense ones.
#include <algorithm>
#include <memory>

#include "aten/core/empty.h"
#include "aten/nested/nested_tensor_impl.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/nested/kernels.h"
#include "aten/ops/nested/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

void check_same_dims(TensorList list) {
  for (size_t i = 0; i < list.size(); ++i) {
    TORCH_CHECK(list[i].defined(), "_nested_tensor_from_tensor_list: tensor ", i, " is undefined");
    TORCH_CHECK(list[i].layout() == Layout::Strided && !list[i].is_quantized() && !list[i].is_nested(),
                "_nested_tensor_from_tensor_list: expected dense tensors, but tensor ", i, " is a ",
                list[i].toString());
    TORCH_CHECK(list[i].dim() == list[0].dim(),
                "All Tensors given to nested_tensor must have the same dimension. Found dimension ", list[i].dim(),
                " for Tensor at index ", i, " and dimension ", list[0].dim(), " for Tensor at index 0.");
  }
}

// What `t` holds, a tensor of sizes, strides or offsets.
void check_numbers(const char* op, const char* argument, const Tensor& t, int64_t dims, Device device) {
  TORCH_CHECK(t.layout() == Layout::Strided && t.device() == device && t.scalar_type() == kLong && t.dim() == dims, op,
              ": expected ", argument, " to be an int64 tensor of ", dims, " dimension(s) on the ",
              device.is_cpu() ? "CPU" : "meta device", ", but got a ", t.toString(), " of size ", t.sizes());
}

std::vector<int64_t> numbers_of(const char* op, const char* argument, const Tensor& t, int64_t dims) {
  // They are the host's to read, wherever they lie.
  const Tensor here = t.is_cuda() ? at::to(t, Device(kCPU), t.scalar_type()) : t;
  check_numbers(op, argument, here, dims, kCPU);
  const Tensor values = dense(here);
  const int64_t* const data = values.data_ptr<int64_t>();
  const std::vector<int64_t> numbers(data, data + values.numel());
  for (const int64_t n : numbers) TORCH_CHECK(n >= 0, op, ": ", argument, " has a negative number, ", n);
  return numbers;
}

NestedShape shape_of(const char* op, const Tensor& nested_size) {
  NestedShape shape;
  shape.sizes = numbers_of(op, "nested_size", nested_size, 2);
  shape.parts = nested_size.size(0);
  shape.dims = nested_size.size(1);
  return shape;
}

void check_within(const NestedShape& shape, int64_t numel) {
  for (int64_t i = 0; i < shape.parts; ++i) {
    int64_t last = shape.offsets[static_cast<size_t>(i)];
    bool overflow = false, empty = false;
    for (int64_t d = 0; d < shape.dims; ++d) {
      int64_t reach = 0;
      empty |= shape.sizes_of(i)[d] == 0;
      overflow |= __builtin_mul_overflow(shape.sizes_of(i)[d] - 1, shape.strides_of(i)[d], &reach);
      overflow |= __builtin_add_overflow(last, reach, &last);
    }
    TORCH_CHECK(empty || (!overflow && last < numel),
                "_nested_view_from_buffer: part ", i, " of size ", shape.sizes_of(i), ", strides ", shape.strides_of(i),
                " and offset ", shape.offsets[static_cast<size_t>(i)], " does not lie in the buffer of ", numel,
                " elements");
  }
}

// The part of each slice of `padded` that has the sizes of its row.
Tensor cut(const Tensor& padded, const NestedShape& shape) {
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < shape.parts; ++i) {
    Tensor part = at::select(padded, 0, i);
    for (int64_t d = 0; d < shape.dims; ++d) {
      const int64_t size = shape.sizes_of(i)[d];
      TORCH_CHECK(size <= part.size(d), "_nested_from_padded: part ", i, " of size ", shape.sizes_of(i),
                  " is larger than its slice of the padded tensor, ", padded.sizes().slice(1));
      part = at::slice(part, d, 0, size);
    }
    parts.push_back(std::move(part));
  }
  return at::_nested_tensor_from_tensor_list(parts, padded.options());
}

}  // namespace

Tensor _nested_tensor_from_tensor_list(TensorList list, TensorOptions options) {
  const char* const op = "_nested_tensor_from_tensor_list";
  TORCH_CHECK_NOT_IMPLEMENTED(options.layout() == Layout::Strided, op, ": only the strided layout is implemented, not ",
                              options.layout());
  TORCH_CHECK_NOT_IMPLEMENTED(!options.pinned_memory(), op, ": pinned memory is not implemented for nested tensors");
  check_same_dims(list);
  const int64_t parts = static_cast<int64_t>(list.size()), dims = list.empty() ? 0 : list[0].dim();
  std::vector<int64_t> sizes;
  for (const Tensor& t : list) sizes.insert(sizes.end(), t.sizes().begin(), t.sizes().end());
  auto shape = nested::packed_shape(parts, dims, std::move(sizes));
  const ScalarType dtype = options.has_dtype() || list.empty() ? options.scalar_type() : list[0].scalar_type();
  const Device device = options.has_device() ? options.device() : list.empty() ? Device(kCPU) : list[0].device();
  TORCH_CHECK_NOT_IMPLEMENTED(device.is_cpu() || device.is_cuda(), op, ": nested tensors are not implemented for ",
                              device.type(), " devices");
  const Tensor result = nested::make_nested(empty_contiguous({shape->numel()}, dtype, device), shape);
  const NestedTensorImpl& impl = nested::impl_of(op, result);
  for (int64_t i = 0; i < parts; ++i) {
    Tensor part = impl.part(i);
    at::copy_(part, list[static_cast<size_t>(i)]);
  }
  return fresh(result);
}

Tensor _nested_view_from_buffer(const Tensor& self, const Tensor& nested_size, const Tensor& nested_strides,
                                const Tensor& offsets) {
  const char* const op = "_nested_view_from_buffer";
  TORCH_CHECK(self.layout() == Layout::Strided && self.dim() == 1 && self.is_contiguous(), op,
              ": expected a contiguous buffer of one dimension, but got size ", self.sizes());
  auto shape = std::make_shared<NestedShape>(shape_of(op, nested_size));
  TORCH_CHECK(nested_strides.sizes() == nested_size.sizes(), op, ": nested_strides of size ", nested_strides.sizes(),
              " do not go with nested_size of size ", nested_size.sizes());
  shape->strides = numbers_of(op, "nested_strides", nested_strides, 2);
  shape->offsets = numbers_of(op, "offsets", offsets, 1);
  TORCH_CHECK(offsets.numel() == shape->parts, op, ": expected one offset a part, but got ", offsets.numel(), " for ",
              shape->parts, " parts");
  check_within(*shape, self.numel());
  return nested::make_nested(self, shape);
}

Tensor _nested_view_from_buffer_copy(const Tensor& self, const Tensor& nested_size, const Tensor& nested_strides,
                                     const Tensor& offsets) {
  return at::clone(at::_nested_view_from_buffer(self, nested_size, nested_strides, offsets));
}

std::tuple<Tensor, Tensor> _nested_compute_contiguous_strides_offsets_meta(const Tensor& nested_size) {
  check_numbers("_nested_compute_contiguous_strides_offsets", "nested_size", nested_size, 2, kMeta);
  return {empty_contiguous(nested_size.sizes(), kLong, kMeta), empty_contiguous({nested_size.size(0)}, kLong, kMeta)};
}
std::tuple<Tensor, Tensor> _nested_compute_contiguous_strides_offsets(const Tensor& nested_size) {
  NestedShape given = shape_of("_nested_compute_contiguous_strides_offsets", nested_size);
  const auto shape = nested::packed_shape(given.parts, given.dims, std::move(given.sizes));
  const Tensor strides = nested::matrix_of(*shape, shape->strides), offsets = nested::vector_of(shape->offsets);
  if (!nested_size.is_cuda()) return {strides, offsets};
  return {at::to(strides, nested_size.device(), kLong), at::to(offsets, nested_size.device(), kLong)};
}

Tensor _nested_from_padded(const Tensor& padded, const Tensor& cpu_nested_shape_example, bool fuse_transform_0213) {
  const NestedShape shape = shape_of("_nested_from_padded", cpu_nested_shape_example);
  Tensor dense = padded;
  if (fuse_transform_0213) {
    TORCH_CHECK(padded.dim() == 4,
                "_nested_from_padded: expected a padded tensor of 4 dimensions to exchange two of, but got ",
                padded.sizes());
    dense = at::flatten(at::transpose(padded, 1, 2), 2, 3);
  }
  TORCH_CHECK(dense.dim() == shape.dims + 1 && dense.size(0) == shape.parts,
              "_nested_from_padded: a padded tensor of size ", padded.sizes(), " does not go with sizes of ",
              shape.parts, " parts of ", shape.dims, " dimensions");
  return cut(dense, shape);
}

Tensor _nested_from_padded_and_nested_example(const Tensor& padded, const Tensor& nt_example) {
  return at::_nested_from_padded(padded, at::_nested_tensor_size(nt_example));
}

namespace {

void check_mask(const Tensor& t, const Tensor& mask) {
  TORCH_CHECK(mask.scalar_type() == kBool, "Expected mask to be of ScalarType Bool, but got ", mask.scalar_type(),
              " instead.");
  TORCH_CHECK(mask.dim() == 2, "Padding mask should be 2D");
  TORCH_CHECK(t.dim() == 3, "Input should be a 3D tensor, N * L * D");
  TORCH_CHECK(t.size(0) == mask.size(0) && t.size(1) == mask.size(1),
              "Padding mask size should match with the first two dimensions of the input");
}

// How many of each row are set.
Tensor lengths_of(const Tensor& mask) {
  return at::contiguous(at::to(at::sum(mask, IntArrayRef({1}), false, kLong), Device(kCPU)));
}

bool is_left_aligned(const Tensor& mask) {
  const Tensor lengths = lengths_of(mask);
  const Tensor dense = at::contiguous(at::to(mask, Device(kCPU)));
  const int64_t* const length = lengths.data_ptr<int64_t>();
  const bool* const set = dense.data_ptr<bool>();
  const int64_t columns = mask.size(1);
  for (int64_t i = 0; i < mask.size(0); ++i) {
    if (!std::all_of(set + i * columns, set + i * columns + length[i], [](bool b) { return b; })) return false;
  }
  return true;
}

}  // namespace

bool _nested_tensor_from_mask_left_aligned(const Tensor& t, const Tensor& mask) {
  check_mask(t, mask);
  return is_left_aligned(mask);
}

Tensor _nested_tensor_from_mask(const Tensor& t, const Tensor& mask, bool mask_check) {
  check_mask(t, mask);
  TORCH_CHECK(!mask_check || is_left_aligned(mask), "Mask must be left-aligned without gaps");
  const Tensor lengths = lengths_of(mask);
  const int64_t* const length = lengths.data_ptr<int64_t>();
  NestedShape shape;
  shape.parts = t.size(0);
  shape.dims = 2;
  for (int64_t i = 0; i < shape.parts; ++i) {
    shape.sizes.push_back(length[i]);
    shape.sizes.push_back(t.size(2));
  }
  return cut(t, shape);
}

// --- the jagged layout ---
namespace {

// A length that came as the size of a tensor.
std::optional<int64_t> length_in(const char* argument, const std::optional<Tensor>& t) {
  if (!t.has_value() || !t->defined()) return std::nullopt;
  TORCH_CHECK_VALUE(t->dim() >= 1, "_nested_view_from_jagged: expected ", argument,
                    " to be a tensor whose first size is the length, but got one of size ", t->sizes());
  return t->size(0);
}

}  // namespace

Tensor _nested_view_from_jagged(const Tensor& self, const Tensor& offsets, const Tensor&,
                                const std::optional<Tensor>& lengths, int64_t ragged_idx,
                                const std::optional<Tensor>& min_seqlen, const std::optional<Tensor>& max_seqlen) {
  const char* const op = "nested_tensor_from_jagged()";
  return nested::make_jagged(op, self,
                             {nested::ragged_structure(op, offsets, lengths.value_or(Tensor())), ragged_idx,
                              length_in("min_seqlen", min_seqlen), length_in("max_seqlen", max_seqlen)});
}

Tensor _nested_view_from_jagged_copy(const Tensor& self, const Tensor& offsets, const Tensor& dummy,
                                     const std::optional<Tensor>& lengths, int64_t ragged_idx,
                                     const std::optional<Tensor>& min_seqlen, const std::optional<Tensor>& max_seqlen) {
  return at::_nested_view_from_jagged(at::clone(self), offsets, dummy, lengths, ragged_idx, min_seqlen, max_seqlen);
}

Tensor _nested_get_values_copy(const Tensor& self) {
  return at::clone(at::_nested_get_values(self));
}

Tensor _nested_from_padded_tensor(const Tensor& padded, const Tensor& offsets, const Tensor& dummy, int64_t ragged_idx,
                                  const std::optional<Tensor>& min_seqlen, const std::optional<Tensor>& max_seqlen,
                                  std::optional<int64_t> sum_S) {
  const char* const op = "_nested_from_padded_tensor";
  const auto structure = nested::ragged_structure(op, offsets, Tensor());
  TORCH_CHECK_INDEX(ragged_idx >= 1 && ragged_idx < padded.dim(), op, ": the ragged dimension ", ragged_idx,
                    " is out of range for a padded tensor of ", padded.dim(), " dimension(s)");
  TORCH_CHECK(padded.size(0) == structure->parts(), op, ": offsets for ", structure->parts(),
              " parts do not go with a padded tensor of size ", padded.sizes());
  TORCH_CHECK(structure->longest <= padded.size(ragged_idx), op, ": a part of length ", structure->longest,
              " is longer than the padded tensor, of size ", padded.sizes());
  TORCH_CHECK(structure->has_no_gaps, op, ": offsets must begin at 0");
  TORCH_CHECK(!sum_S.has_value() || *sum_S == structure->total, op, ": sum_S is ", sum_S.value_or(0),
              ", but the parts have ", structure->total, " places");
  const int64_t dim = ragged_idx - 1;
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < structure->parts(); ++i) {
    parts.push_back(at::slice(at::select(padded, 0, i), dim, 0, structure->length[static_cast<size_t>(i)]));
  }
  if (parts.empty()) {
    DimVector sizes(padded.sizes().begin() + 1, padded.sizes().end());
    sizes[static_cast<size_t>(dim)] = 0;
    parts.push_back(at::reshape(padded, sizes));
  }
  return at::_nested_view_from_jagged(at::cat(parts, dim), offsets, dummy, {}, ragged_idx, min_seqlen, max_seqlen);
}

Tensor nested_to_padded_tensor(const Tensor& self, double padding, OptionalIntArrayRef output_size) {
  return at::to_padded_tensor(self, padding, output_size);
}

}  // namespace at::native
