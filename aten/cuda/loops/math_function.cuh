// Functions of real and of complex numbers. They, and the functions of elements in the other headers here, are also the
// text that compile/cuda gives a compiler while a program runs (KD_RUNTIME_COMPILED): groups of operators compute what
// the operators compute.
#pragma once

#include "aten/cuda/complex_math.cuh"
#include "aten/cuda/loops/functions.cuh"

/// A function of real numbers, `a`, or `a` and `b`, by one expression and of complex ones, `z`, or `z` and `w`, by
/// another. Kernels that are compiled while a program runs have no complex numbers.
#ifdef KD_RUNTIME_COMPILED
#define AT_CUDA_MATH(name, of_real, of_complex) AT_CUDA_FN(name, 1, static_cast<T>(of_real))
#define AT_CUDA_MATH_2(name, of_real, of_complex) AT_CUDA_FN(name, 2, static_cast<T>(of_real))
#else
#define AT_CUDA_MATH(name, of_real, of_complex)     \
  struct name {                                     \
    static constexpr int kInputs = 1;               \
    template <class T>                              \
    static KD_DEVICE T run(const T* in, const T*) { \
      if constexpr (kIsComplex<T>) {                \
        const Complex z(in->real(), in->imag());    \
        return convert<T>(of_complex);              \
      } else {                                      \
        const T a = *in;                            \
        return static_cast<T>(of_real);             \
      }                                             \
    }                                               \
  };
#define AT_CUDA_MATH_2(name, of_real, of_complex)                               \
  struct name {                                                                 \
    static constexpr int kInputs = 2;                                           \
    template <class T>                                                          \
    static KD_DEVICE T run(const T* in, const T*) {                             \
      if constexpr (kIsComplex<T>) {                                            \
        const Complex z = convert<Complex>(in[0]), w = convert<Complex>(in[1]); \
        return convert<T>(of_complex);                                          \
      } else {                                                                  \
        const T a = in[0], b = in[1];                                           \
        return static_cast<T>(of_real);                                         \
      }                                                                         \
    }                                                                           \
  };
#endif
