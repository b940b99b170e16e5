// Arithmetic: what elements of floating-point numbers, integers and complex numbers give. Include after hwy/highway.h.

#if defined(ATEN_CPU_LOOPS_ARITHMETIC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_LOOPS_ARITHMETIC_INL_H_
#undef ATEN_CPU_LOOPS_ARITHMETIC_INL_H_
#else
#define ATEN_CPU_LOOPS_ARITHMETIC_INL_H_
#endif

#include "aten/cpu/loops/loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

// Integers wrap: computed unsigned.
template <class T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

template <>
struct VecFn<op::Add> {
  static constexpr int kInputs = 2;
  template <class D, class V, class T>
  static HWY_INLINE V run(D, V a, V b, const T*) {
    return hn::Add(a, b);
  }
};
template <>
struct ScalarFn<op::Add> {
  static constexpr int kInputs = 2;
  template <class T>
  static HWY_INLINE T run(T a, T b, const T*) {
    using W = Wrapping<T>;
    return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
  }
};

template <>
struct VecFn<op::AddScaled> {
  static constexpr int kInputs = 2;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V a, V b, const T* params) {
    return hn::MulAdd(b, hn::Set(d, params[0]), a);
  }
};
template <>
struct ScalarFn<op::AddScaled> {
  static constexpr int kInputs = 2;
  template <class T>
  static HWY_INLINE T run(T a, T b, const T* params) {
    using W = Wrapping<T>;
    return static_cast<T>(static_cast<W>(a) + static_cast<W>(b) * static_cast<W>(params[0]));
  }
};

template <>
struct VecFn<op::Sub> {
  static constexpr int kInputs = 2;
  template <class D, class V, class T>
  static HWY_INLINE V run(D, V a, V b, const T*) {
    return hn::Sub(a, b);
  }
};
template <>
struct ScalarFn<op::Sub> {
  static constexpr int kInputs = 2;
  template <class T>
  static HWY_INLINE T run(T a, T b, const T*) {
    using W = Wrapping<T>;
    return static_cast<T>(static_cast<W>(a) - static_cast<W>(b));
  }
};

template <>
struct VecFn<op::Mul> {
  static constexpr int kInputs = 2;
  template <class D, class V, class T>
  static HWY_INLINE V run(D, V a, V b, const T*) {
    return hn::Mul(a, b);
  }
};
template <>
struct ScalarFn<op::Mul> {
  static constexpr int kInputs = 2;
  template <class T>
  static HWY_INLINE T run(T a, T b, const T*) {
    using W = Wrapping<T>;
    return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
  }
};

template <>
struct VecFn<op::Div> {
  static constexpr int kInputs = 2;
  template <class D, class V, class T>
  static HWY_INLINE V run(D, V a, V b, const T*) {
    return hn::Div(a, b);
  }
};
template <>
struct ScalarFn<op::Div> {
  static constexpr int kInputs = 2;
  template <class T>
  static HWY_INLINE T run(T a, T b, const T*) {
    return a / b;
  }
};

template <>
struct VecFn<op::Maximum> {
  static constexpr int kInputs = 2;
  template <class D, class V, class T>
  static HWY_INLINE V run(D, V a, V b, const T*) {
    return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, hn::Max(a, b)));
  }
};
template <>
struct VecFn<op::Minimum> {
  static constexpr int kInputs = 2;
  template <class D, class V, class T>
  static HWY_INLINE V run(D, V a, V b, const T*) {
    return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, hn::Min(a, b)));
  }
};
template <>
struct ScalarFn<op::Maximum> {
  static constexpr int kInputs = 2;
  template <class T>
  static HWY_INLINE T run(T a, T b, const T*) {
    return a > b ? a : b;
  }
};
template <>
struct ScalarFn<op::Minimum> {
  static constexpr int kInputs = 2;
  template <class T>
  static HWY_INLINE T run(T a, T b, const T*) {
    return a < b ? a : b;
  }
};
template <>
struct VecFn<op::Fmax> {
  static constexpr int kInputs = 2;
  template <class D, class V, class T>
  static HWY_INLINE V run(D, V a, V b, const T*) {
    return hn::IfThenElse(hn::IsNaN(a), b, hn::IfThenElse(hn::IsNaN(b), a, hn::Max(a, b)));
  }
};
template <>
struct VecFn<op::Fmin> {
  static constexpr int kInputs = 2;
  template <class D, class V, class T>
  static HWY_INLINE V run(D, V a, V b, const T*) {
    return hn::IfThenElse(hn::IsNaN(a), b, hn::IfThenElse(hn::IsNaN(b), a, hn::Min(a, b)));
  }
};

template <>
struct VecFn<op::Addcmul> {
  static constexpr int kInputs = 3;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V a, V b, V c, const T* params) {
    return hn::MulAdd(hn::Mul(hn::Set(d, params[0]), b), c, a);
  }
};
template <>
struct ScalarFn<op::Addcmul> {
  static constexpr int kInputs = 3;
  template <class T>
  static HWY_INLINE T run(T a, T b, T c, const T* params) {
    using W = Wrapping<T>;
    return static_cast<T>(static_cast<W>(a) + static_cast<W>(params[0]) * static_cast<W>(b) * static_cast<W>(c));
  }
};
template <>
struct VecFn<op::Addcdiv> {
  static constexpr int kInputs = 3;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V a, V b, V c, const T* params) {
    return hn::Add(a, hn::Div(hn::Mul(hn::Set(d, params[0]), b), c));
  }
};
template <>
struct ScalarFn<op::Addcdiv> {
  static constexpr int kInputs = 3;
  template <class T>
  static HWY_INLINE T run(T a, T b, T c, const T* params) {
    return a + params[0] * b / c;
  }
};

// From whichever end is nearer, so that weights 0 and 1 give the ends exactly.
template <class T>
HWY_INLINE T lerp_element(T a, T b, T w) {
  if constexpr (kIsComplex<T>) {
    const T one{1, 0};
    return w.re * w.re + w.im * w.im < decltype(w.re)(0.25) ? a + w * (b - a) : b - (b - a) * (one - w);
  } else {
    return (w < T(0.5) && w > T(-0.5)) ? a + w * (b - a) : b - (b - a) * (T(1) - w);
  }
}
template <class D, class V>
HWY_INLINE V lerp_vector(D d, V a, V b, V w) {
  using T = hn::TFromD<D>;
  const V step = hn::Sub(b, a);
  return hn::IfThenElse(hn::Lt(hn::Abs(w), hn::Set(d, T(0.5))), hn::MulAdd(w, step, a),
                        hn::NegMulAdd(step, hn::Sub(hn::Set(d, T(1)), w), b));
}
template <>
struct VecFn<op::Lerp> {
  static constexpr int kInputs = 3;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V a, V b, V w, const T*) {
    return lerp_vector(d, a, b, w);
  }
};
template <>
struct ScalarFn<op::Lerp> {
  static constexpr int kInputs = 3;
  template <class T>
  static HWY_INLINE T run(T a, T b, T w, const T*) {
    return lerp_element(a, b, w);
  }
};
template <>
struct VecFn<op::LerpScalar> {
  static constexpr int kInputs = 2;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V a, V b, const T* params) {
    return lerp_vector(d, a, b, hn::Set(d, params[0]));
  }
};
template <>
struct ScalarFn<op::LerpScalar> {
  static constexpr int kInputs = 2;
  template <class T>
  static HWY_INLINE T run(T a, T b, const T* params) {
    return lerp_element(a, b, params[0]);
  }
};

template <class V>
HWY_INLINE V propagate(V x, V result) {
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}
template <>
struct VecFn<op::Clamp> {
  static constexpr int kInputs = 1;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V x, const T* params) {
    return propagate(x, hn::Min(hn::Max(x, hn::Set(d, params[0])), hn::Set(d, params[1])));
  }
};
template <>
struct VecFn<op::ClampMin> {
  static constexpr int kInputs = 1;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V x, const T* params) {
    return propagate(x, hn::Max(x, hn::Set(d, params[0])));
  }
};
template <>
struct VecFn<op::ClampMax> {
  static constexpr int kInputs = 1;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V x, const T* params) {
    return propagate(x, hn::Min(x, hn::Set(d, params[0])));
  }
};
template <>
struct ScalarFn<op::Clamp> {
  static constexpr int kInputs = 1;
  template <class T>
  static HWY_INLINE T run(T x, const T* params) {
    const T low = x > params[0] ? x : params[0];
    return low < params[1] ? low : params[1];
  }
};
template <>
struct ScalarFn<op::ClampMin> {
  static constexpr int kInputs = 1;
  template <class T>
  static HWY_INLINE T run(T x, const T* params) {
    return x > params[0] ? x : params[0];
  }
};
template <>
struct ScalarFn<op::ClampMax> {
  static constexpr int kInputs = 1;
  template <class T>
  static HWY_INLINE T run(T x, const T* params) {
    return x < params[0] ? x : params[0];
  }
};
template <>
struct VecFn<op::ClampTensor> {
  static constexpr int kInputs = 3;
  template <class D, class V, class T>
  static HWY_INLINE V run(D, V x, V low, V high, const T*) {
    const V clamped = hn::Min(hn::Max(x, low), high);
    return propagate(x, propagate(low, propagate(high, clamped)));
  }
};
template <>
struct ScalarFn<op::ClampTensor> {
  static constexpr int kInputs = 3;
  template <class T>
  static HWY_INLINE T run(T x, T low, T high, const T*) {
    const T raised = x > low ? x : low;
    return raised < high ? raised : high;
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
