#include "aten/nested/jagged_views.h"

#include <algorithm>
#include <functional>

#include "aten/core/view.h"
#include "aten/nested/nested_parts.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/join/kernels.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/kernels.h"
#include "aten/ops/view/ops.h"

namespace at::nested {
namespace {

std::vector<Tensor> each_with_values(const std::vector<Tensor>& pieces, const Tensor& like) {
  std::vector<Tensor> results;
  for (const Tensor& piece : pieces) results.push_back(with_values(piece, like));
  return results;
}

// Parts first to first + count of `self`, over the same memory.
Tensor some_parts(const Tensor& self, int64_t first, int64_t count) {
  const Jagged& jagged = jagged_of(self);
  const std::vector<int64_t>&begin = jagged.ragged->begin, &length = jagged.ragged->length;
  const int64_t start = count == 0 ? 0 : begin[static_cast<size_t>(first)];
  int64_t end = start;
  std::vector<int64_t> places, lengths;
  for (int64_t i = first; i < first + count; ++i) {
    places.push_back(begin[static_cast<size_t>(i)] - start);
    lengths.push_back(length[static_cast<size_t>(i)]);
    end = std::max(end, start + places.back() + lengths.back());
  }
  const bool cut = jagged.ragged->lengths.defined();
  places.push_back(end - start);
  const Tensor values = at::slice(at::_nested_get_values(self), jagged.dim - 1, start, end),
               offsets = vector_of(places);
  return at::_nested_view_from_jagged(values, offsets, offsets,
                                      cut ? std::optional<Tensor>(vector_of(lengths)) : std::nullopt, jagged.dim);
}

// The size of dimension d, in front of the ragged one, that `size` asks for: -1 stands for that which is there.
int64_t front_size(const Tensor& self, IntArrayRef size, int64_t d) {
  const int64_t asked = size[static_cast<size_t>(d)];
  return asked == -1 && d < jagged_of(self).dim ? self.size(d) : asked;
}

// Whether dimension `place` of `size` can be the ragged one: as many elements of a part lie in front of it as before.
bool may_be_ragged(const Tensor& self, IntArrayRef size, int64_t place) {
  if (place >= static_cast<int64_t>(size.size()) || size[static_cast<size_t>(place)] != -1) return false;
  int64_t before = 1, wanted = 1;
  for (int64_t d = 1; d < jagged_of(self).dim; ++d) before *= self.size(d);
  for (int64_t d = 1; d < place; ++d) {
    const int64_t asked = front_size(self, size, d);
    if (asked < 0 || __builtin_mul_overflow(wanted, asked, &wanted)) return false;
  }
  return wanted == before;
}

// The place of the ragged dimension in `size`, or 0: where it was, if it may, else the first that may.
int64_t ragged_place(const Tensor& self, IntArrayRef size) {
  if (size.empty() || (size[0] != self.size(0) && size[0] != -1)) return 0;
  if (may_be_ragged(self, size, jagged_of(self).dim)) return jagged_of(self).dim;
  for (int64_t d = 1; d < static_cast<int64_t>(size.size()); ++d) {
    if (may_be_ragged(self, size, d)) return d;
  }
  return 0;
}

// The sizes of the values of a view, and the place of the ragged dimension in it.
std::pair<DimVector, int64_t> viewed_sizes(const char* op, const Tensor& self, IntArrayRef size) {
  const int64_t own = jagged_of(self).dim, ragged = ragged_place(self, size);
  const std::string problem = c10::str(op, "(): cannot view shape ", size_text(self), " as ", size);
  TORCH_CHECK(ragged > 0, problem);
  DimVector sizes;
  for (int64_t d = 1; d < ragged; ++d) sizes.push_back(front_size(self, size, d));
  const Tensor& values = impl_of(op, self).buffer();
  sizes.push_back(values.size(own - 1));
  // Behind it one -1 is what is left; several are the sizes that are there.
  DimVector rest(size.begin() + ragged + 1, size.end());
  if (std::count(rest.begin(), rest.end(), -1) > 1) {
    for (size_t d = 0; d < rest.size(); ++d) {
      const int64_t place = own + 1 + static_cast<int64_t>(d);
      if (rest[d] == -1) rest[d] = place < self.dim() ? self.size(place) : -1;
    }
  }
  const int64_t behind = c10::checked_numel(values.sizes().slice(static_cast<size_t>(own)));
  int64_t given = 1;
  for (const int64_t asked : rest) {
    const bool overflow = asked != -1 && __builtin_mul_overflow(given, asked, &given);
    TORCH_CHECK(asked >= -1 && !overflow, problem);
  }
  const int64_t missing = std::count(rest.begin(), rest.end(), -1);
  TORCH_CHECK(missing == 0 ? given == behind : missing == 1 && given != 0 && behind % given == 0, problem);
  for (const int64_t asked : rest) sizes.push_back(asked == -1 ? behind / given : asked);
  return {sizes, ragged};
}

bool cut_alike(const Tensor& a, const Tensor& b) {
  const Jagged &x = jagged_of(a), &y = jagged_of(b);
  return x.dim == y.dim &&
         (x.ragged == y.ragged || (x.ragged->begin == y.ragged->begin && x.ragged->length == y.ragged->length));
}

}  // namespace

Tensor transpose_jagged(const Tensor& self, int64_t dim0, int64_t dim1) {
  const int64_t a = maybe_wrap_dim(dim0, self.dim()), b = maybe_wrap_dim(dim1, self.dim()), own = jagged_of(self).dim;
  if (a == b) return at::alias(self);
  TORCH_CHECK_VALUE(a != 0 && b != 0, "Transpose is not supported on the batch dimension for jagged NT");
  const int64_t moved = own == a ? b : own == b ? a : own;
  return on_values(self, moved, [&](const Tensor& t) { return at::transpose(t, a - 1, b - 1); });
}

Tensor select_jagged(const Tensor& self, int64_t dim, int64_t index) {
  dim = dense_dim("select", self, dim);
  const int64_t own = jagged_of(self).dim;
  return on_values(self, own - (dim < own), [&](const Tensor& t) { return at::select(t, dim - 1, index); });
}

Tensor squeeze_jagged(const Tensor& self, IntArrayRef dim) {
  const int64_t own = jagged_of(self).dim;
  DimVector dims;
  int64_t moved = own;
  for (const int64_t one : dim) {
    const int64_t d = dense_dim("squeeze", self, one);
    if (self.size(d) != 1 || std::find(dims.begin(), dims.end(), d - 1) != dims.end()) continue;
    dims.push_back(d - 1);
    moved -= d < own;
  }
  return on_values(self, moved, [&](const Tensor& t) { return at::squeeze(t, IntArrayRef(dims)); });
}

Tensor unsqueeze_jagged(const Tensor& self, int64_t dim) {
  TORCH_CHECK(dim != 0, "unsqueeze(): not supported for NestedTensor on dim=0");
  const int64_t own = jagged_of(self).dim;
  return on_values(self, own + (dim <= own), [&](const Tensor& t) { return at::unsqueeze(t, dim - 1); });
}

std::vector<Tensor> split_jagged(const Tensor& self, IntArrayRef split_sizes, int64_t dim) {
  const int64_t d = dense_dim("split_with_sizes", self, dim);
  return each_with_values(at::split_with_sizes(at::_nested_get_values(self), split_sizes, d - 1), self);
}

std::vector<Tensor> chunk_jagged(const Tensor& self, int64_t chunks, int64_t dim) {
  TORCH_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  if (maybe_wrap_dim(dim, self.dim()) != 0) {
    const int64_t d = dense_dim("chunk", self, dim);
    return each_with_values(at::chunk(at::_nested_get_values(self), chunks, d - 1), self);
  }
  const int64_t parts = self.size(0), length = std::max<int64_t>((parts - 1) / chunks + 1, 1);
  std::vector<Tensor> results;
  for (int64_t first = 0; first < parts; first += length) {
    results.push_back(some_parts(self, first, std::min(length, parts - first)));
  }
  if (parts == 0) results.push_back(at::alias(self));
  return results;
}

Tensor view_jagged(const Tensor& self, IntArrayRef size) {
  const auto [sizes, ragged] = viewed_sizes("view", self, size);
  return on_values(self, ragged, [&, &sizes = sizes](const Tensor& t) { return at::view(t, sizes); });
}
Tensor reshape_jagged(const Tensor& self, IntArrayRef shape) {
  const auto [sizes, ragged] = viewed_sizes("reshape", self, shape);
  return on_values(self, ragged, [&, &sizes = sizes](const Tensor& t) { return at::reshape(t, sizes); });
}

Tensor cat_jagged(TensorList tensors, int64_t dim) {
  const int64_t d = dense_dim("cat", tensors[0], dim);
  std::vector<Tensor> values;
  for (const Tensor& t : tensors) {
    TORCH_CHECK(t.dim() == tensors[0].dim(), "Tensors must have same number of dimensions: got ", tensors[0].dim(),
                " and ", t.dim());
    TORCH_CHECK(cut_alike(t, tensors[0]), "cat(): expected all nested tensors to have the same nested structure");
    values.push_back(at::_nested_get_values(t));
  }
  return with_values(at::cat(values, d - 1), tensors[0]);
}

}  // namespace at::nested

namespace at::native {
namespace {

void refuse_strided(const char* op, const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(nested::is_jagged(self), op,
                              " is not implemented for nested tensors of the strided layout");
}

}  // namespace

Tensor permute_nested(const Tensor& self, IntArrayRef dims) {
  refuse_strided("permute", self);
  TORCH_CHECK(static_cast<int64_t>(dims.size()) == self.dim(), "permute(): the number of dims ", dims.size(),
              " is not that of the tensor, ", self.dim());
  DimVector inner;
  int64_t moved = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t from = maybe_wrap_dim(dims[d], self.dim());
    TORCH_CHECK_VALUE((from == 0) == (d == 0), "Permute is not supported on the batch dimension for jagged NT");
    if (d > 0) inner.push_back(from - 1);
    if (from == nested::jagged_of(self).dim) moved = static_cast<int64_t>(d);
  }
  return nested::on_values(self, moved, [&](const Tensor& t) { return at::permute(t, inner); });
}

Tensor expand_nested(const Tensor& self, IntArrayRef size, bool implicit) {
  refuse_strided("expand", self);
  const int64_t own = nested::jagged_of(self).dim;
  const bool fits = static_cast<int64_t>(size.size()) == self.dim() && (size[0] == -1 || size[0] == self.size(0)) &&
                    size[static_cast<size_t>(own)] == -1;
  TORCH_CHECK(fits, "expand(): cannot expand shape ", nested::size_text(self), " -> ", c10::str(size));
  return nested::on_values(self, own, [&](const Tensor& t) { return at::expand(t, size.slice(1), implicit); });
}

Tensor slice_nested(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                    int64_t step) {
  refuse_strided("slice", self);
  const int64_t wrapped = maybe_wrap_dim(dim, self.dim());
  // x.index({Slice(), ...}) asks for the whole of such dimensions.
  const int64_t longest = wrapped == 0 ? self.size(0) : nested::jagged_of(self).ragged->longest;
  const bool whole = start.value_or(0) == 0 && (!end.has_value() || *end >= longest) && step == 1;
  if (whole && (wrapped == 0 || wrapped == nested::jagged_of(self).dim)) return at::alias(self);
  const int64_t d = nested::dense_dim("slice", self, dim);
  return nested::on_values(self, 0, [&](const Tensor& t) { return at::slice(t, d - 1, start, end, step); });
}

Tensor narrow_nested(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  refuse_strided("narrow", self);
  const int64_t d = nested::dense_dim("narrow", self, dim);
  return nested::on_values(self, 0, [&](const Tensor& t) { return at::narrow(t, d - 1, start, length); });
}

std::vector<Tensor> split_nested(const Tensor& self, int64_t split_size, int64_t dim) {
  refuse_strided("split", self);
  const int64_t d = nested::dense_dim("split", self, dim);
  return nested::each_with_values(at::split(at::_nested_get_values(self), split_size, d - 1), self);
}

Tensor flatten_nested(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  refuse_strided("flatten", self);
  const int64_t start = maybe_wrap_dim(start_dim, self.dim()), end = maybe_wrap_dim(end_dim, self.dim());
  const int64_t own = nested::jagged_of(self).dim;
  TORCH_CHECK(start <= end, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (start == end) return self;
  TORCH_CHECK(start != 0, "flatten(): not supported for NestedTensor on dim=0");
  TORCH_CHECK(own < start || own > end, "flatten(): not supported for NestedTensor on ragged dim");
  return nested::on_values(self, own > end ? own - (end - start) : own,
                           [&](const Tensor& t) { return at::flatten(t, start - 1, end - 1); });
}

Tensor unflatten_nested(const Tensor& self, int64_t dim, IntArrayRef sizes) {
  refuse_strided("unflatten", self);
  const int64_t d = nested::dense_dim("unflatten", self, dim), own = nested::jagged_of(self).dim;
  return nested::on_values(self, d < own ? own + static_cast<int64_t>(sizes.size()) - 1 : own,
                           [&](const Tensor& t) { return at::unflatten(t, d - 1, sizes); });
}

Tensor stack_nested(TensorList tensors, int64_t dim) {
  for (const Tensor& t : tensors) {
    TORCH_CHECK(t.is_nested(), "stack(): expected all nested tensors inputs");
    refuse_strided("stack", t);
    TORCH_CHECK(t.dim() == tensors[0].dim() && nested::cut_alike(t, tensors[0]),
                "stack(): expected all nested tensors to have the same nested structure");
  }
  const int64_t own = nested::jagged_of(tensors[0]).dim, wrapped = maybe_wrap_dim(dim, tensors[0].dim() + 1);
  TORCH_CHECK(wrapped != 0, "stack(): not supported for NestedTensor on dim=0");
  TORCH_CHECK(wrapped != own, "stack(): not supported for NestedTensor on ragged dim");
  std::vector<Tensor> values;
  for (const Tensor& t : tensors) values.push_back(at::_nested_get_values(t));
  return nested::with_values(at::stack(values, wrapped - 1), tensors[0], own + (wrapped < own));
}

}  // namespace at::native
