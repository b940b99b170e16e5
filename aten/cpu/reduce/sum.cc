// sum, nansum and the conversion of accumulated results.
#include <algorithm>

#include "aten/cpu/reduce/kernel-inl.h"

namespace at::cpu {
namespace {

template <class T>
struct RealSumState {
  double sum = 0;
  void add(double v) { sum += v; }
  double value() const { return sum; }
};
struct ExactSumState : ExactSum {};
struct IntegerSumState {
  int64_t sum = 0;
  // Wraps around, as integer sums do.
  void add(int64_t v) { sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(v)); }
  int64_t value() const { return sum; }
};
struct ComplexSumState {
  ExactSum re, im;
  c10::complex<double> value() const { return {re.value(), im.value()}; }
};

template <class T, class S, bool kSkipNan>
struct SumOp {
  using In = T;
  using State = S;
  static constexpr auto kCuda = kSkipNan ? &cuda::reductions::nansum : &cuda::reductions::sum;
  static constexpr bool kOrdered = false;
  static constexpr bool kRows = kIsFloating<T> || std::is_integral_v<T>;
  static constexpr bool kColumns = kIsFloating<T>;
  static constexpr bool kPlain =
      kColumns && !kSkipNan && sizeof(State) == sizeof(double);  // the states are an array of double

  static void step(State& s, In x, int64_t, const ReduceParams&) {
    if constexpr (kSkipNan) {
      if (is_nan(x)) return;
    }
    if constexpr (c10::is_complex_v<T>) {
      s.re.add(static_cast<double>(x.real()));
      s.im.add(static_cast<double>(x.imag()));
    } else if constexpr (kIsFloating<T>) {
      s.add(static_cast<double>(widen(x)));
    } else {
      s.add(static_cast<int64_t>(x));
    }
  }
  static void row(State& s, const In* x, int64_t n, int64_t, const ReduceParams&) {
    if constexpr (std::is_integral_v<T>) {
      s.add(integer_row_sum(x, n));
    } else {
      s.add(kSkipNan ? row_nansum(x, n) : row_sum(x, n));
    }
  }
  static void packed_rows(State* s, const In* x, int64_t rows, int64_t n)
    requires(kPlain)
  {
    packed_row_sums(x, rows, n, &s->sum);
  }
  static void columns(State* s, const In* x, int64_t row_stride, int64_t rows, int64_t cols, const ReduceParams&) {
    constexpr int64_t kCols = 256;
    double part[kCols];
    for (int64_t j = 0; j < cols; j += kCols) {
      const int64_t m = std::min(kCols, cols - j);
      if constexpr (kPlain) {
        column_sum(x + j, row_stride, rows, m, &s[j].sum);
      } else {
        // Blocks short enough for plain additions within one.
        for (int64_t r = 0; r < rows; r += 32) {
          std::fill(part, part + m, 0.0);
          const In* from = reinterpret_cast<const In*>(reinterpret_cast<const char*>(x + j) + r * row_stride);
          if constexpr (kSkipNan) {
            column_nansum(from, row_stride, std::min<int64_t>(32, rows - r), m, part);
          } else {
            column_sum(from, row_stride, std::min<int64_t>(32, rows - r), m, part);
          }
          for (int64_t k = 0; k < m; ++k) s[j + k].add(part[k]);
        }
      }
    }
  }
  static void combine(State& a, const State& b) {
    if constexpr (c10::is_complex_v<T>) {
      a.re.add(b.re.value());
      a.im.add(b.im.value());
    } else {
      a.add(b.value());
    }
  }
  static void finish_many(const State* s, int64_t m, char* out, int64_t stride, const ReduceParams& params)
    requires(kPlain)
  {
    if (params.out_type != c10::ScalarType::Float) {
      for (int64_t j = 0; j < m; ++j) finish(s[j], out + j * stride, nullptr, params);
    } else if (params.divisor == 1) {
      for (int64_t j = 0; j < m; ++j) *reinterpret_cast<float*>(out + j * stride) = static_cast<float>(s[j].sum);
    } else {
      for (int64_t j = 0; j < m; ++j) *reinterpret_cast<float*>(out + j * stride) = static_cast<float>(s[j].sum / params.divisor);
    }
  }
  static void finish(const State& s, char* out0, char*, const ReduceParams& params) {
    if constexpr (kIsReal<T> && !kIsFloating<T>) {
      if (params.divisor == 1) {
        store_result(s.value(), params.out_type, out0);
      } else {
        store_result(static_cast<double>(s.value()) / params.divisor, params.out_type, out0);
      }
    } else if constexpr (kIsReal<T>) {
      store_result(s.value() / params.divisor, params.out_type, out0);
    } else {
      const c10::complex<double> v = s.value();
      store_result(c10::complex<double>(v.real() / params.divisor, v.imag() / params.divisor), params.out_type, out0);
    }
  }
};

template <bool kSkipNan>
const ReduceKernel* find_sum(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Float: return &kReduceKernel<SumOp<float, RealSumState<float>, kSkipNan>>;
    case c10::ScalarType::Double: return &kReduceKernel<SumOp<double, ExactSumState, kSkipNan>>;
    case c10::ScalarType::Half: return &kReduceKernel<SumOp<c10::Half, RealSumState<float>, kSkipNan>>;
    case c10::ScalarType::BFloat16: return &kReduceKernel<SumOp<c10::BFloat16, RealSumState<float>, kSkipNan>>;
    case c10::ScalarType::Byte: return &kReduceKernel<SumOp<uint8_t, IntegerSumState, false>>;
    case c10::ScalarType::Char: return &kReduceKernel<SumOp<int8_t, IntegerSumState, false>>;
    case c10::ScalarType::Short: return &kReduceKernel<SumOp<int16_t, IntegerSumState, false>>;
    case c10::ScalarType::Int: return &kReduceKernel<SumOp<int32_t, IntegerSumState, false>>;
    case c10::ScalarType::Long: return &kReduceKernel<SumOp<int64_t, IntegerSumState, false>>;
    case c10::ScalarType::Bool: return &kReduceKernel<SumOp<Boolean, IntegerSumState, false>>;
    case c10::ScalarType::ComplexFloat: return &kReduceKernel<SumOp<c10::complex<float>, ComplexSumState, kSkipNan>>;
    case c10::ScalarType::ComplexDouble: return &kReduceKernel<SumOp<c10::complex<double>, ComplexSumState, kSkipNan>>;
    default: return nullptr;
  }
}

template <class T>
void put(char* out, T v) {
  *reinterpret_cast<T*>(out) = v;
}

template <class V>
void store_as(V v, c10::ScalarType type, char* out) {
  switch (type) {
    case c10::ScalarType::Float: return put(out, static_cast<float>(v));
    case c10::ScalarType::Double: return put(out, static_cast<double>(v));
    case c10::ScalarType::Half: return put(out, static_cast<c10::Half>(static_cast<float>(v)));
    case c10::ScalarType::BFloat16: return put(out, static_cast<c10::BFloat16>(static_cast<float>(v)));
    case c10::ScalarType::Byte: return put(out, static_cast<uint8_t>(static_cast<int64_t>(v)));
    case c10::ScalarType::Char: return put(out, static_cast<int8_t>(static_cast<int64_t>(v)));
    case c10::ScalarType::Short: return put(out, static_cast<int16_t>(static_cast<int64_t>(v)));
    case c10::ScalarType::Int: return put(out, static_cast<int32_t>(static_cast<int64_t>(v)));
    case c10::ScalarType::Long: return put(out, static_cast<int64_t>(v));
    case c10::ScalarType::Bool: return put(out, v != 0);
    case c10::ScalarType::ComplexFloat: return put(out, c10::complex<float>(static_cast<float>(v)));
    case c10::ScalarType::ComplexDouble: return put(out, c10::complex<double>(static_cast<double>(v)));
    default: return;
  }
}

}  // namespace

void store_result(double v, c10::ScalarType type, char* out) { store_as(v, type, out); }
void store_result(int64_t v, c10::ScalarType type, char* out) { store_as(v, type, out); }
void store_result(c10::complex<double> v, c10::ScalarType type, char* out) {
  if (type == c10::ScalarType::ComplexFloat) {
    put(out, c10::complex<float>(static_cast<float>(v.real()), static_cast<float>(v.imag())));
  } else if (type == c10::ScalarType::ComplexDouble) {
    put(out, v);
  } else if (type == c10::ScalarType::Bool) {
    put(out, v.real() != 0 || v.imag() != 0);
  } else {
    store_as(v.real(), type, out);
  }
}

const ReduceKernel* sum_kernel(c10::ScalarType type) { return find_sum<false>(type); }
const ReduceKernel* nansum_kernel(c10::ScalarType type) { return find_sum<true>(type); }

}  // namespace at::cpu
