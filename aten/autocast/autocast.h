#pragma once

#include <optional>
#include <string>

#include "aten/autocast/autocast_mode.h"

namespace torch::amp {

/// A region of mixed precision for one type of device, until the end of the scope: operators that lose nothing by it
/// compute in `dtype` (BFloat16 on the CPU, Half on CUDA), those that need Float in Float; what is wanted is said by
/// the tables of operators. Weights stay as they are, and so do their gradients:
///
///   torch::optim::SGD opt(model->parameters(), 0.1);
///   {
///     torch::autocast region(torch::kCPU, torch::kBFloat16);
///     loss = torch::mse_loss(model->forward(x), y);
///   }
///   loss.backward();
///   opt.step();
///
/// Regions nest; `enabled` = false makes one in which nothing is cast. Casts of weights are kept until the outermost
/// region ends, if `cache_enabled`. On the CPU, BFloat16 and Half are supported; with another type, or for CUDA without
/// such a device, the region is not enabled and a warning says so. Throws c10::Error for devices that have no autocast.
class autocast {
 public:
  explicit autocast(c10::DeviceType device_type, std::optional<c10::ScalarType> dtype = std::nullopt,
                    bool enabled = true, std::optional<bool> cache_enabled = std::nullopt);
  /// By the device's name, "cpu" or "cuda".
  explicit autocast(const std::string& device_type, std::optional<c10::ScalarType> dtype = std::nullopt,
                    bool enabled = true, std::optional<bool> cache_enabled = std::nullopt);
  ~autocast();
  autocast(const autocast&) = delete;
  autocast& operator=(const autocast&) = delete;

 private:
  c10::DeviceType device_type_;
  c10::ScalarType dtype_before_;
  c10::DispatchKeySet included_before_;
  c10::DispatchKeySet excluded_before_;
  bool cache_enabled_before_;
};

using AutocastGuard = autocast;

/// Whether a region can be made for the type of device.
inline bool is_autocast_available(c10::DeviceType device_type) {
  return at::autocast::is_autocast_available(device_type);
}

}  // namespace torch::amp

namespace torch {
using amp::autocast;
}  // namespace torch
