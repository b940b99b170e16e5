// Vector norms and logsumexp.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "aten/cpu/reduce/kernel-inl.h"

namespace at::cpu {
namespace {

enum class NormKind { kZero, kOne, kTwo, kInf, kNegInf, kPower };

template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<c10::complex<R>> {
  using type = R;
};

template <class T>
inline double magnitude(T x) {
  if constexpr (c10::is_complex_v<T>) {
    return std::hypot(static_cast<double>(x.real()), static_cast<double>(x.imag()));
  } else {
    return std::fabs(static_cast<double>(widen(x)));
  }
}

template <NormKind kKind, class T>
struct NormOp {
  using In = T;
  struct State {
    double value = kKind == NormKind::kNegInf ? std::numeric_limits<double>::infinity() : 0.0;
  };
  static constexpr auto kCuda = &cuda::reductions::norm;
  static constexpr bool kOrdered = false, kColumns = false;
  static constexpr bool kRows = kIsFloating<T> && kKind != NormKind::kZero && kKind != NormKind::kNegInf;

  static void join(State& s, double v) {
    if constexpr (kKind == NormKind::kInf) {
      if (s.value == s.value && !(v <= s.value)) s.value = v;
    } else if constexpr (kKind == NormKind::kNegInf) {
      if (s.value == s.value && !(v >= s.value)) s.value = v;
    } else {
      s.value += v;
    }
  }
  // Small whole exponents by multiplications.
  static bool is_small_whole(double p) { return p > 2 && p <= 16 && p == static_cast<int>(p); }
  static double power(double a, double p) {
    if (!is_small_whole(p)) return std::pow(a, p);
    double power = a;
    for (int rest = static_cast<int>(p) - 1; rest > 0; rest /= 2, a *= a) {
      if (rest % 2 == 1) power *= a;
    }
    return power;
  }
  static void step(State& s, In x, int64_t, const ReduceParams& params) {
    const double a = magnitude(x);
    if constexpr (kKind == NormKind::kZero) {
      join(s, a != 0 ? 1.0 : 0.0);
    } else if constexpr (kKind == NormKind::kTwo) {
      join(s, a * a);
    } else if constexpr (kKind == NormKind::kPower) {
      join(s, power(a, params.p));
    } else {
      join(s, a);
    }
  }
  static void row(State& s, const In* x, int64_t n, int64_t position, const ReduceParams& params) {
    if constexpr (!kRows) {
      return;
    } else if constexpr (kKind == NormKind::kOne) {
      s.value += row_abs_sum(x, n);
    } else if constexpr (kKind == NormKind::kTwo) {
      // Squares that float does not hold are those of double.
      constexpr double kLeast = double{std::numeric_limits<float>::min()} * (1 << 24);
      const double sum = row_square_sum(x, n, 0);
      const bool held = std::is_same_v<In, double> || (sum > kLeast && sum <= std::numeric_limits<float>::max()) ||
                        (sum == 0 && row_abs_sum(x, n) == 0);
      if (held) {
        s.value += sum;
      } else {
        for (int64_t i = 0; i < n; ++i) step(s, x[i], position + i, params);
      }
    } else if constexpr (kKind == NormKind::kInf) {
      constexpr int64_t kBlock = 2048;
      for (int64_t i = 0; i < n; i += kBlock) {
        const int64_t m = std::min(kBlock, n - i);
        join(s, static_cast<double>(row_max(x + i, m)));
        join(s, -static_cast<double>(row_min(x + i, m)));
      }
    } else if (is_small_whole(params.p)) {
      s.value += row_power_sum(x, n, static_cast<int>(params.p));
    } else {
      for (int64_t i = 0; i < n; ++i) step(s, x[i], position + i, params);
    }
  }
  static void columns(State*, const In*, int64_t, int64_t, int64_t, const ReduceParams&) {}
  static void combine(State& a, const State& b) { join(a, b.value); }
  static void finish(const State& s, char* out0, char*, const ReduceParams& params) {
    double v = s.value;
    if constexpr (kKind == NormKind::kTwo) v = std::sqrt(v);
    if constexpr (kKind == NormKind::kPower) v = std::pow(v, 1 / params.p);
    store_result(v, params.out_type, out0);
  }
};

template <class T>
struct LogSumExpOp {
  using In = T;
  // exp(top) * sum
  struct State {
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
  };
  static constexpr auto kCuda = &cuda::reductions::logsumexp;
  static constexpr bool kOrdered = false;
  static constexpr bool kRows = std::is_same_v<T, float> || std::is_same_v<T, double>;
  static constexpr bool kColumns = kRows;

  static void join(State& s, double top, double sum) {
    if (sum == 0) return;
    if (s.sum == 0) {
      s = {top, sum};
    } else if (top == s.top) {
      s.sum += sum;
    } else if (top < s.top) {
      s.sum += sum * std::exp(top - s.top);
    } else {
      s.sum = s.sum * std::exp(s.top - top) + sum;
      s.top = top;
    }
  }
  static void step(State& s, In x, int64_t, const ReduceParams&) {
    const double v = static_cast<double>(widen(x));
    join(s, v, v == -std::numeric_limits<double>::infinity() ? 0.0 : 1.0);
  }
  static void row(State& s, const In* x, int64_t n, int64_t, const ReduceParams&) {
    if constexpr (kRows) {
      const In top = row_max(x, n);
      if (top == -std::numeric_limits<In>::infinity()) return;
      join(s, static_cast<double>(top), std::isfinite(top) ? row_exp_sum(x, n, top) : 1.0);
    }
  }
  // Blocks of rows that stay in the cache: their greatest elements first, then the sums of exponentials below those.
  static void columns(State* s, const In* x, int64_t row_stride, int64_t rows, int64_t cols, const ReduceParams&) {
    if constexpr (kColumns) {
      constexpr int64_t kBlock = 128, kCols = 256;
      In top[kCols], shift[kCols];
      double sum[kCols];
      for (int64_t j = 0; j < cols; j += kCols) {
        const int64_t n = std::min(kCols, cols - j);
        for (int64_t r = 0; r < rows; r += kBlock) {
          const int64_t m = std::min(kBlock, rows - r);
          const In* from = reinterpret_cast<const In*>(reinterpret_cast<const char*>(x + j) + r * row_stride);
          std::fill(top, top + n, -std::numeric_limits<In>::infinity());
          column_max(from, row_stride, m, n, top);
          for (int64_t k = 0; k < n; ++k) shift[k] = std::isfinite(top[k]) ? top[k] : In(0);
          std::fill(sum, sum + n, 0.0);
          column_exp_sum(from, row_stride, m, n, shift, sum);
          for (int64_t k = 0; k < n; ++k) {
            if (top[k] == -std::numeric_limits<In>::infinity()) continue;
            join(s[j + k], static_cast<double>(top[k]), std::isfinite(top[k]) ? sum[k] : 1.0);
          }
        }
      }
    }
  }
  static void combine(State& a, const State& b) { join(a, b.top, b.sum); }
  static void finish(const State& s, char* out0, char*, const ReduceParams& params) {
    store_result(s.sum == 0 ? -std::numeric_limits<double>::infinity() : s.top + std::log(s.sum), params.out_type, out0);
  }
};

template <NormKind kKind>
const ReduceKernel* find_norm(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Float: return &kReduceKernel<NormOp<kKind, float>>;
    case c10::ScalarType::Double: return &kReduceKernel<NormOp<kKind, double>>;
    case c10::ScalarType::Half: return &kReduceKernel<NormOp<kKind, c10::Half>>;
    case c10::ScalarType::BFloat16: return &kReduceKernel<NormOp<kKind, c10::BFloat16>>;
    case c10::ScalarType::ComplexFloat: return &kReduceKernel<NormOp<kKind, c10::complex<float>>>;
    case c10::ScalarType::ComplexDouble: return &kReduceKernel<NormOp<kKind, c10::complex<double>>>;
    default: return nullptr;
  }
}

}  // namespace

const ReduceKernel* norm_kernel(c10::ScalarType type, double p) {
  if (p == 0) return find_norm<NormKind::kZero>(type);
  if (p == 1) return find_norm<NormKind::kOne>(type);
  if (p == 2) return find_norm<NormKind::kTwo>(type);
  if (p == std::numeric_limits<double>::infinity()) return find_norm<NormKind::kInf>(type);
  if (p == -std::numeric_limits<double>::infinity()) return find_norm<NormKind::kNegInf>(type);
  return find_norm<NormKind::kPower>(type);
}

const ReduceKernel* logsumexp_kernel(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Float: return &kReduceKernel<LogSumExpOp<float>>;
    case c10::ScalarType::Double: return &kReduceKernel<LogSumExpOp<double>>;
    case c10::ScalarType::Half: return &kReduceKernel<LogSumExpOp<c10::Half>>;
    case c10::ScalarType::BFloat16: return &kReduceKernel<LogSumExpOp<c10::BFloat16>>;
    default: return nullptr;
  }
}

}  // namespace at::cpu
