// prod.
#include "aten/cpu/reduce/kernel-inl.h"

namespace at::cpu {
namespace {

template <class T, class A>
struct ProdOp {
  using In = T;
  struct State {
    A value = A(1);
  };
  static constexpr auto kCuda = &cuda::reductions::prod;
  static constexpr bool kOrdered = false, kRows = !c10::is_complex_v<T>, kColumns = kIsFloating<T>;

  static A times(A a, A b) {
    if constexpr (std::is_same_v<A, int64_t>) {
      return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  }
  static A accumulated(In x) {
    if constexpr (c10::is_complex_v<T>) {
      return A(static_cast<double>(x.real()), static_cast<double>(x.imag()));
    } else {
      return static_cast<A>(widen(x));
    }
  }
  static void step(State& s, In x, int64_t, const ReduceParams&) { s.value = times(s.value, accumulated(x)); }
  static void row(State& s, const In* x, int64_t n, int64_t, const ReduceParams&) {
    if constexpr (kIsFloating<T>) {
      s.value = times(s.value, row_product(x, n));
      return;
    }
    A lane[8];
    for (A& v : lane) v = A(1);
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
      for (int k = 0; k < 8; ++k) lane[k] = times(lane[k], accumulated(x[i + k]));
    }
    for (; i < n; ++i) lane[0] = times(lane[0], accumulated(x[i]));
    for (A v : lane) s.value = times(s.value, v);
  }
  static void columns(State* s, const In* x, int64_t row_stride, int64_t rows, int64_t cols, const ReduceParams&) {
    static_assert(sizeof(State) == sizeof(A));
    if constexpr (kColumns) column_product(x, row_stride, rows, cols, &s->value);
  }
  static void combine(State& a, const State& b) { a.value = times(a.value, b.value); }
  static void finish(const State& s, char* out0, char*, const ReduceParams& params) {
    store_result(s.value, params.out_type, out0);
  }
};

}  // namespace

const ReduceKernel* prod_kernel(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Float: return &kReduceKernel<ProdOp<float, double>>;
    case c10::ScalarType::Double: return &kReduceKernel<ProdOp<double, double>>;
    case c10::ScalarType::Half: return &kReduceKernel<ProdOp<c10::Half, double>>;
    case c10::ScalarType::BFloat16: return &kReduceKernel<ProdOp<c10::BFloat16, double>>;
    case c10::ScalarType::Byte: return &kReduceKernel<ProdOp<uint8_t, int64_t>>;
    case c10::ScalarType::Char: return &kReduceKernel<ProdOp<int8_t, int64_t>>;
    case c10::ScalarType::Short: return &kReduceKernel<ProdOp<int16_t, int64_t>>;
    case c10::ScalarType::Int: return &kReduceKernel<ProdOp<int32_t, int64_t>>;
    case c10::ScalarType::Long: return &kReduceKernel<ProdOp<int64_t, int64_t>>;
    case c10::ScalarType::Bool: return &kReduceKernel<ProdOp<Boolean, int64_t>>;
    case c10::ScalarType::ComplexFloat: return &kReduceKernel<ProdOp<c10::complex<float>, c10::complex<double>>>;
    case c10::ScalarType::ComplexDouble: return &kReduceKernel<ProdOp<c10::complex<double>, c10::complex<double>>>;
    default: return nullptr;
  }
}

}  // namespace at::cpu
