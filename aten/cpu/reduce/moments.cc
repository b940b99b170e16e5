// Mean and variance in one walk: blocks are centred on their own mean and joined by Chan, Golub and LeVeque, "Algorithms for
// computing the sample variance" (1983), eq. 2.1.
#include <algorithm>

#include "aten/cpu/reduce/kernel-inl.h"

namespace at::cpu {
namespace {

struct Moments {
  double count = 0, mean = 0, square = 0;  // square: sum of squared distances from the mean
  void join(double n, double m, double s) {
    if (n == 0) return;
    if (count == 0) {
      count = n, mean = m, square = s;
      return;
    }
    const double total = count + n, delta = m - mean;
    square += s + delta * delta * (count / total) * n;
    mean += delta * (n / total);
    count = total;
  }
};

double variance(double square, double count, const ReduceParams& params) {
  const double v = square / std::max(0.0, count - params.correction);
  return params.root ? std::sqrt(v) : v;
}

template <class T>
struct MomentsOp {
  using In = T;
  using State = Moments;
  static constexpr bool kOrdered = false, kRows = true, kColumns = true;

  static void step(State& s, In x, int64_t, const ReduceParams&) {
    const double v = static_cast<double>(widen(x)), delta = v - s.mean;
    s.count += 1;
    s.mean += delta / s.count;
    s.square += delta * (v - s.mean);
  }
  static void row(State& s, const In* x, int64_t n, int64_t, const ReduceParams&) {
    using C = typename ComputeType<T>::type;
    constexpr int64_t kBlock = 4096;
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t m = std::min(kBlock, n - i);
      const double count = static_cast<double>(m), mean = row_sum(x + i, m) / count;
      const double off = mean - static_cast<double>(static_cast<C>(mean));
      s.join(count, mean, std::max(0.0, row_square_sum(x + i, m, mean)) - (off == off ? off * off * count : 0));
    }
  }
  static void columns(State* s, const In* x, int64_t row_stride, int64_t rows, int64_t cols, const ReduceParams&) {
    constexpr int64_t kRows = 64, kCols = 128;
    double mean[kCols], square[kCols];
    for (int64_t j = 0; j < cols; j += kCols) {
      const int64_t m = std::min(kCols, cols - j);
      for (int64_t r = 0; r < rows; r += kRows) {
        const int64_t n = std::min(kRows, rows - r);
        const char* from = reinterpret_cast<const char*>(x + j) + r * row_stride;
        std::fill(mean, mean + m, 0.0);
        std::fill(square, square + m, 0.0);
        column_sum(reinterpret_cast<const In*>(from), row_stride, n, m, mean);
        const double count = static_cast<double>(n);
        for (int64_t k = 0; k < m; ++k) mean[k] /= count;
        for (int64_t i = 0; i < n; ++i, from += row_stride) {
          const In* row = reinterpret_cast<const In*>(from);
          for (int64_t k = 0; k < m; ++k) {
            const double delta = static_cast<double>(widen(row[k])) - mean[k];
            square[k] += delta * delta;
          }
        }
        for (int64_t k = 0; k < m; ++k) s[j + k].join(count, mean[k], square[k]);
      }
    }
  }
  static void combine(State& a, const State& b) { a.join(b.count, b.mean, b.square); }
  static void finish(const State& s, char* out0, char* out1, const ReduceParams& params) {
    using C = typename ComputeType<T>::type;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    if (out0) *reinterpret_cast<T*>(out0) = static_cast<T>(static_cast<C>(s.count > 0 ? variance(s.square, s.count, params) : nan));
    if (out1) *reinterpret_cast<T*>(out1) = static_cast<T>(static_cast<C>(s.count > 0 ? s.mean : nan));
  }
};

template <class R>
struct ComplexMomentsOp {
  using In = c10::complex<R>;
  struct State {
    Moments re, im;
  };
  static constexpr bool kOrdered = false, kRows = false, kColumns = false;

  static void step_part(Moments& s, double v) {
    const double delta = v - s.mean;
    s.count += 1;
    s.mean += delta / s.count;
    s.square += delta * (v - s.mean);
  }
  static void step(State& s, In x, int64_t, const ReduceParams&) {
    step_part(s.re, static_cast<double>(x.real()));
    step_part(s.im, static_cast<double>(x.imag()));
  }
  static void combine(State& a, const State& b) {
    a.re.join(b.re.count, b.re.mean, b.re.square);
    a.im.join(b.im.count, b.im.mean, b.im.square);
  }
  static void finish(const State& s, char* out0, char* out1, const ReduceParams& params) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const bool some = s.re.count > 0;
    if (out0) *reinterpret_cast<R*>(out0) = static_cast<R>(some ? variance(s.re.square + s.im.square, s.re.count, params) : nan);
    if (out1) {
      *reinterpret_cast<In*>(out1) =
          In(static_cast<R>(some ? s.re.mean : nan), static_cast<R>(some ? s.im.mean : nan));
    }
  }
};

}  // namespace

const ReduceKernel* moments_kernel(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Float: return &kReduceKernel<MomentsOp<float>>;
    case c10::ScalarType::Double: return &kReduceKernel<MomentsOp<double>>;
    case c10::ScalarType::Half: return &kReduceKernel<MomentsOp<c10::Half>>;
    case c10::ScalarType::BFloat16: return &kReduceKernel<MomentsOp<c10::BFloat16>>;
    case c10::ScalarType::ComplexFloat: return &kReduceKernel<ComplexMomentsOp<float>>;
    case c10::ScalarType::ComplexDouble: return &kReduceKernel<ComplexMomentsOp<double>>;
    default: return nullptr;
  }
}

}  // namespace at::cpu
