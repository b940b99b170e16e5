#include "optim/amp/grad_scaler.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/foreach/ops.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/unary/ops.h"
#include "c10/core/device_guard_impl.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "optim/optimizer.h"

namespace torch::amp {
namespace {

using at::Tensor;

bool has_device(c10::DeviceType type) {
  return c10::impl::hasDeviceGuardImpl(type) && c10::impl::getDeviceGuardImpl(type)->deviceCount() > 0;
}

bool is_set(const Tensor& found_inf) {
  return at::item(found_inf).toDouble() != 0;
}

// What of a gradient is multiplied.
Tensor values_of(Tensor& grad) {
  if (!grad.is_sparse()) return grad;
  if (grad.scalar_type() == at::kHalf && !at::is_coalesced(grad)) grad = at::coalesce(grad);
  return at::_values(grad);
}

}  // namespace

GradScaler::GradScaler(c10::DeviceType device, double init_scale, double growth_factor, double backoff_factor,
                       int64_t growth_interval, bool enabled)
    : enabled_(enabled),
      init_scale_(init_scale),
      growth_factor_(growth_factor),
      backoff_factor_(backoff_factor),
      growth_interval_(growth_interval) {
  if (enabled && !has_device(device)) {
    TORCH_WARN("torch.", c10::DeviceTypeName(device, true), ".amp.GradScaler is enabled, but ",
               c10::DeviceTypeName(device), " is not available.  Disabling.");
    enabled_ = false;
  }
  if (!enabled_) return;
  TORCH_CHECK(growth_factor > 1.0, "The growth factor must be > 1.0.");
  TORCH_CHECK(backoff_factor < 1.0, "The backoff factor must be < 1.0.");
}

void GradScaler::make_scale(c10::Device device) {
  const auto on = at::TensorOptions().device(device);
  scale_ = at::full({}, init_scale_, on.dtype(at::kFloat));
  growth_tracker_ = at::full({}, init_growth_tracker_, on.dtype(at::kInt));
}

void GradScaler::check_scale(const char* call) const {
  TORCH_CHECK(
      scale_.defined(), "Attempted ", call,
      " but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) earlier in "
      "the iteration.");
}

Tensor GradScaler::scale_on(c10::Device device) const {
  return device == scale_.device() ? scale_ : at::to(scale_, scale_.options().device(device));
}

Tensor GradScaler::scale(const Tensor& outputs) {
  if (!enabled_) return outputs;
  TORCH_CHECK(outputs.defined(), "scale(): outputs must be a defined tensor");
  if (!scale_.defined()) make_scale(outputs.device());
  return at::mul(outputs, scale_on(outputs.device()));
}

std::vector<Tensor> GradScaler::scale(at::TensorList outputs) {
  std::vector<Tensor> scaled;
  scaled.reserve(outputs.size());
  for (const Tensor& t : outputs) scaled.push_back(scale(t));
  return scaled;
}

void GradScaler::unscale(torch::optim::Optimizer& optimizer, OptimizerState& state, const Tensor& inverse,
                         bool allow_half) const {
  const c10::NoGradGuard no_grad;
  std::unordered_map<c10::Device, std::vector<Tensor>> by_device;
  for (auto& group : optimizer.param_groups()) {
    for (Tensor& param : group.params()) {
      Tensor& grad = param.mutable_grad();
      if (!grad.defined()) continue;
      TORCH_CHECK_VALUE(allow_half || grad.scalar_type() != at::kHalf, "Attempting to unscale FP16 gradients.");
      by_device[grad.device()].push_back(values_of(grad));
    }
  }
  for (auto& [device, grads] : by_device) {
    Tensor& found = state.found_inf[device];
    found = at::zeros({}, at::TensorOptions(at::kFloat).device(device));
    at::_amp_foreach_non_finite_check_and_unscale_(grads, found, at::to(inverse, inverse.options().device(device)));
  }
}

void GradScaler::unscale_(torch::optim::Optimizer& optimizer) {
  if (!enabled_) return;
  check_scale("unscale_");
  OptimizerState& state = optimizers_[&optimizer];
  TORCH_CHECK(state.stage != Stage::kUnscaled,
              "unscale_() has already been called on this optimizer since the last update().");
  TORCH_CHECK(state.stage != Stage::kStepped, "unscale_() is being called after step().");
  unscale(optimizer, state, at::to(at::reciprocal(at::to(scale_, at::kDouble)), at::kFloat), /*allow_half=*/false);
  state.stage = Stage::kUnscaled;
}

void GradScaler::add_found(const OptimizerState& state, Tensor& found) const {
  for (const auto& [device, one] : state.found_inf) {
    const Tensor here = at::to(one, scale_.options());
    found = found.defined() ? at::add(found, here) : here;
  }
}

Tensor GradScaler::step_fused(torch::optim::Optimizer& optimizer, OptimizerState& state) const {
  if (state.stage == Stage::kReady) unscale(optimizer, state, at::ones_like(scale_), /*allow_half=*/true);
  struct Scaling {
    torch::optim::Optimizer& of;
    ~Scaling() { of.set_amp_scaling(std::nullopt, std::nullopt); }
  } const scaling{optimizer};
  Tensor found;
  add_found(state, found);
  optimizer.set_amp_scaling(state.stage == Stage::kUnscaled ? std::nullopt : std::optional(scale_),
                            found.defined() ? std::optional(found) : std::nullopt);
  return optimizer.step();
}

Tensor GradScaler::step(torch::optim::Optimizer& optimizer) {
  if (!enabled_) return optimizer.step();
  check_scale("step");
  OptimizerState& state = optimizers_[&optimizer];
  TORCH_CHECK(state.stage != Stage::kStepped, "step() has already been called since the last update().");
  if (optimizer.step_supports_amp_scaling()) {
    Tensor result = step_fused(optimizer, state);
    state.stage = Stage::kStepped;
    return result;
  }
  if (state.stage == Stage::kReady) unscale_(optimizer);
  TORCH_CHECK(!state.found_inf.empty(), "No inf checks were recorded for this optimizer.");
  bool finite = true;
  for (const auto& [device, found] : state.found_inf) finite = finite && !is_set(found);
  Tensor result;
  if (finite) result = optimizer.step();
  state.stage = Stage::kStepped;
  return result;
}

Tensor GradScaler::step(torch::optim::Optimizer& optimizer, const std::function<Tensor()>& closure) {
  TORCH_CHECK(!enabled_, "Closure use is not currently supported if GradScaler is enabled.");
  return optimizer.step(closure);
}

void GradScaler::update(std::optional<double> new_scale) {
  if (!enabled_) return;
  check_scale("update");
  if (new_scale.has_value()) {
    at::fill_(scale_, *new_scale);
  } else {
    Tensor found;
    for (const auto& [optimizer, state] : optimizers_) add_found(state, found);
    TORCH_CHECK(found.defined(), "No inf checks were recorded prior to update.");
    at::_amp_update_scale_(scale_, growth_tracker_, found, growth_factor_, backoff_factor_, growth_interval_);
  }
  optimizers_.clear();
}

void GradScaler::update(const Tensor& new_scale) {
  if (!enabled_) return;
  check_scale("update");
  TORCH_CHECK(new_scale.defined() && new_scale.scalar_type() == at::kFloat && new_scale.numel() == 1 &&
                  !new_scale.requires_grad(),
              "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
              "requires_grad=False.");
  update(at::item(new_scale).toDouble());
}

double GradScaler::get_scale() const {
  if (!enabled_) return 1.0;
  return scale_.defined() ? at::item(scale_).toDouble() : init_scale_;
}

int64_t GradScaler::growth_tracker() const {
  if (!enabled_) return 0;
  return growth_tracker_.defined() ? at::item(growth_tracker_).toLong() : init_growth_tracker_;
}

c10::Dict<std::string, c10::IValue> GradScaler::state_dict() const {
  c10::Dict<std::string, c10::IValue> state;
  if (!enabled_) return state;
  state.insert("scale", get_scale());
  state.insert("growth_factor", growth_factor_);
  state.insert("backoff_factor", backoff_factor_);
  state.insert("growth_interval", growth_interval_);
  state.insert("_growth_tracker", growth_tracker());
  return state;
}

void GradScaler::load_state_dict(const c10::Dict<std::string, c10::IValue>& state) {
  if (!enabled_) return;
  TORCH_CHECK(!state.empty(),
              "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.");
  const auto entry = [&](const char* name) {
    TORCH_CHECK(state.contains(name), "The source state dict has no entry \"", name, "\"");
    return state.at(name);
  };
  const double scale = entry("scale").toScalar().toDouble(), growth = entry("growth_factor").toScalar().toDouble(),
               backoff = entry("backoff_factor").toScalar().toDouble();
  const int64_t interval = entry("growth_interval").toInt(), tracker = entry("_growth_tracker").toInt();
  init_scale_ = scale, growth_factor_ = growth, backoff_factor_ = backoff;
  growth_interval_ = interval, init_growth_tracker_ = tracker;
  if (scale_.defined()) at::fill_(scale_, scale);
  if (growth_tracker_.defined()) at::fill_(growth_tracker_, tracker);
}

}  // namespace torch::amp
