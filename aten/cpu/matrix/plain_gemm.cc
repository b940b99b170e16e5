// Products of every type by plain loops.
#include "aten/cpu/matrix/internal.h"
#include "c10/util/bfloat16.h"
#include "c10/util/half.h"

namespace at::matrix::internal {
namespace {

// Arithmetic of one element type: integers wrap, as unsigned ones do.
template <class T>
struct Element {
  using Sum = T;
  static Sum product(T x, T y) { return x * y; }
  static Sum sum(Sum x, Sum y) { return x + y; }
  static T result(Sum x) { return x; }
};

template <class T, class Unsigned>
struct IntegerElement {
  using Sum = Unsigned;
  static Sum product(T x, T y) {
    return static_cast<Sum>(static_cast<uint64_t>(static_cast<int64_t>(x)) * static_cast<uint64_t>(static_cast<int64_t>(y)));
  }
  static Sum sum(Sum x, Sum y) { return static_cast<Sum>(x + y); }
  static T result(Sum x) { return static_cast<T>(x); }
};
template <>
struct Element<uint8_t> : IntegerElement<uint8_t, uint8_t> {};
template <>
struct Element<int8_t> : IntegerElement<int8_t, uint8_t> {};
template <>
struct Element<int16_t> : IntegerElement<int16_t, uint16_t> {};
template <>
struct Element<int32_t> : IntegerElement<int32_t, uint32_t> {};
template <>
struct Element<int64_t> : IntegerElement<int64_t, uint64_t> {};

template <class T>
struct HalfElement {
  using Sum = float;
  static Sum product(T x, T y) { return static_cast<float>(x) * static_cast<float>(y); }
  static Sum sum(Sum x, Sum y) { return x + y; }
  static T result(Sum x) { return static_cast<T>(x); }
};
template <>
struct Element<c10::Half> : HalfElement<c10::Half> {};
template <>
struct Element<c10::BFloat16> : HalfElement<c10::BFloat16> {};

template <class T>
void fill_entry(const Gemm& g) {
  using E = Element<T>;
  T* c = static_cast<T*>(g.c);
  const bool adds = g.add.data != nullptr && !g.beta.is_zero();
  const T* add = static_cast<const T*>(g.add.data);
  const T beta = factor_of<T>(g.beta);
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; ++j)
      c[i * g.c_row + j * g.c_col] = adds ? E::result(E::product(beta, add[i * g.add.row + j * g.add.col])) : T{};
}

// One batch entry: a strip of a row of C is summed over all of k.
template <class T>
void multiply(const Gemm& g) {
  using E = Element<T>;
  using Sum = typename E::Sum;
  const T* a = static_cast<const T*>(g.a.data);
  const T* b = static_cast<const T*>(g.b.data);
  const T* add = static_cast<const T*>(g.add.data);
  const bool adds = add != nullptr && !g.beta.is_zero();
  T* c = static_cast<T*>(g.c);
  const T alpha = factor_of<T>(g.alpha), beta = factor_of<T>(g.beta);
  constexpr int64_t kStrip = 64;
  Sum sum[kStrip];
  for (int64_t i = 0; i < g.m; ++i) {
    for (int64_t j0 = 0; j0 < g.n; j0 += kStrip) {
      const int64_t count = g.n - j0 < kStrip ? g.n - j0 : kStrip;
      for (int64_t j = 0; j < count; ++j) sum[j] = Sum{};
      for (int64_t k = 0; k < g.k; ++k) {
        const T x = a[i * g.a.row + k * g.a.col];
        const T* y = b + k * g.b.row + j0 * g.b.col;
        if (g.b.col == 1)
          for (int64_t j = 0; j < count; ++j) sum[j] = E::sum(sum[j], E::product(x, y[j]));
        else
          for (int64_t j = 0; j < count; ++j) sum[j] = E::sum(sum[j], E::product(x, y[j * g.b.col]));
      }
      for (int64_t j = 0; j < count; ++j) {
        Sum value = E::product(alpha, E::result(sum[j]));
        if (adds) value = E::sum(value, E::product(beta, add[i * g.add.row + (j0 + j) * g.add.col]));
        c[i * g.c_row + (j0 + j) * g.c_col] = E::result(value);
      }
    }
  }
}

// Calls f with a value of the element type.
template <class F>
void visit(Type type, const F& f) {
  switch (type) {
    case Type::kFloat32: return f(float{});
    case Type::kFloat64: return f(double{});
    case Type::kFloat16: return f(c10::Half{});
    case Type::kBFloat16: return f(c10::BFloat16{});
    case Type::kUint8: return f(uint8_t{});
    case Type::kInt8: return f(int8_t{});
    case Type::kInt16: return f(int16_t{});
    case Type::kInt32: return f(int32_t{});
    case Type::kInt64: return f(int64_t{});
    case Type::kComplex64: return f(Pair<float>{});
    case Type::kComplex128: return f(Pair<double>{});
  }
}

void multiply_entry(const Gemm& g) {
  visit(g.type, [&](auto tag) { multiply<decltype(tag)>(g); });
}

const char* takes_all(const Gemm&) { return nullptr; }

void run_plain(const Gemm& g) { run_in_parts(g, 1, 64, multiply_entry); }

}  // namespace

void fill_with_addend(const Gemm& g) {
  const int64_t batches = g.batch[0] * g.batch[1];
  for (int64_t i = 0; i < batches; ++i) {
    const Gemm entry = batch_entry(g, i);
    visit(g.type, [&](auto tag) { fill_entry<decltype(tag)>(entry); });
  }
}

constinit const Candidate kPlain{"plain", takes_all, run_plain};

}  // namespace at::matrix::internal
