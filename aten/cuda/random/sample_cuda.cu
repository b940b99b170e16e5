// Numbers of distributions whose parameters are tensors.
#include <algorithm>

#include "aten/cuda/launch_shape.h"
#include "aten/cuda/random/sample.h"
#include "aten/ops/random/distributions.h"
#include "c10/cuda/philox.cuh"
#include "c10/cuda/stream.h"

namespace at::cuda::random {
namespace {

namespace shared = native::random;

c10::cuda::Launch shape_of(int64_t n) {
  return shape_for(static_cast<uint32_t>(std::min<int64_t>(n, INT32_MAX)), 1, c10::cuda::getCurrentCUDAStream());
}

// What one element draws.
class Draws {
 public:
  __device__ Draws(uint64_t seed, uint64_t subsequence, uint64_t offset) : random_(seed, subsequence, offset) {}

  /// 53 bits in [0, 1).
  __device__ double uniform() {
    if (left_ == 0) {
      words_ = random_.next();
      left_ = 2;
    }
    const uint64_t word =
        left_ == 2 ? uint64_t{words_.x} << 32 | words_.y : uint64_t{words_.z} << 32 | words_.w;
    --left_;
    return static_cast<double>(word >> 11) * 0x1p-53;
  }
  __device__ double next() { return uniform(); }

  /// Standard normal; of each pair the second is kept.
  __device__ double normal() {
    if (has_kept_) {
      has_kept_ = false;
      return kept_;
    }
    const double radius = ::sqrt(-2 * ::log(1 - uniform()));
    double sine, cosine;
    ::sincos(6.283185307179586476925 * uniform(), &sine, &cosine);
    kept_ = radius * sine;
    has_kept_ = true;
    return radius * cosine;
  }

 private:
  c10::cuda::PhiloxStream random_;
  c10::cuda::RandomWords words_{};
  int left_ = 0;
  bool has_kept_ = false;
  double kept_ = 0;
};

struct Poisson {
  __device__ double operator()(Draws& draws, double mean, double) const {
    return mean >= 0 ? shared::draw_poisson(draws, mean) : NAN;
  }
};
struct Binomial {
  bool in_float;
  __device__ double operator()(Draws& draws, double n, double p) const {
    return shared::draw_binomial(draws, n, p, in_float);
  }
};
struct Gamma {
  __device__ double operator()(Draws& draws, double alpha, double) const {
    return shared::draw_gamma<double>(draws, alpha);
  }
};

template <class Make>
__global__ void sample_kernel(const __grid_constant__ SampleCall call, const __grid_constant__ Make make) {
  const auto [seed, offset] = philox::unpack(call.random);
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.n; i += step) {
    Draws draws(seed, static_cast<uint64_t>(i), offset);
    call.out[i] = make(draws, call.a[i], call.b != nullptr ? call.b[i] : 0);
  }
}

template <class Make>
void sample(const char* name, const SampleCall& call, const Make& make) {
  c10::cuda::launch_or_throw(name, sample_kernel<Make>, shape_of(call.n), call, make);
}

__global__ void gamma_gradients_kernel(int64_t n, const double* alpha, const double* x, const double* digammas,
                                       double precision, double* out) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    out[i] = shared::gamma_gradient(alpha[i], x[i], digammas[i], precision);
  }
}

__global__ void beta_gradients_kernel(int64_t n, const double* x, const double* alpha, const double* beta,
                                      const double* shifts, double precision, double* out) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    out[i] = shared::beta_gradient(x[i], alpha[i], beta[i], shifts[i], precision);
  }
}

// The thread of the first of equal keys draws each place of the run in turn (Fisher and Yates).
__global__ void shuffle_ties_kernel(int64_t n, const int64_t* keys, int64_t* values,
                                    const __grid_constant__ PhiloxCudaState random) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i + 1 < n; i += step) {
    if (keys[i] != keys[i + 1] || (i > 0 && keys[i - 1] == keys[i])) continue;
    int64_t end = i + 2;
    while (end < n && keys[end] == keys[i]) ++end;
    const auto [seed, offset] = philox::unpack(random);
    c10::cuda::PhiloxStream words(seed, static_cast<uint64_t>(i), offset);
    for (int64_t place = i; place + 1 < end; ++place) {
      const c10::cuda::RandomWords w = words.next();
      const uint64_t word = uint64_t{w.x} << 32 | w.y;
      const int64_t other = place + static_cast<int64_t>(word % static_cast<uint64_t>(end - place));
      const int64_t value = values[place];
      values[place] = values[other];
      values[other] = value;
    }
  }
}

}  // namespace

void sample_poisson(const SampleCall& call) {
  sample("poisson", call, Poisson{});
}
void sample_binomial(const SampleCall& call, bool in_float) {
  sample("binomial", call, Binomial{in_float});
}
void sample_gamma(const SampleCall& call) {
  sample("_standard_gamma", call, Gamma{});
}

void gamma_gradients(int64_t n, const double* alpha, const double* x, const double* digammas, double precision,
                     double* out) {
  c10::cuda::launch_or_throw("_standard_gamma_grad", gamma_gradients_kernel, shape_of(n), n, alpha, x, digammas,
                             precision, out);
}
void beta_gradients(int64_t n, const double* x, const double* alpha, const double* beta, const double* shifts,
                    double precision, double* out) {
  c10::cuda::launch_or_throw("_dirichlet_grad", beta_gradients_kernel, shape_of(n), n, x, alpha, beta, shifts,
                             precision, out);
}

void shuffle_ties(int64_t n, const int64_t* keys, int64_t* values, const PhiloxCudaState& random) {
  c10::cuda::launch_or_throw("randperm", shuffle_ties_kernel, shape_of(n), n, keys, values, random);
}

}  // namespace at::cuda::random
