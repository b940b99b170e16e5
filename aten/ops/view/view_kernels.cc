// The views that are computed from sizes and strides alone; the rest of the family is composed of them (view_composites.cc).
#include <algorithm>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cpu/cast.h"
#include "aten/ops/view/kernels.h"
#include "aten/ops/view/pieces.h"

namespace at::native {
namespace {

DimVector copy_of(IntArrayRef values) {
  return DimVector(values.begin(), values.end());
}

// Throws unless (sizes, strides, offset) is a geometry that stays inside the storage of `self`.
void check_geometry(const char* name, const Tensor& self, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  TORCH_CHECK(
      sizes.size() == strides.size(),
      "mismatch in length of strides and shape");
  checked_numel(sizes);
  for (int64_t stride : strides) {
    TORCH_CHECK(stride >= 0, name, ": Negative strides are not supported at the moment, got strides: ", strides);
  }
  TORCH_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
  const int64_t nbytes = checked_storage_nbytes(sizes, strides, offset, self.itemsize());
  const int64_t available = self.has_storage() ? static_cast<int64_t>(self.storage().nbytes()) : 0;
  TORCH_CHECK(
      nbytes <= available,
      "setStorage: sizes ", sizes, ", strides ", strides, ", storage offset ", offset, ", and itemsize ",
      self.itemsize(), " requiring a storage size of ", nbytes, " are out of bounds for storage of size ", available);
}

// Gives `self` the geometry of a view of itself.
Tensor& take_geometry(Tensor& self, const Tensor& view) {
  TensorImpl& impl = *self.unsafeGetTensorImpl();
  impl.set_storage_offset(view.storage_offset());
  impl.set_sizes_and_strides(view.sizes(), view.strides());
  return self;
}

}  // namespace

Tensor as_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset) {
  const int64_t offset = storage_offset.value_or(self.storage_offset());
  check_geometry("as_strided", self, size, stride, offset);
  return make_view(self, size, stride, offset);
}

Tensor& as_strided_(Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset) {
  const int64_t offset = storage_offset.value_or(self.storage_offset());
  check_geometry("as_strided_", self, size, stride, offset);
  TensorImpl& impl = *self.unsafeGetTensorImpl();
  impl.set_storage_offset(offset);
  impl.set_sizes_and_strides(size, stride);
  return self;
}

Tensor alias(const Tensor& self) {
  return make_view(self, self.sizes(), self.strides(), self.storage_offset());
}

// Shares data and version with `self` but is no view to autograd: a change of either is seen in both, no gradient flows.
Tensor detach(const Tensor& self) {
  self.sizes();  // throws where undefined
  auto impl = self.unsafeGetTensorImpl()->shallow_copy();
  impl->set_inference(self.is_inference());
  return Tensor(std::move(impl));
}

Tensor& detach_(Tensor& self) {
  self.sizes();  // throws where undefined
  TORCH_CHECK(!self.is_view(), "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
              "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() "
              "cannot be called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
              "torch/optim/optimizer.py as the solution.");
  TensorImpl& impl = *self.unsafeGetTensorImpl();
  if (impl.autograd_meta() != nullptr) impl.autograd_meta()->detach(impl);
  return self;
}

Tensor view(const Tensor& self, IntArrayRef size) {
  if (C10_LIKELY(self.is_contiguous())) {
    // Without a -1 or a 0 the shape is taken as it is.
    int64_t numel = 1;
    bool plain = true;
    for (int64_t extent : size) plain &= extent > 0 && !__builtin_mul_overflow(numel, extent, &numel);
    if (C10_LIKELY(plain && numel == self.numel())) return make_contiguous_view(self, size);
  }
  const DimVector shape = infer_shape(size, self.numel());
  if (self.is_contiguous()) return make_contiguous_view(self, shape);
  const std::optional<DimVector> strides = view_strides(self.sizes(), self.strides(), shape);
  TORCH_CHECK(
      strides.has_value(),
      "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
      "contiguous subspaces). Use .reshape(...) instead.");
  return make_view(self, shape, *strides, self.storage_offset());
}

Tensor view_dtype(const Tensor& self, ScalarType dtype) {
  const int64_t from = static_cast<int64_t>(self.itemsize());
  const int64_t to = static_cast<int64_t>(elementSize(dtype));
  if (self.scalar_type() == dtype) return alias(self);
  cpu::prepare_type(dtype);
  if (from == to) return make_view(self, self.sizes(), self.strides(), self.storage_offset(), dtype);
  TORCH_CHECK(
      self.dim() > 0,
      "self.dim() cannot be 0 to view ", toString(self.scalar_type()), " as ", toString(dtype),
      " (different element sizes)");
  const int64_t rank = self.dim();
  DimVector sizes = copy_of(self.sizes());
  DimVector strides = copy_of(self.strides());
  TORCH_CHECK(
      strides[rank - 1] == 1,
      "self.stride(-1) must be 1 to view ", toString(self.scalar_type()), " as ", toString(dtype),
      " (different element sizes), but got ", strides[rank - 1]);
  int64_t offset = self.storage_offset();
  if (from > to) {
    const int64_t ratio = from / to;
    for (int64_t d = 0; d < rank - 1; ++d) strides[d] *= ratio;
    sizes[rank - 1] *= ratio;
    offset *= ratio;
  } else {
    const int64_t ratio = to / from;
    TORCH_CHECK(
        sizes[rank - 1] % ratio == 0,
        "self.size(-1) must be divisible by ", ratio, " to view ", toString(self.scalar_type()), " as ",
        toString(dtype), " (different element sizes), but got ", sizes[rank - 1]);
    TORCH_CHECK(
        offset % ratio == 0,
        "self.storage_offset() must be divisible by ", ratio, " to view ", toString(self.scalar_type()), " as ",
        toString(dtype), " (different element sizes), but got ", offset);
    for (int64_t d = 0; d < rank - 1; ++d) {
      TORCH_CHECK(
          strides[d] % ratio == 0,
          "self.stride(", d, ") must be divisible by ", ratio, " to view ", toString(self.scalar_type()), " as ",
          toString(dtype), " (different element sizes), but got ", strides[d]);
      strides[d] /= ratio;
    }
    sizes[rank - 1] /= ratio;
    offset /= ratio;
  }
  return make_view(self, sizes, strides, offset, dtype);
}

Tensor view_as_real(const Tensor& self) {
  TORCH_CHECK_TYPE(self.is_complex(), "view_as_real is only supported for complex tensors");
  DimVector sizes = copy_of(self.sizes());
  DimVector strides = copy_of(self.strides());
  for (auto& stride : strides) stride *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  return make_view(self, sizes, strides, self.storage_offset() * 2, toRealValueType(self.scalar_type()));
}

Tensor view_as_complex(const Tensor& self) {
  const ScalarType dtype = self.scalar_type();
  TORCH_CHECK_NOT_IMPLEMENTED(dtype == ScalarType::Half || dtype == ScalarType::Float || dtype == ScalarType::Double,
              "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: ",
              toString(dtype));
  TORCH_CHECK(self.dim() != 0, "Input tensor must have one or more dimensions");
  TORCH_CHECK(self.size(-1) == 2, "Tensor must have a last dimension of size 2");
  TORCH_CHECK(self.stride(-1) == 1, "Tensor must have a last dimension with stride 1");
  DimVector sizes = copy_of(self.sizes());
  DimVector strides = copy_of(self.strides());
  sizes.pop_back();
  strides.pop_back();
  for (auto& stride : strides) {
    TORCH_CHECK(stride % 2 == 0, "Tensor must have a stride divisible by 2 for all but last dimension");
    stride /= 2;
  }
  TORCH_CHECK(self.storage_offset() % 2 == 0, "Tensor must have a storage_offset divisible by 2");
  return make_view(self, sizes, strides, self.storage_offset() / 2, toComplexType(dtype));
}

Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  dim0 = maybe_wrap_dim(dim0, self.dim());
  dim1 = maybe_wrap_dim(dim1, self.dim());
  DimVector sizes = copy_of(self.sizes());
  DimVector strides = copy_of(self.strides());
  if (dim0 != dim1) {
    std::swap(sizes[dim0], sizes[dim1]);
    std::swap(strides[dim0], strides[dim1]);
  }
  return make_view(self, sizes, strides, self.storage_offset());
}

Tensor& transpose_(Tensor& self, int64_t dim0, int64_t dim1) {
  return take_geometry(self, transpose(self, dim0, dim1));
}

Tensor t(const Tensor& self) {
  TORCH_CHECK(self.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", self.dim(), "D");
  return transpose(self, 0, self.dim() < 2 ? 0 : 1);
}

Tensor& t_(Tensor& self) {
  TORCH_CHECK(self.dim() <= 2, "t_() expects a tensor with <= 2 dimensions, but self is ", self.dim(), "D");
  return take_geometry(self, transpose(self, 0, self.dim() < 2 ? 0 : 1));
}

Tensor permute(const Tensor& self, IntArrayRef dims) {
  const int64_t rank = self.dim();
  TORCH_CHECK(
      static_cast<int64_t>(dims.size()) == rank,
      "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering "
      "of dimensions i.e. input.dim() = ", rank, " is not equal to len(dims) = ", dims.size());
  DimVector sizes(rank);
  DimVector strides(rank);
  DimVector seen(rank);
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t d = maybe_wrap_dim(dims[i], rank);
    TORCH_CHECK(!seen[d], "permute(): duplicate dims are not allowed.");
    seen[d] = 1;
    sizes[i] = self.size(d);
    strides[i] = self.stride(d);
  }
  return make_view(self, sizes, strides, self.storage_offset());
}

Tensor expand(const Tensor& self, IntArrayRef size, bool implicit) {
  const int64_t rank = self.dim();
  const int64_t new_rank = static_cast<int64_t>(size.size());
  TORCH_CHECK(
      new_rank >= rank,
      "expand(", self.toString(), "{", self.sizes(), "}, size=", size,
      "): the number of sizes provided (", new_rank,
      ") must be greater or equal to the number of dimensions in the tensor (", rank, ")");
  DimVector sizes = copy_of(size);
  DimVector strides(new_rank);
  for (int64_t i = new_rank - 1; i >= 0; --i) {
    const int64_t d = i - (new_rank - rank);
    const int64_t old_size = d >= 0 ? self.size(d) : 1;
    const int64_t old_stride =
        d >= 0 ? self.stride(d) : (i + 1 < new_rank ? sizes[i + 1] * strides[i + 1] : 1);
    if (sizes[i] == -1) {
      TORCH_CHECK(
          d >= 0, "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension ", i);
      sizes[i] = old_size;
    }
    TORCH_CHECK(sizes[i] >= 0, "expand: negative size ", sizes[i], " at dimension ", i);
    if (old_size == sizes[i]) {
      strides[i] = old_stride;
    } else {
      TORCH_CHECK(
          old_size == 1,
          "The expanded size of the tensor (", sizes[i], ") must match the existing size (", old_size,
          ") at non-singleton dimension ", i, ".  Target sizes: ", size, ".  Tensor sizes: ", self.sizes());
      strides[i] = 0;
    }
  }
  checked_numel(sizes);
  return make_view(self, sizes, strides, self.storage_offset());
}

Tensor select(const Tensor& self, int64_t dim, int64_t index) {
  TORCH_CHECK_INDEX(self.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
  dim = maybe_wrap_dim(dim, self.dim());
  const int64_t size = self.size(dim);
  TORCH_CHECK_INDEX(
      index >= -size && index < size,
      "select(): index ", index, " out of range for tensor of size ", self.sizes(), " at dimension ", dim);
  if (index < 0) index += size;
  DimVector sizes = copy_of(self.sizes());
  DimVector strides = copy_of(self.strides());
  const int64_t offset = self.storage_offset() + index * strides[dim];
  sizes.erase(sizes.begin() + dim);
  strides.erase(strides.begin() + dim);
  return make_view(self, sizes, strides, offset);
}

Tensor slice(
    const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  TORCH_CHECK_INDEX(self.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  dim = maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK(step > 0, "slice step must be positive");
  const int64_t size = self.size(dim);
  auto clamp = [size](int64_t position) {
    if (position < 0) position += size;
    return std::clamp<int64_t>(position, 0, size);
  };
  const int64_t first = clamp(start.value_or(0));
  const int64_t last = std::max(clamp(end.value_or(size)), first);
  DimVector sizes = copy_of(self.sizes());
  DimVector strides = copy_of(self.strides());
  const int64_t length = last - first;
  sizes[dim] = length / step + (length % step != 0);
  const int64_t offset = self.storage_offset() + first * strides[dim];
  // A step past the end never leads anywhere: keep the stride small rather than let it overflow.
  if (sizes[dim] > 1) strides[dim] *= step;
  return make_view(self, sizes, strides, offset);
}

Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t rank = self.dim();
  const int64_t d1 = maybe_wrap_dim(dim1, rank);
  const int64_t d2 = maybe_wrap_dim(dim2, rank);
  TORCH_CHECK(d1 != d2, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  const int64_t rows = self.size(d1);
  const int64_t cols = self.size(d2);
  int64_t length = 0;
  int64_t start = self.storage_offset();
  if (offset >= 0) {
    if (offset < cols) length = std::min(rows, cols - offset);
    if (length > 0) start += offset * self.stride(d2);
  } else {
    if (offset > -rows) length = std::min(rows + offset, cols);
    if (length > 0) start -= offset * self.stride(d1);
  }
  DimVector sizes;
  DimVector strides;
  for (int64_t d = 0; d < rank; ++d) {
    if (d == d1 || d == d2) continue;
    sizes.push_back(self.size(d));
    strides.push_back(self.stride(d));
  }
  sizes.push_back(std::max<int64_t>(length, 0));
  strides.push_back(self.stride(d1) + self.stride(d2));
  return make_view(self, sizes, strides, start);
}

Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  const int64_t rank = self.dim();
  const int64_t d = maybe_wrap_dim(dimension, rank);
  const int64_t available = rank == 0 ? 1 : self.size(d);
  TORCH_CHECK(size >= 0, "size is ", size, " but must be >= 0");
  TORCH_CHECK(
      size <= available, "maximum size for tensor at dimension ", d, " is ", available, " but size is ", size);
  TORCH_CHECK(step > 0, "step is ", step, " but must be > 0");
  DimVector sizes = copy_of(self.sizes());
  DimVector strides = copy_of(self.strides());
  const int64_t stride = rank == 0 ? 1 : strides[d];
  if (rank > 0) {
    sizes[d] = (available - size) / step + 1;
    if (sizes[d] > 1) strides[d] *= step;
  }
  sizes.push_back(size);
  strides.push_back(stride);
  return make_view(self, sizes, strides, self.storage_offset());
}

namespace {

template <class Keep>
Tensor squeeze_where(const Tensor& self, Keep&& drop) {
  DimVector sizes;
  DimVector strides;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (self.size(d) == 1 && drop(d)) continue;
    sizes.push_back(self.size(d));
    strides.push_back(self.stride(d));
  }
  return make_view(self, sizes, strides, self.storage_offset());
}

}  // namespace

Tensor squeeze(const Tensor& self) {
  return squeeze_where(self, [](int64_t) { return true; });
}

Tensor squeeze_dim(const Tensor& self, int64_t dim) {
  dim = maybe_wrap_dim(dim, self.dim());
  return squeeze_where(self, [dim](int64_t d) { return d == dim; });
}

Tensor squeeze_dims(const Tensor& self, IntArrayRef dim) {
  DimVector drop(self.dim() == 0 ? 1 : self.dim());
  for (int64_t d : dim) {
    int64_t& mark = drop[maybe_wrap_dim(d, self.dim())];
    TORCH_CHECK(mark == 0, "dim ", d, " appears multiple times in the list of dims");
    mark = 1;
  }
  return squeeze_where(self, [&drop](int64_t d) { return drop[d] != 0; });
}

Tensor& squeeze_(Tensor& self) {
  return take_geometry(self, squeeze(self));
}

Tensor& squeeze_dim_(Tensor& self, int64_t dim) {
  return take_geometry(self, squeeze_dim(self, dim));
}

Tensor& squeeze_dims_(Tensor& self, IntArrayRef dim) {
  return take_geometry(self, squeeze_dims(self, dim));
}

Tensor unsqueeze(const Tensor& self, int64_t dim) {
  dim = maybe_wrap_dim(dim, self.dim() + 1);
  DimVector sizes = copy_of(self.sizes());
  DimVector strides = copy_of(self.strides());
  const int64_t stride = dim < self.dim() ? sizes[dim] * strides[dim] : 1;
  sizes.insert(sizes.begin() + dim, 1);
  strides.insert(strides.begin() + dim, stride);
  return make_view(self, sizes, strides, self.storage_offset());
}

Tensor& unsqueeze_(Tensor& self, int64_t dim) {
  return take_geometry(self, unsqueeze(self, dim));
}

std::vector<Tensor> split_with_sizes(const Tensor& self, IntArrayRef split_sizes, int64_t dim) {
  TORCH_CHECK(self.dim() != 0, "split expects at least a 1-dimensional tensor");
  dim = maybe_wrap_dim(dim, self.dim());
  const int64_t size = self.size(dim);
  int64_t total = 0;
  bool overflow = false;
  for (int64_t length : split_sizes) {
    TORCH_CHECK(
        length >= 0, "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=",
        split_sizes);
    overflow |= __builtin_add_overflow(total, length, &total);
  }
  TORCH_CHECK(
      !overflow && total == size,
      "split_with_sizes expects split_sizes to sum exactly to ", size, " (input tensor's size at dimension ", dim,
      "), but got split_sizes=", split_sizes);
  DimVector sizes = copy_of(self.sizes());
  int64_t offset = self.storage_offset();
  std::vector<Tensor> parts;
  parts.reserve(split_sizes.size());
  for (int64_t length : split_sizes) {
    sizes[dim] = length;
    parts.push_back(make_view(self, sizes, self.strides(), offset, self.scalar_type(), true));
    offset += length * self.stride(dim);
  }
  return parts;
}

std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim) {
  TORCH_CHECK(self.dim() != 0, "split expects at least a 1-dimensional tensor");
  TORCH_CHECK(split_size >= 0, "split expects split_size be non-negative, but got split_size=", split_size);
  dim = maybe_wrap_dim(dim, self.dim());
  const int64_t size = self.size(dim);
  TORCH_CHECK(
      split_size > 0 || size == 0,
      "split_size can only be 0 if dimension size is 0, but got dimension size of ", size);
  const int64_t count = split_size == 0 ? 1 : std::max<int64_t>((size - 1) / split_size + 1, 1);
  check_piece_count("split", count);
  std::vector<int64_t> lengths(count, split_size);
  lengths.back() = split_size == 0 ? 0 : size - (count - 1) * split_size;
  return split_with_sizes(self, lengths, dim);
}

std::vector<Tensor> unbind(const Tensor& self, int64_t dim) {
  TORCH_CHECK_INDEX(self.dim() > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  dim = maybe_wrap_dim(dim, self.dim());
  DimVector sizes = copy_of(self.sizes());
  DimVector strides = copy_of(self.strides());
  const int64_t count = sizes[dim];
  check_piece_count("unbind", count);
  const int64_t step = strides[dim];
  sizes.erase(sizes.begin() + dim);
  strides.erase(strides.begin() + dim);
  std::vector<Tensor> parts;
  parts.reserve(count);
  for (int64_t i = 0; i < count; ++i) {
    parts.push_back(
        make_view(self, sizes, strides, self.storage_offset() + i * step, self.scalar_type(), true));
  }
  return parts;
}

}  // namespace at::native
