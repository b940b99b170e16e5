#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/device.h"
#include "c10/value/dict.h"
#include "c10/value/ivalue.h"

namespace torch::optim {
class Optimizer;
}  // namespace torch::optim

namespace torch::amp {

/// Keeps the gradients of Half within its range: scales the loss, and so all gradients, divides the gradients by the
/// scale before a step, and leaves the step out where one of them is infinite or not a number. The scale is then made
/// smaller; after `growth_interval` steps without one it is made larger.
///
///   torch::amp::GradScaler scaler(torch::kCPU);
///   for (auto& batch : *loader) {
///     opt.zero_grad();
///     torch::Tensor loss;
///     {
///       torch::autocast region(torch::kCPU, torch::kHalf);
///       loss = torch::mse_loss(model->forward(batch.data), batch.target);
///     }
///     scaler.scale(loss).backward();
///     scaler.unscale_(opt);  // only to look at gradients, or to clip them
///     torch::nn::utils::clip_grad_norm_(model->parameters(), 1.0);
///     scaler.step(opt);
///     scaler.update();
///   }
///
/// Several losses and optimizers may share one: each loss is scaled, each optimizer stepped, then update() is called
/// once. Not enabled, all calls do what the program would do without it. Throws c10::Error for calls in another order.
class GradScaler {
 public:
  /// growth_factor must be above 1, backoff_factor below 1. Where there is no such device it is not enabled, with a
  /// warning.
  explicit GradScaler(c10::DeviceType device = c10::DeviceType::CUDA, double init_scale = 65536.0,
                      double growth_factor = 2.0, double backoff_factor = 0.5, int64_t growth_interval = 2000,
                      bool enabled = true);

  /// `outputs` times the scale, on the device of each.
  at::Tensor scale(const at::Tensor& outputs);
  std::vector<at::Tensor> scale(at::TensorList outputs);

  /// Divides the gradients of the optimizer's parameters by the scale; at most once between two update(). step() does
  /// it where it was not done. ValueError for Half gradients: the parameters should be Float.
  void unscale_(torch::optim::Optimizer& optimizer);

  /// optimizer.step(), unless a gradient is infinite or not a number. Its result; undefined where the step was left
  /// out. A `fused` optimizer is always stepped: it is given scale and finding and acts on them itself
  /// (Optimizer::set_amp_scaling), and without unscale_() the gradients may be Half.
  at::Tensor step(torch::optim::Optimizer& optimizer);
  /// optimizer.step(closure) where not enabled. Throws c10::Error where it is: gradients of a closure are not scaled.
  at::Tensor step(torch::optim::Optimizer& optimizer, const std::function<at::Tensor()>& closure);

  /// The scale of the next iteration: as the gradients since the last call ask for, or `new_scale`.
  void update(std::optional<double> new_scale = std::nullopt);
  /// The same with a Float tensor of one element.
  void update(const at::Tensor& new_scale);

  /// The scale as a number, 1 where not enabled. It waits for the device.
  double get_scale() const;
  double get_growth_factor() const { return growth_factor_; }
  double get_backoff_factor() const { return backoff_factor_; }
  int64_t get_growth_interval() const { return growth_interval_; }
  void set_growth_factor(double factor) { growth_factor_ = factor; }
  void set_backoff_factor(double factor) { backoff_factor_ = factor; }
  void set_growth_interval(int64_t interval) { growth_interval_ = interval; }
  bool is_enabled() const { return enabled_; }
  /// The number of steps since the scale changed.
  int64_t growth_tracker() const;

  /// "scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker", as Python's; empty where not
  /// enabled. To be saved after update().
  c10::Dict<std::string, c10::IValue> state_dict() const;
  /// Throws c10::Error for an empty one, which one that was not enabled gave, and where an entry is missing.
  void load_state_dict(const c10::Dict<std::string, c10::IValue>& state);

 private:
  enum class Stage { kReady, kUnscaled, kStepped };
  // Of one optimizer since the last update(): what it has done, and a Float for each device, not 0 where a gradient is
  // not finite.
  struct OptimizerState {
    Stage stage = Stage::kReady;
    std::unordered_map<c10::Device, at::Tensor> found_inf;
  };

  void make_scale(c10::Device device);
  void check_scale(const char* call) const;
  at::Tensor scale_on(c10::Device device) const;
  void unscale(torch::optim::Optimizer& optimizer, OptimizerState& state, const at::Tensor& inverse,
               bool allow_half) const;
  // Adds what was found on each device to `found`, on that of the scale.
  void add_found(const OptimizerState& state, at::Tensor& found) const;
  at::Tensor step_fused(torch::optim::Optimizer& optimizer, OptimizerState& state) const;

  bool enabled_;
  double init_scale_, growth_factor_, backoff_factor_;
  int64_t growth_interval_;
  int64_t init_growth_tracker_ = 0;
  at::Tensor scale_, growth_tracker_;  // made on the device of the first output
  std::unordered_map<const torch::optim::Optimizer*, OptimizerState> optimizers_;
};

}  // namespace torch::amp
