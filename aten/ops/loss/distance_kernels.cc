// Distances of rows: vectorised where no gradient is recorded, else by composition, which is differentiable.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cpu/rows/distance.h"
#include "aten/cpu/rows/rows.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/loss/kernels.h"
#include "aten/ops/loss/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

// The distance of two rows in double.
template <class T>
T wide_distance(const T* x, const T* y, int64_t width, double p) {
  double sum = 0;
  for (int64_t k = 0; k < width; ++k) {
    const double d = static_cast<double>(x[k] - y[k]);
    sum += p == 2 ? d * d : std::pow(std::fabs(d), p);
  }
  return static_cast<T>(p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p));
}

// What distances() left in `row` becomes the distances of x and n rows y. Sums of powers that float does not hold are
// formed again in double.
template <class T>
void finish_row(const T* x, const T* y, int64_t n, int64_t width, const cpu::DistanceNorm& norm, T* row) {
  const bool is_root = norm.kind == cpu::DistanceNorm::Kind::kTwo;
  if (!is_root && !norm.needs_root()) return;
  constexpr T kLeast = std::numeric_limits<T>::min() * T(1 << 24), kMost = std::numeric_limits<T>::max();
  const T least = is_root ? std::sqrt(kLeast) : kLeast;
  const auto is_odd = [&](T v) { return (v < least) | (v > kMost); };
  bool odd = false;
  for (int64_t j = 0; j < n && sizeof(T) == sizeof(float); ++j) odd |= is_odd(row[j]);
  if (is_root && !odd) return;
  for (int64_t j = 0; j < n; ++j) {
    if (!odd || !is_odd(row[j])) {
      if (!is_root) row[j] = static_cast<T>(std::pow(static_cast<double>(row[j]), 1 / norm.p));
    } else if (!std::equal(x, x + width, y + j * width)) {
      row[j] = wide_distance(x, y + j * width, width, norm.p);
    }
  }
}

bool is_vectorised(const Tensor& x) {
  return (x.scalar_type() == ScalarType::Float || x.scalar_type() == ScalarType::Double) && x.numel() > 0;
}

constexpr int64_t kBlock = 64;  // rows of a task

// Two batches of `count` matrices, n x width and m x width.
template <class T>
struct Batches {
  const T *x, *y;
  int64_t count, n, m, width;
};

int64_t grain_of(int64_t work) {
  return std::max<int64_t>(1, 65536 / std::max<int64_t>(1, work));
}

// The distances of the rows of each matrix and those of its fellow.
template <class T>
void pair_distances(const Batches<T>& b, double p, T* out) {
  const cpu::DistanceNorm norm(p);
  const int64_t n = b.n, m = b.m, width = b.width;
  const int64_t rows = (n + kBlock - 1) / kBlock, columns = (m + cpu::kDistancePanel - 1) / cpu::kDistancePanel;
  const int64_t grain = grain_of(std::min(n, kBlock) * std::min(m, cpu::kDistancePanel) * width);
  at::parallel_for(0, b.count * rows * columns, grain, [&](int64_t begin, int64_t end) {
    std::vector<T> packed(static_cast<size_t>(cpu::kDistancePanel * width));
    for (int64_t t = begin; t < end; ++t) {
      const int64_t batch = t / (rows * columns);
      const int64_t i = t / columns % rows * kBlock, j = t % columns * cpu::kDistancePanel;
      const int64_t height = std::min(kBlock, n - i), breadth = std::min(cpu::kDistancePanel, m - j);
      const T *x = b.x + (batch * n + i) * width, *y = b.y + (batch * m + j) * width;
      T* to = out + (batch * n + i) * m + j;
      cpu::distances(x, height, y, breadth, width, norm, packed.data(), to, m);
      for (int64_t r = 0; r < height; ++r) finish_row(x + r * width, y, breadth, width, norm, to + r * m);
    }
  });
}

// The squares of rows.
template <class T>
std::vector<T> squares_of(const T* x, int64_t rows, int64_t width) {
  std::vector<T> squares(static_cast<size_t>(rows));
  at::parallel_for(0, rows, grain_of(width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      squares[static_cast<size_t>(i)] = static_cast<T>(cpu::row_square_sum(x + i * width, width, 0));
  });
  return squares;
}

// The same from the matrix product of the two, which `out` holds; where the product loses digits the differences are
// formed.
template <class T>
void product_distances(const Batches<T>& b, T* out) {
  const cpu::DistanceNorm two(2);
  const int64_t m = b.m, width = b.width;
  const std::vector<T> x_squares = squares_of(b.x, b.count * b.n, width);
  const std::vector<T> y_squares = squares_of(b.y, b.count * m, width);
  constexpr int64_t kRun = 64 * cpu::kDistancePanel;
  const int64_t runs = (m + kRun - 1) / kRun;
  at::parallel_for(0, b.count * b.n * runs, grain_of(2 * std::min(m, kRun)), [&](int64_t begin, int64_t end) {
    std::vector<T> packed;
    for (int64_t t = begin; t < end; ++t) {
      const int64_t i = t / runs, first = i / b.n * m, from = t % runs * kRun, n = std::min(kRun, m - from);
      const T *x = b.x + i * width, *y = b.y + (first + from) * width;
      T* row = out + i * m + from;
      const bool all = cpu::distances_from_products(row, n, x_squares[static_cast<size_t>(i)],
                                                    y_squares.data() + first + from);
      const auto is_lost = [](T v) { return v < 0; };
      for (int64_t j = 0; !all && j < n; ++j) {
        if (!is_lost(row[j])) continue;
        int64_t count = std::min(cpu::kDistancePanel, n - j);
        while (!is_lost(row[j + count - 1])) --count;
        T formed[cpu::kDistancePanel];
        packed.resize(static_cast<size_t>(cpu::kDistancePanel * width));
        cpu::distances(x, 1, y + j * width, count, width, two, packed.data(), formed, count);
        for (int64_t k = 0; k < count; ++k) {
          if (is_lost(row[j + k])) row[j + k] = formed[k];
        }
        j += count - 1;
      }
      finish_row(x, y, n, width, two, row);
    }
  });
}

void check_cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> compute_mode) {
  TORCH_CHECK(isFloatingType(x1.scalar_type()),
              "cdist only supports floating-point dtypes, X1 got: ", x1.scalar_type());
  TORCH_CHECK(isFloatingType(x2.scalar_type()),
              "cdist only supports floating-point dtypes, X2 got: ", x2.scalar_type());
  TORCH_CHECK(x1.dim() >= 2, "cdist only supports at least 2D tensors, X1 got: ", x1.dim(), "D");
  TORCH_CHECK(x2.dim() >= 2, "cdist only supports at least 2D tensors, X2 got: ", x2.dim(), "D");
  TORCH_CHECK(x1.size(-1) == x2.size(-1), "X1 and X2 must have the same number of columns. X1: ", x1.size(-1),
              " X2: ", x2.size(-1));
  TORCH_CHECK(p >= 0, "cdist only supports non-negative p values");
  TORCH_CHECK(!compute_mode.has_value() || (*compute_mode >= 0 && *compute_mode <= 2),
              "possible modes: None, 1, 2, but was: ", compute_mode.value_or(0));
}
void check_pdist(const Tensor& self, double p) {
  TORCH_CHECK(self.dim() == 2, "pdist only supports 2D tensors, got: ", self.dim(), "D");
  TORCH_CHECK(isFloatingType(self.scalar_type()), "pdist only supports floating-point dtypes");
  TORCH_CHECK(p >= 0, "pdist only supports non-negative p values");
}

}  // namespace

// ||x1[i] - x2[j]||_p for all pairs of rows.
Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> compute_mode) {
  check_cdist(x1, x2, p, compute_mode);
  const Tensor differences = at::sub(at::unsqueeze(x1, -2), at::unsqueeze(x2, -3));
  // Of no columns all distances are zero, whatever the norm.
  if (x1.size(-1) == 0) return at::sum(differences, IntArrayRef{-1});
  return at::norm(differences, Scalar(p), IntArrayRef{-1});
}

Tensor cdist_cpu(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> compute_mode) {
  check_cdist(x1, x2, p, compute_mode);
  if (!is_vectorised(x1) || !is_vectorised(x2) || x1.scalar_type() != x2.scalar_type()) {
    return native::cdist(x1, x2, p, compute_mode);
  }
  const int64_t n = x1.size(-2), m = x2.size(-2), width = x1.size(-1);
  const auto batches = [](const Tensor& x) { return x.sizes().slice(0, static_cast<size_t>(x.dim() - 2)); };
  DimVector sizes = broadcast_shapes(batches(x1), batches(x2));
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  const auto batched = [&](const Tensor& x) {
    DimVector all(sizes);
    all.push_back(x.size(-2));
    all.push_back(width);
    return dense(x.sizes() == IntArrayRef(all) ? x : at::expand(x, all));
  };
  const Tensor a = batched(x1), b = batched(x2);
  sizes.push_back(n);
  sizes.push_back(m);
  // A product of a short side gains nothing.
  const bool by_product =
      p == 2 && width >= 24 && (compute_mode.value_or(0) == 1 || (compute_mode.value_or(0) == 0 && n > 25 && m > 25));
  const Tensor out =
      by_product ? dense(at::matmul(a, at::transpose(b, -2, -1))) : fresh(empty_contiguous(sizes, x1.scalar_type()));
  cpu::visit_float_double(x1.scalar_type(), "cdist", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *x = static_cast<const T*>(a.const_data_ptr()), *y = static_cast<const T*>(b.const_data_ptr());
    T* to = static_cast<T*>(out.mutable_data_ptr());
    const Batches<T> pairs{x, y, count, n, m, width};
    if (by_product) {
      product_distances(pairs, to);
    } else {
      pair_distances(pairs, p, to);
    }
  });
  return out;
}

Tensor euclidean_dist(const Tensor& x1, const Tensor& x2) {
  return at::cdist(x1, x2, 2, std::nullopt);
}

// The distances of all pairs of rows, i < j.
Tensor pdist(const Tensor& self, double p) {
  check_pdist(self, p);
  const int64_t n = self.size(0);
  const Tensor pairs = at::triu_indices(n, n, 1, TensorOptions(kLong).device(self.device()));
  const Tensor differences =
      at::sub(at::index_select(self, 0, at::select(pairs, 0, 0)), at::index_select(self, 0, at::select(pairs, 0, 1)));
  if (self.size(1) == 0 || n <= 1) return at::sum(differences, IntArrayRef{1});
  return at::norm(differences, Scalar(p), IntArrayRef{1});
}

Tensor pdist_cpu(const Tensor& self, double p) {
  check_pdist(self, p);
  const int64_t n = self.size(0), width = self.size(1);
  if (!is_vectorised(self) || n <= 1) return native::pdist(self, p);
  const Tensor x = dense(self);
  const Tensor out = empty_contiguous({n * (n - 1) / 2}, self.scalar_type());
  const cpu::DistanceNorm norm(p);
  constexpr int64_t kColumns = 1024;
  cpu::visit_float_double(self.scalar_type(), "pdist", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* rows = static_cast<const T*>(x.const_data_ptr());
    T* to = static_cast<T*>(out.mutable_data_ptr());
    constexpr int64_t kRows = kBlock;
    at::parallel_for(
        0, (n + kRows - 1) / kRows, std::max<int64_t>(1, 65536 / (kRows * n * width)), [&](int64_t begin, int64_t end) {
          std::vector<T> packed(static_cast<size_t>(cpu::kDistancePanel * width)),
              block(static_cast<size_t>(kRows * kColumns));
          for (int64_t first = begin * kRows, stop = std::min(n, end * kRows); first < stop; first += kRows) {
            const int64_t height = std::min(kRows, stop - first);
            for (int64_t j = first; j < n; j += kColumns) {
              const int64_t breadth = std::min(kColumns, n - j);
              cpu::distances(rows + first * width, height, rows + j * width, breadth, width, norm, packed.data(),
                             block.data(), kColumns);
              for (int64_t i = first; i < first + height; ++i) {
                // Row i begins after those before it: n - 1, n - 2, ... distances.
                T* row = to + i * (2 * n - i - 1) / 2 - (i + 1);
                const int64_t from = std::max(j, i + 1), last = j + breadth;
                if (from >= last) continue;
                std::copy(block.data() + (i - first) * kColumns + (from - j),
                          block.data() + (i - first) * kColumns + breadth, row + from);
                finish_row(rows + i * width, rows + from * width, last - from, width, norm, row + from);
              }
            }
          }
        });
  });
  return fresh(out);
}

}  // namespace at::native
