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
    // An infinite mean stays that; as a distance it would end in inf - inf.
    mean = std::isfinite(delta) ? mean + delta * (n / total) : mean * (count / total) + m * (n / total);
    count = total;
  }
  void add(double v) {
    const double total = count + 1, delta = v - mean;
    mean = std::isfinite(delta) ? mean + delta / total : mean * (count / total) + v / total;
    square += delta * (v - mean);
    count = total;
  }
};

double variance(double square, double count, const ReduceParams& params) {
  const double v = square / std::max(0.0, count - params.correction);
  return params.root ? std::sqrt(v) : v;
}

// Whether the distances from the mean are so small beside it that the mean's own rounding shows in them.
inline bool nearly_constant(double square, double mean, double count) {
  return square != 0 && square < mean * mean * count * 0x1p-20;
}

template <class T>
struct MomentsOp {
  using In = T;
  using State = Moments;
  static constexpr auto kCuda = &cuda::reductions::moments;
  static constexpr bool kOrdered = false, kRows = true, kColumns = true;

  static void step(State& s, In x, int64_t, const ReduceParams&) {
    s.add(static_cast<double>(widen(x)));
  }
  // A block one by one: slow, and exact where all elements are equal.
  static void join_steps(State& s, const In* x, int64_t stride, int64_t n) {
    Moments block;
    const char* from = reinterpret_cast<const char*>(x);
    for (int64_t i = 0; i < n; ++i, from += stride) {
      block.add(static_cast<double>(widen(*reinterpret_cast<const In*>(from))));
    }
    s.join(block.count, block.mean, block.square);
  }
  static void row(State& s, const In* x, int64_t n, int64_t, const ReduceParams&) {
    using C = typename ComputeType<T>::type;
    constexpr int64_t kBlock = 4096;
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t m = std::min(kBlock, n - i);
      const double count = static_cast<double>(m), mean = row_sum(x + i, m) / count;
      const double off = mean - static_cast<double>(static_cast<C>(mean));
      const double square = row_square_sum(x + i, m, mean);
      if (nearly_constant(square, mean, count)) {
        join_steps(s, x + i, sizeof(In), m);
      } else {
        const double centred = square - off * off * count;
        s.join(count, mean, centred < 0 ? 0 : centred);  // NaN stays
      }
    }
  }
  static void columns(State* s, const In* x, int64_t row_stride, int64_t rows, int64_t cols, const ReduceParams&) {
    for (int64_t j = 0; j < cols; j += kCols) panel(s + j, x + j, row_stride, rows, std::min(kCols, cols - j));
  }

 private:
  using C = typename ComputeType<T>::type;
  static constexpr int64_t kCols = 128, kBlock = 64;
  static const In* at_row(const In* x, int64_t row_stride, int64_t r) {
    return reinterpret_cast<const In*>(reinterpret_cast<const char*>(x) + r * row_stride);
  }
  // One walk about the means of the first block, or one and a half, block by block, each about its own.
  static void panel(State* s, const In* x, int64_t row_stride, int64_t rows, int64_t cols) {
    const int64_t first = std::min(kBlock, rows);
    C center[kCols];
    block(s, x, row_stride, first, cols, center);
    if (rows == first || rest(s, at_row(x, row_stride, first), row_stride, rows - first, cols, center)) return;
    for (int64_t r = first; r < rows; r += kBlock)
      block(s, at_row(x, row_stride, r), row_stride, std::min(kBlock, rows - r), cols, center);
  }
  // False, and nothing done, where the center is too far from a mean: the difference of two large sums would be left.
  static bool rest(State* s, const In* x, int64_t row_stride, int64_t rows, int64_t cols, const C* center) {
    double sum[kCols] = {}, square[kCols] = {};
    column_moments(x, row_stride, rows, cols, center, sum, square);
    const double count = static_cast<double>(rows);
    for (int64_t k = 0; k < cols; ++k) {
      const double off = sum[k] / count, mean = static_cast<double>(center[k]) + off, all = square[k];
      square[k] -= off * off * count;
      if (!(square[k] >= 0.25 * all) || nearly_constant(square[k], mean, count)) return false;
      sum[k] = mean;
    }
    for (int64_t k = 0; k < cols; ++k) s[k].join(count, sum[k], square[k]);
    return true;
  }
  static void block(State* s, const In* x, int64_t row_stride, int64_t rows, int64_t cols, C* center) {
    double mean[kCols] = {}, square[kCols] = {};
    column_sum(x, row_stride, rows, cols, mean);
    const double count = static_cast<double>(rows);
    for (int64_t k = 0; k < cols; ++k) {
      mean[k] /= count;
      center[k] = static_cast<C>(mean[k]);
    }
    column_square_sum(x, row_stride, rows, cols, center, square);
    for (int64_t k = 0; k < cols; ++k) {
      // Taken about the rounded mean; what that added is taken away.
      const double off = mean[k] - static_cast<double>(center[k]), centred = square[k] - off * off * count;
      square[k] = centred < 0 ? 0 : centred;  // NaN stays
      if (nearly_constant(square[k], mean[k], count)) {
        join_steps(s[k], x + k, row_stride, rows);
      } else {
        s[k].join(count, mean[k], square[k]);
      }
    }
  }

 public:
  static void combine(State& a, const State& b) { a.join(b.count, b.mean, b.square); }
  static void finish(const State& s, char* out0, char* out1, const ReduceParams& params) {
    using C = typename ComputeType<T>::type;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const bool in_double = params.out_type == c10::ScalarType::Double;
    const auto write = [in_double](char* out, double v) {
      if (in_double) {
        *reinterpret_cast<double*>(out) = v;
      } else {
        *reinterpret_cast<T*>(out) = static_cast<T>(static_cast<C>(v));
      }
    };
    if (out0) write(out0, s.count > 0 ? variance(s.square, s.count, params) : nan);
    if (out1) write(out1, s.count > 0 ? s.mean : nan);
  }
};

template <class R>
struct ComplexMomentsOp {
  using In = c10::complex<R>;
  struct State {
    Moments re, im;
  };
  static constexpr auto kCuda = &cuda::reductions::moments;
  static constexpr bool kOrdered = false, kRows = false, kColumns = false;

  static void step(State& s, In x, int64_t, const ReduceParams&) {
    s.re.add(static_cast<double>(x.real()));
    s.im.add(static_cast<double>(x.imag()));
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
