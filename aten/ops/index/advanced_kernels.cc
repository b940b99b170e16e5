// index and index_put: indexing by tensors.
#include <algorithm>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cpu/index/index.h"
#include "aten/ops/index/indexing.h"
#include "aten/ops/index/kernels.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

using IndexList = c10::List<std::optional<Tensor>>;

bool is_mask(const Tensor& t) { return t.scalar_type() == ScalarType::Bool || t.scalar_type() == ScalarType::Byte; }

// The indices, one a dimension from the first on, undefined where the dimension is taken whole. Masks are replaced by the
// positions of their true elements, one index tensor a dimension of the mask.
std::vector<Tensor> expand_masks(const Tensor& self, const IndexList& indices) {
  std::vector<Tensor> result;
  for (size_t i = 0; i < indices.size(); ++i) {
    const std::optional<Tensor> given = indices.get(i);
    if (!given || !given->defined()) {
      result.emplace_back();
      continue;
    }
    const Tensor& t = *given;
    TORCH_CHECK_INDEX(
        is_mask(t) || t.scalar_type() == ScalarType::Long || t.scalar_type() == ScalarType::Int,
        "tensors used as indices must be long, int, byte or bool tensors");
    if (!is_mask(t)) {
      result.push_back(t);
      continue;
    }
    if (t.scalar_type() == ScalarType::Byte) {
      TORCH_WARN_DEPRECATION("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.");
    }
    const auto at = static_cast<int64_t>(result.size());
    TORCH_CHECK_INDEX(
        at + t.dim() <= self.dim(), "too many indices for tensor of dimension ", self.dim());
    for (int64_t d = 0; d < t.dim(); ++d) {
      TORCH_CHECK_INDEX(
          t.sizes()[d] == self.sizes()[at + d], "The shape of the mask ", t.sizes(), " at index ", d,
          " does not match the shape of the indexed tensor ", self.sizes(), " at index ", at + d);
    }
    TORCH_CHECK_INDEX(t.dim() > 0, "a 0-dim mask selects no dimension of the indexed tensor; unsqueeze the tensor first");
    const Tensor places = at::nonzero(t);
    for (int64_t d = 0; d < t.dim(); ++d) result.push_back(at::select(places, 1, d));
  }
  TORCH_CHECK_INDEX(
      static_cast<int64_t>(result.size()) <= self.dim(), "too many indices for tensor of dimension ", self.dim(), " (got ",
      result.size(), ")");
  return result;
}

// The tensor seen as [outer][indexed dimensions][inner] in the order `order` of its dimensions, and where the indices point.
struct Plan {
  DimVector order;          // dimensions of self: those before, the indexed ones, those after
  bool permuted = false;    // whether `order` is not self's own
  DimVector result_sizes;   // of index(): index's broadcast shape stands where the indexed dimensions were
  DimVector index_sizes;
  DimVector indexed_dims;
  std::vector<int64_t> offsets;
  int64_t outer = 1, indexed = 1, inner = 1;
  cpu::SliceGeometry geometry() const {
    return {outer, indexed * inner, inner, offsets.data(), static_cast<int64_t>(offsets.size())};
  }
};

// All of it but `offsets`, for which the indices' elements are read.
Plan make_shapes(const Tensor& self, const std::vector<Tensor>& indices) {
  Plan p;
  const int64_t rank = self.dim(), given = static_cast<int64_t>(indices.size());
  DimVector& indexed = p.indexed_dims;
  bool first_shape = true;
  for (int64_t d = 0; d < given; ++d) {
    const Tensor& index = indices[static_cast<size_t>(d)];
    if (!index.defined()) continue;
    indexed.push_back(d);
    if (first_shape) {
      p.index_sizes = sizes_of(index);
      first_shape = false;
      continue;
    }
    bool fits = true;
    const int64_t a = static_cast<int64_t>(p.index_sizes.size()), b = index.dim();
    for (int64_t k = 1; k <= std::min(a, b); ++k) {
      const int64_t x = p.index_sizes[static_cast<size_t>(a - k)], y = index.sizes()[b - k];
      fits &= x == y || x == 1 || y == 1;
    }
    TORCH_CHECK_INDEX(
        fits, "shape mismatch: indexing tensors could not be broadcast together with shapes ", p.index_sizes, ", ", index.sizes());
    p.index_sizes = broadcast_shapes(p.index_sizes, index.sizes());
  }
  bool adjacent = true;
  for (size_t k = 1; k < indexed.size(); ++k) adjacent &= indexed[k] == indexed[k - 1] + 1;
  const int64_t start = adjacent && !indexed.empty() ? indexed.front() : 0;

  const auto is_indexed = [&](int64_t d) { return std::find(indexed.begin(), indexed.end(), d) != indexed.end(); };
  for (int64_t d = 0; d < start; ++d) {
    p.order.push_back(d);
    p.outer *= self.sizes()[d];
    p.result_sizes.push_back(self.sizes()[d]);
  }
  for (int64_t n : p.index_sizes) p.result_sizes.push_back(n);
  for (int64_t d : indexed) {
    p.order.push_back(d);
    p.indexed *= self.sizes()[d];
  }
  for (int64_t d = start; d < rank; ++d) {
    if (is_indexed(d)) continue;
    p.order.push_back(d);
    p.inner *= self.sizes()[d];
    p.result_sizes.push_back(self.sizes()[d]);
  }
  for (int64_t d = 0; d < rank; ++d) p.permuted |= p.order[static_cast<size_t>(d)] != d;
  return p;
}

Plan make_plan(const Tensor& self, const std::vector<Tensor>& indices) {
  Plan p = make_shapes(self, indices);
  const DimVector& indexed = p.indexed_dims;
  int64_t count = 1;
  for (int64_t n : p.index_sizes) count *= n;
  p.offsets.assign(static_cast<size_t>(count), 0);
  int64_t step = p.inner;
  for (size_t k = indexed.size(); k-- > 0;) {
    const int64_t d = indexed[k], size = self.sizes()[d];
    const Tensor& index = indices[static_cast<size_t>(d)];
    Tensor wide = dense(index, ScalarType::Long);
    TORCH_CHECK_INDEX(count == 0 || size > 0, "index is out of bounds for dimension with size 0");
    if (count > 0) check_index_range(wide, d, size, true);
    if (wide.sizes() != IntArrayRef(p.index_sizes)) wide = dense(at::expand(wide, p.index_sizes));
    const auto* v = static_cast<const int64_t*>(wide.const_data_ptr());
    for (int64_t i = 0; i < count; ++i) p.offsets[static_cast<size_t>(i)] += (v[i] < 0 ? v[i] + size : v[i]) * step;
    step *= size;
  }
  return p;
}

bool none_defined(const std::vector<Tensor>& indices) {
  return std::none_of(indices.begin(), indices.end(), [](const Tensor& t) { return t.defined(); });
}

void check_number(const Tensor& self, const IndexList& given) {
  TORCH_CHECK_INDEX(given.size() <= static_cast<size_t>(self.dim()), "too many indices for tensor of dimension ", self.dim(),
                    " (got ", given.size(), ")");
}

void check_target(const Tensor& self, const IndexList& given, const Tensor& values) {
  check_number(self, given);
  TORCH_CHECK(
      self.scalar_type() == values.scalar_type(), "Index put requires the source and destination dtypes match, got ",
      toString(self.scalar_type()), " for the destination and ", toString(values.scalar_type()), " for the source.");
  structured::check_no_internal_overlap(self);
}

void check_values(const Tensor& values, IntArrayRef sizes) {
  bool fits = values.dim() <= static_cast<int64_t>(sizes.size());
  for (int64_t k = 1; fits && k <= values.dim(); ++k) {
    const int64_t n = values.sizes()[values.dim() - k];
    fits = n == 1 || n == sizes[sizes.size() - static_cast<size_t>(k)];
  }
  TORCH_CHECK(fits, "shape mismatch: value tensor of shape ", values.sizes(),
              " cannot be broadcast to indexing result of shape ", sizes);
}

Tensor& put_into(Tensor& self, const IndexList& given, const Tensor& values, bool accumulate) {
  check_target(self, given, values);
  const std::vector<Tensor> indices = expand_masks(self, given);
  const Plan p = make_plan(self, indices);
  check_values(values, p.result_sizes);
  if (self.numel() == 0 || p.offsets.empty()) return self;
  const Tensor from = dense(at::expand(apart_from(self, values), p.result_sizes));
  Tensor view = p.permuted ? at::permute(self, p.order) : self;
  DenseInPlace work(view);
  if (accumulate) {
    cpu::add_slices(work.tensor().mutable_data_ptr(), from.const_data_ptr(), p.geometry(), self.scalar_type(), 1, 0, 1);
  } else {
    cpu::put_slices(
        work.tensor().mutable_data_ptr(), from.const_data_ptr(), p.geometry(), static_cast<int64_t>(self.itemsize()));
  }
  work.commit();
  return self;
}

void check_on_meta(const char* op, const Tensor& self) {
  TORCH_CHECK(self.is_meta(), op, "(): expected self on meta as its indices or values are, but got ", self.device());
}

}  // namespace

// Masks on meta have no places: their nonzero() says so.
Tensor index_meta(const Tensor& self, const IndexList& given) {
  check_number(self, given);
  check_on_meta("index", self);
  const std::vector<Tensor> indices = expand_masks(self, given);
  return empty_contiguous(make_shapes(self, indices).result_sizes, self.scalar_type(), self.device());
}

Tensor index_cpu(const Tensor& self, const IndexList& given) {
  check_number(self, given);
  const std::vector<Tensor> indices = expand_masks(self, given);
  if (none_defined(indices)) return at::clone(self, MemoryFormat::Contiguous);
  const Plan p = make_plan(self, indices);
  Tensor out = empty_contiguous(p.result_sizes, self.scalar_type(), self.device());
  if (out.numel() == 0) return out;
  const Tensor x = dense(p.permuted ? at::permute(self, p.order) : self);
  cpu::take_slices(out.mutable_data_ptr(), x.const_data_ptr(), p.geometry(), static_cast<int64_t>(self.itemsize()));
  return out;
}

Tensor& index_put_meta_(Tensor& self, const IndexList& given, const Tensor& values, bool) {
  check_target(self, given, values);
  check_on_meta("index_put_", self);
  bool places_known = true;
  for (size_t i = 0; i < given.size(); ++i) {
    const std::optional<Tensor> index = given.get(i);
    places_known = places_known && !(index && index->defined() && index->is_meta() && is_mask(*index));
  }
  if (places_known) check_values(values, make_shapes(self, expand_masks(self, given)).result_sizes);
  return self;
}
Tensor index_put_meta(const Tensor& self, const IndexList& given, const Tensor& values, bool accumulate) {
  Tensor out = at::clone(self, MemoryFormat::Contiguous);
  return index_put_meta_(out, given, values, accumulate);
}
Tensor& index_put_impl_meta_(Tensor& self, const IndexList& given, const Tensor& values, bool accumulate, bool) {
  return index_put_meta_(self, given, values, accumulate);
}

Tensor index_put_cpu(const Tensor& self, const IndexList& indices, const Tensor& values, bool accumulate) {
  Tensor out = at::clone(self, MemoryFormat::Contiguous);
  return put_into(out, indices, values, accumulate);
}
Tensor& index_put_inplace(Tensor& self, const IndexList& indices, const Tensor& values, bool accumulate) {
  return put_into(self, indices, values, accumulate);
}
Tensor& index_put_impl_inplace(Tensor& self, const IndexList& indices, const Tensor& values, bool accumulate, bool) {
  return put_into(self, indices, values, accumulate);
}

}  // namespace at::native
