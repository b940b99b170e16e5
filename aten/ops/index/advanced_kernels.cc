// index and index_put: indexing by tensors.
#include <algorithm>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cpu/index/index.h"
#include "aten/ops/index/indexing.h"
#include "aten/ops/index/kernels.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/index/plan.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

// And where the indices point.
struct Plan : IndexPlan {
  std::vector<int64_t> offsets;
  cpu::SliceGeometry geometry() const {
    return {outer, indexed * inner, inner, offsets.data(), static_cast<int64_t>(offsets.size())};
  }
};

Plan make_plan(const Tensor& self, const std::vector<Tensor>& indices) {
  Plan p{make_index_plan(self, indices), {}};
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

Tensor& put_into(Tensor& self, const IndexList& given, const Tensor& values, bool accumulate) {
  check_index_put(self, given, values);
  const std::vector<Tensor> indices = expand_masks(self, given);
  const Plan p = make_plan(self, indices);
  check_indexed_values(values, p.result_sizes);
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
  check_index_number(self, given);
  check_on_meta("index", self);
  const std::vector<Tensor> indices = expand_masks(self, given);
  return empty_contiguous(make_index_plan(self, indices).result_sizes, self.scalar_type(), self.device());
}

Tensor index_cpu(const Tensor& self, const IndexList& given) {
  check_index_number(self, given);
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
  check_index_put(self, given, values);
  check_on_meta("index_put_", self);
  bool places_known = true;
  for (size_t i = 0; i < given.size(); ++i) {
    const std::optional<Tensor> index = given.get(i);
    places_known = places_known && !(index && index->defined() && index->is_meta() && is_mask(*index));
  }
  if (places_known) check_indexed_values(values, make_index_plan(self, expand_masks(self, given)).result_sizes);
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
