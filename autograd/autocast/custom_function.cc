#include "autograd/autocast/custom_function.h"

#include "c10/util/exception.h"

namespace torch::amp {
namespace {

constexpr const char* kEnabled = "_fwd_used_autocast";
constexpr const char* kType = "_dtype";

// What custom_fwd noted.
const c10::IValue& noted(torch::autograd::AutogradContext* ctx, const char* name) {
  const auto found = ctx->saved_data.find(name);
  TORCH_CHECK(found != ctx->saved_data.end(), "custom_bwd: forward of this Function held no custom_fwd");
  return found->second;
}

}  // namespace

custom_fwd::custom_fwd(torch::autograd::AutogradContext* ctx, c10::DeviceType device_type,
                       std::optional<c10::ScalarType> cast_inputs)
    : device_type_(device_type) {
  const bool enabled = at::autocast::is_autocast_enabled(device_type);
  ctx->saved_data[kType] = c10::IValue(static_cast<int64_t>(at::autocast::get_autocast_dtype(device_type)));
  ctx->saved_data[kEnabled] = c10::IValue(enabled && !cast_inputs.has_value());
  if (!enabled || !cast_inputs.has_value()) return;
  cast_inputs_ = cast_inputs;
  off_.emplace(device_type, std::nullopt, false);
}

at::Tensor custom_fwd::operator()(const at::Tensor& argument) const {
  return cast_inputs_.has_value() ? at::autocast::cached_cast(*cast_inputs_, argument, device_type_) : argument;
}

std::vector<at::Tensor> custom_fwd::operator()(const std::vector<at::Tensor>& arguments) const {
  return cast_inputs_.has_value() ? at::autocast::cached_cast(*cast_inputs_, at::TensorList(arguments), device_type_)
                                  : arguments;
}

custom_bwd::custom_bwd(torch::autograd::AutogradContext* ctx, c10::DeviceType device_type)
    : as_forward_(device_type, static_cast<c10::ScalarType>(noted(ctx, kType).toInt()), noted(ctx, kEnabled).toBool()) {
}

}  // namespace torch::amp
