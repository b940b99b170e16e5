// Continuous distributions. Operations whose bits must be the same everywhere are spelled out: nothing is contracted by
// compilers.
#include "aten/cuda/random/fill.cuh"

namespace at::cuda::random {
namespace {

KD_DEVICE float fused(float a, float b, float c) {
  return ::fmaf(a, b, c);
}
KD_DEVICE double fused(double a, double b, double c) {
  return ::fma(a, b, c);
}

// As an element of the dtype holds it.
KD_DEVICE float rounded_to(ScalarType dtype, float v) {
  if (dtype == ScalarType::Half) return static_cast<float>(Half(v));
  if (dtype == ScalarType::BFloat16) return static_cast<float>(BFloat16(v));
  return v;
}
KD_DEVICE double rounded_to(ScalarType, double v) {
  return v;
}

template <class T, class Fn>
struct OfUniforms {
  using Number = T;
  static constexpr uint32_t kEach = Uniforms<T>::kEach;
  Fn fn;

  __device__ void operator()(const RandomWords& words, T* out) const {
    const Uniforms<T> u(words);
#pragma unroll
    for (uint32_t k = 0; k < kEach; ++k) out[k] = fn(u.v[k]);
  }
};

template <class T, class Fn>
struct OfNormals {
  using Number = T;
  static constexpr uint32_t kEach = Normals<T>::kEach;
  Fn fn;

  __device__ void operator()(const RandomWords& words, T* out) const {
    const Normals<T> z(words);
#pragma unroll
    for (uint32_t k = 0; k < kEach; ++k) out[k] = fn(z.v[k]);
  }
};

// The upper end, which rounding reaches, too, counts as the lower one.
template <class T>
struct Uniform {
  T from, to, width;
  ScalarType dtype;
  KD_DEVICE T operator()(T u) const {
    const T v = rounded_to(dtype, fused(u, width, from));
    return v < to ? v : from;
  }
};

template <class T>
struct Normal {
  T mean, std;
  KD_DEVICE T operator()(T z) const { return fused(z, std, mean); }
};

template <class T>
struct LogNormal {
  T mean, std;
  KD_DEVICE T operator()(T z) const { return ::exp(fused(z, std, mean)); }
};

template <class T>
struct Cauchy {
  T median, sigma;
  KD_DEVICE T operator()(T u) const {
    return fused(sigma, ::tan(static_cast<T>(3.14159265358979323846) * (u - T(0.5))), median);
  }
};

// Above 0, where 1 is drawn, too.
template <class T>
struct Exponential {
  T mean, least;
  KD_DEVICE T operator()(T u) const {
    const T log = ::log(u);
    return (log > -least ? least : -log) * mean;
  }
};

template <class T>
struct Geometric {
  T scale;  // 1 / log(1 - p)
  KD_DEVICE T operator()(T u) const {
    const T trials = ::ceil(::log(u) * scale);
    return trials > 1 ? trials : T(1);
  }
};

template <class T>
struct Bernoulli {
  T p;
  KD_DEVICE T operator()(T u) const { return u <= p ? T(1) : T(0); }
};

// Calls fill_as(T{}) for the type that the target's numbers are computed in.
template <class Fill>
void with_type(const Target& target, const Fill& fill_as) {
  if (target.dtype == ScalarType::Double) {
    fill_as(double{});
  } else {
    fill_as(float{});
  }
}

template <class T, class Fn>
void fill_of_uniforms(const char* name, const Target& target, const Launch& launch, const Fn& fn) {
  fill(name, target, launch, OfUniforms<T, Fn>{fn});
}
template <class T, class Fn>
void fill_of_normals(const char* name, const Target& target, const Launch& launch, const Fn& fn) {
  fill(name, target, launch, OfNormals<T, Fn>{fn});
}

}  // namespace

void fill_uniform(const Target& target, const Launch& launch, double from, double to) {
  with_type(target, [&]<class T>(T) {
    const T low = static_cast<T>(from), high = static_cast<T>(to);
    fill_of_uniforms<T>("uniform_", target, launch, Uniform<T>{low, high, high - low, target.dtype});
  });
}
void fill_normal(const Target& target, const Launch& launch, double mean, double std) {
  with_type(target, [&]<class T>(T) {
    fill_of_normals<T>("normal_", target, launch, Normal<T>{static_cast<T>(mean), static_cast<T>(std)});
  });
}
void fill_log_normal(const Target& target, const Launch& launch, double mean, double std) {
  with_type(target, [&]<class T>(T) {
    fill_of_normals<T>("log_normal_", target, launch, LogNormal<T>{static_cast<T>(mean), static_cast<T>(std)});
  });
}
void fill_cauchy(const Target& target, const Launch& launch, double median, double sigma) {
  with_type(target, [&]<class T>(T) {
    fill_of_uniforms<T>("cauchy_", target, launch, Cauchy<T>{static_cast<T>(median), static_cast<T>(sigma)});
  });
}
void fill_exponential(const Target& target, const Launch& launch, double lambd) {
  with_type(target, [&]<class T>(T) {
    constexpr T kLeast = std::is_same_v<T, double> ? T(0x1p-53) : T(0x1p-24);
    fill_of_uniforms<T>("exponential_", target, launch, Exponential<T>{static_cast<T>(1 / lambd), kLeast});
  });
}
void fill_geometric(const Target& target, const Launch& launch, double p) {
  with_type(target, [&]<class T>(T) {
    fill_of_uniforms<T>("geometric_", target, launch, Geometric<T>{static_cast<T>(1 / std::log1p(-p))});
  });
}
void fill_bernoulli(const Target& target, const Launch& launch, double p) {
  with_type(target,
            [&]<class T>(T) { fill_of_uniforms<T>("bernoulli_", target, launch, Bernoulli<T>{static_cast<T>(p)}); });
}

}  // namespace at::cuda::random
