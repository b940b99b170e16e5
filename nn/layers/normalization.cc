#include "nn/layers/normalization.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/norm/ops.h"
#include "c10/core/grad_mode.h"
#include "nn/functional/normalization.h"
#include "nn/functional/optional_tensor.h"
#include "nn/init/init.h"
#include "nn/module/state_dict.h"

namespace torch::nn {

namespace F = torch::nn::functional;

namespace {

const char* yes(bool value) {
  return value ? "true" : "false";
}

}  // namespace

LayerNormImpl::LayerNormImpl(LayerNormOptions options_) : options(std::move(options_)) {
  reset();
}

void LayerNormImpl::reset() {
  if (options.elementwise_affine()) {
    weight = register_parameter("weight", at::empty(options.normalized_shape()));
    bias = register_parameter("bias", at::empty(options.normalized_shape()));
  } else {
    weight = register_parameter("weight", at::Tensor(), /*requires_grad=*/false);
    bias = register_parameter("bias", at::Tensor(), /*requires_grad=*/false);
  }
  reset_parameters();
}

void LayerNormImpl::reset_parameters() {
  if (!options.elementwise_affine()) return;
  init::ones_(weight);
  init::zeros_(bias);
}

at::Tensor LayerNormImpl::forward(const at::Tensor& input) {
  return at::layer_norm(input, options.normalized_shape(), detail::if_defined(weight), detail::if_defined(bias),
                        options.eps());
}

void LayerNormImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::LayerNorm(", options.normalized_shape(), ", eps=", options.eps(),
                                    ", elementwise_affine=", yes(options.elementwise_affine()), ")"));
}

GroupNormImpl::GroupNormImpl(const GroupNormOptions& options_) : options(options_) {
  reset();
}

void GroupNormImpl::reset() {
  if (options.affine()) {
    weight = register_parameter("weight", at::empty({options.num_channels()}));
    bias = register_parameter("bias", at::empty({options.num_channels()}));
  } else {
    weight = register_parameter("weight", at::Tensor(), /*requires_grad=*/false);
    bias = register_parameter("bias", at::Tensor(), /*requires_grad=*/false);
  }
  reset_parameters();
}

void GroupNormImpl::reset_parameters() {
  if (!options.affine()) return;
  init::ones_(weight);
  init::zeros_(bias);
}

at::Tensor GroupNormImpl::forward(const at::Tensor& input) {
  return F::group_norm(input,
                       F::GroupNormFuncOptions(options.num_groups()).weight(weight).bias(bias).eps(options.eps()));
}

void GroupNormImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::GroupNorm(", options.num_groups(), ", ", options.num_channels(),
                                    ", eps=", options.eps(), ", affine=", yes(options.affine()), ")"));
}

void BatchNormImplBase::make_state() {
  const int64_t n = options.num_features();
  if (options.affine()) {
    weight = register_parameter("weight", at::empty({n}));
    bias = register_parameter("bias", at::empty({n}));
  } else {
    weight = register_parameter("weight", at::Tensor(), /*requires_grad=*/false);
    bias = register_parameter("bias", at::Tensor(), /*requires_grad=*/false);
  }
  if (options.track_running_stats()) {
    running_mean = register_buffer("running_mean", at::zeros({n}));
    running_var = register_buffer("running_var", at::ones({n}));
    num_batches_tracked = register_buffer("num_batches_tracked", at::zeros({}, at::TensorOptions(at::kLong)));
  } else {
    running_mean = register_buffer("running_mean", at::Tensor());
    running_var = register_buffer("running_var", at::Tensor());
    num_batches_tracked = register_buffer("num_batches_tracked", at::Tensor());
  }
  reset_parameters();
}

void BatchNormImplBase::reset_running_stats() {
  if (!options.track_running_stats()) return;
  init::zeros_(running_mean);
  init::ones_(running_var);
  init::zeros_(num_batches_tracked);
}

void BatchNormImplBase::reset_parameters() {
  reset_running_stats();
  if (!options.affine()) return;
  init::ones_(weight);
  init::zeros_(bias);
}

void BatchNormImplBase::upgrade_state_dict(StateDict& state, const std::string& prefix,
                                           std::optional<int64_t> version) const {
  if (version.value_or(1) >= 2 || !num_batches_tracked.defined()) return;
  const std::string name = prefix + "num_batches_tracked";
  if (!state.contains(name)) state.insert(name, num_batches_tracked);
}

at::Tensor BatchNormImplBase::forward(const at::Tensor& input) {
  _check_input_dim(input);
  double average_factor = options.momentum().value_or(0.0);
  if (is_training() && options.track_running_stats() && num_batches_tracked.defined()) {
    c10::NoGradGuard no_grad;
    at::add_(num_batches_tracked, 1);
    // Without a momentum every batch counts the same.
    if (!options.momentum().has_value()) average_factor = 1.0 / at::item(num_batches_tracked).to<double>();
  }
  return F::batch_norm(input, running_mean, running_var,
                       F::BatchNormFuncOptions()
                           .weight(weight)
                           .bias(bias)
                           .training(is_training() || !options.track_running_stats())
                           .momentum(average_factor)
                           .eps(options.eps()));
}

void BatchNormImplBase::print(std::ostream& stream, std::string_view name) const {
  detail::put_text(
      stream,
      c10::str(name, "(", options.num_features(), ", eps=", options.eps(),
               ", momentum=", options.momentum().has_value() ? c10::str(*options.momentum()) : std::string("None"),
               ", affine=", yes(options.affine()), ", track_running_stats=", yes(options.track_running_stats()), ")"));
}

BatchNorm1dImpl::BatchNorm1dImpl(const BatchNormOptions& options_) : BatchNormImplBase(options_) {
  reset();
}
void BatchNorm1dImpl::_check_input_dim(const at::Tensor& input) {
  TORCH_CHECK(input.dim() == 2 || input.dim() == 3, "expected 2D or 3D input (got ", input.dim(), "D input)");
}

BatchNorm2dImpl::BatchNorm2dImpl(const BatchNormOptions& options_) : BatchNormImplBase(options_) {
  reset();
}
void BatchNorm2dImpl::_check_input_dim(const at::Tensor& input) {
  TORCH_CHECK(input.dim() == 4, "expected 4D input (got ", input.dim(), "D input)");
}

BatchNorm3dImpl::BatchNorm3dImpl(const BatchNormOptions& options_) : BatchNormImplBase(options_) {
  reset();
}
void BatchNorm3dImpl::_check_input_dim(const at::Tensor& input) {
  TORCH_CHECK(input.dim() == 5, "expected 5D input (got ", input.dim(), "D input)");
}

}  // namespace torch::nn
