// sort, argsort, msort, topk, kthvalue.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/cpu/sort/sort.h"
#include "aten/cpu/support/scratch.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/sort/kernels.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

void check_ordered(const char* op, const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !isComplexType(self.scalar_type()), "\"", op, "\" not implemented for '", toString(self.scalar_type()), "'");
}

// Of the unsigned types beyond uint8 there is nothing but sorting.
void check_selectable(const char* op, const Tensor& self) {
  check_ordered(op, self);
  TORCH_CHECK_NOT_IMPLEMENTED(!isBarebonesUnsignedType(self.scalar_type()), "\"", op, "\" not implemented for '",
                              toString(self.scalar_type()), "'");
}

std::array<TensorSpec, 2> pair_spec(const Tensor& self, DimVector sizes) {
  TensorSpec indices{sizes, {}, ScalarType::Long, self.device()};
  return {TensorSpec{std::move(sizes), {}, self.scalar_type(), self.device()}, std::move(indices)};
}

// choose(row, stride, n, scratch, memory) gives positions for every row of self along dim. The elements at the first m
// of them, and these positions, go to the rows of values and indices, which have m elements.
template <class F>
void for_chosen(const Tensor& self, int64_t dim, Tensor& values, Tensor& indices, int64_t m, const F& choose) {
  if (self.numel() == 0) return;
  Tensor x = dense(self);
  DenseOut v(values), i(indices);
  const DimSplit s = split_at_dim(x.sizes(), dim);
  int64_t step = s.inner;  // between the elements of a row
  if (s.inner > 16 && s.size > 1 && x.numel() > 4096) {
    // Elements far from each other are brought together at once.
    x = at::clone(at::transpose(at::view(x, {s.outer, s.size, s.inner}), 1, 2), MemoryFormat::Contiguous);
    step = 1;
  }
  const auto item = static_cast<int64_t>(x.itemsize());
  const auto* data = static_cast<const char*>(x.const_data_ptr());
  auto* value = v.data<char>();
  auto* index = i.data<int64_t>();
  const int64_t rows = m == 0 ? 0 : s.outer * s.inner;
  at::parallel_for(0, rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(s.size, 1)), [&](int64_t begin, int64_t end) {
    cpu::SortScratch scratch;
    cpu::ReusedScratch order_memory;
    for (int64_t r = begin; r < end; ++r) {
      const int64_t o = r / s.inner, k = r % s.inner;
      const char* row = data + (step == 1 ? r * s.size : o * s.size * s.inner + k) * item;
      const int64_t* const order = choose(row, step, s.size, scratch, order_memory);
      const int64_t to = o * m * s.inner + k;
      cpu::visit_item_size(item, [&](auto tag) {
        using T = typename decltype(tag)::type;
        const T* from = reinterpret_cast<const T*>(row);
        T* out = reinterpret_cast<T*>(value) + to;
        at::parallel_for(0, m, at::internal::GRAIN_SIZE, [&](int64_t first, int64_t last) {
          for (int64_t j = first; j < last; ++j) {
            const int64_t place = order[j];
            out[j * s.inner] = from[place * step];
            index[to + j * s.inner] = place;
          }
        });
      });
    }
  });
  v.commit();
  i.commit();
}

// Where the m first elements of the sorted row are.
const int64_t* find_first(ScalarType type, const char* row, int64_t stride, int64_t n, int64_t m, bool descending,
                          cpu::SortScratch& scratch, cpu::ReusedScratch& memory) {
  const bool few = m * 8 <= n;
  int64_t* const order = memory.at_least<int64_t>(static_cast<size_t>(few ? m : n));
  if (few) {
    cpu::topk_row(type, row, stride, n, m, descending, scratch, order);
  } else {
    cpu::sort_row(type, row, stride, n, descending, scratch, order);
  }
  return order;
}

int64_t size_at(const Tensor& self, int64_t dim) { return self.dim() == 0 ? 1 : self.sizes()[dim]; }

DimVector with_size(const Tensor& self, int64_t dim, int64_t n, bool keep = true) {
  DimVector sizes(self.sizes().begin(), self.sizes().end());
  if (!sizes.empty()) {
    if (keep) {
      sizes[static_cast<size_t>(dim)] = n;
    } else {
      sizes.erase(sizes.begin() + dim);
    }
  }
  return sizes;
}

}  // namespace

// Every sort is stable here, whether asked for or not.
std::array<TensorSpec, 2> sort_meta(const Tensor& self, int64_t dim, bool) {
  TORCH_CHECK_TYPE(!isComplexType(self.scalar_type()), " Sort does not support complex dtypes on CPU");
  dim = maybe_wrap_dim(dim, self.dim());
  return pair_spec(self, with_size(self, dim, size_at(self, dim)));
}
void sort_cpu(const Tensor& self, int64_t dim, bool descending, Tensor& values, Tensor& indices) {
  dim = maybe_wrap_dim(dim, self.dim());
  const ScalarType type = self.scalar_type();
  for_chosen(
      self, dim, values, indices, size_at(self, dim),
      [&](const char* row, int64_t stride, int64_t n, cpu::SortScratch& scratch, cpu::ReusedScratch& memory) {
        return find_first(type, row, stride, n, n, descending, scratch, memory);
      });
}
std::array<TensorSpec, 2> sort_stable_meta(const Tensor& self, std::optional<bool>, int64_t dim, bool descending) {
  return sort_meta(self, dim, descending);
}
void sort_stable_cpu(const Tensor& self, std::optional<bool>, int64_t dim, bool descending, Tensor& values, Tensor& indices) {
  sort_cpu(self, dim, descending, values, indices);
}

Tensor argsort(const Tensor& self, int64_t dim, bool descending) { return std::get<1>(at::sort(self, dim, descending)); }
Tensor argsort_stable(const Tensor& self, bool stable, int64_t dim, bool descending) {
  return std::get<1>(at::sort(self, std::optional<bool>(stable), dim, descending));
}
Tensor msort(const Tensor& self) { return std::get<0>(at::sort(self, 0, false)); }

std::array<TensorSpec, 2> topk_meta(const Tensor& self, int64_t k, int64_t dim, bool, bool) {
  check_selectable("topk", self);
  dim = maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK(k >= 0 && k <= size_at(self, dim), "selected index k out of range");
  return pair_spec(self, with_size(self, dim, k));
}
void topk_cpu(const Tensor& self, int64_t k, int64_t dim, bool largest, bool, Tensor& values, Tensor& indices) {
  dim = maybe_wrap_dim(dim, self.dim());
  if (self.dim() == 0) k = 1;  // the result has one element whatever k is
  const ScalarType type = self.scalar_type();
  for_chosen(
      self, dim, values, indices, k,
      [&](const char* row, int64_t stride, int64_t n, cpu::SortScratch& scratch, cpu::ReusedScratch& memory) {
        return find_first(type, row, stride, n, k, largest, scratch, memory);
      });
}

std::array<TensorSpec, 2> kthvalue_meta(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  check_selectable("kthvalue", self);
  dim = maybe_wrap_dim(dim, self.dim());
  const int64_t n = size_at(self, dim);
  TORCH_CHECK_INDEX(n > 0, "kthvalue(): Expected reduction dim ", dim, " to have non-zero size.");
  TORCH_CHECK(k >= 1 && k <= n, "kthvalue(): selected number k out of range for dimension ", dim);
  return pair_spec(self, with_size(self, dim, 1, keepdim));
}
void kthvalue_cpu(const Tensor& self, int64_t k, int64_t dim, bool, Tensor& values, Tensor& indices) {
  dim = maybe_wrap_dim(dim, self.dim());
  const ScalarType type = self.scalar_type();
  for_chosen(
      self, dim, values, indices, 1,
      [&](const char* row, int64_t stride, int64_t n, cpu::SortScratch& scratch, cpu::ReusedScratch& memory) {
        int64_t* const order = memory.at_least<int64_t>(1);
        *order = cpu::kth_row(type, row, stride, n, k - 1, scratch);
        return static_cast<const int64_t*>(order);
      });
}

}  // namespace at::native
