#include "aten/cpu/loops/integer.h"

#include <type_traits>

// Division by a loop-varying integer does not vectorise: one instruction set is enough here.

namespace at::cpu {
namespace {

template <class T>
struct TruncDivide {
  static T run(T a, T b) { return b == -1 ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a)) : a / b; }
};
template <class T>
struct FloorDivide {
  static T run(T a, T b) {
    if (b == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
    const T q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
  }
};
template <class T>
struct Fmod {
  static T run(T a, T b) { return b == -1 ? 0 : a % b; }
};
template <class T>
struct Remainder {
  static T run(T a, T b) {
    if (b == -1) return 0;
    const T r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
};

template <template <class> class F, class T>
void divide(char* const* data, int64_t n, const void* context) {
  T* out = reinterpret_cast<T*>(data[0]);
  const T* a = reinterpret_cast<const T*>(data[1]);
  const T* b = reinterpret_cast<const T*>(data[2]);
  bool by_zero = false;
  for (int64_t i = 0; i < n; ++i) {
    if (b[i] == 0) {
      by_zero = true;
      out[i] = 0;
    } else {
      out[i] = F<T>::run(a[i], b[i]);
    }
  }
  if (by_zero) static_cast<const DivisionContext*>(context)->note_division_by_zero();
}

struct And {
  template <class T>
  static T run(T a, T b, int) {
    return a & b;
  }
};
struct Or {
  template <class T>
  static T run(T a, T b, int) {
    return a | b;
  }
};
struct Xor {
  template <class T>
  static T run(T a, T b, int) {
    return a ^ b;
  }
};
struct ShiftLeft {
  template <class T>
  static T run(T a, T b, int bits) {
    return b < 0 || b >= bits ? 0 : static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) << b);
  }
};
struct ShiftRight {
  template <class T>
  static T run(T a, T b, int bits) {
    return a >> (b < 0 || b >= bits ? static_cast<T>(sizeof(T) * 8 - 1) : b);
  }
};
struct Gcd {
  template <class T>
  static std::make_unsigned_t<T> magnitude(T x) {
    using U = std::make_unsigned_t<T>;
    return x < 0 ? U(0) - static_cast<U>(x) : static_cast<U>(x);
  }
  template <class T>
  static T run(T a, T b, int) {
    std::make_unsigned_t<T> x = magnitude(a), y = magnitude(b);
    while (y != 0) {
      const auto r = x % y;
      x = y;
      y = r;
    }
    return static_cast<T>(x);
  }
};
struct Lcm {
  template <class T>
  static T run(T a, T b, int) {
    const T g = Gcd::run(a, b, 0);
    if (g == 0) return 0;
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(Gcd::magnitude(static_cast<T>(a / g * static_cast<U>(b))));
  }
};

template <class F, class T>
void bits(char* const* data, int64_t n, const void* context) {
  const int width = context != nullptr ? *static_cast<const int*>(context) : static_cast<int>(sizeof(T) * 8);
  T* out = reinterpret_cast<T*>(data[0]);
  const T* a = reinterpret_cast<const T*>(data[1]);
  const T* b = reinterpret_cast<const T*>(data[2]);
  for (int64_t i = 0; i < n; ++i) out[i] = F::run(a[i], b[i], width);
}

template <template <class> class F>
constexpr ElementOp division() {
  return {{}, {}, baseline_table<ElementLoop>(divide<F, int32_t>), baseline_table<ElementLoop>(divide<F, int64_t>), {}, {}};
}
template <class F>
constexpr ElementOp bitwise() {
  return {{}, {}, baseline_table<ElementLoop>(bits<F, int32_t>), baseline_table<ElementLoop>(bits<F, int64_t>), {}, {}};
}
// Bit by bit, so that the signed loop is the unsigned one.
template <class F>
constexpr ElementOp bit_by_bit() {
  return with_unsigned(bitwise<F>(), baseline_table<ElementLoop>(bits<F, int64_t>));
}

}  // namespace

namespace loops {

AT_ELEMENT_OP(int_trunc_divide, division<TruncDivide>());
AT_ELEMENT_OP(int_floor_divide, division<FloorDivide>());
AT_ELEMENT_OP(int_fmod, division<Fmod>());
AT_ELEMENT_OP(int_remainder, division<Remainder>());
AT_ELEMENT_OP(bitwise_and, bit_by_bit<And>());
AT_ELEMENT_OP(bitwise_or, bit_by_bit<Or>());
AT_ELEMENT_OP(bitwise_xor, bit_by_bit<Xor>());
AT_ELEMENT_OP(shift_left, bitwise<ShiftLeft>());
AT_ELEMENT_OP(shift_right, bitwise<ShiftRight>());
AT_ELEMENT_OP(gcd, bitwise<Gcd>());
AT_ELEMENT_OP(lcm, bitwise<Lcm>());

}  // namespace loops
}  // namespace at::cpu
