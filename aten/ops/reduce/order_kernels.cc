// median, nanmedian, mode, trace, and compositions: nanmean, dist, max and min of two tensors.
#include <algorithm>
#include <array>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/cpu/sort/sort.h"
#include "aten/cpu/support/strides.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/reduce/kernels.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/reduce/reduction.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

// What the rows of one thread share.
struct Scratch {
  cpu::SortScratch sort;
  std::vector<int64_t> order;
};

// Calls f(input row, its stride and length, scratch, value place, index place) for every row along `dim`; strides in
// elements of T.
template <class T, class F>
void for_rows(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices, const F& f) {
  if (C10_UNLIKELY(!is_aligned(self) || !is_aligned(values) || !is_aligned(indices))) {
    Tensor to_values = values, to_indices = indices;
    const Tensor v = aligned(values), i = aligned(indices);
    for_rows<T>(aligned(self), dim, v, i, f);
    if (!v.is_same(values)) at::copy_(to_values, v);
    if (!i.is_same(indices)) at::copy_(to_indices, i);
    return;
  }
  const int64_t rank = self.dim();
  // Elements far from each other are brought together at once.
  if (rank > 1 && self.strides()[dim] > 16 && self.sizes()[dim] > 1 && self.numel() > 4096) {
    return for_rows<T>(at::transpose(at::clone(at::transpose(self, dim, -1), MemoryFormat::Contiguous), dim, -1), dim,
                       values, indices, f);
  }
  const bool kept = values.dim() == rank;
  cpu::StridedDims<3> dims;
  int64_t at = values.dim() - 1;
  for (int64_t d = rank - 1; d >= 0; --d) {
    if (d == dim) {
      if (kept) --at;
      continue;
    }
    dims.push(self.sizes()[d], {self.strides()[d], values.strides()[at], indices.strides()[at]});
    --at;
  }
  const int64_t n = rank == 0 ? 1 : self.sizes()[dim], stride = rank == 0 ? 1 : self.strides()[dim];
  const T* in = static_cast<const T*>(self.const_data_ptr());
  T* value = static_cast<T*>(values.mutable_data_ptr());
  int64_t* index = static_cast<int64_t*>(indices.mutable_data_ptr());
  const int64_t grain = std::max<int64_t>(1, 8192 / std::max<int64_t>(n, 1));
  at::parallel_for(0, dims.numel(), grain, [&](int64_t begin, int64_t end) {
    cpu::StridedWalk<3> walk(dims, 0, begin);
    Scratch scratch;
    for (int64_t i = begin; i < end; ++i, walk.next()) {
      f(in + walk.offset[0], stride, n, scratch, value + walk.offset[1], index + walk.offset[2]);
    }
  });
}

template <class T>
bool is_nan(T x) {
  if constexpr (cpu::kIsIntegral<T>) {
    return false;
  } else {
    return static_cast<double>(x) != static_cast<double>(x);
  }
}

// The lower median: element (n - 1) / 2 in order. NaN, where there is one, is the median; with `skip_nan` NaNs are left out.
template <class T>
void median_row(ScalarType type, const T* x, int64_t stride, int64_t n, Scratch& scratch, bool skip_nan, T* value,
                int64_t* index) {
  int64_t count = n;
  if constexpr (!cpu::kIsIntegral<T>) {
    for (int64_t i = 0; i < n; ++i) count -= x[i * stride] != x[i * stride];
    if (count < n && !skip_nan) {
      int64_t i = 0;
      while (!is_nan(x[i * stride])) ++i;
      *value = x[i * stride];
      *index = i;
      return;
    }
  }
  // NaNs come last in order.
  *index = count == 0 ? 0 : cpu::kth_row(type, x, stride, n, (count - 1) / 2, scratch.sort);
  *value = x[*index * stride];
}

// The most frequent value, the smallest of them; the index is that of its last occurrence.
template <class T>
void mode_row(ScalarType type, const T* x, int64_t stride, int64_t n, Scratch& scratch, T* value, int64_t* index) {
  scratch.order.resize(static_cast<size_t>(n));
  int64_t* order = scratch.order.data();
  cpu::sort_row(type, x, stride, n, false, scratch.sort, order);
  int64_t best = 0, best_count = 0, run = 0;
  for (int64_t i = 0; i < n; ++i) {
    const bool same = i > 0 && x[order[i] * stride] == x[order[i - 1] * stride];
    run = same ? run + 1 : 1;
    if (run > best_count) {
      best_count = run;
      best = i;
    }
  }
  *index = order[best];
  *value = x[*index * stride];
}

std::array<TensorSpec, 2> selected_spec(const char* op, const Tensor& self, int64_t dim, bool keepdim) {
  if (isComplexType(self.scalar_type())) throw_not_implemented(op, self.scalar_type());
  const DimMask mask = make_dim_mask(IntArrayRef(dim), self.dim());
  check_nonempty_dims(op, self, mask);
  const DimVector sizes = reduced_sizes(self, mask, keepdim);
  return {{{sizes, {}, self.scalar_type(), self.device()}, {sizes, {}, ScalarType::Long, self.device()}}};
}

void median_dim(const Tensor& self, int64_t dim, bool skip_nan, Tensor& values, Tensor& indices) {
  dim = maybe_wrap_dim(dim, self.dim());
  cpu::visit_real(self.scalar_type(), "median", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_rows<T>(self, dim, values, indices,
                [&](const T* x, int64_t stride, int64_t n, Scratch& scratch, T* v, int64_t* i) {
                  median_row(self.scalar_type(), x, stride, n, scratch, skip_nan, v, i);
                });
  });
}

TensorSpec median_all_spec(const char* op, const Tensor& self) {
  if (isComplexType(self.scalar_type())) throw_not_implemented(op, self.scalar_type());
  return {{}, {}, self.scalar_type(), self.device()};
}

// Of an empty tensor: NaN, or the smallest integer.
void median_all(const Tensor& self, bool skip_nan, Tensor& out) {
  DenseOut value(out);
  cpu::visit_real(self.scalar_type(), "median", [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* result = value.data<T>();
    if (self.numel() == 0) {
      if constexpr (cpu::kIsIntegral<T>) {
        *result = std::numeric_limits<T>::lowest();
      } else {
        *result = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
      }
      return;
    }
    const Tensor x = dense(self);
    Scratch scratch;
    int64_t index = 0;
    median_row(self.scalar_type(), static_cast<const T*>(x.const_data_ptr()), 1, x.numel(), scratch, skip_nan, result,
               &index);
  });
  value.commit();
}

}  // namespace

std::array<TensorSpec, 2> median_dim_meta(const Tensor& self, int64_t dim, bool keepdim) {
  return selected_spec("median", self, dim, keepdim);
}
void median_dim_cpu(const Tensor& self, int64_t dim, bool, Tensor& values, Tensor& indices) {
  median_dim(self, dim, false, values, indices);
}
std::array<TensorSpec, 2> nanmedian_dim_meta(const Tensor& self, int64_t dim, bool keepdim) {
  return selected_spec("nanmedian", self, dim, keepdim);
}
void nanmedian_dim_cpu(const Tensor& self, int64_t dim, bool, Tensor& values, Tensor& indices) {
  median_dim(self, dim, true, values, indices);
}
TensorSpec median_meta(const Tensor& self) { return median_all_spec("median", self); }
void median_cpu(const Tensor& self, Tensor& out) { median_all(self, false, out); }
TensorSpec nanmedian_meta(const Tensor& self) { return median_all_spec("nanmedian", self); }
void nanmedian_cpu(const Tensor& self, Tensor& out) { median_all(self, true, out); }

std::array<TensorSpec, 2> mode_meta(const Tensor& self, int64_t dim, bool keepdim) {
  return selected_spec("mode", self, dim, keepdim);
}
void mode_cpu(const Tensor& self, int64_t dim, bool, Tensor& values, Tensor& indices) {
  dim = maybe_wrap_dim(dim, self.dim());
  cpu::visit_real(self.scalar_type(), "mode", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_rows<T>(self, dim, values, indices,
                [&](const T* x, int64_t stride, int64_t n, Scratch& scratch, T* v, int64_t* i) {
                  mode_row(self.scalar_type(), x, stride, n, scratch, v, i);
                });
  });
}

TensorSpec trace_meta(const Tensor& self) {
  TORCH_CHECK(self.dim() == 2, "trace: expected a matrix, but got tensor with dim ", self.dim());
  const bool integral = isIntegralType(self.scalar_type(), true);
  return {{}, {}, integral ? ScalarType::Long : self.scalar_type(), self.device()};
}
void trace_kernel(const Tensor& self, Tensor& out) {
  cpu::ReduceParams params;
  params.out_type = out.scalar_type();
  run_reduction("trace", cpu::sum_kernel(self.scalar_type()), at::diagonal(self), make_dim_mask(std::nullopt, 1), out, Tensor(), params);
}

Tensor nanmean(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  TORCH_CHECK(
      isFloatingType(self.scalar_type()), "nanmean(): expected input to have floating point dtype but got ",
      toString(self.scalar_type()));
  const Tensor count = at::sum(at::eq(self, self), dim, keepdim);
  return at::div(at::nansum(self, dim, keepdim, dtype), count);
}

Tensor dist(const Tensor& self, const Tensor& other, const Scalar& p) { return at::norm(at::sub(self, other), p); }

Tensor max_other(const Tensor& self, const Tensor& other) { return at::maximum(self, other); }
Tensor min_other(const Tensor& self, const Tensor& other) { return at::minimum(self, other); }

}  // namespace at::native
