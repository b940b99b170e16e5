// Neighbouring elements of one of the dtypes that a compute type is loaded from.
#pragma once

#include "aten/cuda/convert.cuh"

namespace at::cuda {

template <class T>
struct Tag {
  using type = T;
};

/// Calls f(Tag of the element type) for a dtype that is computed in `Compute`: real numbers in float (up to 32 bits),
/// double, int64, complex numbers in complex<double>, what is only compared with 0 in bool. Nothing for others.
template <class Compute, class F>
KD_DEVICE void visit_stored(ScalarType dtype, const F& f) {
#define AT_CUDA_STORED(name, type) \
  case ScalarType::name:           \
    return f(Tag<type>{});
#define AT_CUDA_STORED_FLOATING(X) X(Half, Half) X(BFloat16, BFloat16) X(Float, float)
#define AT_CUDA_STORED_INTEGER(X) \
  X(Byte, uint8_t) X(Char, int8_t) X(Short, int16_t) X(Int, int32_t) X(Long, int64_t) X(Bool, bool)
#define AT_CUDA_STORED_COMPLEX(X) X(ComplexFloat, c10::complex<float>) X(ComplexDouble, c10::complex<double>)
  if constexpr (std::is_same_v<Compute, float>) {
    switch (dtype) {
      AT_CUDA_STORED_FLOATING(AT_CUDA_STORED)
      default:
        return;
    }
  } else if constexpr (std::is_same_v<Compute, double>) {
    switch (dtype) {
      AT_CUDA_STORED_FLOATING(AT_CUDA_STORED)
      AT_CUDA_STORED(Double, double)
      default:
        return;
    }
  } else if constexpr (std::is_same_v<Compute, int64_t>) {
    switch (dtype) {
      AT_CUDA_STORED_INTEGER(AT_CUDA_STORED)
      default:
        return;
    }
  } else if constexpr (std::is_same_v<Compute, bool>) {
    switch (dtype) {
      AT_CUDA_STORED_FLOATING(AT_CUDA_STORED)
      AT_CUDA_STORED(Double, double)
      AT_CUDA_STORED_INTEGER(AT_CUDA_STORED)
      AT_CUDA_STORED_COMPLEX(AT_CUDA_STORED)
      default:
        return;
    }
  } else {
    switch (dtype) {
      AT_CUDA_STORED_COMPLEX(AT_CUDA_STORED)
      default:
        return;
    }
  }
#undef AT_CUDA_STORED
#undef AT_CUDA_STORED_FLOATING
#undef AT_CUDA_STORED_INTEGER
#undef AT_CUDA_STORED_COMPLEX
}

// kCount elements at an address that is a multiple of 16 bytes, or of their size where that is less.
template <class Compute, class Stored, int kCount>
KD_DEVICE void load_vector(const char* from, Compute (&to)[kCount]) {
  using Raw = std::conditional_t<std::is_same_v<Stored, bool>, uint8_t, Stored>;
  constexpr int kLanes = sizeof(Raw) * kCount <= 16 ? kCount : static_cast<int>(16 / sizeof(Raw));
  struct alignas(sizeof(Raw) * kLanes) Vector {
    Raw v[kLanes];
  };
#pragma unroll
  for (int i = 0; i < kCount; i += kLanes) {
    const Vector vector = c10::cuda::load_aligned<Vector>(from + i * static_cast<int>(sizeof(Raw)));
#pragma unroll
    for (int k = 0; k < kLanes; ++k) {
      if constexpr (std::is_same_v<Stored, bool>)
        to[i + k] = static_cast<Compute>(vector.v[k] != 0);
      else
        to[i + k] = convert<Compute>(vector.v[k]);
    }
  }
}

/// kCount neighbours, as load_vector aligned.
template <class Compute, int kCount>
KD_DEVICE void load_vector_as(const char* from, ScalarType dtype, Compute (&to)[kCount]) {
  visit_stored<Compute>(dtype, [&](auto tag) { load_vector<Compute, typename decltype(tag)::type>(from, to); });
}
/// kCount elements, each at its own address.
template <class Compute, int kCount>
KD_DEVICE void load_each_as(const char* const (&from)[kCount], ScalarType dtype, Compute (&to)[kCount]) {
  visit_stored<Compute>(dtype, [&](auto tag) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) to[k] = convert<Compute>(load<typename decltype(tag)::type>(from[k]));
  });
}

}  // namespace at::cuda
