#include "aten/cpu/lapack/interleaved.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/lapack/interleaved.cc"
#include "hwy/foreach_target.h"  // keep first
#include "hwy/highway.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "aten/cpu/isa_table.h"
#include "aten/cpu/matrix/internal.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu::lapack::interleaved {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using matrix::internal::Scratch;

// Up to a vector's lanes of matrices, from the given one on. Lanes beyond the last matrix repeat it.
struct Group {
  int64_t first;
  int64_t count, lanes;
  int64_t matrix(int64_t lane) const { return first + std::min(lane, count - 1); }
};

template <class F>
void for_groups(int64_t count, int64_t lanes, const F& f) {
  for (int64_t first = 0; first < count; first += lanes) f(Group{first, std::min(lanes, count - first), lanes});
}

#if HWY_TARGET == HWY_SCALAR
template <class T>
constexpr int64_t kBlock = 1;
template <class T>
HWY_INLINE void transpose_block(const T* const* from, T* const* to) {
  *to[0] = *from[0];
}
#else
// to[j][i] = from[i][j] of blocks of 128 bits a row.
template <class T>
constexpr int64_t kBlock = 16 / sizeof(T);
template <class T>
HWY_INLINE void transpose_block(const T* const* from, T* const* to) {
  const hn::Full128<T> d;
  if constexpr (sizeof(T) == 8) {
    const auto a = hn::LoadU(d, from[0]), b = hn::LoadU(d, from[1]);
    hn::StoreU(hn::InterleaveLower(d, a, b), d, to[0]);
    hn::StoreU(hn::InterleaveUpper(d, a, b), d, to[1]);
  } else {
    const auto a = hn::LoadU(d, from[0]), b = hn::LoadU(d, from[1]);
    const auto c = hn::LoadU(d, from[2]), e = hn::LoadU(d, from[3]);
    const auto ac = hn::InterleaveLower(d, a, c), be = hn::InterleaveLower(d, b, e);
    const auto ac_upper = hn::InterleaveUpper(d, a, c), be_upper = hn::InterleaveUpper(d, b, e);
    hn::StoreU(hn::InterleaveLower(d, ac, be), d, to[0]);
    hn::StoreU(hn::InterleaveUpper(d, ac, be), d, to[1]);
    hn::StoreU(hn::InterleaveLower(d, ac_upper, be_upper), d, to[2]);
    hn::StoreU(hn::InterleaveUpper(d, ac_upper, be_upper), d, to[3]);
  }
}
#endif

// to[j * to_row + i] = from[i * from_row + j] of m x n elements.
template <class T>
void transpose(int64_t m, int64_t n, const T* from, int64_t from_row, T* to, int64_t to_row) {
  constexpr int64_t block = kBlock<T>;
  const T* rows[block];
  T* columns[block];
  const int64_t whole = m / block * block, across = n / block * block;
  for (int64_t i = 0; i < whole; i += block) {
    for (int64_t j = 0; j < across; j += block) {
      for (int64_t k = 0; k < block; ++k) {
        rows[k] = from + (i + k) * from_row + j;
        columns[k] = to + (j + k) * to_row + i;
      }
      transpose_block<T>(rows, columns);
    }
  }
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = i < whole ? across : 0; j < n; ++j) to[j * to_row + i] = from[i * from_row + j];
  }
}

// Between matrices in memory and vectors of their elements: element e of lane l is element `offset` + e of the lane's
// matrix, which has `size` elements.
template <class T>
void gather(const Group& g, const T* from, int64_t size, int64_t offset, int64_t elements, T* to) {
  transpose(g.count, elements, from + g.first * size + offset, size, to, g.lanes);
  for (int64_t e = 0; e < elements && g.count < g.lanes; ++e) {
    T* const vector = to + e * g.lanes;
    std::fill(vector + g.count, vector + g.lanes, vector[g.count - 1]);
  }
}
template <class T>
void scatter(const Group& g, const T* from, int64_t elements, T* to, int64_t size, int64_t offset) {
  transpose(elements, g.count, from, g.lanes, to + g.first * size + offset, size);
}

// Exchanges rows r and the lane's `other`, counted from 1, of `columns` columns.
template <class T>
void exchange(const Group& g, int64_t n, int64_t columns, int64_t r, const int* const* other, T* x) {
  for (int64_t l = 0; l < g.lanes; ++l) {
    const int64_t p = other[l][r] - 1;
    if (p == r) continue;
    for (int64_t c = 0; c < columns; ++c) std::swap(x[(r + c * n) * g.lanes + l], x[(p + c * n) * g.lanes + l]);
  }
}

constexpr int64_t kMostLanes = HWY_MAX_BYTES / 4;

template <class T>
void lu_of(int64_t count, int n, T* a, int* pivots, int* info) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t size = int64_t{n} * n;
  const Scratch buffer(static_cast<size_t>(size * lanes) * sizeof(T));
  T* const x = buffer.as<T>();
  const auto at = [&](int i, int j) { return x + (i + int64_t{j} * n) * lanes; };
  for_groups(count, lanes, [&](const Group& g) {
    gather(g, a, size, 0, size, x);
    HWY_ALIGN T numbers[kMostLanes];
    int chosen[kMostLanes][kMostRows];
    const int* rows[kMostLanes];
    for (int64_t l = 0; l < lanes; ++l) rows[l] = chosen[l];
    auto failed = hn::Zero(d);
    for (int k = 0; k < n; ++k) {
      auto best = hn::Abs(hn::Load(d, at(k, k))), row = hn::Set(d, static_cast<T>(k));
      for (int i = k + 1; i < n; ++i) {
        const auto size_of = hn::Abs(hn::Load(d, at(i, k)));
        const auto larger = hn::Gt(size_of, best);
        best = hn::IfThenElse(larger, size_of, best);
        row = hn::IfThenElse(larger, hn::Set(d, static_cast<T>(i)), row);
      }
      hn::Store(row, d, numbers);
      for (int64_t l = 0; l < lanes; ++l) chosen[l][k] = static_cast<int>(numbers[l]) + 1;
      exchange(g, n, n, k, rows, x);
      const auto zero = hn::Eq(best, hn::Zero(d));
      failed = hn::IfThenElse(hn::And(zero, hn::Eq(failed, hn::Zero(d))), hn::Set(d, static_cast<T>(k + 1)), failed);
      // Below a pivot of zero all is zero, and stays so.
      const auto pivot = hn::IfThenElse(zero, hn::Set(d, T(1)), hn::Load(d, at(k, k)));
      for (int i = k + 1; i < n; ++i) hn::Store(hn::Div(hn::Load(d, at(i, k)), pivot), d, at(i, k));
      for (int j = k + 1; j < n; ++j) {
        const auto factor = hn::Load(d, at(k, j));
        for (int i = k + 1; i < n; ++i) {
          hn::Store(hn::NegMulAdd(hn::Load(d, at(i, k)), factor, hn::Load(d, at(i, j))), d, at(i, j));
        }
      }
    }
    scatter(g, x, size, a, size, 0);
    hn::Store(failed, d, numbers);
    for (int64_t l = 0; l < g.count; ++l) {
      info[g.first + l] = static_cast<int>(numbers[l]);
      std::copy_n(chosen[l], n, pivots + (g.first + l) * n);
    }
  });
}

// The triangle of `a` or, with `trans`, of its transpose.
struct Triangle {
  bool lower, trans, unit;
};

// x = op(a)^-1 x of kColumns columns.
template <int kColumns, class T>
void solve_columns(const Triangle& t, int n, const T* a, T* x) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const bool forward = t.lower != t.trans;
  for (int step = 0; step < n; ++step) {
    const int i = forward ? step : n - 1 - step;
    hn::Vec<decltype(d)> sum[kColumns];
    for (int c = 0; c < kColumns; ++c) sum[c] = hn::Load(d, x + (i + int64_t{c} * n) * lanes);
    for (int j = forward ? 0 : i + 1; j < (forward ? i : n); ++j) {
      const auto factor = hn::Load(d, a + (t.trans ? j + int64_t{i} * n : i + int64_t{j} * n) * lanes);
      for (int c = 0; c < kColumns; ++c) {
        sum[c] = hn::NegMulAdd(factor, hn::Load(d, x + (j + int64_t{c} * n) * lanes), sum[c]);
      }
    }
    if (!t.unit) {
      const auto diagonal = hn::Load(d, a + (i + int64_t{i} * n) * lanes);
      for (int c = 0; c < kColumns; ++c) sum[c] = hn::Div(sum[c], diagonal);
    }
    for (int c = 0; c < kColumns; ++c) hn::Store(sum[c], d, x + (i + int64_t{c} * n) * lanes);
  }
}
template <class T>
void solve(const Triangle& t, int n, int columns, const T* a, T* x) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  int c = 0;
  for (; c + 4 <= columns; c += 4) solve_columns<4>(t, n, a, x + int64_t{c} * n * lanes);
  for (; c < columns; ++c) solve_columns<1>(t, n, a, x + int64_t{c} * n * lanes);
}

// f(group, matrices, right-hand sides, their number) for some columns of all groups.
template <class T, class F>
void for_systems(int64_t count, int n, int nrhs, const T* a, T* b, const F& f) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const int64_t size = int64_t{n} * n;
  const int most = std::min(nrhs, kMostRows);
  const Scratch room(static_cast<size_t>((size + int64_t{n} * most) * lanes) * sizeof(T));
  T *const matrices = room.as<T>(), *const sides = matrices + size * lanes;
  for_groups(count, lanes, [&](const Group& g) {
    gather(g, a, size, 0, size, matrices);
    for (int c = 0; c < nrhs; c += most) {
      const int columns = std::min(most, nrhs - c);
      gather(g, b, int64_t{n} * nrhs, int64_t{n} * c, int64_t{n} * columns, sides);
      f(g, matrices, sides, columns);
      scatter(g, sides, int64_t{n} * columns, b, int64_t{n} * nrhs, int64_t{n} * c);
    }
  });
}

template <class T>
void triangular_solve_of(char uplo, char trans, char diag, int64_t count, int n, int nrhs, const T* a, T* b) {
  const Triangle t{uplo == 'L', trans != 'N', diag == 'U'};
  for_systems(count, n, nrhs, a, b,
              [&](const Group&, const T* matrices, T* sides, int columns) { solve(t, n, columns, matrices, sides); });
}

// --- One triangle and many columns: a lane has a column ---
// Of `columns` columns, which fill kVectors vectors or less. `inverse`: 1 over the diagonal, null for that of ones.
template <int kVectors, class T>
void solve_packed(const Triangle& t, int n, int columns, const T* a, int64_t lda, const T* inverse, T* b, int64_t ldb,
                  T* x) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d)), width = kVectors * lanes;
  if (columns < width) std::fill_n(x, n * width, T(0));
  transpose<T>(columns, n, b, ldb, x, width);
  const bool forward = t.lower != t.trans;
  const int64_t row = t.trans ? lda : 1, column = t.trans ? 1 : lda;
  for (int step = 0; step < n; ++step) {
    const int i = forward ? step : n - 1 - step;
    hn::Vec<decltype(d)> sum[kVectors];
    for (int v = 0; v < kVectors; ++v) sum[v] = hn::Load(d, x + i * width + v * lanes);
    for (int j = forward ? 0 : i + 1; j < (forward ? i : n); ++j) {
      const auto factor = hn::Set(d, a[i * row + j * column]);
      for (int v = 0; v < kVectors; ++v) {
        sum[v] = hn::NegMulAdd(factor, hn::Load(d, x + j * width + v * lanes), sum[v]);
      }
    }
    if (inverse != nullptr) {
      for (int v = 0; v < kVectors; ++v) sum[v] = hn::Mul(sum[v], hn::Set(d, inverse[i]));
    }
    for (int v = 0; v < kVectors; ++v) hn::Store(sum[v], d, x + i * width + v * lanes);
  }
  transpose<T>(n, columns, x, width, b, ldb);
}

template <class T>
bool columns_solve_of(char uplo, char trans, char diag, int n, int nrhs, const T* a, int64_t lda, T* b, int64_t ldb) {
  const Triangle t{uplo == 'L', trans != 'N', diag == 'U'};
  T inverse[kMostColumnRows];
  for (int i = 0; i < n && !t.unit; ++i) {
    inverse[i] = T(1) / a[i + i * lda];
    if (!std::isfinite(inverse[i])) return false;
  }
  const T* const scale = t.unit ? nullptr : inverse;
  const auto lanes = static_cast<int>(hn::Lanes(hn::ScalableTag<T>()));
  const Scratch buffer(static_cast<size_t>(n * 8 * lanes) * sizeof(T));
  int c = 0;
  const auto columns = [&](int vectors) { return std::min(nrhs - c, vectors * lanes); };
  for (; nrhs - c > 4 * lanes; c += columns(8)) {
    solve_packed<8>(t, n, columns(8), a, lda, scale, b + c * ldb, ldb, buffer.as<T>());
  }
  for (; nrhs - c > lanes; c += columns(4)) {
    solve_packed<4>(t, n, columns(4), a, lda, scale, b + c * ldb, ldb, buffer.as<T>());
  }
  if (c < nrhs) solve_packed<1>(t, n, nrhs - c, a, lda, scale, b + c * ldb, ldb, buffer.as<T>());
  return true;
}

template <class T>
void lu_solve_of(char trans, int64_t count, int n, int nrhs, const T* a, const int* pivots, T* b) {
  for_systems(count, n, nrhs, a, b, [&](const Group& g, const T* matrices, T* sides, int columns) {
    const int* rows[kMostLanes];
    for (int64_t l = 0; l < g.lanes; ++l) rows[l] = pivots + g.matrix(l) * n;
    if (trans == 'N') {
      for (int i = 0; i < n; ++i) exchange(g, n, columns, i, rows, sides);
      solve({true, false, true}, n, columns, matrices, sides);
      solve({false, false, false}, n, columns, matrices, sides);
    } else {
      solve({false, true, false}, n, columns, matrices, sides);
      solve({true, true, true}, n, columns, matrices, sides);
      for (int i = n - 1; i >= 0; --i) exchange(g, n, columns, i, rows, sides);
    }
  });
}

template <class T>
void cholesky_of(char uplo, int64_t count, int n, T* a, int* info) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t size = int64_t{n} * n;
  const Scratch buffer(static_cast<size_t>(size * lanes) * sizeof(T));
  T* const x = buffer.as<T>();
  // Element (i, j), i >= j, of L; with 'U' the matrix holds the transpose.
  const auto at = [&](int i, int j) { return x + (uplo == 'L' ? i + int64_t{j} * n : j + int64_t{i} * n) * lanes; };
  for_groups(count, lanes, [&](const Group& g) {
    gather(g, a, size, 0, size, x);
    // A matrix whose minor is not positive stays as it is from there on.
    auto alive = hn::Eq(hn::Zero(d), hn::Zero(d));
    auto failed = hn::Zero(d);
    for (int j = 0; j < n; ++j) {
      auto square = hn::Load(d, at(j, j));
      for (int k = 0; k < j; ++k) {
        const auto element = hn::Load(d, at(j, k));
        square = hn::NegMulAdd(element, element, square);
      }
      const auto positive = hn::Gt(square, hn::Zero(d));
      failed = hn::IfThenElse(hn::AndNot(positive, alive), hn::Set(d, static_cast<T>(j + 1)), failed);
      const auto before = alive;
      alive = hn::And(alive, positive);
      const auto pivot = hn::IfThenElse(alive, hn::Sqrt(square), hn::Set(d, T(1)));
      hn::Store(hn::IfThenElse(alive, pivot, hn::IfThenElse(before, square, hn::Load(d, at(j, j)))), d, at(j, j));
      for (int i = j + 1; i < n; ++i) {
        const auto element = hn::Load(d, at(i, j));
        auto sum = element;
        for (int k = 0; k < j; ++k) sum = hn::NegMulAdd(hn::Load(d, at(i, k)), hn::Load(d, at(j, k)), sum);
        hn::Store(hn::IfThenElse(alive, hn::Div(sum, pivot), element), d, at(i, j));
      }
    }
    scatter(g, x, size, a, size, 0);
    HWY_ALIGN T numbers[kMostLanes];
    hn::Store(failed, d, numbers);
    for (int64_t l = 0; l < g.count; ++l) info[g.first + l] = static_cast<int>(numbers[l]);
  });
}

// The pairs p < q with p + q = round modulo n, none of which share a row. In n rounds every pair comes once, in an
// order that is equivalent to that by rows, for which the method converges (Luk and Park, A proof of convergence for
// two parallel Jacobi SVD algorithms, 1989).
int pairs_of(int n, int round, int (*pairs)[2]) {
  int count = 0;
  for (int p = 0; p < n; ++p) {
    const int q = (round - p + n) % n;
    if (p >= q) continue;
    pairs[count][0] = p;
    pairs[count++][1] = q;
  }
  return count;
}

// (x, y) = (c x - s y, s x + c y) of `count` elements `apart` from each other.
template <class D, class V, class T = hn::TFromD<D>>
HWY_INLINE void rotate(D d, V c, V s, int count, int64_t apart, T* x, T* y) {
  for (int i = 0; i < count; ++i) {
    const auto a = hn::Load(d, x + i * apart), b = hn::Load(d, y + i * apart);
    hn::Store(hn::NegMulAdd(s, b, hn::Mul(c, a)), d, x + i * apart);
    hn::Store(hn::MulAdd(s, a, hn::Mul(c, b)), d, y + i * apart);
  }
}

// Jacobi's method (Golub and Van Loan, Matrix Computations, section 8.5), until the last matrix is diagonal.
template <class T>
void eigh_of(bool vectors, char uplo, int64_t count, int n, T* a, T* values, int* info) {
  constexpr int kMostSweeps = 40;
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t size = int64_t{n} * n, column = n * lanes;
  const Scratch buffer(static_cast<size_t>((2 * size + n) * lanes) * sizeof(T));
  T *const x = buffer.as<T>(), *const v = x + size * lanes, *const result = v + size * lanes;
  const auto at = [&](int i, int j) { return x + (i + int64_t{j} * n) * lanes; };
  const auto zero = hn::Zero(d), one = hn::Set(d, T(1));
  for_groups(count, lanes, [&](const Group& g) {
    gather(g, a, size, 0, size, x);
    auto norm = zero;
    for (int j = 0; j < n; ++j) {
      for (int i = j; i < n; ++i) {
        const auto element = hn::Load(d, uplo == 'L' ? at(i, j) : at(j, i));
        hn::Store(element, d, at(i, j));
        hn::Store(element, d, at(j, i));
        norm = hn::Max(norm, hn::Abs(element));
        if (!vectors) continue;
        hn::Store(i == j ? one : zero, d, v + (i + int64_t{j} * n) * lanes);
        hn::Store(i == j ? one : zero, d, v + (j + int64_t{i} * n) * lanes);
      }
    }
    // Scaled, so that squares neither overflow nor vanish.
    norm = hn::Max(norm, hn::Set(d, std::numeric_limits<T>::min()));
    const auto scale = hn::Div(one, norm);
    for (int64_t e = 0; e < size; ++e) hn::Store(hn::Mul(scale, hn::Load(d, x + e * lanes)), d, x + e * lanes);
    // What is negligible changes no digit of the values; smaller and smaller angles would make subnormal numbers.
    const auto negligible = hn::Set(d, std::numeric_limits<T>::epsilon() / 8);
    bool done = false;
    for (int sweep = 0; !done && sweep < kMostSweeps; ++sweep) {
      done = true;
      for (int round = 0; round < n; ++round) {
        int pairs[kMostRows / 2][2];
        const int all = pairs_of(n, round, pairs);
        hn::Vec<decltype(d)> c[kMostRows / 2], s[kMostRows / 2];
        int together = 0;
        for (int k = 0; k < all; ++k) {
          const int p = pairs[k][0], q = pairs[k][1];
          const auto off = hn::Load(d, at(p, q));
          const auto stays = hn::Le(hn::Abs(off), negligible);
          if (hn::AllTrue(d, stays)) continue;
          // The tangent t of the angle is the smaller root of t^2 + 2 theta t - 1 = 0 with theta = difference / twice.
          const auto difference = hn::Sub(hn::Load(d, at(q, q)), hn::Load(d, at(p, p))), twice = hn::Add(off, off);
          const auto root = hn::Sqrt(hn::MulAdd(twice, twice, hn::Mul(difference, difference)));
          const auto below = hn::Add(hn::Abs(difference), root);
          const auto length = hn::Div(one, hn::Sqrt(hn::Mul(hn::Add(root, root), below)));
          const auto sine = hn::Xor(hn::Mul(twice, length), hn::And(hn::SignBit(d), difference));
          c[together] = hn::IfThenElse(stays, one, hn::Mul(below, length));
          s[together] = hn::IfThenElse(stays, zero, sine);
          pairs[together][0] = p;
          pairs[together++][1] = q;
        }
        done = done && together == 0;
        for (int k = 0; k < together; ++k) {
          const int p = pairs[k][0], q = pairs[k][1];
          rotate(d, c[k], s[k], n, lanes, x + p * column, x + q * column);
          if (vectors) rotate(d, c[k], s[k], n, lanes, v + p * column, v + q * column);
        }
        for (int k = 0; k < together; ++k) {
          const int p = pairs[k][0], q = pairs[k][1];
          rotate(d, c[k], s[k], n, column, x + p * lanes, x + q * lanes);
          // Zero but for rounding. What stays where nothing was rotated is negligible, too.
          hn::Store(zero, d, at(p, q));
          hn::Store(zero, d, at(q, p));
        }
      }
    }
    for (int i = 0; i < n; ++i) hn::Store(hn::Mul(norm, hn::Load(d, at(i, i))), d, result + i * lanes);
    // In ascending order, with the vectors; all lanes' matrices go back at once, so x holds the vectors in their order.
    for (int64_t l = 0; l < g.count; ++l) {
      int order[kMostRows];
      std::iota(order, order + n, 0);
      const auto value = [&](int i) { return result[i * lanes + l]; };
      std::stable_sort(order, order + n, [&](int i, int j) { return value(i) < value(j); });
      for (int i = 0; i < n; ++i) {
        values[(g.first + l) * n + i] = value(order[i]);
        if (!vectors) continue;
        for (int j = 0; j < n; ++j) x[(j + int64_t{i} * n) * lanes + l] = v[(j + int64_t{order[i]} * n) * lanes + l];
      }
      info[g.first + l] = done ? 0 : n;
    }
    if (vectors) scatter(g, x, size, a, size, 0);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu::lapack::interleaved
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::cpu::lapack::interleaved {

template <class T>
void lu(int64_t count, int n, T* a, int* pivots, int* info) {
  AT_ISA_FUNCTION(lu_of<T>)(count, n, a, pivots, info);
}
template <class T>
void lu_solve(char trans, int64_t count, int n, int nrhs, const T* a, const int* pivots, T* b) {
  AT_ISA_FUNCTION(lu_solve_of<T>)(trans, count, n, nrhs, a, pivots, b);
}
template <class T>
void cholesky(char uplo, int64_t count, int n, T* a, int* info) {
  AT_ISA_FUNCTION(cholesky_of<T>)(uplo, count, n, a, info);
}
template <class T>
void eigh(bool vectors, char uplo, int64_t count, int n, T* a, T* values, int* info) {
  AT_ISA_FUNCTION(eigh_of<T>)(vectors, uplo, count, n, a, values, info);
}
template <class T>
void triangular_solve(char uplo, char trans, char diag, int64_t count, int n, int nrhs, const T* a, T* b) {
  AT_ISA_FUNCTION(triangular_solve_of<T>)(uplo, trans, diag, count, n, nrhs, a, b);
}
template <class T>
bool columns_solve(char uplo, char trans, char diag, int n, int nrhs, const T* a, int64_t lda, T* b, int64_t ldb) {
  return AT_ISA_FUNCTION(columns_solve_of<T>)(uplo, trans, diag, n, nrhs, a, lda, b, ldb);
}

#define KD_INSTANCES_(T)                                                                  \
  template void lu(int64_t, int, T*, int*, int*);                                         \
  template void lu_solve(char, int64_t, int, int, const T*, const int*, T*);              \
  template void cholesky(char, int64_t, int, T*, int*);                                   \
  template void eigh(bool, char, int64_t, int, T*, T*, int*);                             \
  template void triangular_solve(char, char, char, int64_t, int, int, const T*, T*);      \
  template bool columns_solve(char, char, char, int, int, const T*, int64_t, T*, int64_t);
KD_INSTANCES_(float)
KD_INSTANCES_(double)
#undef KD_INSTANCES_

}  // namespace at::cpu::lapack::interleaved
#endif
