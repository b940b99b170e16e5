// index, index_put, index_select and its relatives, take, put, embedding.
#include <limits>
#include <string_view>
#include <vector>

#include "aten/core/context.h"
#include "aten/core/empty.h"
#include "aten/core/overlap.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cpu/pointwise.h"
#include "aten/cuda/index/accumulate.h"
#include "aten/cuda/index/dense.h"
#include "aten/cuda/index/move.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/kernels.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/index/plan.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

using cuda::Accumulation;
using cuda::DenseInPlace;
using cuda::operand_like;
using cuda::Places;
using cuda::places_of;
using cuda::Reduction;

constexpr int64_t kAnySize = std::numeric_limits<int64_t>::max();

int64_t size_at(const Tensor& t, int64_t d) {
  return t.dim() == 0 ? 1 : t.sizes()[d];
}
int64_t stride_at(const Tensor& t, int64_t d) {
  return t.dim() == 0 ? 1 : t.strides()[d];
}
DimVector with_size(const Tensor& t, int64_t dim, int64_t size) {
  DimVector sizes(t.sizes().begin(), t.sizes().end());
  if (!sizes.empty()) sizes[static_cast<size_t>(dim)] = size;
  return sizes;
}
DimVector with_stride(const Tensor& t, int64_t dim, int64_t stride) {
  DimVector strides(t.strides().begin(), t.strides().end());
  if (!strides.empty()) strides[static_cast<size_t>(dim)] = stride;
  return strides;
}

Tensor on_device_of(const Tensor& self, const Tensor& t) {
  return t.device() == self.device() ? t : at::to(t, self.device());
}
// `other` or, where it shares memory with `self`, a copy.
Tensor apart_from(const Tensor& self, const Tensor& other) {
  return other.is_alias_of(self) ? at::clone(other, MemoryFormat::Contiguous) : other;
}
// Whether of several elements for one place always the last one has to stay.
bool keeps_last() {
  return at::globalContext().deterministicAlgorithms();
}

// --- index, index_put ---

struct Indexed {
  IndexPlan plan;
  std::vector<Tensor> indices;  // of the plan's indexed dimensions, on self's device
  int64_t count = 1;

  Indexed(const Tensor& self, const IndexList& given) {
    const std::vector<Tensor> all = expand_masks(self, given);
    plan = make_index_plan(self, all);
    for (int64_t n : plan.index_sizes) count *= n;
    for (int64_t d : plan.indexed_dims) {
      TORCH_CHECK_INDEX(count == 0 || self.sizes()[d] > 0, "index is out of bounds for dimension with size 0");
      indices.push_back(on_device_of(self, all[static_cast<size_t>(d)]));
    }
  }

  // How many dimensions of self stand before the indexed ones.
  size_t first() const {
    size_t k = 0;
    while (k < plan.order.size() && plan.order[k] != plan.indexed_dims[0]) ++k;
    return k;
  }
  // self seen in the result's dimensions, without steps along those of the index.
  DimVector strides_of(const Tensor& self) const {
    DimVector strides;
    const size_t before = first();
    for (size_t k = 0; k < before; ++k) strides.push_back(self.strides()[plan.order[k]]);
    for (size_t k = 0; k < plan.index_sizes.size(); ++k) strides.push_back(0);
    for (size_t k = before + plan.indexed_dims.size(); k < plan.order.size(); ++k)
      strides.push_back(self.strides()[plan.order[k]]);
    return strides;
  }
  // One number an element of the index: the sum of what steps[k] times the k-th index is.
  Tensor places(const char* name, const Tensor& self, IntArrayRef steps) const {
    const Tensor result = empty_contiguous(plan.index_sizes, ScalarType::Long, self.device());
    for (size_t k = 0; k < indices.size(); ++k) {
      cuda::write_places(name, result, places_of(indices[k], self.sizes()[plan.indexed_dims[k]], steps[k], true), {},
                         k > 0);
    }
    return result;
  }
  // f(places as they are in the result's dimensions)
  template <class F>
  void with_places(const char* name, const Tensor& self, const F& f) const {
    Tensor index = indices[0];
    Places places;
    if (indices.size() == 1) {
      places = places_of(index, self.sizes()[plan.indexed_dims[0]], self.strides()[plan.indexed_dims[0]], true);
    } else {
      DimVector steps;
      for (int64_t d : plan.indexed_dims) steps.push_back(self.strides()[d]);
      index = this->places(name, self, steps);
      places = places_of(index, kAnySize, 1, false);
    }
    DimVector sizes(index.sizes().begin(), index.sizes().end()),
        strides(index.strides().begin(), index.strides().end());
    for (size_t k = first() + plan.indexed_dims.size(); k < plan.order.size(); ++k) {
      sizes.push_back(1);
      strides.push_back(0);
    }
    places.index = operand_like(index, sizes, strides);
    f(places);
  }
};

Tensor& put_into(Tensor& self, const IndexList& given, const Tensor& given_values, bool accumulate) {
  check_index_put(self, given, given_values);
  const Indexed indexed(self, given);
  const IndexPlan& plan = indexed.plan;
  check_indexed_values(given_values, plan.result_sizes);
  if (self.numel() == 0 || indexed.count == 0) return self;
  const Tensor values = at::expand(apart_from(self, on_device_of(self, given_values)), plan.result_sizes);
  if (indexed.indices.empty()) {
    Tensor target = at::permute(self, plan.order);
    if (accumulate)
      at::add_(target, values);
    else
      at::copy_(target, values);
    return self;
  }
  if (!accumulate && !keeps_last()) {
    const DimVector strides = indexed.strides_of(self);
    indexed.with_places("index_put_", self, [&](const Places& places) {
      cuda::put("index_put_", operand_like(self, plan.result_sizes, strides), pointwise::operand_of(values), places);
    });
    return self;
  }
  DimVector steps(plan.indexed_dims.size(), 1);
  for (size_t k = steps.size() - 1; k > 0; --k) steps[k - 1] = steps[k] * self.sizes()[plan.indexed_dims[k]];
  DenseInPlace work(plan.permuted ? at::permute(self, plan.order) : self);
  cuda::accumulate({.name = "index_put_",
                    .reduction = accumulate ? Reduction::kSum : Reduction::kAssign,
                    .to = work.tensor(),
                    .from = given_values.numel() == 1 ? dense(on_device_of(self, given_values)) : dense(values),
                    .places = indexed.places("index_put_", self, steps),
                    .outer = plan.outer,
                    .rows = plan.indexed,
                    .inner = plan.inner});
  work.commit();
  return self;
}

// --- slices along a dimension ---

// f(sizes, strides of `t` in them, places): the slices of t along dim that `index`, of at most one dimension, names.
template <class F>
void with_slices(const Tensor& t, int64_t dim, const Tensor& index, bool wraps, const F& f) {
  const DimVector sizes = with_size(t, dim, index.numel()), strides = with_stride(t, dim, 0);
  DimVector steps(sizes.size(), 0);
  if (!steps.empty()) steps[static_cast<size_t>(dim)] = index.dim() == 0 ? 1 : index.strides()[0];
  Places places = places_of(index, size_at(t, dim), stride_at(t, dim), wraps);
  places.index = operand_like(index, sizes, steps);
  f(IntArrayRef(sizes), IntArrayRef(strides), places);
}

// A source of slices has the sizes of what takes them, or is one element.
cpu::Operand source_operand(const Tensor& source, IntArrayRef sizes, DimVector& strides) {
  strides = source.dim() == static_cast<int64_t>(sizes.size())
                ? DimVector(source.strides().begin(), source.strides().end())
                : DimVector(sizes.size(), 0);
  return operand_like(source, sizes, strides);
}

void accumulate_slices(const char* name, Reduction reduction, const Tensor& self, int64_t dim, const Tensor& index,
                       const Tensor& source, const Scalar& alpha, bool include_self) {
  if (index.numel() == 0 || self.numel() == 0) return;
  const Tensor places = empty_contiguous({index.numel()}, ScalarType::Long, self.device());
  cuda::write_places(name, places, places_of(index, size_at(self, dim), 1, false), {}, false);
  DenseInPlace work(self);
  const DimSplit split = split_at_dim(self.sizes(), dim);
  cuda::accumulate({.name = name,
                    .reduction = reduction,
                    .to = work.tensor(),
                    .from = dense(source),
                    .places = places,
                    .outer = split.outer,
                    .rows = split.size,
                    .inner = split.inner,
                    .alpha = alpha,
                    .include_self = include_self});
  work.commit();
}

void copy_slices(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  dim = maybe_wrap_dim(dim, self.dim());
  const Tensor places_of_self = apart_from(self, index), from = apart_from(self, source);
  if (keeps_last())
    return accumulate_slices("index_copy_", Reduction::kAssign, self, dim, places_of_self, from, 1, false);
  with_slices(self, dim, places_of_self, false, [&](IntArrayRef sizes, IntArrayRef strides, const Places& places) {
    DimVector steps;
    cuda::put("index_copy_", operand_like(self, sizes, strides), source_operand(from, sizes, steps), places);
  });
}

void fill_slices(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  alignas(16) char element[16];
  pointwise::store_element(value, self.scalar_type(), element);
  const Tensor places_of_self = apart_from(self, index);
  with_slices(self, maybe_wrap_dim(dim, self.dim()), places_of_self, true,
              [&](IntArrayRef sizes, IntArrayRef strides, const Places& places) {
                cuda::put_value("index_fill_", operand_like(self, sizes, strides), element, places);
              });
}

Reduction reduction_of(std::string_view name) {
  return name == "sum"    ? Reduction::kSum
         : name == "prod" ? Reduction::kProd
         : name == "mean" ? Reduction::kMean
         : name == "amax" ? Reduction::kMax
                          : Reduction::kMin;
}

void put_at(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  if (index.numel() == 0) return;
  const Tensor from = dense(apart_from(self, source)), flat = dense(apart_from(self, index));
  DenseInPlace work(self);
  const DimVector sizes{index.numel()}, one{1}, zero{0};
  Places places = places_of(flat, self.numel(), 1, true);
  places.index = operand_like(flat, sizes, one);
  if (!accumulate && !keeps_last()) {
    cuda::put("put_", operand_like(work.tensor(), sizes, zero), operand_like(from, sizes, one), places);
  } else {
    const Tensor numbers = empty_contiguous(sizes, ScalarType::Long, self.device());
    cuda::write_places("put_", numbers, places, {}, false);
    cuda::accumulate({.name = "put_",
                      .reduction = accumulate ? Reduction::kSum : Reduction::kAssign,
                      .to = work.tensor(),
                      .from = from,
                      .places = numbers,
                      .rows = self.numel()});
  }
  work.commit();
}

}  // namespace

Tensor index_cuda(const Tensor& self, const IndexList& given) {
  check_index_number(self, given);
  const Indexed indexed(self, given);
  if (indexed.indices.empty()) return at::clone(self, MemoryFormat::Contiguous);
  Tensor out = empty_contiguous(indexed.plan.result_sizes, self.scalar_type(), self.device());
  if (out.numel() == 0) return out;
  const DimVector strides = indexed.strides_of(self);
  indexed.with_places("index", self, [&](const Places& places) {
    cuda::take("index", pointwise::operand_of(out), operand_like(self, indexed.plan.result_sizes, strides), &places);
  });
  return out;
}

Tensor index_put_cuda(const Tensor& self, const IndexList& indices, const Tensor& values, bool accumulate) {
  Tensor out = at::clone(self, MemoryFormat::Contiguous);
  return put_into(out, indices, values, accumulate);
}
Tensor& index_put_cuda_(Tensor& self, const IndexList& indices, const Tensor& values, bool accumulate) {
  return put_into(self, indices, values, accumulate);
}
Tensor& index_put_impl_cuda_(Tensor& self, const IndexList& indices, const Tensor& values, bool accumulate, bool) {
  return put_into(self, indices, values, accumulate);
}

void index_select_cuda(const Tensor& self, int64_t dim, const Tensor& index, Tensor& out) {
  if (out.numel() == 0) return;
  with_slices(self, maybe_wrap_dim(dim, self.dim()), index, false,
              [&](IntArrayRef sizes, IntArrayRef strides, const Places& places) {
                cuda::take("index_select", pointwise::operand_of(out), operand_like(self, sizes, strides), &places);
              });
}

void index_add_cuda(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha,
                    Tensor& out) {
  at::copy_(out, self);
  accumulate_slices("index_add_", Reduction::kSum, out, maybe_wrap_dim(dim, self.dim()), index, apart_from(out, source),
                    alpha, true);
}
Tensor& index_add_cuda_(Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  index_add_meta(self, dim, index, source, alpha);
  structured::check_no_internal_overlap(self);
  accumulate_slices("index_add_", Reduction::kSum, self, maybe_wrap_dim(dim, self.dim()), apart_from(self, index),
                    apart_from(self, source), alpha, true);
  return self;
}

void index_copy_cuda(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Tensor& out) {
  at::copy_(out, self);
  copy_slices(out, dim, index, source);
}
Tensor& index_copy_cuda_(Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  index_copy_meta(self, dim, index, source);
  structured::check_no_internal_overlap(self);
  copy_slices(self, dim, index, source);
  return self;
}

void index_fill_cuda(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Tensor& out) {
  alignas(16) char element[16];
  pointwise::store_element(value, out.scalar_type(), element);  // throws before anything is written
  at::copy_(out, self);
  fill_slices(out, dim, index, value);
}
Tensor& index_fill_cuda_(Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  index_fill_meta(self, dim, index, value);
  structured::check_no_internal_overlap(self);
  if (self.numel() > 0) fill_slices(self, dim, index, value);
  return self;
}
void index_fill_tensor_cuda(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value, Tensor& out) {
  index_fill_cuda(self, dim, index, at::item(value), out);
}
Tensor& index_fill_tensor_cuda_(Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  index_fill_tensor_meta(self, dim, index, value);
  return index_fill_cuda_(self, dim, index, at::item(value));
}

void index_reduce_cuda(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                       std::string_view reduce, bool include_self, Tensor& out) {
  at::copy_(out, self);
  accumulate_slices("index_reduce_", reduction_of(reduce), out, maybe_wrap_dim(dim, self.dim()), index,
                    apart_from(out, source), 1, include_self);
}
Tensor& index_reduce_cuda_(Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                           std::string_view reduce, bool include_self) {
  index_reduce_meta(self, dim, index, source, reduce, include_self);
  structured::check_no_internal_overlap(self);
  accumulate_slices("index_reduce_", reduction_of(reduce), self, maybe_wrap_dim(dim, self.dim()),
                    apart_from(self, index), apart_from(self, source), 1, include_self);
  return self;
}

void take_cuda(const Tensor& self, const Tensor& index, Tensor& out) {
  if (index.numel() == 0) return;
  const Tensor x = dense(self);
  const DimVector zeros(static_cast<size_t>(index.dim()), 0);
  const Places places = places_of(index, x.numel(), 1, true);
  cuda::take("take", pointwise::operand_of(out), operand_like(x, index.sizes(), zeros), &places);
}

void put_cuda(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate, Tensor& out) {
  at::copy_(out, self);
  put_at(out, index, source, accumulate);
}
Tensor& put_cuda_(Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  put_meta(self, index, source, accumulate);
  structured::check_no_internal_overlap(self);
  put_at(self, index, source, accumulate);
  return self;
}

void embedding_cuda(const Tensor& weight, const Tensor& indices, int64_t, bool, bool, Tensor& out) {
  if (out.numel() == 0) return;
  DimVector strides(static_cast<size_t>(indices.dim()), 0), sizes(indices.sizes().begin(), indices.sizes().end());
  DimVector steps(indices.strides().begin(), indices.strides().end());
  strides.push_back(weight.strides()[1]);
  sizes.push_back(1);
  steps.push_back(0);
  Places places = places_of(indices, weight.sizes()[0], weight.strides()[0], false);
  places.index = operand_like(indices, sizes, steps);
  cuda::take("embedding", pointwise::operand_of(out), operand_like(weight, out.sizes(), strides), &places);
}

void embedding_dense_backward_cuda(const Tensor& grad_output, const Tensor& indices, int64_t num_weights,
                                   int64_t padding_idx, bool scale_grad_by_freq, Tensor& out) {
  DenseInPlace grad(out, /*reads=*/false);
  Tensor sums = grad.tensor();
  at::zero_(sums);
  if (indices.numel() > 0 && out.numel() > 0) {
    const Tensor places = empty_contiguous(indices.sizes(), ScalarType::Long, out.device());
    cuda::write_places("embedding_dense_backward", places, places_of(indices, num_weights, 1, false), {}, false);
    cuda::accumulate({.name = "embedding_dense_backward",
                      .reduction = scale_grad_by_freq ? Reduction::kMean : Reduction::kSum,
                      .to = sums,
                      .from = dense(grad_output),
                      .places = places,
                      .rows = num_weights,
                      .inner = out.sizes()[1],
                      .include_self = false,
                      .skipped = padding_idx});
  }
  grad.commit();
}

}  // namespace at::native
