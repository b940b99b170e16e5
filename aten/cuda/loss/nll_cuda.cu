#include "aten/cuda/loss/nll.h"

#include "aten/cuda/convert.cuh"
#include "aten/cuda/device_check.cuh"
#include "aten/cuda/launch_shape.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/launch.h"
#include "c10/cuda/stream.h"

namespace at::cuda {
namespace {

KD_DEVICE double number(const char* data, int64_t at, ScalarType dtype) {
  const int64_t item = dtype == ScalarType::Double ? 8 : dtype == ScalarType::Float ? 4 : 2;
  switch (dtype) {
    case ScalarType::Half:
      return convert<double>(load<Half>(data + at * item));
    case ScalarType::BFloat16:
      return convert<double>(load<BFloat16>(data + at * item));
    case ScalarType::Float:
      return load<float>(data + at * item);
    default:
      return load<double>(data + at * item);
  }
}
KD_DEVICE void set_number(char* data, int64_t at, ScalarType dtype, double value) {
  switch (dtype) {
    case ScalarType::Half:
      reinterpret_cast<Half*>(data)[at] = convert<Half>(value);
      return;
    case ScalarType::BFloat16:
      reinterpret_cast<BFloat16*>(data)[at] = convert<BFloat16>(value);
      return;
    case ScalarType::Float:
      reinterpret_cast<float*>(data)[at] = static_cast<float>(value);
      return;
    default:
      reinterpret_cast<double*>(data)[at] = value;
      return;
  }
}

// The class of target i and the place of its element; false where it is ignored.
__device__ bool find_target(const NllCall& call, int64_t i, int64_t* target, int64_t* place) {
  *target = call.targets[i];
  if (*target == call.ignored) return false;
  AT_CUDA_KERNEL_CHECK(*target >= 0 && *target < call.classes, "nll_loss: a target is out of bounds");
  const int64_t sample = call.inner == 1 ? i : i / call.inner;
  *place = (sample * call.classes + *target) * call.inner + (i - sample * call.inner);
  return true;
}

__global__ void nll_forward(const __grid_constant__ NllCall call, char* each, double* losses, double* weights) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x, targets = call.batch * call.inner;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < targets; i += step) {
    int64_t target, place;
    double loss = 0, weight = 0;
    if (find_target(call, i, &target, &place)) {
      weight = call.weight != nullptr ? number(call.weight, target, call.dtype) : 1;
      loss = -weight * number(call.x, place, call.dtype);
    }
    if (each != nullptr) {
      set_number(each, i, call.dtype, loss);
    } else {
      losses[i] = loss;
      weights[i] = weight;
    }
  }
}

__global__ void nll_backward(const __grid_constant__ NllCall call, const char* gradient, bool of_each,
                             const char* divisor, char* to) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x, targets = call.batch * call.inner;
  const double scale = divisor != nullptr ? 1 / number(divisor, 0, call.dtype) : 1;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < targets; i += step) {
    int64_t target, place;
    if (!find_target(call, i, &target, &place)) continue;
    const double weight = call.weight != nullptr ? number(call.weight, target, call.dtype) : 1;
    set_number(to, place, call.dtype, -weight * number(gradient, of_each ? i : 0, call.dtype) * scale);
  }
}

c10::cuda::Launch shape_of(const NllCall& call) {
  const int64_t blocks = (call.batch * call.inner - 1) / kThreadsPerBlock + 1;
  return {.grid = static_cast<uint32_t>(std::min<int64_t>(blocks, kMostBlocks)),
          .block = kThreadsPerBlock,
          .stream = c10::cuda::getCurrentCUDAStream()};
}

}  // namespace

void launch_nll_forward(const NllCall& call, char* each, double* losses, double* weights) {
  c10::cuda::launch_or_throw("nll_loss", nll_forward, shape_of(call), call, each, losses, weights);
}
void launch_nll_backward(const NllCall& call, const char* gradient, bool of_each, const char* divisor, char* to) {
  c10::cuda::launch_or_throw("nll_loss_backward", nll_backward, shape_of(call), call, gradient, of_each, divisor, to);
}

}  // namespace at::cuda
