// Connectionist temporal classification (Graves et al. 2006) in logarithms: a block has a sequence, and goes through
// its steps one after the other.
#include <cmath>
#include <limits>

#include "aten/cuda/device_check.cuh"
#include "aten/cuda/launch_shape.h"
#include "aten/cuda/loss/ctc.h"
#include "c10/cuda/launch.h"
#include "c10/cuda/stream.h"

namespace at::cuda {
namespace {

constexpr unsigned kAllLanes = 0xffffffff;
constexpr int kWarp = 32;

template <class T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

// log(exp(a) + exp(b) + exp(c)).
template <class T>
KD_DEVICE T log_sum(T a, T b, T c) {
  const T m = a > b ? (a > c ? a : c) : (b > c ? b : c);
  return m == kNever<T> ? m : m + std::log(std::exp(a - m) + std::exp(b - m) + std::exp(c - m));
}

// What the paths of a sequence go through: its labels with blanks between and around them.
struct Sequence {
  const int64_t* targets;
  int64_t blank, steps, labels, states;

  __device__ Sequence(const CtcCall& call, int64_t b)
      : targets(call.targets + call.lengths[3 * b + 2]),
        blank(call.blank),
        steps(call.lengths[3 * b]),
        labels(call.lengths[3 * b + 1]),
        states(2 * labels + 1) {}
  KD_DEVICE int64_t label(int64_t state) const { return state % 2 == 1 ? targets[state / 2] : blank; }
  // Not between equal labels, which the blank keeps apart.
  KD_DEVICE bool may_skip_to(int64_t state) const {
    return state >= 3 && state % 2 == 1 && targets[state / 2] != targets[state / 2 - 1];
  }
  // The states at a step that can be reached from the start and from which the end can be.
  KD_DEVICE bool has(int64_t step, int64_t state) const {
    return state >= states - 2 * (steps - step) && state < states && state < 2 * step + 2;
  }
  __device__ void check_labels(int64_t classes) const {
    for (int64_t i = threadIdx.x; i < labels; i += blockDim.x)
      AT_CUDA_KERNEL_CHECK(targets[i] >= 0 && targets[i] < classes, "ctc_loss: a target is not a class");
  }
};

template <class T>
__global__ void ctc_forward(const __grid_constant__ CtcCall call) {
  for (int64_t b = blockIdx.x; b < call.batch; b += gridDim.x) {
    const Sequence s(call, b);
    s.check_labels(call.classes);
    T* const alpha = static_cast<T*>(call.alpha) + b * call.steps * call.states;
    const T* const log_probs = static_cast<const T*>(call.log_probs) + b * call.classes;
    for (int64_t t = 0; t < call.steps; ++t) {
      const T *const before = alpha + (t - 1) * call.states, *const p = log_probs + t * call.batch * call.classes;
      for (int64_t i = threadIdx.x; i < call.states; i += blockDim.x) {
        T value = kNever<T>;
        if (t < s.steps && s.has(t, i)) {
          if (t > 0) {
            const T one = i >= 1 ? before[i - 1] : kNever<T>, two = s.may_skip_to(i) ? before[i - 2] : kNever<T>;
            value = log_sum(before[i], one, two) + p[s.label(i)];
          } else {
            value = p[s.label(i)];
          }
        }
        alpha[t * call.states + i] = value;
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) {
      // The path ends with the last label or the blank after it.
      const T* const last = alpha + (s.steps - 1) * call.states;
      T loss = s.states == 1 ? T(0) : -kNever<T>;
      if (s.steps > 0) loss = -log_sum(last[s.states - 1], s.states >= 2 ? last[s.states - 2] : kNever<T>, kNever<T>);
      static_cast<T*>(call.loss)[b] = loss;
    }
  }
}

// The scratch memory of a sequence: two rows of `beta`, the logarithm of the probability of the way from a state to the
// end, with two more that no path gets to; the probability of being in a state; the next label of the same class, 0 for
// none, and whether there is one before.
template <class T>
struct Scratch {
  T *beta[2], *inside;
  int32_t *next, *later;

  static KD_DEVICE int64_t bytes(int64_t states) {
    return ((3 * states + 4) * static_cast<int64_t>(sizeof(T)) + states * 4 + 15) / 16 * 16;
  }
  KD_DEVICE Scratch(void* memory, int64_t b, int64_t states) {
    auto* const at = static_cast<char*>(memory) + b * bytes(states);
    beta[0] = reinterpret_cast<T*>(at);
    beta[1] = beta[0] + states + 2;
    inside = beta[1] + states + 2;
    next = reinterpret_cast<int32_t*>(inside + states);
    later = next + states / 2;
  }
};

template <class T>
__global__ void ctc_backward(const __grid_constant__ CtcCall call, const __grid_constant__ CtcBackward backward) {
  for (int64_t b = blockIdx.x; b < call.batch; b += gridDim.x) {
    const Sequence s(call, b);
    s.check_labels(call.classes);
    const Scratch<T> scratch(backward.scratch, b, call.states);
    const T loss = static_cast<const T*>(call.loss)[b], grad = static_cast<const T*>(backward.grad)[b];
    const bool lost = loss == -kNever<T>;
    const int64_t stride = call.batch * call.classes;
    T* const result = static_cast<T*>(backward.result) + b * call.classes;
    const T* const log_probs = static_cast<const T*>(call.log_probs) + b * call.classes;
    const T* const alpha = static_cast<const T*>(call.alpha) + b * call.steps * call.states;
    // What has no gradient of its own.
    for (int64_t t = lost ? 0 : s.steps; t < call.steps; ++t) {
      const T value = lost && t < s.steps && !backward.zero_infinity ? std::numeric_limits<T>::quiet_NaN() : T(0);
      for (int64_t c = threadIdx.x; c < call.classes; c += blockDim.x) result[t * stride + c] = value;
    }
    if (lost) continue;
    for (int64_t i = threadIdx.x; i < s.labels; i += blockDim.x) {
      int64_t next = i + 1, before = i - 1;
      while (next < s.labels && s.targets[next] != s.targets[i]) ++next;
      while (before >= 0 && s.targets[before] != s.targets[i]) --before;
      scratch.next[i] = static_cast<int32_t>(next < s.labels ? next : 0);
      scratch.later[i] = before >= 0;
    }
    for (int64_t i = threadIdx.x; i < s.states + 2; i += blockDim.x) scratch.beta[s.steps % 2][i] = kNever<T>;
    __syncthreads();
    for (int64_t t = s.steps - 1; t >= 0; --t) {
      const T *const p = log_probs + t * stride, *const a = alpha + t * call.states;
      T* const g = result + t * stride;
      T *const beta = scratch.beta[t % 2], *const after = scratch.beta[(t + 1) % 2];
      for (int64_t i = threadIdx.x; i < s.states + 2; i += blockDim.x) {
        T way = kNever<T>, inside = 0;
        if (s.has(t, i)) {
          const T two = i + 2 < s.states && s.may_skip_to(i + 2) ? after[i + 2] : kNever<T>;
          const T rest = t == s.steps - 1 ? T(0) : log_sum(after[i], after[i + 1], two);
          if (a[i] != kNever<T> && rest != kNever<T>) {
            way = rest + p[s.label(i)];
            inside = std::exp(a[i] + rest + loss);
          }
        }
        beta[i] = way;
        if (i < s.states) scratch.inside[i] = inside;
      }
      for (int64_t c = threadIdx.x; c < call.classes; c += blockDim.x) g[c] = std::exp(p[c]) * grad;
      __syncthreads();
      // The first label of a class takes off what all of them have, the first warp what the blanks have.
      for (int64_t i = threadIdx.x; i < s.labels; i += blockDim.x) {
        if (scratch.later[i] != 0 || s.targets[i] == s.blank) continue;
        T sum = scratch.inside[2 * i + 1];
        for (int64_t k = scratch.next[i]; k != 0; k = scratch.next[k]) sum += scratch.inside[2 * k + 1];
        g[s.targets[i]] -= sum * grad;
      }
      if (threadIdx.x < kWarp) {
        T sum = 0;
        for (int64_t i = threadIdx.x; i < s.states; i += kWarp) {
          if (s.label(i) == s.blank) sum += scratch.inside[i];
        }
        for (int half = kWarp / 2; half > 0; half /= 2) sum += __shfl_down_sync(kAllLanes, sum, half);
        if (threadIdx.x == 0) g[s.blank] -= sum * grad;
      }
      __syncthreads();
    }
  }
}

c10::cuda::Launch shape_of(const CtcCall& call) {
  return {.grid = static_cast<uint32_t>(call.batch < kMostBlocks ? call.batch : kMostBlocks),
          .block = kThreadsPerBlock,
          .stream = c10::cuda::getCurrentCUDAStream()};
}

}  // namespace

void launch_ctc_forward(const CtcCall& call) {
  c10::cuda::launch_or_throw("ctc_loss",
                             call.dtype == c10::ScalarType::Double ? ctc_forward<double> : ctc_forward<float>,
                             shape_of(call), call);
}

void launch_ctc_backward(const CtcCall& call, const CtcBackward& backward) {
  c10::cuda::launch_or_throw("ctc_loss_backward",
                             call.dtype == c10::ScalarType::Double ? ctc_backward<double> : ctc_backward<float>,
                             shape_of(call), call, backward);
}

int64_t ctc_scratch(const CtcCall& call) {
  return call.batch * (call.dtype == c10::ScalarType::Double ? Scratch<double>::bytes(call.states)
                                                             : Scratch<float>::bytes(call.states));
}

}  // namespace at::cuda
