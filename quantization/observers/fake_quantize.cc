#include "quantization/observers/fake_quantize.h"

#include <cmath>
#include <sstream>

#include "aten/core/printing.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "nn/module/state_dict.h"

namespace torch::quantization {

using at::Tensor;
using c10::ScalarType;

namespace {

std::shared_ptr<ObserverBase> made_by(const char* who, const ObserverFactory& make) {
  TORCH_CHECK(make != nullptr, who, ": expected a factory of observers, but got none");
  std::shared_ptr<ObserverBase> observer = make();
  TORCH_CHECK(observer != nullptr && observer->chooses_qparams(), who,
              ": expected an observer that chooses scales and zero points");
  return observer;
}

void assign(Tensor& to, const Tensor& value) {
  if (to.sizes() != value.sizes()) to.resize_(value.sizes());
  to.copy_(value);
}

bool is_on(const Tensor& flag) {
  return at::item(flag).toDouble() != 0;
}

Tensor quantized_as(const ObserverBase& how, const Tensor& x, const Tensor& scale, const Tensor& zero_point) {
  if (is_per_channel(how.qscheme())) {
    const bool floats = how.qscheme() == c10::kPerChannelAffineFloatQParams;
    return at::fake_quantize_per_channel_affine(x, scale, floats ? zero_point : at::to(zero_point, ScalarType::Int),
                                                how.ch_axis(), how.quant_min(), how.quant_max());
  }
  return at::fake_quantize_per_tensor_affine(x, scale, at::to(zero_point, ScalarType::Int), how.quant_min(),
                                             how.quant_max());
}

// A state dict may bring scale and zero_point in another size.
void adopt_sizes_when_loaded(FakeQuantizeBase& self) {
  self.register_load_state_dict_pre_hook([](nn::Module& module, nn::StateDict& state, const std::string& prefix, bool,
                                            std::vector<std::string>&, std::vector<std::string>&,
                                            std::vector<std::string>&) {
    auto& own = dynamic_cast<FakeQuantizeBase&>(module);
    const std::pair<const char*, Tensor*> parts[] = {{"scale", &own.scale}, {"zero_point", &own.zero_point}};
    for (const auto& [name, to] : parts) {
      const Tensor* from = state.find(prefix + name);
      if (from != nullptr && from->defined() && from->sizes() != to->sizes()) {
        const c10::NoGradGuard no_grad;
        to->resize_(from->sizes());
      }
    }
  });
}

}  // namespace

AroundObserver::AroundObserver(const char* who, ObserverFactory observer)
    : ObserverBase(made_by(who, observer)->options()), make_(std::move(observer)) {}

std::string AroundObserver::extra_repr() const {
  std::ostringstream text;
  text << "quant_min=" << quant_min() << ", quant_max=" << quant_max() << ", dtype=" << dtype() << ", qscheme=torch."
       << qscheme_name(qscheme()) << ", ch_axis=" << ch_axis() << ", scale=" << scale << ", zero_point=" << zero_point;
  return text.str();
}

void FakeQuantizeBase::enable_fake_quant(bool enabled) {
  fake_quant_enabled.fill_(enabled ? 1 : 0);
}
void FakeQuantizeBase::enable_observer(bool enabled) {
  observer_enabled.fill_(enabled ? 1 : 0);
}
void FakeQuantizeBase::register_all(ScalarType switches) {
  fake_quant_enabled = register_buffer("fake_quant_enabled", at::ones({1}, at::TensorOptions().dtype(switches)));
  observer_enabled = register_buffer("observer_enabled", at::ones({1}, at::TensorOptions().dtype(switches)));
  activation_post_process = register_module("activation_post_process", make_());
  scale = register_buffer("scale", at::ones({1}, at::TensorOptions().dtype(ScalarType::Float)));
  zero_point = register_buffer("zero_point", at::zeros({1}, at::TensorOptions().dtype(ScalarType::Int)));
}
bool FakeQuantizeBase::quantizes() const {
  return is_on(fake_quant_enabled);
}
bool FakeQuantizeBase::observes() const {
  return is_on(observer_enabled);
}

// --- an observer, and what it chooses ---
FakeQuantizeImpl::FakeQuantizeImpl(ObserverFactory observer) : FakeQuantizeBase("FakeQuantize", std::move(observer)) {
  reset();
  adopt_sizes_when_loaded(*this);
}
FakeQuantizeImpl::FakeQuantizeImpl()
    : FakeQuantizeImpl(with_args<MovingAverageMinMaxObserver>(ObserverOptions().quant_min(0).quant_max(255))) {}

void FakeQuantizeImpl::reset() {
  register_all(ScalarType::Byte);
}

Tensor FakeQuantizeImpl::forward(const Tensor& x) {
  TORCH_CHECK(x.defined(), "FakeQuantize: expected a tensor, but got an undefined one");
  if (observes()) {
    const c10::NoGradGuard no_grad;
    activation_post_process->forward(at::detach(x));
    const auto [step, zero] = activation_post_process->calculate_qparams();
    if (zero.is_floating_point() && !zero_point.is_floating_point()) {
      zero_point = replace_buffer("zero_point", at::to(zero_point, ScalarType::Float));
    }
    assign(scale, step);
    assign(zero_point, zero);
  }
  return quantizes() ? quantized_as(*this, x, scale, zero_point) : x;
}

FixedQParamsFakeQuantizeImpl::FixedQParamsFakeQuantizeImpl(ObserverFactory observer)
    : FakeQuantizeBase("FixedQParamsFakeQuantize", std::move(observer)) {
  TORCH_CHECK(std::dynamic_pointer_cast<FixedQParamsObserverImpl>(make_()) != nullptr,
              "FixedQParamsFakeQuantize: expected a FixedQParamsObserver");
  reset();
}
void FixedQParamsFakeQuantizeImpl::reset() {
  register_all(ScalarType::Byte);
  const auto [step, zero] = activation_post_process->calculate_qparams();
  assign(scale, step);
  assign(zero_point, zero);
}
Tensor FixedQParamsFakeQuantizeImpl::forward(const Tensor& x) {
  return quantizes() ? quantized_as(*this, x, scale, zero_point) : x;
}

// --- both in one operator ---
FusedMovingAvgObsFakeQuantizeImpl::FusedMovingAvgObsFakeQuantizeImpl(ObserverFactory observer)
    : FakeQuantizeBase("FusedMovingAvgObsFakeQuantize", std::move(observer)) {
  const auto made = make_();
  TORCH_CHECK(std::dynamic_pointer_cast<MovingAverageMinMaxObserverImpl>(made) != nullptr ||
                  std::dynamic_pointer_cast<MovingAveragePerChannelMinMaxObserverImpl>(made) != nullptr,
              "Fused observer+fake_quant module only works with MovingAverageMinMaxObserver or "
              "MovingAveragePerChannelMinMaxObserver");
  reset();
  adopt_sizes_when_loaded(*this);
}
FusedMovingAvgObsFakeQuantizeImpl::FusedMovingAvgObsFakeQuantizeImpl()
    : FusedMovingAvgObsFakeQuantizeImpl(
          with_args<MovingAverageMinMaxObserver>(ObserverOptions().quant_min(0).quant_max(255))) {}

void FusedMovingAvgObsFakeQuantizeImpl::reset() {
  register_all(ScalarType::Long);
}
Tensor FusedMovingAvgObsFakeQuantizeImpl::forward(const Tensor& x) {
  TORCH_CHECK(x.defined(), "FusedMovingAvgObsFakeQuantize: expected a tensor, but got an undefined one");
  auto& seen = dynamic_cast<UniformQuantizationObserverBase&>(*activation_post_process);
  return at::fused_moving_avg_obs_fake_quant(x, observer_enabled, fake_quant_enabled, seen.min_val, seen.max_val, scale,
                                             zero_point, options_.averaging_constant(), quant_min(), quant_max(),
                                             ch_axis(), is_per_channel(qscheme()), is_symmetric(qscheme()));
}

// --- parameters ---
LearnableFakeQuantizeImpl::LearnableFakeQuantizeImpl(ObserverFactory observer, double scale_of_all,
                                                     double zero_point_of_all, int64_t channels, bool use_grad_scaling)
    : AroundObserver("LearnableFakeQuantize", std::move(observer)),
      scale_(scale_of_all),
      zero_point_(zero_point_of_all),
      channels_(channels),
      use_grad_scaling_(use_grad_scaling) {
  TORCH_CHECK(channels > 0, "LearnableFakeQuantize: expected a positive number of channels, but got ", channels);
  TORCH_CHECK(scale_of_all > 0, "LearnableFakeQuantize: expected a positive scale, but got ", scale_of_all);
  reset();
}
void LearnableFakeQuantizeImpl::reset() {
  const auto floats = at::TensorOptions().dtype(ScalarType::Float);
  scale = register_parameter("scale", at::full({channels_}, scale_, floats));
  zero_point = register_parameter("zero_point", at::full({channels_}, zero_point_, floats));
  activation_post_process = register_module("activation_post_process", make_());
  const auto bytes = at::TensorOptions().dtype(ScalarType::Byte);
  fake_quant_enabled = register_buffer("fake_quant_enabled", at::ones({1}, bytes));
  static_enabled = register_buffer("static_enabled", at::ones({1}, bytes));
  learning_enabled = register_buffer("learning_enabled", at::zeros({1}, bytes));
  eps = register_buffer("eps", at::full({1}, 0x1p-23, floats));
}

void LearnableFakeQuantizeImpl::enable_param_learning() {
  toggle_qparam_learning(true);
  toggle_fake_quant(true);
  toggle_observer_update(false);
}
void LearnableFakeQuantizeImpl::enable_static_estimate() {
  toggle_qparam_learning(false);
  toggle_fake_quant(true);
  toggle_observer_update(true);
}
void LearnableFakeQuantizeImpl::enable_static_observation() {
  toggle_qparam_learning(false);
  toggle_fake_quant(false);
  toggle_observer_update(true);
}
void LearnableFakeQuantizeImpl::toggle_observer_update(bool enabled) {
  static_enabled.fill_(enabled ? 1 : 0);
}
void LearnableFakeQuantizeImpl::toggle_qparam_learning(bool enabled) {
  learning_enabled.fill_(enabled ? 1 : 0);
  scale.set_requires_grad(enabled);
  zero_point.set_requires_grad(enabled);
}
void LearnableFakeQuantizeImpl::toggle_fake_quant(bool enabled) {
  fake_quant_enabled.fill_(enabled ? 1 : 0);
}

Tensor LearnableFakeQuantizeImpl::forward(const Tensor& x) {
  TORCH_CHECK(x.defined(), "LearnableFakeQuantize: expected a tensor, but got an undefined one");
  {
    const c10::NoGradGuard no_grad;
    if (is_on(static_enabled)) {
      activation_post_process->forward(at::detach(x));
      const auto [step, zero] = activation_post_process->calculate_qparams();
      TORCH_CHECK(step.numel() == scale.numel(), "LearnableFakeQuantize: expected ", scale.numel(),
                  " channels, but the tensor has ", step.numel());
      scale.copy_(step);
      zero_point.copy_(zero);
    } else {
      scale.clamp_min_(at::item(eps));
    }
    if (is_symmetric(qscheme())) zero_point.zero_();
  }
  if (!is_on(fake_quant_enabled)) return x;
  const double factor = use_grad_scaling_ ? 1.0 / std::sqrt(static_cast<double>(x.numel() * quant_max())) : 1.0;
  if (is_per_channel(qscheme())) {
    return at::_fake_quantize_learnable_per_channel_affine(x, scale, zero_point, ch_axis(), quant_min(), quant_max(),
                                                           factor);
  }
  return at::_fake_quantize_learnable_per_tensor_affine(x, scale, zero_point, quant_min(), quant_max(), factor);
}

QParams LearnableFakeQuantizeImpl::calculate_qparams() {
  const c10::NoGradGuard no_grad;
  const Tensor least = at::clamp_min(at::detach(scale), at::item(eps));
  const Tensor zero = at::clamp(at::round(at::detach(zero_point)), quant_min(), quant_max());
  return {least, at::to(zero, ScalarType::Long)};
}

// --- switches ---
void enable_observer(nn::Module& module) {
  if (auto* fake = dynamic_cast<FakeQuantizeBase*>(&module)) fake->enable_observer();
}
void disable_observer(nn::Module& module) {
  if (auto* fake = dynamic_cast<FakeQuantizeBase*>(&module)) fake->disable_observer();
}
void enable_fake_quant(nn::Module& module) {
  if (auto* fake = dynamic_cast<FakeQuantizeBase*>(&module)) fake->enable_fake_quant();
}
void disable_fake_quant(nn::Module& module) {
  if (auto* fake = dynamic_cast<FakeQuantizeBase*>(&module)) fake->disable_fake_quant();
}

}  // namespace torch::quantization
