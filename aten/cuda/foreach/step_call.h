// A call of a fused optimizer step as its kernel gets it: the tensors' addresses are arguments of the kernel.
#pragma once

#include <cstdint>

#include "c10/core/scalar_type.h"

namespace at::cuda {

/// A number that may lie in memory of the device, which nobody waits for: `value` where `data` is null.
struct StepNumber {
  const void* data = nullptr;
  c10::ScalarType dtype = c10::ScalarType::Float;
  double value = 0;
};

/// What steps are made of; each uses a part of it.
struct StepOptions {
  StepNumber lr;
  StepNumber grad_scale;  // gradients are divided by it, in place
  StepNumber found_inf;   // where it is not 0 nothing is done
  bool scaled = false;
  bool maximize = false;
  bool decoupled = false;
  bool nesterov = false;
  bool first = false;
  double beta1 = 0;  // sgd: momentum
  double beta2 = 0;  // sgd: dampening; adagrad: lr_decay
  double eps = 0;
  double weight_decay = 0;
  float* non_finite = nullptr;  // unscaling: becomes 1 where an element is not finite
};

inline constexpr int kStepOperands = 5;
inline constexpr int kStepTensors = 56;
/// Elements that a block steps.
inline constexpr int64_t kStepChunk = 16384;

struct StepCall {
  struct Entry {
    void* data[kStepOperands];  // parameter, gradient, states; null where one is not used
    int64_t numel;
    StepNumber count;
  };
  StepOptions options;
  int tensors;
  uint32_t first_block[kStepTensors + 1];  // of a tensor
  Entry entries[kStepTensors];
};

/// Launches on all entries; `dtype`: of their elements, Float, Double, Half or BFloat16.
using StepLauncher = void (*)(c10::ScalarType dtype, const char* name, const StepCall& call);
void launch_sgd(c10::ScalarType dtype, const char* name, const StepCall& call);
void launch_adam(c10::ScalarType dtype, const char* name, const StepCall& call);
void launch_adagrad(c10::ScalarType dtype, const char* name, const StepCall& call);
/// The first operand times lr.
void launch_unscale(c10::ScalarType dtype, const char* name, const StepCall& call);

/// at::_amp_update_scale_, on the device.
void launch_update_scale(float* scale, int32_t* growth_tracker, const float* found_inf, double growth_factor,
                         double backoff_factor, int64_t growth_interval);

}  // namespace at::cuda
