// Predicates: the results are bools.
#pragma once

#include "aten/cuda/loops/functions.cuh"

namespace at::cuda {

AT_CUDA_FN(Eq, 2, static_cast<bool>(a == b))
AT_CUDA_FN(Ne, 2, !(a == b))
AT_CUDA_FN(Lt, 2, a < b)
AT_CUDA_FN(Le, 2, a <= b)
AT_CUDA_FN(Gt, 2, a > b)
AT_CUDA_FN(Ge, 2, a >= b)
AT_CUDA_FN(LogicalAnd, 2, truth(a) && truth(b))
AT_CUDA_FN(LogicalOr, 2, truth(a) || truth(b))
AT_CUDA_FN(LogicalXor, 2, truth(a) != truth(b))
AT_CUDA_FN(LogicalNot, 1, !truth(a))

// A property of a number, which a complex one has where a part has it, or where both have it.
template <class T, class Property>
KD_DEVICE bool of_any_part(T a, Property property) {
  if constexpr (kIsComplex<T>)
    return property(a.real()) || property(a.imag());
  else
    return property(a);
}
struct Nan {
  template <class T>
  KD_DEVICE bool operator()(T a) const {
    return a != a;
  }
};
struct Infinite {
  template <class T>
  KD_DEVICE bool operator()(T a) const {
    return a == T(INFINITY) || a == T(-INFINITY);
  }
};
struct NotFinite {
  template <class T>
  KD_DEVICE bool operator()(T a) const {
    return !(a - a == T(0));
  }
};
AT_CUDA_FN(IsNan, 1, of_any_part(a, Nan()))
AT_CUDA_FN(IsInf, 1, of_any_part(a, Infinite()))
AT_CUDA_FN(IsFinite, 1, !of_any_part(a, NotFinite()))
AT_CUDA_FN(IsPosInf, 1, a == T(INFINITY))
AT_CUDA_FN(IsNegInf, 1, a == T(-INFINITY))
struct SignBit {
  static constexpr int kInputs = 1;
  template <class T>
  static KD_DEVICE bool run(const T* in, const T*) {
    if constexpr (std::is_integral_v<T>)
      return *in < 0;
    else
      return ::copysign(T(1), *in) < 0;
  }
};

}  // namespace at::cuda
