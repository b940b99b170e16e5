// Members of the view family that are compositions of others, differentiable because those are.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/view/kernels.h"
#include "aten/ops/view/ops.h"
#include "aten/ops/view/pieces.h"
#include "aten/ops/view/transpose_last_two.h"

namespace at::native {
namespace {

// The bounds of pieces `indices` cut a dimension of `size` into, as numpy does it: piece i runs from bound i to bound i + 1.
std::vector<Tensor> split_at(const Tensor& self, IntArrayRef indices, int64_t dim) {
  std::vector<Tensor> parts;
  parts.reserve(indices.size() + 1);
  int64_t start = 0;
  for (int64_t index : indices) {
    parts.push_back(at::slice(self, dim, start, index, 1));
    start = index;
  }
  parts.push_back(at::slice(self, dim, start, std::nullopt, 1));
  return parts;
}

void check_split_rank(const char* name, const Tensor& self, int64_t least) {
  TORCH_CHECK(
      self.dim() >= least,
      name, " requires a tensor with at least ", least, " dimension", least > 1 ? "s" : "",
      ", but got a tensor with ", self.dim(), " dimensions!");
}

void check_divisible(const char* name, const Tensor& self, int64_t dim, int64_t sections) {
  TORCH_CHECK(
      sections > 0 && self.size(dim) % sections == 0,
      name, " attempted to split along dimension ", dim, ", but the size of the dimension ", self.size(dim),
      " is not divisible by the split_size ", sections, "!");
}

}  // namespace

Tensor reshape(const Tensor& self, IntArrayRef shape) {
  const DimVector sizes = infer_shape(shape, self.numel());
  if (self.is_contiguous() || view_strides(self.sizes(), self.strides(), sizes)) return at::view(self, sizes);
  return at::view(at::clone(self, MemoryFormat::Contiguous), sizes);
}

Tensor reshape_as(const Tensor& self, const Tensor& other) {
  return at::reshape(self, other.sizes());
}

Tensor view_as(const Tensor& self, const Tensor& other) {
  return at::view(self, other.sizes());
}

Tensor contiguous(const Tensor& self, MemoryFormat memory_format) {
  if (self.is_contiguous(memory_format)) return self;
  TORCH_CHECK(
      memory_format != MemoryFormat::Preserve, "preserve memory format is unsupported by the contiguous operator");
  return at::clone(self, memory_format);
}

Tensor flatten(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  start_dim = maybe_wrap_dim(start_dim, self.dim());
  end_dim = maybe_wrap_dim(end_dim, self.dim());
  TORCH_CHECK(start_dim <= end_dim, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (self.dim() == 0) return at::reshape(self, {1});
  if (start_dim == end_dim) return self;
  DimVector shape;
  int64_t joined = 1;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d >= start_dim && d <= end_dim) {
      joined *= self.size(d);
      if (d == end_dim) shape.push_back(joined);
    } else {
      shape.push_back(self.size(d));
    }
  }
  return at::reshape(self, shape);
}

Tensor ravel(const Tensor& self) {
  return at::view(at::contiguous(self), {-1});
}

Tensor unflatten(const Tensor& self, int64_t dim, IntArrayRef sizes) {
  dim = maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK(!sizes.empty(), "unflatten: sizes must be non-empty");
  const int64_t size = self.dim() == 0 ? 1 : self.size(dim);
  int64_t product = 1;
  bool inferred = false, overflow = false;
  for (int64_t n : sizes) {
    inferred = inferred || n == -1;
    if (n != -1) overflow = overflow || __builtin_mul_overflow(product, n, &product);
  }
  TORCH_CHECK(inferred || (product == size && !overflow), "unflatten: Provided sizes ", sizes,
              " don't multiply up to the size of dim ", dim, " (", size, ") in the input tensor");
  const DimVector pieces = infer_shape(sizes, size);
  DimVector shape;
  for (int64_t d = 0; d < dim; ++d) shape.push_back(self.size(d));
  for (int64_t piece : pieces) shape.push_back(piece);
  for (int64_t d = dim + 1; d < self.dim(); ++d) shape.push_back(self.size(d));
  return at::view(self, shape);
}

Tensor expand_as(const Tensor& self, const Tensor& other) {
  return at::expand(self, other.sizes());
}

Tensor broadcast_to(const Tensor& self, IntArrayRef size) {
  return at::expand(self, size);
}

std::vector<Tensor> broadcast_tensors(TensorList tensors) {
  DimVector shape;
  for (const Tensor& tensor : tensors) shape = broadcast_shapes(shape, tensor.sizes());
  std::vector<Tensor> results;
  results.reserve(tensors.size());
  for (const Tensor& tensor : tensors) results.push_back(at::expand(tensor, shape));
  return results;
}

Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  TORCH_CHECK(self.dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  TORCH_CHECK(length >= 0, "narrow(): length must be non-negative.");
  const int64_t size = self.size(dim);
  TORCH_CHECK_INDEX(
      start >= -size && start <= size,
      "start out of range (expected to be in range of [", -size, ", ", size, "], but got ", start, ")");
  if (start < 0) start += size;
  TORCH_CHECK(
      start <= size - length, "start (", start, ") + length (", length, ") exceeds dimension size (", size, ").");
  return at::slice(self, dim, start, start + length, 1);
}

Tensor narrow_tensor(const Tensor& self, int64_t dim, const Tensor& start, int64_t length) {
  TORCH_CHECK(
      start.dim() == 0 && isIntegralType(start.scalar_type(), /*includeBool=*/false),
      "start must be an 0-dim integral Tensor.");
  return at::narrow(self, dim, at::item(start).toLong(), length);
}

Tensor narrow_copy(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  return at::clone(at::narrow(self, dim, start, length), MemoryFormat::Contiguous);
}

Tensor movedim_intlist(const Tensor& self, IntArrayRef source, IntArrayRef destination) {
  TORCH_CHECK(
      source.size() == destination.size(),
      "movedim: Invalid source or destination dims: source (", source, " dims) should contain the same number of dims "
      "as destination (", destination, " dims)");
  const int64_t rank = self.dim();
  DimVector order(rank, -1);
  DimVector taken(rank);
  for (size_t i = 0; i < source.size(); ++i) {
    const int64_t from = maybe_wrap_dim(source[i], rank);
    const int64_t to = maybe_wrap_dim(destination[i], rank);
    TORCH_CHECK(rank == 0 || !taken[from], "movedim: repeated dim in `source` (", source, ")");
    TORCH_CHECK(rank == 0 || order[to] == -1, "movedim: repeated dim in `destination` (", destination, ")");
    if (rank == 0) continue;
    taken[from] = 1;
    order[to] = from;
  }
  int64_t next = 0;
  for (int64_t d = 0; d < rank; ++d) {
    if (order[d] != -1) continue;
    while (taken[next]) ++next;
    order[d] = next++;
  }
  return at::permute(self, order);
}

Tensor movedim_int(const Tensor& self, int64_t source, int64_t destination) {
  return at::movedim(self, IntArrayRef(source), IntArrayRef(destination));
}

Tensor numpy_t(const Tensor& self) {
  if (self.dim() != 2 && self.dim() != 0) {
    KD_WARN_DEPRECATION_ONCE(
        "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error in a "
        "future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
        "reverse the dimensions of a tensor.");
  } else if (self.dim() == 0) {
    KD_WARN_DEPRECATION_ONCE("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.");
  }
  DimVector order;
  for (int64_t d = self.dim() - 1; d >= 0; --d) order.push_back(d);
  return at::permute(self, order);
}

Tensor swapaxes(const Tensor& self, int64_t axis0, int64_t axis1) {
  return at::transpose(self, axis0, axis1);
}

Tensor& swapaxes_(Tensor& self, int64_t axis0, int64_t axis1) {
  return at::transpose_(self, axis0, axis1);
}

Tensor m_transposed(const Tensor& self) {
  return transpose_last_two("mT", self);
}

Tensor real(const Tensor& self) {
  return self.is_complex() ? at::select(at::view_as_real(self), -1, 0) : self;
}

Tensor imag(const Tensor& self) {
  TORCH_CHECK_TYPE(self.is_complex(), "imag is not implemented for tensors with non-complex dtypes.");
  return at::select(at::view_as_real(self), -1, 1);
}

Tensor itself(const Tensor& self) {
  return self;
}

Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t rank = self.dim() + 1;
  const int64_t d1 = maybe_wrap_dim(dim1, rank);
  const int64_t d2 = maybe_wrap_dim(dim2, rank);
  TORCH_CHECK(d1 != d2, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  TORCH_CHECK(self.dim() > 0, "diag_embed: expected a tensor with at least 1 dimension, got a 0-dim tensor");
  const uint64_t shift = offset < 0 ? 0 - static_cast<uint64_t>(offset) : static_cast<uint64_t>(offset);
  int64_t side = 0;
  TORCH_CHECK_VALUE(!__builtin_add_overflow(self.size(-1), shift, &side), "diag_embed: offset ", offset, " is too large");
  DimVector sizes(self.sizes().begin(), self.sizes().end());
  sizes.pop_back();
  sizes.insert(sizes.begin() + std::min(d1, d2), side);
  sizes.insert(sizes.begin() + std::max(d1, d2), side);
  Tensor result = empty_contiguous(sizes, self.scalar_type(), self.device());
  at::zero_(result);
  Tensor diagonal = at::diagonal(result, offset, d1, d2);
  at::copy_(diagonal, self);
  return result;
}

Tensor diagflat(const Tensor& self, int64_t offset) {
  return at::diag_embed(at::reshape(self, {-1}), offset, 0, 1);
}

Tensor diag(const Tensor& self, int64_t diagonal) {
  TORCH_CHECK(self.dim() == 1 || self.dim() == 2, "diag(): Supports 1D or 2D tensors. Got ", self.dim(), "D");
  return self.dim() == 1 ? at::diag_embed(self, diagonal, 0, 1)
                         : at::clone(at::diagonal(self, diagonal, 0, 1), MemoryFormat::Contiguous);
}

namespace {

// A copy of `self` in which the part that `view` shows is `src`.
template <class View>
Tensor scatter_view(const char* name, const Tensor& self, const Tensor& src, const View& view) {
  Tensor result = at::clone(self);
  Tensor part = view(result);
  TORCH_CHECK(
      part.sizes() == src.sizes(),
      name, ": expected src to have a size equal to the slice of self. src size = ", src.sizes(), ", slice size = ",
      part.sizes());
  at::copy_(part, src);
  return result;
}

}  // namespace

Tensor slice_scatter(
    const Tensor& self, const Tensor& src, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
    int64_t step) {
  return scatter_view(
      "slice_scatter", self, src, [&](const Tensor& whole) { return at::slice(whole, dim, start, end, step); });
}

Tensor select_scatter(const Tensor& self, const Tensor& src, int64_t dim, int64_t index) {
  return scatter_view(
      "select_scatter", self, src, [&](const Tensor& whole) { return at::select(whole, dim, index); });
}

Tensor diagonal_scatter(const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) {
  return scatter_view(
      "diagonal_scatter", self, src, [&](const Tensor& whole) { return at::diagonal(whole, offset, dim1, dim2); });
}

namespace {
// Whether every stride passes what the dimensions of lesser strides span: no element lies where another does. Strides of
// 0 are left to copy_, which refuses them.
bool lie_apart(const Tensor& t) {
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.size(d) != 1) steps.emplace_back(t.stride(d), t.size(d));
  }
  std::sort(steps.begin(), steps.end());
  int64_t span = 0;
  for (const auto& [stride, size] : steps) {
    if (stride == 0) return true;
    if (stride <= span) return false;
    span += stride * (size - 1);
  }
  return true;
}

// Of several elements for one place the last one stays, which devices, whose threads have no order, are told by calls.
void copy_in_order(Tensor to, const Tensor& from) {
  if (to.is_cpu() || to.dim() == 0 || lie_apart(to)) {
    at::copy_(to, from);
    return;
  }
  for (int64_t i = 0; i < to.size(0); ++i) copy_in_order(at::select(to, 0, i), at::select(from, 0, i));
}
}  // namespace

// The geometry is that of self's storage, of which the result has a copy.
Tensor as_strided_scatter(
    const Tensor& self, const Tensor& src, IntArrayRef size, IntArrayRef stride,
    std::optional<int64_t> storage_offset) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.has_storage(), "as_strided_scatter is not implemented for tensors without storage");
  const int64_t stored = static_cast<int64_t>(self.storage().nbytes() / self.itemsize());
  const Tensor whole = at::clone(at::as_strided(self, {stored}, {1}, 0));
  Tensor part = at::as_strided(whole, size, stride, storage_offset.value_or(self.storage_offset()));
  TORCH_CHECK(
      part.sizes() == src.sizes(), "as_strided_scatter: expected src to have a size equal to the slice of self. src size = ",
      src.sizes(), ", slice size = ", part.sizes());
  copy_in_order(part, src);
  return at::as_strided(whole, self.sizes(), self.strides(), self.storage_offset());
}

Tensor reshape_alias(const Tensor& self, IntArrayRef size, IntArrayRef stride) {
  return at::as_strided(self, size, stride);
}
Tensor reshape_alias_copy(const Tensor& self, IntArrayRef size, IntArrayRef stride) {
  return at::clone(at::as_strided(self, size, stride), MemoryFormat::Contiguous);
}

Tensor view_copy(const Tensor& self, IntArrayRef size) {
  return at::clone(at::reshape(self, size), MemoryFormat::Contiguous);
}

// The view that autograd takes for a tensor of its own.
Tensor unsafe_view(const Tensor& self, IntArrayRef size) {
  return at::view(self, size);
}

Tensor reshape_from_tensor(const Tensor& self, const Tensor& shape) {
  TORCH_CHECK(shape.dim() == 1 && shape.scalar_type() == ScalarType::Long,
              "_reshape_from_tensor: expected a shape that is a vector of int64, but got one of sizes ", shape.sizes(),
              " and dtype ", shape.scalar_type());
  DimVector sizes;
  for (const Tensor& size : at::unbind(shape)) sizes.push_back(at::item(size).toLong());
  return at::reshape(self, sizes);
}

// What `self` was a slice of: the tensor of src's sizes in self's storage.
Tensor slice_inverse(
    const Tensor& self, const Tensor& src, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
    int64_t step) {
  return at::as_strided(self, src.sizes(), src.strides(), src.storage_offset());
}

std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  TORCH_CHECK(self.dim() > 0, "chunk expects at least a 1-dimensional tensor");
  TORCH_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  const int64_t size = self.size(dim);
  const int64_t length = size / chunks + (size % chunks != 0);
  // An empty dimension still gives the number of chunks asked for.
  check_piece_count("chunk", length == 0 ? chunks : 0);
  if (length == 0) return at::split_with_sizes(self, std::vector<int64_t>(chunks, 0), dim);
  return at::split(self, length, dim);
}

std::vector<Tensor> split_sizes(const Tensor& self, IntArrayRef split_size, int64_t dim) {
  return at::split_with_sizes(self, split_size, dim);
}

namespace {

std::vector<Tensor> copies(const std::vector<Tensor>& views) {
  std::vector<Tensor> results;
  results.reserve(views.size());
  for (const Tensor& view : views) results.push_back(at::clone(view, MemoryFormat::Contiguous));
  return results;
}

}  // namespace

std::vector<Tensor> unsafe_chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  return copies(at::chunk(self, chunks, dim));
}

std::vector<Tensor> unsafe_split(const Tensor& self, int64_t split_size, int64_t dim) {
  return copies(at::split(self, split_size, dim));
}

std::vector<Tensor> unsafe_split_with_sizes(const Tensor& self, IntArrayRef split_sizes, int64_t dim) {
  return copies(at::split_with_sizes(self, split_sizes, dim));
}

std::vector<Tensor> tensor_split_sections(const Tensor& self, int64_t sections, int64_t dim) {
  TORCH_CHECK(
      self.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with ", self.dim(),
      " dims");
  dim = maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK(sections > 0, "number of sections must be larger than 0, got ", sections);
  check_piece_count("tensor_split", sections);
  const int64_t size = self.size(dim);
  std::vector<int64_t> bounds;
  int64_t bound = 0;
  for (int64_t i = 0; i + 1 < sections; ++i) {
    bound += size / sections + (i < size % sections ? 1 : 0);
    bounds.push_back(bound);
  }
  return split_at(self, bounds, dim);
}

std::vector<Tensor> tensor_split_indices(const Tensor& self, IntArrayRef indices, int64_t dim) {
  TORCH_CHECK(
      self.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with ", self.dim(),
      " dims");
  return split_at(self, indices, maybe_wrap_dim(dim, self.dim()));
}

std::vector<Tensor> tensor_split_tensor(const Tensor& self, const Tensor& tensor_indices_or_sections, int64_t dim) {
  const Tensor& bounds = tensor_indices_or_sections;
  TORCH_CHECK(bounds.is_cpu(), "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on ",
              bounds.device().str());
  TORCH_CHECK(
      bounds.scalar_type() == ScalarType::Long,
      "tensor_split expected tensor_indices_or_sections to have dtype of long, but got ",
      toString(bounds.scalar_type()));
  TORCH_CHECK(
      bounds.dim() <= 1,
      "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got a "
      "tensor with ", bounds.dim(), " dims");
  if (bounds.dim() == 0) return at::tensor_split(self, at::item(bounds).toLong(), dim);
  std::vector<int64_t> indices(bounds.numel());
  const int64_t* data = bounds.data_ptr<int64_t>();
  for (size_t i = 0; i < indices.size(); ++i) {
    std::memcpy(&indices[i], data + static_cast<int64_t>(i) * bounds.stride(0), sizeof(indices[i]));  // of any address
  }
  return at::tensor_split(self, indices, dim);
}

std::vector<Tensor> hsplit_int(const Tensor& self, int64_t sections) {
  check_split_rank("torch.hsplit", self, 1);
  const int64_t dim = self.dim() == 1 ? 0 : 1;
  check_divisible("torch.hsplit", self, dim, sections);
  return at::tensor_split(self, sections, dim);
}

std::vector<Tensor> hsplit_array(const Tensor& self, IntArrayRef indices) {
  check_split_rank("torch.hsplit", self, 1);
  return at::tensor_split(self, indices, self.dim() == 1 ? 0 : 1);
}

std::vector<Tensor> vsplit_int(const Tensor& self, int64_t sections) {
  check_split_rank("torch.vsplit", self, 2);
  check_divisible("torch.vsplit", self, 0, sections);
  return at::tensor_split(self, sections, 0);
}

std::vector<Tensor> vsplit_array(const Tensor& self, IntArrayRef indices) {
  check_split_rank("torch.vsplit", self, 2);
  return at::tensor_split(self, indices, 0);
}

std::vector<Tensor> dsplit_int(const Tensor& self, int64_t sections) {
  check_split_rank("torch.dsplit", self, 3);
  check_divisible("torch.dsplit", self, 2, sections);
  return at::tensor_split(self, sections, 2);
}

std::vector<Tensor> dsplit_array(const Tensor& self, IntArrayRef indices) {
  check_split_rank("torch.dsplit", self, 3);
  return at::tensor_split(self, indices, 2);
}

Tensor atleast_1d(const Tensor& self) {
  return self.dim() == 0 ? at::reshape(self, {1}) : self;
}

Tensor atleast_2d(const Tensor& self) {
  if (self.dim() == 0) return at::reshape(self, {1, 1});
  return self.dim() == 1 ? at::unsqueeze(self, 0) : self;
}

Tensor atleast_3d(const Tensor& self) {
  if (self.dim() == 0) return at::reshape(self, {1, 1, 1});
  if (self.dim() == 1) return at::unsqueeze(at::unsqueeze(self, 0), -1);
  return self.dim() == 2 ? at::unsqueeze(self, -1) : self;
}

namespace {

std::vector<Tensor> each(TensorList tensors, Tensor (*f)(const Tensor&)) {
  std::vector<Tensor> results;
  results.reserve(tensors.size());
  for (const Tensor& tensor : tensors) results.push_back(f(tensor));
  return results;
}

}  // namespace

std::vector<Tensor> atleast_1d_sequence(TensorList tensors) {
  return each(tensors, atleast_1d);
}

std::vector<Tensor> atleast_2d_sequence(TensorList tensors) {
  return each(tensors, atleast_2d);
}

std::vector<Tensor> atleast_3d_sequence(TensorList tensors) {
  return each(tensors, atleast_3d);
}

}  // namespace at::native
