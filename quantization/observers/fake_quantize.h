// Fake quantizers: modules that put numbers where integers would put them, and let gradients pass where the range holds
// them, so that training gets used to the rounding.
//
//   auto fake = torch::quantization::FakeQuantize(torch::quantization::with_args<MovingAverageMinMaxObserver>());
//   y = fake(x);               // observes x, then ((round(x / scale) + zero_point in [qmin, qmax]) - zero_point) *
//   scale fake->disable_observer();  // from now on the scale stays
#pragma once

#include <memory>
#include <string>

#include "quantization/observers/observer.h"

namespace torch::quantization {

/// What stands around an observer, its child activation_post_process, which says the range of integers.
class AroundObserver : public ObserverBase {
 public:
  QParams calculate_qparams() override { return activation_post_process->calculate_qparams(); }
  int64_t quant_min() const override { return activation_post_process->quant_min(); }
  int64_t quant_max() const override { return activation_post_process->quant_max(); }
  bool has_seen() const override { return activation_post_process->has_seen(); }
  std::string extra_repr() const override;

  std::shared_ptr<ObserverBase> activation_post_process;
  /// Those of the last forward.
  at::Tensor scale, zero_point;

 protected:
  /// Of the observer that `observer` makes. Throws c10::Error where that chooses no qparams.
  AroundObserver(const char* who, ObserverFactory observer);
  ObserverFactory make_;
};

/// What can be switched: observing, and fake quantization.
class FakeQuantizeBase : public AroundObserver {
 public:
  void enable_fake_quant(bool enabled = true);
  void disable_fake_quant() { enable_fake_quant(false); }
  void enable_observer(bool enabled = true);
  void disable_observer() { enable_observer(false); }

  /// One number each, 1 or 0.
  at::Tensor fake_quant_enabled, observer_enabled;

 protected:
  using AroundObserver::AroundObserver;
  /// The switches, numbers of `switches`, a new observer, and buffers scale and zero_point.
  void register_all(c10::ScalarType switches);
  bool quantizes() const;
  bool observes() const;
};

/// Quantizes by what its observer chooses. Dtypes of x: float, half, bfloat16, double.
class FakeQuantizeImpl : public FakeQuantizeBase, public nn::Cloneable<FakeQuantizeImpl> {
 public:
  explicit FakeQuantizeImpl(ObserverFactory observer);
  FakeQuantizeImpl();
  at::Tensor forward(const at::Tensor& x) override;
  void reset() override;
};
TORCH_MODULE(FakeQuantize);

/// Of qparams that are known: its observer is a FixedQParamsObserver.
class FixedQParamsFakeQuantizeImpl : public FakeQuantizeBase, public nn::Cloneable<FixedQParamsFakeQuantizeImpl> {
 public:
  explicit FixedQParamsFakeQuantizeImpl(ObserverFactory observer);
  at::Tensor forward(const at::Tensor& x) override;
  QParams calculate_qparams() override { return {scale, zero_point}; }
  void reset() override;
};
TORCH_MODULE(FixedQParamsFakeQuantize);

/// The moving averages of extremes and the quantization in one operator, at::fused_moving_avg_obs_fake_quant; per
/// tensor or per channel as its observer, a MovingAverage(PerChannel)MinMaxObserver, is. x is float.
class FusedMovingAvgObsFakeQuantizeImpl : public FakeQuantizeBase,
                                          public nn::Cloneable<FusedMovingAvgObsFakeQuantizeImpl> {
 public:
  /// Throws c10::Error for another observer.
  explicit FusedMovingAvgObsFakeQuantizeImpl(ObserverFactory observer);
  FusedMovingAvgObsFakeQuantizeImpl();
  at::Tensor forward(const at::Tensor& x) override;
  void reset() override;
};
TORCH_MODULE(FusedMovingAvgObsFakeQuantize);

/// Scale and zero point are parameters, which training moves; at first an observer estimates them.
class LearnableFakeQuantizeImpl : public AroundObserver, public nn::Cloneable<LearnableFakeQuantizeImpl> {
 public:
  /// `channels`: 1 per tensor, else as many scales. `use_grad_scaling`: gradients of scale and zero point are divided
  /// by sqrt(numel * quant_max).
  explicit LearnableFakeQuantizeImpl(ObserverFactory observer, double scale = 1, double zero_point = 0,
                                     int64_t channels = 1, bool use_grad_scaling = false);
  at::Tensor forward(const at::Tensor& x) override;
  /// The zero point rounded, within the range.
  QParams calculate_qparams() override;
  void reset() override;

  /// Training moves scale and zero point, the observer rests.
  void enable_param_learning();
  /// The observer sets them, and x is quantized.
  void enable_static_estimate();
  /// The observer sets them, and x stays.
  void enable_static_observation();
  void toggle_observer_update(bool enabled);
  void toggle_qparam_learning(bool enabled);
  void toggle_fake_quant(bool enabled);

  at::Tensor fake_quant_enabled, static_enabled, learning_enabled, eps;

 private:
  double scale_, zero_point_;
  int64_t channels_;
  bool use_grad_scaling_;
};
TORCH_MODULE(LearnableFakeQuantize);

/// For module.apply(): switches what is a fake quantizer.
///   model->apply(torch::quantization::disable_observer);
void enable_observer(nn::Module& module);
void disable_observer(nn::Module& module);
void enable_fake_quant(nn::Module& module);
void disable_fake_quant(nn::Module& module);

}  // namespace torch::quantization
