// gather and the scatter forms.
#include <string_view>

#include "aten/core/context.h"
#include "aten/core/empty.h"
#include "aten/core/overlap.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cpu/pointwise.h"
#include "aten/cuda/index/accumulate.h"
#include "aten/cuda/index/dense.h"
#include "aten/cuda/index/move.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/kernels.h"
#include "aten/ops/index/ops.h"

namespace at::native {
namespace {

using cuda::operand_like;
using cuda::Places;
using cuda::Reduction;

int64_t size_at(const Tensor& t, int64_t d) {
  return t.dim() == 0 ? 1 : t.sizes()[d];
}
int64_t stride_at(const Tensor& t, int64_t d) {
  return t.dim() == 0 ? 1 : t.strides()[d];
}

// The strides of `t` over the positions of `index`, without steps along dim. Tensors without dimensions are vectors of
// one element.
DimVector strides_apart(const Tensor& t, IntArrayRef strides, const Tensor& index, int64_t dim) {
  DimVector result;
  for (int64_t d = 0; d < index.dim(); ++d) result.push_back(d == dim || t.dim() == 0 ? 0 : strides[d]);
  return result;
}
cpu::Operand operand_at(const Tensor& t, const Tensor& index, int64_t dim, DimVector& strides) {
  strides = strides_apart(t, t.strides(), index, dim);
  return operand_like(t, index.sizes(), strides);
}
Places places_along(const Tensor& t, const Tensor& index, int64_t dim, int64_t step) {
  return cuda::places_of(index, size_at(t, dim), step, false);
}

// The elements of src at the positions of `index`.
Tensor part_of(const Tensor& src, const Tensor& index) {
  DimVector strides;
  for (int64_t d = 0; d < index.dim(); ++d) strides.push_back(src.dim() == 0 ? 1 : src.strides()[d]);
  return make_view(src, index.sizes(), strides, src.storage_offset());
}

struct Source {
  const Tensor* tensor = nullptr;
  const Scalar* number = nullptr;
};

// self, which holds what is to be kept, takes the elements.
void run_scatter(const char* name, const Tensor& self, int64_t dim, const Tensor& given_index, const Source& given,
                 Reduction reduction, bool include_self = true) {
  if (given_index.numel() == 0) return;
  dim = maybe_wrap_dim(dim, self.dim());
  const Tensor index = given_index.is_alias_of(self) ? at::clone(given_index, MemoryFormat::Contiguous) : given_index;
  Tensor src;
  if (given.tensor != nullptr) {
    src = part_of(given.tensor->is_alias_of(self) ? at::clone(*given.tensor, MemoryFormat::Contiguous) : *given.tensor,
                  index);
  }
  if (reduction == Reduction::kAssign && !(src.defined() && at::globalContext().deterministicAlgorithms())) {
    DimVector strides;
    const cpu::Operand to = operand_at(self, index, dim, strides);
    const Places places = places_along(self, index, dim, stride_at(self, dim));
    if (src.defined()) return cuda::put(name, to, pointwise::operand_of(src), places);
    alignas(16) char element[16];
    pointwise::store_element(*given.number, self.scalar_type(), element);
    return cuda::put_value(name, to, element, places);
  }
  // Places are flat positions in a dense tensor of self's size.
  DimVector steps(self.sizes().size(), 1);
  for (size_t d = steps.size(); d > 1; --d) steps[d - 2] = steps[d - 1] * self.sizes()[d - 1];
  const Tensor places = empty_contiguous(index.sizes(), ScalarType::Long, self.device());
  cuda::write_places(name, places,
                     places_along(self, index, dim, self.dim() == 0 ? 1 : steps[static_cast<size_t>(dim)]),
                     strides_apart(self, steps, index, dim), false);
  cuda::DenseInPlace work(self);
  cuda::accumulate({.name = name,
                    .reduction = reduction,
                    .to = work.tensor(),
                    .from = src.defined() ? dense(src) : at::full({1}, *given.number, self.options()),
                    .places = places,
                    .rows = self.numel(),
                    .include_self = include_self});
  work.commit();
}

void scatter_into(const char* name, Tensor& out, const Tensor& self, int64_t dim, const Tensor& index,
                  const Source& source, Reduction reduction, bool include_self = true) {
  if (source.number != nullptr) {
    alignas(16) char element[16];
    pointwise::store_element(*source.number, self.scalar_type(), element);  // throws before anything is written
  }
  at::copy_(out, self);
  run_scatter(name, out, dim, index, source, reduction, include_self);
}

Reduction old_reduction(std::string_view reduce) {
  return reduce == "add" ? Reduction::kSum : Reduction::kProd;
}

}  // namespace

void gather_cuda(const Tensor& self, int64_t dim, const Tensor& index, bool, Tensor& out) {
  if (index.numel() == 0) return;
  dim = maybe_wrap_dim(dim, self.dim());
  DimVector strides;
  const cpu::Operand from = operand_at(self, index, dim, strides);
  const Places places = places_along(self, index, dim, stride_at(self, dim));
  cuda::take("gather", pointwise::operand_of(out), from, &places);
}

void scatter_src_cuda(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Tensor& out) {
  scatter_into("scatter", out, self, dim, index, {.tensor = &src}, Reduction::kAssign);
}
Tensor& scatter_src_cuda_(Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  scatter_src_meta(self, dim, index, src);
  structured::check_no_internal_overlap(self);
  run_scatter("scatter_", self, dim, index, {.tensor = &src}, Reduction::kAssign);
  return self;
}

void scatter_value_cuda(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Tensor& out) {
  scatter_into("scatter", out, self, dim, index, {.number = &value}, Reduction::kAssign);
}
Tensor& scatter_value_cuda_(Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  scatter_value_meta(self, dim, index, value);
  structured::check_no_internal_overlap(self);
  run_scatter("scatter_", self, dim, index, {.number = &value}, Reduction::kAssign);
  return self;
}

void scatter_src_reduce_cuda(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                             std::string_view reduce, Tensor& out) {
  scatter_into("scatter", out, self, dim, index, {.tensor = &src}, old_reduction(reduce));
}
Tensor& scatter_src_reduce_cuda_(Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                                 std::string_view reduce) {
  scatter_src_reduce_meta(self, dim, index, src, reduce);
  structured::check_no_internal_overlap(self);
  run_scatter("scatter_", self, dim, index, {.tensor = &src}, old_reduction(reduce));
  return self;
}

void scatter_value_reduce_cuda(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                               std::string_view reduce, Tensor& out) {
  scatter_into("scatter", out, self, dim, index, {.number = &value}, old_reduction(reduce));
}
Tensor& scatter_value_reduce_cuda_(Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                                   std::string_view reduce) {
  scatter_value_reduce_meta(self, dim, index, value, reduce);
  structured::check_no_internal_overlap(self);
  run_scatter("scatter_", self, dim, index, {.number = &value}, old_reduction(reduce));
  return self;
}

void scatter_add_cuda(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Tensor& out) {
  scatter_into("scatter_add", out, self, dim, index, {.tensor = &src}, Reduction::kSum);
}
Tensor& scatter_add_cuda_(Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  scatter_add_meta(self, dim, index, src);
  structured::check_no_internal_overlap(self);
  run_scatter("scatter_add_", self, dim, index, {.tensor = &src}, Reduction::kSum);
  return self;
}

void scatter_reduce_cuda(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                         std::string_view reduce, bool include_self, Tensor& out) {
  const Reduction reduction = reduce == "sum"    ? Reduction::kSum
                              : reduce == "prod" ? Reduction::kProd
                              : reduce == "mean" ? Reduction::kMean
                              : reduce == "amax" ? Reduction::kMax
                                                 : Reduction::kMin;
  scatter_into("scatter_reduce", out, self, dim, index, {.tensor = &src}, reduction, include_self);
}

}  // namespace at::native
