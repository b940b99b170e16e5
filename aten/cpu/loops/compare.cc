#include "aten/cpu/loops/loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/loops/compare.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/loops/loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

template <>
struct ScalarFn<op::Eq> {
  static constexpr int kInputs = 2;
  template <class T>
  static HWY_INLINE bool run(T a, T b, const T*) {
    return a == b;
  }
};
template <>
struct ScalarFn<op::Ne> {
  static constexpr int kInputs = 2;
  template <class T>
  static HWY_INLINE bool run(T a, T b, const T*) {
    return !(a == b);
  }
};
template <>
struct ScalarFn<op::Lt> {
  static constexpr int kInputs = 2;
  template <class T>
  static HWY_INLINE bool run(T a, T b, const T*) {
    return a < b;
  }
};
template <>
struct ScalarFn<op::Le> {
  static constexpr int kInputs = 2;
  template <class T>
  static HWY_INLINE bool run(T a, T b, const T*) {
    return a <= b;
  }
};
template <>
struct ScalarFn<op::Gt> {
  static constexpr int kInputs = 2;
  template <class T>
  static HWY_INLINE bool run(T a, T b, const T*) {
    return a > b;
  }
};
template <>
struct ScalarFn<op::Ge> {
  static constexpr int kInputs = 2;
  template <class T>
  static HWY_INLINE bool run(T a, T b, const T*) {
    return a >= b;
  }
};
template <>
struct ScalarFn<op::LogicalAnd> {
  static constexpr int kInputs = 2;
  template <class T>
  static HWY_INLINE bool run(T a, T b, const T*) {
    return truth(a) && truth(b);
  }
};
template <>
struct ScalarFn<op::LogicalOr> {
  static constexpr int kInputs = 2;
  template <class T>
  static HWY_INLINE bool run(T a, T b, const T*) {
    return truth(a) || truth(b);
  }
};
template <>
struct ScalarFn<op::LogicalXor> {
  static constexpr int kInputs = 2;
  template <class T>
  static HWY_INLINE bool run(T a, T b, const T*) {
    return truth(a) != truth(b);
  }
};
template <>
struct ScalarFn<op::LogicalNot> {
  static constexpr int kInputs = 1;
  template <class T>
  static HWY_INLINE bool run(T a, const T*) {
    return !truth(a);
  }
};
template <class T>
HWY_INLINE bool finite(T x) {
  return x - x == T(0);
}
template <class T>
HWY_INLINE bool infinite(T x) {
  return x == static_cast<T>(__builtin_inf()) || x == -static_cast<T>(__builtin_inf());
}
template <>
struct ScalarFn<op::IsNan> {
  static constexpr int kInputs = 1;
  template <class T>
  static HWY_INLINE bool run(T a, const T*) {
    if constexpr (kIsComplex<T>) {
      return a.re != a.re || a.im != a.im;
    } else {
      return a != a;
    }
  }
};
template <>
struct ScalarFn<op::IsInf> {
  static constexpr int kInputs = 1;
  template <class T>
  static HWY_INLINE bool run(T a, const T*) {
    if constexpr (kIsComplex<T>) {
      return infinite(a.re) || infinite(a.im);
    } else {
      return infinite(a);
    }
  }
};
template <>
struct ScalarFn<op::IsFinite> {
  static constexpr int kInputs = 1;
  template <class T>
  static HWY_INLINE bool run(T a, const T*) {
    if constexpr (kIsComplex<T>) {
      return finite(a.re) && finite(a.im);
    } else {
      return finite(a);
    }
  }
};
template <>
struct ScalarFn<op::IsPosInf> {
  static constexpr int kInputs = 1;
  template <class T>
  static HWY_INLINE bool run(T a, const T*) {
    return a == static_cast<T>(__builtin_inf());
  }
};
template <>
struct ScalarFn<op::IsNegInf> {
  static constexpr int kInputs = 1;
  template <class T>
  static HWY_INLINE bool run(T a, const T*) {
    return a == -static_cast<T>(__builtin_inf());
  }
};
template <>
struct ScalarFn<op::SignBit> {
  static constexpr int kInputs = 1;
  template <class T>
  static HWY_INLINE bool run(T a, const T*) {
    if constexpr (std::is_integral_v<T>) {
      return a < 0;
    } else {
      using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
      Bits bits;
      std::memcpy(&bits, &a, sizeof(bits));
      return bits < 0;
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "aten/cpu/isa_table.h"

namespace at::cpu::loops {

AT_ELEMENT_OP(eq, with_unsigned(ElementOp{AT_ISA_TABLE(PF32<op::Eq>::loop), AT_ISA_TABLE(PF64<op::Eq>::loop),
              AT_ISA_TABLE(PI32<op::Eq>::loop), AT_ISA_TABLE(PI64<op::Eq>::loop), AT_ISA_TABLE(PZ64<op::Eq>::loop),
              AT_ISA_TABLE(PZ128<op::Eq>::loop)}, AT_ISA_TABLE(PI64<op::Eq>::loop), /*float8=*/true));
AT_ELEMENT_OP(ne, with_unsigned(ElementOp{AT_ISA_TABLE(PF32<op::Ne>::loop), AT_ISA_TABLE(PF64<op::Ne>::loop),
              AT_ISA_TABLE(PI32<op::Ne>::loop), AT_ISA_TABLE(PI64<op::Ne>::loop), AT_ISA_TABLE(PZ64<op::Ne>::loop),
              AT_ISA_TABLE(PZ128<op::Ne>::loop)}, AT_ISA_TABLE(PI64<op::Ne>::loop), /*float8=*/true));
AT_ELEMENT_OP(logical_and, {AT_ISA_TABLE(PF32<op::LogicalAnd>::loop), AT_ISA_TABLE(PF64<op::LogicalAnd>::loop),
              AT_ISA_TABLE(PI32<op::LogicalAnd>::loop), AT_ISA_TABLE(PI64<op::LogicalAnd>::loop),
              AT_ISA_TABLE(PZ64<op::LogicalAnd>::loop), AT_ISA_TABLE(PZ128<op::LogicalAnd>::loop)});
AT_ELEMENT_OP(logical_or, {AT_ISA_TABLE(PF32<op::LogicalOr>::loop), AT_ISA_TABLE(PF64<op::LogicalOr>::loop),
              AT_ISA_TABLE(PI32<op::LogicalOr>::loop), AT_ISA_TABLE(PI64<op::LogicalOr>::loop),
              AT_ISA_TABLE(PZ64<op::LogicalOr>::loop), AT_ISA_TABLE(PZ128<op::LogicalOr>::loop)});
AT_ELEMENT_OP(logical_xor, {AT_ISA_TABLE(PF32<op::LogicalXor>::loop), AT_ISA_TABLE(PF64<op::LogicalXor>::loop),
              AT_ISA_TABLE(PI32<op::LogicalXor>::loop), AT_ISA_TABLE(PI64<op::LogicalXor>::loop),
              AT_ISA_TABLE(PZ64<op::LogicalXor>::loop), AT_ISA_TABLE(PZ128<op::LogicalXor>::loop)});
AT_ELEMENT_OP(logical_not, {AT_ISA_TABLE(PF32<op::LogicalNot>::loop), AT_ISA_TABLE(PF64<op::LogicalNot>::loop),
              AT_ISA_TABLE(PI32<op::LogicalNot>::loop), AT_ISA_TABLE(PI64<op::LogicalNot>::loop),
              AT_ISA_TABLE(PZ64<op::LogicalNot>::loop), AT_ISA_TABLE(PZ128<op::LogicalNot>::loop)});
constinit const ElementTable bool_and = AT_ISA_TABLE(PU8<op::LogicalAnd>::loop);
constinit const ElementTable bool_or = AT_ISA_TABLE(PU8<op::LogicalOr>::loop);
constinit const ElementTable bool_xor = AT_ISA_TABLE(PU8<op::LogicalXor>::loop);
constinit const ElementTable bool_not = AT_ISA_TABLE(PU8<op::LogicalNot>::loop);
AT_ELEMENT_OP(lt, {AT_ISA_TABLE(PF32<op::Lt>::loop), AT_ISA_TABLE(PF64<op::Lt>::loop), AT_ISA_TABLE(PI32<op::Lt>::loop),
              AT_ISA_TABLE(PI64<op::Lt>::loop), {}, {}});
AT_ELEMENT_OP(le, {AT_ISA_TABLE(PF32<op::Le>::loop), AT_ISA_TABLE(PF64<op::Le>::loop), AT_ISA_TABLE(PI32<op::Le>::loop),
              AT_ISA_TABLE(PI64<op::Le>::loop), {}, {}});
AT_ELEMENT_OP(gt, {AT_ISA_TABLE(PF32<op::Gt>::loop), AT_ISA_TABLE(PF64<op::Gt>::loop), AT_ISA_TABLE(PI32<op::Gt>::loop),
              AT_ISA_TABLE(PI64<op::Gt>::loop), {}, {}});
AT_ELEMENT_OP(ge, {AT_ISA_TABLE(PF32<op::Ge>::loop), AT_ISA_TABLE(PF64<op::Ge>::loop), AT_ISA_TABLE(PI32<op::Ge>::loop),
              AT_ISA_TABLE(PI64<op::Ge>::loop), {}, {}});
AT_ELEMENT_OP(isnan, with_float8(ElementOp{AT_ISA_TABLE(PF32<op::IsNan>::loop), AT_ISA_TABLE(PF64<op::IsNan>::loop), {},
              {}, AT_ISA_TABLE(PZ64<op::IsNan>::loop), AT_ISA_TABLE(PZ128<op::IsNan>::loop)}));
AT_ELEMENT_OP(isinf, with_float8(ElementOp{AT_ISA_TABLE(PF32<op::IsInf>::loop), AT_ISA_TABLE(PF64<op::IsInf>::loop), {},
              {}, AT_ISA_TABLE(PZ64<op::IsInf>::loop), AT_ISA_TABLE(PZ128<op::IsInf>::loop)}));
AT_ELEMENT_OP(isfinite, with_float8(ElementOp{AT_ISA_TABLE(PF32<op::IsFinite>::loop),
              AT_ISA_TABLE(PF64<op::IsFinite>::loop), {}, {}, AT_ISA_TABLE(PZ64<op::IsFinite>::loop),
              AT_ISA_TABLE(PZ128<op::IsFinite>::loop)}));
AT_ELEMENT_OP(isposinf, {AT_ISA_TABLE(PF32<op::IsPosInf>::loop), AT_ISA_TABLE(PF64<op::IsPosInf>::loop), {}, {}, {},
              {}});
AT_ELEMENT_OP(isneginf, {AT_ISA_TABLE(PF32<op::IsNegInf>::loop), AT_ISA_TABLE(PF64<op::IsNegInf>::loop), {}, {}, {},
              {}});
AT_ELEMENT_OP(signbit, {AT_ISA_TABLE(PF32<op::SignBit>::loop), AT_ISA_TABLE(PF64<op::SignBit>::loop),
              AT_ISA_TABLE(PI32<op::SignBit>::loop), AT_ISA_TABLE(PI64<op::SignBit>::loop), {}, {}});

}  // namespace at::cpu::loops

#endif  // HWY_ONCE
