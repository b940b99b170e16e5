#pragma once

#include <optional>
#include <vector>

#include "aten/autocast/autocast.h"
#include "autograd/function/custom_function.h"

namespace torch::amp {

/// Held in the forward of a torch::autograd::Function, for what autocast does there. With `cast_inputs`, where autocast
/// is enabled: arguments passed through the object are cast to that type, and autocast is off until the end of the
/// scope. Without it, forward runs as it is called. Either way backward learns of it by custom_bwd:
///
///   struct Twice : torch::autograd::Function<Twice> {
///     static torch::Tensor forward(torch::autograd::AutogradContext* ctx, torch::Tensor x) {
///       torch::amp::custom_fwd region(ctx, torch::kCPU, torch::kFloat);
///       x = region(x);
///       return x * 2;
///     }
///     static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
///                                                    torch::autograd::variable_list g) {
///       torch::amp::custom_bwd region(ctx, torch::kCPU);
///       return {g[0] * 2};
///     }
///   };
class custom_fwd {
 public:
  custom_fwd(torch::autograd::AutogradContext* ctx, c10::DeviceType device_type,
             std::optional<c10::ScalarType> cast_inputs = std::nullopt);

  /// The argument, cast where it is a floating-point tensor on the device and not Double.
  at::Tensor operator()(const at::Tensor& argument) const;
  std::vector<at::Tensor> operator()(const std::vector<at::Tensor>& arguments) const;

 private:
  c10::DeviceType device_type_;
  std::optional<c10::ScalarType> cast_inputs_;  // only where autocast was enabled
  std::optional<autocast> off_;
};

/// Held in its backward: the autocast state that forward ran in.
class custom_bwd {
 public:
  custom_bwd(torch::autograd::AutogradContext* ctx, c10::DeviceType device_type);

 private:
  autocast as_forward_;
};

}  // namespace torch::amp
