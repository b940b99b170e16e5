// all, any, count_nonzero.
#include "aten/cpu/reduce/kernel-inl.h"

namespace at::cpu {
namespace {

template <class T>
inline bool nonzero(T x) {
  if constexpr (c10::is_complex_v<T>) {
    return x.real() != 0 || x.imag() != 0;
  } else {
    return widen(x) != 0;
  }
}

template <bool kAll, class T>
struct LogicalOp {
  using In = T;
  struct State {
    bool value = kAll;
  };
  static constexpr auto kCuda = kAll ? &cuda::reductions::all : &cuda::reductions::any;
  static constexpr bool kOrdered = false, kRows = true, kColumns = false;

  static void step(State& s, In x, int64_t, const ReduceParams&) {
    s.value = kAll ? s.value & nonzero(x) : s.value | nonzero(x);
  }
  static void row(State& s, const In* x, int64_t n, int64_t, const ReduceParams&) {
    for (int64_t i = 0; i < n && s.value == kAll; i += 256) {
      const int64_t end = n - i < 256 ? n : i + 256;
      bool v = kAll;
      for (int64_t k = i; k < end; ++k) v = kAll ? v & nonzero(x[k]) : v | nonzero(x[k]);
      s.value = v;
    }
  }
  static void columns(State*, const In*, int64_t, int64_t, int64_t, const ReduceParams&) {}
  static void combine(State& a, const State& b) { a.value = kAll ? a.value & b.value : a.value | b.value; }
  static void finish(const State& s, char* out0, char*, const ReduceParams&) {
    *reinterpret_cast<uint8_t*>(out0) = s.value ? 1 : 0;
  }
};

template <class T>
struct CountOp {
  using In = T;
  struct State {
    int64_t count = 0;
  };
  static constexpr auto kCuda = &cuda::reductions::count_nonzero;
  static constexpr bool kOrdered = false, kRows = true, kColumns = false;

  static void step(State& s, In x, int64_t, const ReduceParams&) { s.count += nonzero(x); }
  static void row(State& s, const In* x, int64_t n, int64_t, const ReduceParams&) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) count += nonzero(x[i]);
    s.count += count;
  }
  static void columns(State*, const In*, int64_t, int64_t, int64_t, const ReduceParams&) {}
  static void combine(State& a, const State& b) { a.count += b.count; }
  static void finish(const State& s, char* out0, char*, const ReduceParams&) { *reinterpret_cast<int64_t*>(out0) = s.count; }
};

template <class T>
using AllOp = LogicalOp<true, T>;
template <class T>
using AnyOp = LogicalOp<false, T>;

template <template <class> class Op>
const ReduceKernel* find(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Float: return &kReduceKernel<Op<float>>;
    case c10::ScalarType::Double: return &kReduceKernel<Op<double>>;
    case c10::ScalarType::Half: return &kReduceKernel<Op<c10::Half>>;
    case c10::ScalarType::BFloat16: return &kReduceKernel<Op<c10::BFloat16>>;
    case c10::ScalarType::Byte:
    case c10::ScalarType::Bool:
    case c10::ScalarType::Char: return &kReduceKernel<Op<uint8_t>>;
    case c10::ScalarType::Short: return &kReduceKernel<Op<int16_t>>;
    case c10::ScalarType::Int: return &kReduceKernel<Op<int32_t>>;
    case c10::ScalarType::Long: return &kReduceKernel<Op<int64_t>>;
    case c10::ScalarType::ComplexFloat: return &kReduceKernel<Op<c10::complex<float>>>;
    case c10::ScalarType::ComplexDouble: return &kReduceKernel<Op<c10::complex<double>>>;
    default: return nullptr;
  }
}

}  // namespace

const ReduceKernel* all_kernel(c10::ScalarType type) { return find<AllOp>(type); }
const ReduceKernel* any_kernel(c10::ScalarType type) { return find<AnyOp>(type); }
const ReduceKernel* count_nonzero_kernel(c10::ScalarType type) { return find<CountOp>(type); }

}  // namespace at::cpu
