// Products of elements of dense tensors in one pass: kron and cross where no gradient is recorded.
#include <algorithm>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/matmul/kernels.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

bool are_plain(const Tensor& a, const Tensor& b) {
  return a.scalar_type() == b.scalar_type() && (a.scalar_type() == kFloat || a.scalar_type() == kDouble) &&
         is_dense(a) && is_dense(b) && a.numel() > 0 && b.numel() > 0;
}

}  // namespace

Tensor kron_cpu(const Tensor& self, const Tensor& other) {
  int64_t rows, columns;
  if (!are_plain(self, other) || self.dim() != 2 || other.dim() != 2 ||
      __builtin_mul_overflow(self.size(0), other.size(0), &rows) ||
      __builtin_mul_overflow(self.size(1), other.size(1), &columns)) {
    return native::kron(self, other);
  }
  const int64_t n = self.size(1), height = other.size(0), width = other.size(1);
  const Tensor out = empty_contiguous({rows, columns}, self.scalar_type());
  cpu::visit_float_double(self.scalar_type(), "kron", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *a = static_cast<const T*>(self.const_data_ptr()), *b = static_cast<const T*>(other.const_data_ptr());
    T* to = static_cast<T*>(out.mutable_data_ptr());
    at::parallel_for(0, rows, std::max<int64_t>(1, 32768 / columns), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T *x = a + r / height * n, *y = b + r % height * width;
        T* row = to + r * columns;
        for (int64_t j = 0; j < n; ++j, row += width) {
          const T factor = x[j];
          for (int64_t k = 0; k < width; ++k) row[k] = factor * y[k];
        }
      }
    });
  });
  return fresh(out);
}

Tensor cross_cpu(const Tensor& self, const Tensor& other, std::optional<int64_t> dim) {
  if (!dim || !are_plain(self, other) || self.sizes() != other.sizes() || self.dim() == 0 || *dim >= self.dim() ||
      *dim < -self.dim() || self.size(*dim) != 3) {
    return native::cross(self, other, dim);
  }
  const DimSplit s = split_at_dim(self.sizes(), maybe_wrap_dim(*dim, self.dim()));
  const Tensor out = empty_contiguous(self.sizes(), self.scalar_type());
  cpu::visit_float_double(self.scalar_type(), "cross", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *a = static_cast<const T*>(self.const_data_ptr()), *b = static_cast<const T*>(other.const_data_ptr());
    T* to = static_cast<T*>(out.mutable_data_ptr());
    const int64_t n = s.inner;
    at::parallel_for(0, s.outer, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        const T *x = a + 3 * o * n, *y = b + 3 * o * n;
        T* z = to + 3 * o * n;
        for (int64_t i = 0; i < n; ++i) {
          const T x0 = x[i], x1 = x[n + i], x2 = x[2 * n + i], y0 = y[i], y1 = y[n + i], y2 = y[2 * n + i];
          z[i] = x1 * y2 - x2 * y1;
          z[n + i] = x2 * y0 - x0 * y2;
          z[2 * n + i] = x0 * y1 - x1 * y0;
        }
      }
    });
  });
  return fresh(out);
}

}  // namespace at::native
