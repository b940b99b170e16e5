#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/dispatch_key_set.h"

/// The state of autocast: in a region that is enabled for a type of device, operators with a policy (the field
/// `autocast` of the tables of operators) cast their tensor arguments there, e.g. those of matrix products to BFloat16.
/// What the state is made of holds for the calling thread; at::ThreadLocalState carries it to others.
/// torch::amp::autocast is the guard:
///
///   {
///     torch::autocast region(torch::kCPU);              // BFloat16
///     loss = torch::mse_loss(model->forward(x), y);     // products in BFloat16, the loss in Float
///   }
///   loss.backward();
///
/// Never cast are Double and integers, calls in place and with `out`.
namespace at::autocast {

/// Whether the region is enabled. Of devices, the CPU, CUDA and PrivateUse1 have one; for others it is an error
/// ("unknown device type for autocast in get_autocast_dispatch_key_from_device_type").
bool is_autocast_enabled(DeviceType device_type);
void set_autocast_enabled(DeviceType device_type, bool enabled);
/// The type that LOWER_PRECISION_FP casts to: at first BFloat16 on the CPU and Half elsewhere.
ScalarType get_autocast_dtype(DeviceType device_type);
void set_autocast_dtype(DeviceType device_type, ScalarType dtype);
bool is_autocast_available(DeviceType device_type);
DispatchKey get_autocast_dispatch_key_from_device_type(DeviceType device_type);
ScalarType get_lower_precision_fp_from_device_type(DeviceType device_type);

/// How many regions the thread is in; both return the new number.
int increment_nesting();
int decrement_nesting();

/// Whether casts of weights (Float leaves that require a gradient, no views) to the region's type are kept and used
/// again, until clear_cache(), which whoever leaves the outermost region calls. A cast is not used again once its
/// weight was written to, nor across a change of torch::NoGradGuard.
bool is_autocast_cache_enabled();
void set_autocast_cache_enabled(bool enabled);
void clear_cache();

/// `arg` in that type, where autocast casts it: a floating-point tensor on the device, not Double. Else `arg`.
Tensor cached_cast(ScalarType to_type, const Tensor& arg, DeviceType device_type = DeviceType::CUDA);
std::optional<Tensor> cached_cast(ScalarType to_type, const std::optional<Tensor>& arg,
                                  DeviceType device_type = DeviceType::CUDA);
std::vector<Tensor> cached_cast(ScalarType to_type, TensorList arg, DeviceType device_type = DeviceType::CUDA);
/// Other arguments, as they are.
template <class T>
requires(!std::is_convertible_v<T, Tensor> && !std::is_convertible_v<T, TensorList>) T
    cached_cast(ScalarType, T arg, DeviceType = DeviceType::CUDA) {
  return arg;
}

bool is_autocast_eligible(const Tensor& tensor, DeviceType device_type);

// The names of earlier versions, of the CPU and of CUDA.
inline bool is_enabled() {
  return is_autocast_enabled(DeviceType::CUDA);
}
inline void set_enabled(bool enabled) {
  set_autocast_enabled(DeviceType::CUDA, enabled);
}
inline ScalarType get_autocast_gpu_dtype() {
  return get_autocast_dtype(DeviceType::CUDA);
}
inline void set_autocast_gpu_dtype(ScalarType dtype) {
  set_autocast_dtype(DeviceType::CUDA, dtype);
}
inline bool is_cpu_enabled() {
  return is_autocast_enabled(DeviceType::CPU);
}
inline void set_cpu_enabled(bool enabled) {
  set_autocast_enabled(DeviceType::CPU, enabled);
}
inline ScalarType get_autocast_cpu_dtype() {
  return get_autocast_dtype(DeviceType::CPU);
}
inline void set_autocast_cpu_dtype(ScalarType dtype) {
  set_autocast_dtype(DeviceType::CPU, dtype);
}

}  // namespace at::autocast
