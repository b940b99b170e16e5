// Optimizer steps over lists of parameters (aten/cpu/optimizer/optimizer_step.h has the formulas).
#include <limits>

#include "aten/cuda/convert.cuh"
#include "aten/cuda/foreach/block_of_list.cuh"
#include "aten/cuda/foreach/step_call.h"
#include "c10/cuda/launch.h"
#include "c10/cuda/stream.h"
#include "c10/util/exception.h"

namespace at::cuda {
namespace {

constexpr uint32_t kThreads = 256;

KD_DEVICE double number_of(const StepNumber& n) {
  return n.data != nullptr ? load_as<double>(n.data, n.dtype) : n.value;
}

// Each a type with the numbers of a step in the type that it computes in, and run(), which steps one element.
template <class T>
struct Sgd {
  static constexpr int kOperands = 3;
  T decay, momentum, fresh, lr;
  bool maximize, nesterov, first, decays, buffered;
  KD_DEVICE Sgd(const StepOptions& o, const StepCall::Entry& entry)
      : decay(static_cast<T>(o.weight_decay)),
        momentum(static_cast<T>(o.beta1)),
        fresh(static_cast<T>(1 - o.beta2)),
        lr(static_cast<T>(number_of(o.lr))),
        maximize(o.maximize),
        nesterov(o.nesterov),
        first(o.first),
        decays(o.weight_decay != 0),
        buffered(entry.data[2] != nullptr) {}
  KD_DEVICE void run(T (&x)[kOperands]) const {
    T g = maximize ? -x[1] : x[1];
    if (decays) g += decay * x[0];
    if (buffered) {
      x[2] = first ? g : momentum * x[2] + fresh * g;
      g = nesterov ? g + momentum * x[2] : x[2];
    }
    x[0] -= lr * g;
  }
};

template <class T>
struct Adam {
  static constexpr int kOperands = 5;
  T decay, shrink, beta1, rest1, beta2, rest2, eps, root, size;
  bool maximize, decoupled, decays, largest;
  KD_DEVICE Adam(const StepOptions& o, const StepCall::Entry& entry)
      : decay(static_cast<T>(o.weight_decay)),
        beta1(static_cast<T>(o.beta1)),
        rest1(static_cast<T>(1 - o.beta1)),
        beta2(static_cast<T>(o.beta2)),
        rest2(static_cast<T>(1 - o.beta2)),
        eps(static_cast<T>(o.eps)),
        maximize(o.maximize),
        decoupled(o.decoupled),
        decays(!o.decoupled && o.weight_decay != 0),
        largest(entry.data[4] != nullptr) {
    const double lr = number_of(o.lr), count = number_of(entry.count);
    shrink = static_cast<T>(1 - lr * o.weight_decay);
    root = static_cast<T>(1 / ::sqrt(1 - ::pow(o.beta2, count)));
    size = static_cast<T>(lr / (1 - ::pow(o.beta1, count)));
  }
  KD_DEVICE void run(T (&x)[kOperands]) const {
    T w = x[0], g = maximize ? -x[1] : x[1];
    if (decoupled)
      w *= shrink;
    else if (decays)
      g += decay * w;
    x[2] = beta1 * x[2] + rest1 * g;
    x[3] = beta2 * x[3] + rest2 * (g * g);
    T v = x[3];
    if (largest) v = x[4] = x[4] > v ? x[4] : v;
    x[0] = w - size * (x[2] / (::sqrt(v) * root + eps));
  }
};

template <class T>
struct Adagrad {
  static constexpr int kOperands = 3;
  T decay, eps, lr;
  bool maximize, decays;
  KD_DEVICE Adagrad(const StepOptions& o, const StepCall::Entry& entry)
      : decay(static_cast<T>(o.weight_decay)),
        eps(static_cast<T>(o.eps)),
        lr(static_cast<T>(number_of(o.lr) / (1 + (number_of(entry.count) - 1) * o.beta2))),
        maximize(o.maximize),
        decays(o.weight_decay != 0) {}
  KD_DEVICE void run(T (&x)[kOperands]) const {
    T g = maximize ? -x[1] : x[1];
    if (decays) g += decay * x[0];
    x[2] += g * g;
    x[0] -= lr * (g / (::sqrt(x[2]) + eps));
  }
};

template <class T>
struct Unscale {
  static constexpr int kOperands = 1;
  T factor;
  float* non_finite;
  KD_DEVICE Unscale(const StepOptions& o, const StepCall::Entry&)
      : factor(static_cast<T>(number_of(o.lr))), non_finite(o.non_finite) {}
  __device__ void run(T (&x)[kOperands]) const {
    if (!(::fabs(x[0]) < std::numeric_limits<T>::infinity())) atomicExch(non_finite, 1.0f);
    x[0] *= factor;
  }
};

__global__ void update_scale(float* scale, int32_t* growth_tracker, const float* found_inf, double growth_factor,
                             double backoff_factor, int64_t growth_interval) {
  if (*found_inf != 0) {
    *scale = static_cast<float>(*scale * backoff_factor);
    *growth_tracker = 0;
    return;
  }
  const int32_t successes = *growth_tracker + 1;
  *growth_tracker = successes == growth_interval ? 0 : successes;
  if (successes != growth_interval) return;
  const auto grown = static_cast<float>(*scale * growth_factor);
  if (::fabs(grown) < std::numeric_limits<float>::infinity()) *scale = grown;
}

// A block steps one chunk of one tensor, several elements of 16 bytes together at a time where the addresses allow it.
template <template <class> class Step, class Stored>
__global__ void __launch_bounds__(kThreads) step_tensors(const __grid_constant__ StepCall call) {
  using T = std::conditional_t<std::is_same_v<Stored, double>, double, float>;
  constexpr int kOperands = Step<T>::kOperands, kLanes = 16 / sizeof(Stored);
  struct alignas(16) Vector {
    Stored v[kLanes];
  };
  if (number_of(call.options.found_inf) != 0) return;
  const int tensor = tensor_of_block(call.first_block, call.tensors, blockIdx.x);
  const StepCall::Entry& entry = call.entries[tensor];
  const int64_t begin = int64_t{blockIdx.x - call.first_block[tensor]} * kStepChunk;
  const int n = static_cast<int>(entry.numel - begin < kStepChunk ? entry.numel - begin : kStepChunk);
  const Step<T> step(call.options, entry);
  const T scale = call.options.scaled ? static_cast<T>(number_of(call.options.grad_scale)) : T(1);
  Stored* p[kOperands];
  bool aligned = true;
#pragma unroll
  for (int k = 0; k < kOperands; ++k) {
    p[k] = entry.data[k] == nullptr ? nullptr : static_cast<Stored*>(entry.data[k]) + begin;
    aligned = aligned && reinterpret_cast<uintptr_t>(p[k]) % 16 == 0;
  }
  const int vectors = aligned ? n / kLanes : 0;
  for (int i = static_cast<int>(threadIdx.x); i < vectors; i += kThreads) {
    Vector loaded[kOperands];
#pragma unroll
    for (int k = 0; k < kOperands; ++k) {
      if (p[k] != nullptr) loaded[k] = c10::cuda::load_aligned<Vector>(p[k] + i * kLanes);
    }
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
      T x[kOperands];
#pragma unroll
      for (int k = 0; k < kOperands; ++k) x[k] = p[k] != nullptr ? convert<T>(loaded[k].v[lane]) : T(0);
      if constexpr (kOperands > 1) {
        if (call.options.scaled) loaded[1].v[lane] = convert<Stored>(x[1] /= scale);
      }
      step.run(x);
#pragma unroll
      for (int k = 0; k < kOperands; ++k) {
        if (k != 1) loaded[k].v[lane] = convert<Stored>(x[k]);
      }
    }
#pragma unroll
    for (int k = 0; k < kOperands; ++k) {
      if (p[k] != nullptr && (k != 1 || call.options.scaled)) c10::cuda::store_aligned(p[k] + i * kLanes, loaded[k]);
    }
  }
  for (int i = vectors * kLanes + static_cast<int>(threadIdx.x); i < n; i += kThreads) {
    T x[kOperands];
#pragma unroll
    for (int k = 0; k < kOperands; ++k) x[k] = p[k] != nullptr ? convert<T>(p[k][i]) : T(0);
    if constexpr (kOperands > 1) {
      if (call.options.scaled) p[1][i] = convert<Stored>(x[1] /= scale);
    }
    step.run(x);
#pragma unroll
    for (int k = 0; k < kOperands; ++k) {
      if (k != 1 && p[k] != nullptr) p[k][i] = convert<Stored>(x[k]);
    }
  }
}

template <template <class> class Step>
void launch(ScalarType dtype, const char* name, const StepCall& call) {
  const c10::cuda::Launch shape{
      .grid = call.first_block[call.tensors], .block = kThreads, .stream = c10::cuda::getCurrentCUDAStream()};
  switch (dtype) {
    case ScalarType::Float:
      return c10::cuda::launch_or_throw(name, step_tensors<Step, float>, shape, call);
    case ScalarType::Double:
      return c10::cuda::launch_or_throw(name, step_tensors<Step, double>, shape, call);
    case ScalarType::Half:
      return c10::cuda::launch_or_throw(name, step_tensors<Step, Half>, shape, call);
    default:
      return c10::cuda::launch_or_throw(name, step_tensors<Step, BFloat16>, shape, call);
  }
}

}  // namespace

#if KD_CUDA_HAS(sgd)
void launch_sgd(ScalarType dtype, const char* name, const StepCall& call) {
  launch<Sgd>(dtype, name, call);
}
#endif
#if KD_CUDA_HAS(adam)
void launch_adam(ScalarType dtype, const char* name, const StepCall& call) {
  launch<Adam>(dtype, name, call);
}
#endif
#if KD_CUDA_HAS(unscale)
void launch_unscale(ScalarType dtype, const char* name, const StepCall& call) {
  launch<Unscale>(dtype, name, call);
}
#endif
#if KD_CUDA_HAS(update_scale)
void launch_update_scale(float* scale, int32_t* growth_tracker, const float* found_inf, double growth_factor,
                         double backoff_factor, int64_t growth_interval) {
  c10::cuda::launch_or_throw("update_scale", update_scale,
                             {.grid = 1, .block = 1, .stream = c10::cuda::getCurrentCUDAStream()}, scale,
                             growth_tracker, found_inf, growth_factor, backoff_factor, growth_interval);
}
#endif
#if KD_CUDA_HAS(adagrad)
void launch_adagrad(ScalarType dtype, const char* name, const StepCall& call) {
  launch<Adagrad>(dtype, name, call);
}
#endif

}  // namespace at::cuda
