#include "nn/layers/normalization.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/view/ops.h"
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
    bias = options.bias() ? register_parameter("bias", at::empty(options.normalized_shape()))
                          : register_parameter("bias", at::Tensor(), /*requires_grad=*/false);
  } else {
    weight = register_parameter("weight", at::Tensor(), /*requires_grad=*/false);
    bias = register_parameter("bias", at::Tensor(), /*requires_grad=*/false);
  }
  reset_parameters();
}

void LayerNormImpl::reset_parameters() {
  if (weight.defined()) init::ones_(weight);
  if (bias.defined()) init::zeros_(bias);
}

at::Tensor LayerNormImpl::forward(const at::Tensor& input) {
  return at::layer_norm(input, options.normalized_shape(), detail::if_defined(weight), detail::if_defined(bias),
                        options.eps());
}

void LayerNormImpl::pretty_print(std::ostream& stream) const {
  detail::put_text_with_words(stream,
                              c10::str("torch::nn::LayerNorm(", options.normalized_shape(), ", eps=", options.eps(),
                                       ", elementwise_affine=", yes(options.elementwise_affine()), ")"));
}

GroupNormImpl::GroupNormImpl(const GroupNormOptions& options_) : options(options_) {
  reset();
}

void GroupNormImpl::reset() {
  if (options.affine()) {
    weight = register_parameter("weight", at::empty({options.num_channels()}));
    bias = options.bias() ? register_parameter("bias", at::empty({options.num_channels()}))
                          : register_parameter("bias", at::Tensor(), /*requires_grad=*/false);
  } else {
    weight = register_parameter("weight", at::Tensor(), /*requires_grad=*/false);
    bias = register_parameter("bias", at::Tensor(), /*requires_grad=*/false);
  }
  reset_parameters();
}

void GroupNormImpl::reset_parameters() {
  if (weight.defined()) init::ones_(weight);
  if (bias.defined()) init::zeros_(bias);
}

at::Tensor GroupNormImpl::forward(const at::Tensor& input) {
  return F::group_norm(input,
                       F::GroupNormFuncOptions(options.num_groups()).weight(weight).bias(bias).eps(options.eps()));
}

void GroupNormImpl::pretty_print(std::ostream& stream) const {
  detail::put_text_with_words(stream,
                              c10::str("torch::nn::GroupNorm(", options.num_groups(), ", ", options.num_channels(),
                                       ", eps=", options.eps(), ", affine=", yes(options.affine()), ")"));
}

namespace detail {

void NormState::make_state(int64_t n, bool affine, bool with_bias, bool track_running_stats) {
  const auto parameter = [&](const char* name, bool there) {
    return there ? register_parameter(name, at::empty({n})) : register_parameter(name, at::Tensor(), false);
  };
  weight = parameter("weight", affine);
  bias = parameter("bias", affine && with_bias);
  if (track_running_stats) {
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

void NormState::expect_dim(const at::Tensor& input, int64_t dim, int64_t or_dim) {
  const bool fits = input.dim() == dim || (or_dim != 0 && input.dim() == or_dim);
  if (or_dim == 0) TORCH_CHECK_VALUE(fits, "expected ", dim, "D input (got ", input.dim(), "D input)");
  TORCH_CHECK_VALUE(fits, "expected ", dim, "D or ", or_dim, "D input (got ", input.dim(), "D input)");
}

void NormState::reset_running_stats() {
  if (!running_mean.defined()) return;
  init::zeros_(running_mean);
  init::ones_(running_var);
  init::zeros_(num_batches_tracked);
}

void NormState::reset_parameters() {
  reset_running_stats();
  if (weight.defined()) init::ones_(weight);
  if (bias.defined()) init::zeros_(bias);
}

void BatchNormState::upgrade_state_dict(StateDict& state, const std::string& prefix,
                                           std::optional<int64_t> version) const {
  if (version.value_or(1) >= 2 || !num_batches_tracked.defined()) return;
  const std::string name = prefix + "num_batches_tracked";
  if (!state.contains(name)) state.insert(name, num_batches_tracked);
}

at::Tensor BatchNormState::forward(const at::Tensor& input) {
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

void BatchNormState::print(std::ostream& stream, std::string_view name) const {
  detail::put_text_with_words(
      stream,
      c10::str(name, "(", options.num_features(), ", eps=", options.eps(),
               ", momentum=", options.momentum().has_value() ? c10::str(*options.momentum()) : std::string("None"),
               ", affine=", yes(options.affine()), ", track_running_stats=", yes(options.track_running_stats()), ")"));
}

at::Tensor InstanceNormState::normalized(const at::Tensor& input, bool batched) {
  if (!batched) return at::squeeze(normalized(at::unsqueeze(input, 0), true), 0);
  TORCH_CHECK(!options.affine() || input.size(1) == options.num_features(), "expected input's size at dim=1 to match "
              "num_features (", options.num_features(), "), but got: ", input.size(1), ".");
  return F::instance_norm(input, F::InstanceNormFuncOptions()
                                     .running_mean(running_mean)
                                     .running_var(running_var)
                                     .weight(weight)
                                     .bias(bias)
                                     .use_input_stats(is_training() || !options.track_running_stats())
                                     .momentum(options.momentum())
                                     .eps(options.eps()));
}

void InstanceNormState::print(std::ostream& stream, std::string_view name) const {
  put_text_with_words(stream, c10::str(name, "(", options.num_features(), ", eps=", options.eps(),
                                       ", momentum=", options.momentum(), ", affine=", yes(options.affine()),
                                       ", track_running_stats=", yes(options.track_running_stats()), ")"));
}

}  // namespace detail

RMSNormImpl::RMSNormImpl(RMSNormOptions options_) : options(std::move(options_)) {
  reset();
}
void RMSNormImpl::reset() {
  weight = options.elementwise_affine()
               ? register_parameter("weight", at::empty(options.normalized_shape()))
               : register_parameter("weight", at::Tensor(), /*requires_grad=*/false);
  reset_parameters();
}
void RMSNormImpl::reset_parameters() {
  if (weight.defined()) init::ones_(weight);
}
at::Tensor RMSNormImpl::forward(const at::Tensor& input) {
  return F::rms_norm(input, F::RMSNormFuncOptions(options.normalized_shape()).weight(weight).eps(options.eps()));
}
void RMSNormImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::RMSNorm(", options.normalized_shape(), ", eps=",
                                    options.eps().has_value() ? c10::str(*options.eps()) : std::string("None"),
                                    ", elementwise_affine=", yes(options.elementwise_affine()), ")"));
}

at::Tensor LocalResponseNormImpl::forward(const at::Tensor& input) {
  return F::local_response_norm(input, options);
}
void LocalResponseNormImpl::pretty_print(std::ostream& stream) const {
  detail::put_text_with_words(stream, c10::str("torch::nn::LocalResponseNorm(", options.size(), ", alpha=",
                                               options.alpha(), ", beta=", options.beta(), ", k=", options.k(), ")"));
}

at::Tensor CrossMapLRN2dImpl::forward(const at::Tensor& input) {
  return functions::CrossMapLRN2d::apply(input, options.size(), options.alpha(), options.beta(), options.k());
}
void CrossMapLRN2dImpl::pretty_print(std::ostream& stream) const {
  detail::put_text_with_words(stream, c10::str("torch::nn::CrossMapLRN2d(", options.size(), ", alpha=", options.alpha(),
                                               ", beta=", options.beta(), ", k=", options.k(), ")"));
}

template class Cloneable<LayerNormImpl>;
template class Cloneable<GroupNormImpl>;
template class Cloneable<BatchNorm1dImpl>;
template class Cloneable<BatchNorm2dImpl>;
template class Cloneable<BatchNorm3dImpl>;
template class Cloneable<InstanceNorm1dImpl>;
template class Cloneable<InstanceNorm2dImpl>;
template class Cloneable<InstanceNorm3dImpl>;
template class Cloneable<RMSNormImpl>;
template class Cloneable<LocalResponseNormImpl>;
template class Cloneable<CrossMapLRN2dImpl>;

}  // namespace torch::nn
