// cumsum, cumprod, cummax, cummin, logcumsumexp.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/scan/kernels.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

constexpr int64_t kGrain = 16384;     // elements worth a thread
constexpr int64_t kColumns = 64;      // columns that one task walks side by side
constexpr int64_t kLongRow = 32768;   // rows at least so long are cut into pieces

// What sums and products are accumulated in.
template <class T>
struct Accumulated {
  using type = double;
};
template <class T>
  requires cpu::kIsIntegral<T>
struct Accumulated<T> {
  using type = uint64_t;  // wraps around
};
template <class R>
struct Accumulated<c10::complex<R>> {
  using type = c10::complex<double>;
};

template <class T>
typename Accumulated<T>::type widen(T x) {
  using A = typename Accumulated<T>::type;
  if constexpr (c10::is_complex_v<T>) {
    return A(static_cast<double>(x.real()), static_cast<double>(x.imag()));
  } else {
    return static_cast<A>(x);
  }
}
template <class T>
T narrow(typename Accumulated<T>::type v) {
  if constexpr (c10::is_complex_v<T>) {
    using R = decltype(T().real());
    return T(static_cast<R>(v.real()), static_cast<R>(v.imag()));
  } else if constexpr (sizeof(T) == 2 && !cpu::kIsIntegral<T>) {
    return static_cast<T>(static_cast<float>(v));
  } else if constexpr (std::is_same_v<T, cpu::Boolean>) {
    return v != 0;
  } else {
    return static_cast<T>(v);
  }
}

template <bool kProduct, class A>
A joined(A a, A b) {
  return kProduct ? a * b : a + b;
}

// kRows rows at once, so that the additions of one need not wait for those of another.
template <bool kProduct, int kRows, class T, class A>
void scan_rows(const T* const* x, T* const* y, int64_t n, A* state) {
  A s[kRows];
  for (int r = 0; r < kRows; ++r) s[r] = state[r];
  for (int64_t i = 0; i < n; ++i) {
    for (int r = 0; r < kRows; ++r) {
      s[r] = joined<kProduct>(s[r], widen(x[r][i]));
      y[r][i] = narrow<T>(s[r]);
    }
  }
  for (int r = 0; r < kRows; ++r) state[r] = s[r];
}

template <bool kProduct, class T>
void scan_several(const T* x, T* y, int64_t rows, int64_t n, int64_t pitch, typename Accumulated<T>::type* state) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const T* from[4] = {x + r * pitch, x + (r + 1) * pitch, x + (r + 2) * pitch, x + (r + 3) * pitch};
    T* to[4] = {y + r * pitch, y + (r + 1) * pitch, y + (r + 2) * pitch, y + (r + 3) * pitch};
    scan_rows<kProduct, 4>(from, to, n, state + r);
  }
  for (; r < rows; ++r) {
    const T* from = x + r * pitch;
    T* to = y + r * pitch;
    scan_rows<kProduct, 1>(&from, &to, n, state + r);
  }
}

// A long row in pieces: their totals first, then all pieces from where the ones before them end.
template <bool kProduct, class T>
void scan_long_row(const T* x, T* y, int64_t n) {
  using A = typename Accumulated<T>::type;
  constexpr int64_t kPieces = 16;
  const int64_t length = n / kPieces;
  A start[kPieces];
  at::parallel_for(0, kPieces - 1, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      A lane[8];
      for (A& v : lane) v = kProduct ? A(1) : A(0);
      const T* from = x + p * length;
      int64_t i = 0;
      for (; i + 8 <= length; i += 8) {
        for (int k = 0; k < 8; ++k) lane[k] = joined<kProduct>(lane[k], widen(from[i + k]));
      }
      for (; i < length; ++i) lane[0] = joined<kProduct>(lane[0], widen(from[i]));
      for (int k = 1; k < 8; ++k) lane[0] = joined<kProduct>(lane[0], lane[k]);
      start[p + 1] = lane[0];
    }
  });
  start[0] = kProduct ? A(1) : A(0);
  for (int64_t p = 1; p < kPieces; ++p) start[p] = joined<kProduct>(start[p - 1], start[p]);
  at::parallel_for(0, kPieces / 4, 1, [&](int64_t begin, int64_t end) {
    scan_several<kProduct>(
        x + begin * 4 * length, y + begin * 4 * length, (end - begin) * 4, length, length, start + begin * 4);
  });
  A last = start[kPieces - 1];
  const T* from = x + kPieces * length;
  T* to = y + kPieces * length;
  scan_rows<kProduct, 1>(&from, &to, n - kPieces * length, &last);
}

template <bool kProduct, class T>
void cumulate(const T* x, T* y, const DimSplit& s) {
  using A = typename Accumulated<T>::type;
  if (s.inner == 1) {
    if (s.size >= kLongRow && s.outer < 16) {
      for (int64_t o = 0; o < s.outer; ++o) scan_long_row<kProduct>(x + o * s.size, y + o * s.size, s.size);
      return;
    }
    at::parallel_for(0, s.outer, std::max<int64_t>(4, kGrain / s.size), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; r += 4) {
        A state[4];
        for (A& v : state) v = kProduct ? A(1) : A(0);
        scan_several<kProduct>(x + r * s.size, y + r * s.size, std::min<int64_t>(4, end - r), s.size, s.size, state);
      }
    });
    return;
  }
  const int64_t blocks = (s.inner + kColumns - 1) / kColumns;
  const int64_t work = s.size * std::min(s.inner, kColumns);
  at::parallel_for(0, s.outer * blocks, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b % blocks * kColumns, cols = std::min(kColumns, s.inner - first);
      const T* from = x + b / blocks * s.size * s.inner + first;
      T* to = y + b / blocks * s.size * s.inner + first;
      A state[kColumns];
      for (A& v : state) v = kProduct ? A(1) : A(0);
      for (int64_t i = 0; i < s.size; ++i, from += s.inner, to += s.inner) {
        for (int64_t k = 0; k < cols; ++k) {
          state[k] = joined<kProduct>(state[k], widen(from[k]));
          to[k] = narrow<T>(state[k]);
        }
      }
    }
  });
}

// f(offset of the row's first element) for every row along the dimension; elements are s.inner apart.
template <class F>
void for_rows(const DimSplit& s, const F& f) {
  at::parallel_for(0, s.outer * s.inner, std::max<int64_t>(1, kGrain / std::max<int64_t>(s.size, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) f(r / s.inner * s.size * s.inner + r % s.inner);
  });
}

TensorSpec cumulative_spec(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  maybe_wrap_dim(dim, self.dim());
  const ScalarType type = dtype.value_or(isIntegralType(self.scalar_type(), true) ? ScalarType::Long : self.scalar_type());
  return {DimVector(self.sizes().begin(), self.sizes().end()), {}, type, self.device()};
}

template <bool kProduct>
void run_cumulative(const char* op, const Tensor& self, int64_t dim, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor x = dense(self, out.scalar_type());
  DenseOut y(out);
  const DimSplit s = split_at_dim(x.sizes(), maybe_wrap_dim(dim, x.dim()));
  cpu::visit_all(x.scalar_type(), op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    cumulate<kProduct>(static_cast<const T*>(x.const_data_ptr()), y.template data<T>(), s);
  });
  y.commit();
}

std::array<TensorSpec, 2> extreme_spec(const char* op, const Tensor& self, int64_t dim) {
  maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK_NOT_IMPLEMENTED(
      !isComplexType(self.scalar_type()), "\"", op, "\" not implemented for '", toString(self.scalar_type()), "'");
  const DimVector sizes(self.sizes().begin(), self.sizes().end());
  return {TensorSpec{sizes, {}, self.scalar_type(), self.device()}, TensorSpec{sizes, {}, ScalarType::Long, self.device()}};
}

// Of equal elements the last one is named; after a NaN all is NaN.
template <bool kMax>
void run_extreme(const char* op, const Tensor& self, int64_t dim, Tensor& values, Tensor& indices) {
  if (self.numel() == 0) return;
  const Tensor x = dense(self);
  DenseOut v(values), i(indices);
  const DimSplit s = split_at_dim(x.sizes(), maybe_wrap_dim(dim, x.dim()));
  cpu::visit_real(x.scalar_type(), op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = static_cast<const T*>(x.const_data_ptr());
    T* value = v.template data<T>();
    int64_t* index = i.template data<int64_t>();
    for_rows(s, [&](int64_t at) {
      T best = from[at];
      int64_t where = 0;
      for (int64_t k = 0; k < s.size; ++k) {
        const T now = from[at + k * s.inner];
        if (now != now || (best == best && (kMax ? now >= best : now <= best))) {
          best = now;
          where = k;
        }
        value[at + k * s.inner] = best;
        index[at + k * s.inner] = where;
      }
    });
  });
  v.commit();
  i.commit();
}

}  // namespace

TensorSpec cumsum_meta(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) { return cumulative_spec(self, dim, dtype); }
void cumsum_cpu(const Tensor& self, int64_t dim, std::optional<ScalarType>, Tensor& out) {
  run_cumulative<false>("cumsum", self, dim, out);
}
TensorSpec cumprod_meta(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) { return cumulative_spec(self, dim, dtype); }
void cumprod_cpu(const Tensor& self, int64_t dim, std::optional<ScalarType>, Tensor& out) {
  run_cumulative<true>("cumprod", self, dim, out);
}

std::array<TensorSpec, 2> cummax_meta(const Tensor& self, int64_t dim) { return extreme_spec("cummax", self, dim); }
void cummax_cpu(const Tensor& self, int64_t dim, Tensor& values, Tensor& indices) {
  run_extreme<true>("cummax", self, dim, values, indices);
}
std::array<TensorSpec, 2> cummin_meta(const Tensor& self, int64_t dim) { return extreme_spec("cummin", self, dim); }
void cummin_cpu(const Tensor& self, int64_t dim, Tensor& values, Tensor& indices) {
  run_extreme<false>("cummin", self, dim, values, indices);
}

TensorSpec logcumsumexp_meta(const Tensor& self, int64_t dim) {
  maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK_NOT_IMPLEMENTED(
      isFloatingType(self.scalar_type()) || isComplexType(self.scalar_type()), "\"logcumsumexp\" not implemented for '", toString(self.scalar_type()), "'");
  return {DimVector(self.sizes().begin(), self.sizes().end()), {}, self.scalar_type(), self.device()};
}
namespace {

// Each result is log(e^a + e^b) of the one before and the element, taken from the larger real part; the imaginary part is not
// brought back to (-pi, pi].
template <class R>
void run_complex_logcumsumexp(const Tensor& x, DenseOut& y, const DimSplit& s) {
  using Complex = std::complex<double>;
  const auto* from = static_cast<const c10::complex<R>*>(x.const_data_ptr());
  auto* to = y.data<c10::complex<R>>();
  for_rows(s, [&](int64_t at) {
    Complex sum;
    for (int64_t k = 0; k < s.size; ++k) {
      const c10::complex<R> given = from[at + k * s.inner];
      const Complex v(given.real(), given.imag());
      if (k == 0) {
        sum = v;
      } else {
        const bool first = sum.real() >= v.real();
        const Complex high = first ? sum : v, low = first ? v : sum;
        if (std::isinf(high.real()) && high.real() == low.real()) {
          sum = high.real() < 0 ? high : std::log(std::exp(high) + std::exp(low));
        } else {
          sum = high + std::log(1.0 + std::exp(low - high));
        }
      }
      to[at + k * s.inner] = c10::complex<R>(static_cast<R>(sum.real()), static_cast<R>(sum.imag()));
    }
  });
}

}  // namespace

// A running maximum and the sum of exponentials below it.
void logcumsumexp_cpu(const Tensor& self, int64_t dim, Tensor& out) {
  if (self.numel() == 0) return;
  const Tensor x = dense(self);
  DenseOut y(out);
  const DimSplit s = split_at_dim(x.sizes(), maybe_wrap_dim(dim, x.dim()));
  if (x.scalar_type() == ScalarType::ComplexFloat || x.scalar_type() == ScalarType::ComplexDouble) {
    if (x.scalar_type() == ScalarType::ComplexFloat) run_complex_logcumsumexp<float>(x, y, s);
    else run_complex_logcumsumexp<double>(x, y, s);
    return y.commit();
  }
  cpu::visit_floating(x.scalar_type(), "logcumsumexp", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = static_cast<const T*>(x.const_data_ptr());
    T* to = y.data<T>();
    const auto add = [](double v, double& top, double& sum) {
      if (v == -std::numeric_limits<double>::infinity()) {
        // adds nothing
      } else if (v == top) {
        sum += 1;
      } else if (v < top) {
        sum += std::exp(v - top);
      } else {
        sum = (sum == 0 ? 0 : sum * std::exp(top - v)) + 1;
        top = v;
      }
      return static_cast<T>(static_cast<typename std::conditional_t<sizeof(T) == 8, double, float>>(
          sum == 0 ? top : top + std::log(sum)));
    };
    // Neighbouring columns side by side.
    const int64_t blocks = (s.inner + kColumns - 1) / kColumns, work = s.size * std::min(s.inner, kColumns);
    at::parallel_for(0, s.outer * blocks, std::max<int64_t>(1, kGrain / (8 * work)), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t first = b % blocks * kColumns, cols = std::min(kColumns, s.inner - first);
        double top[kColumns], sum[kColumns];
        std::fill(top, top + cols, -std::numeric_limits<double>::infinity());
        std::fill(sum, sum + cols, 0.0);
        for (int64_t k = 0, at = b / blocks * s.size * s.inner + first; k < s.size; ++k, at += s.inner) {
          for (int64_t j = 0; j < cols; ++j) to[at + j] = add(static_cast<double>(from[at + j]), top[j], sum[j]);
        }
      }
    });
  });
  y.commit();
}

}  // namespace at::native
