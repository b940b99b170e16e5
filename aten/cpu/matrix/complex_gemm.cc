// Products of complex numbers by way of real ones.
#include <algorithm>

#include "aten/cpu/matrix/internal.h"
#include "c10/parallel/parallel.h"

namespace at::matrix::internal {
namespace {

// Matrices of less work are sooner multiplied by plain loops.
constexpr double kLeastWork = 256;

const char* refusal(const Gemm& g) {
  if (g.type != Type::kComplex64 && g.type != Type::kComplex128) return "only complex numbers";
  const bool small = static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k) < kLeastWork;
  return small ? "small" : nullptr;
}

// C[m, n] = alpha (X + i Y) + beta add of one batch entry, where X and Y are the products of A's real and imaginary
// parts with B: `parts` is [2, m, n], X and Y one after the other.
template <class T>
void combine(const Gemm& g, const Pair<T>* parts) {
  using C = Pair<T>;
  const bool adds = g.add.data != nullptr && !g.beta.is_zero(), scales = g.alpha.real != 1 || g.alpha.imag != 0;
  const C alpha = factor_of<C>(g.alpha), beta = factor_of<C>(g.beta);
  at::parallel_for(0, g.m, std::max<int64_t>(1, 8192 / g.n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const C* const x = parts + i * g.n;
      const C* const y = x + g.m * g.n;
      const C* const add = static_cast<const C*>(g.add.data) + (adds ? i * g.add.row : 0);
      C* const c = static_cast<C*>(g.c) + i * g.c_row;
      if (!scales && !adds && g.c_col == 1) {
        for (int64_t j = 0; j < g.n; ++j) c[j] = {x[j].re - y[j].im, x[j].im + y[j].re};
        continue;
      }
      for (int64_t j = 0; j < g.n; ++j) {
        C sum{x[j].re - y[j].im, x[j].im + y[j].re};
        if (scales) sum = alpha * sum;
        if (adds) sum = sum + beta * add[j * g.add.col];
        c[j * g.c_col] = sum;
      }
    }
  });
}

// The real parts of A's rows, dense, and behind them the imaginary ones.
template <class T>
void split(const Gemm& g, T* parts) {
  at::parallel_for(0, g.m, std::max<int64_t>(1, 8192 / g.k), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Pair<T>* const a = static_cast<const Pair<T>*>(g.a.data) + i * g.a.row;
      T *const re = parts + i * g.k, *const im = re + g.m * g.k;
      if (g.a.col == 1) {
        for (int64_t k = 0; k < g.k; ++k) re[k] = a[k].re, im[k] = a[k].im;
      } else {
        for (int64_t k = 0; k < g.k; ++k) re[k] = a[k * g.a.col].re, im[k] = a[k * g.a.col].im;
      }
    }
  });
}

// One batch entry. Where B's rows are dense they are rows of 2n real numbers: X and Y are one product of real matrices.
template <class T>
void multiply(const Gemm& given) {
  using C = Pair<T>;
  // A product with a column is one of a row.
  Gemm g = given.n == 1 || (given.b.col != 1 && given.a.row == 1) ? transposed(given) : given;
  Gemm real;
  real.type = sizeof(T) == 4 ? Type::kFloat32 : Type::kFloat64;
  if (g.m == 1 && g.b.row == 1 && g.b.col != 1) {
    // B's columns are rows of 2k numbers: the real parts are their products with (re, -im), the imaginary ones with (im, re).
    const Scratch scratch(static_cast<size_t>(2 * g.k + 2 * g.n) * sizeof(C));
    C* const factors = scratch.as<C>();
    C* const parts = factors + 2 * g.k;
    const C* const a = static_cast<const C*>(g.a.data);
    for (int64_t k = 0; k < g.k; ++k) {
      const C x = a[k * g.a.col];
      factors[k] = {x.re, -x.im};
      factors[g.k + k] = {x.im, x.re};
    }
    real.m = g.n, real.n = 1, real.k = 2 * g.k, real.batch[1] = 2;
    real.a = {g.b.data, 2 * g.b.col, 1, {0, 0}};
    real.b = {factors, 1, 1, {0, 2 * g.k}};
    real.c = parts, real.c_row = 2, real.c_batch[1] = 1;
    gemm(real);
    std::fill(parts + g.n, parts + 2 * g.n, C{});
    return combine(g, parts);
  }
  // Some rows at a time, so that the parts stay small.
  const int64_t most = std::min(g.m, std::max<int64_t>(256, (int64_t{1} << 19) / g.n));
  const int64_t parts_size = 2 * most * g.n, a_size = most * g.k, b_size = g.b.col == 1 ? 0 : g.k * g.n;
  const Scratch scratch(static_cast<size_t>(parts_size + a_size + b_size) * sizeof(C));
  C* const parts = scratch.as<C>();
  T* const a = &parts[parts_size].re;
  if (b_size > 0) {
    C* const dense = parts + parts_size + a_size;
    const C* const b = static_cast<const C*>(g.b.data);
    at::parallel_for(0, g.k, std::max<int64_t>(1, 8192 / g.n), [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k)
        for (int64_t j = 0; j < g.n; ++j) dense[k * g.n + j] = b[k * g.b.row + j * g.b.col];
    });
    g.b = {dense, g.n, 1, {0, 0}};
  }
  real.n = 2 * g.n, real.k = g.k;
  real.a = {a, g.k, 1, {0, 0}};
  real.b = {g.b.data, 2 * g.b.row, 1, {0, 0}};
  real.c = parts, real.c_row = 2 * g.n;
  for (int64_t first = 0; first < g.m; first += most) {
    const Gemm rows = part(g, first, std::min(most, g.m - first), 0, g.n);
    split(rows, a);
    real.m = 2 * rows.m;
    gemm(real);
    combine(rows, parts);
  }
}

void run(const Gemm& g) {
  const auto entry = g.type == Type::kComplex64 ? multiply<float> : multiply<double>;
  const int64_t batches = g.batch[0] * g.batch[1];
  at::parallel_for(0, batches, at::divup(batches, at::get_num_threads()), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) entry(batch_entry(g, i));
  });
}

}  // namespace

constinit const Candidate kComplex{"complex", refusal, run};

}  // namespace at::matrix::internal
