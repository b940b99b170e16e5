// Activation layers: torch::nn::functional with options kept. None has parameters but PReLU.
#pragma once

#include <iosfwd>

#include "nn/layers/options_layer.h"
#include "nn/module/cloneable.h"
#include "nn/options/activation.h"

namespace torch::nn {

class ELUImpl : public detail::OptionsLayer<ELUImpl, ELUOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(at::Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(ELU);

class SELUImpl : public detail::OptionsLayer<SELUImpl, SELUOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(at::Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(SELU);

class HardshrinkImpl : public detail::OptionsLayer<HardshrinkImpl, HardshrinkOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Hardshrink);

// Throws c10::Error where max_val is not above min_val.
class HardtanhImpl : public detail::OptionsLayer<HardtanhImpl, HardtanhOptions> {
 public:
  explicit HardtanhImpl(const HardtanhOptions& options_ = {}) : OptionsLayer(options_) { reset(); }
  void reset() override;
  at::Tensor forward(at::Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Hardtanh);

class LeakyReLUImpl : public detail::OptionsLayer<LeakyReLUImpl, LeakyReLUOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(at::Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(LeakyReLU);

class LogSigmoidImpl : public detail::StatelessLayer<LogSigmoidImpl> {
 public:
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(LogSigmoid);

class SoftmaxImpl : public detail::OptionsLayer<SoftmaxImpl, SoftmaxOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Softmax);

class SoftminImpl : public detail::OptionsLayer<SoftminImpl, SoftminOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Softmin);

class LogSoftmaxImpl : public detail::OptionsLayer<LogSoftmaxImpl, LogSoftmaxOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(LogSoftmax);

class HardsigmoidImpl : public detail::OptionsLayer<HardsigmoidImpl, HardsigmoidOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(at::Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Hardsigmoid);

class HardswishImpl : public detail::OptionsLayer<HardswishImpl, HardswishOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(at::Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Hardswish);

class Softmax2dImpl : public detail::StatelessLayer<Softmax2dImpl> {
 public:
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Softmax2d);

class ReLUImpl : public detail::OptionsLayer<ReLUImpl, ReLUOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(at::Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(ReLU);

class ReLU6Impl : public detail::OptionsLayer<ReLU6Impl, ReLU6Options> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(at::Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(ReLU6);

class RReLUImpl : public detail::OptionsLayer<RReLUImpl, RReLUOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(at::Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(RReLU);

class CELUImpl : public detail::OptionsLayer<CELUImpl, CELUOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(at::Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(CELU);

class GLUImpl : public detail::OptionsLayer<GLUImpl, GLUOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(GLU);

class GELUImpl : public detail::OptionsLayer<GELUImpl, GELUOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(GELU);

class SiLUImpl : public detail::OptionsLayer<SiLUImpl, SiLUOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(at::Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(SiLU);

class MishImpl : public detail::OptionsLayer<MishImpl, MishOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(at::Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Mish);

class SigmoidImpl : public detail::StatelessLayer<SigmoidImpl> {
 public:
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Sigmoid);

class SoftplusImpl : public detail::OptionsLayer<SoftplusImpl, SoftplusOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Softplus);

class SoftshrinkImpl : public detail::OptionsLayer<SoftshrinkImpl, SoftshrinkOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Softshrink);

class SoftsignImpl : public detail::StatelessLayer<SoftsignImpl> {
 public:
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Softsign);

class TanhImpl : public detail::StatelessLayer<TanhImpl> {
 public:
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Tanh);

class TanhshrinkImpl : public detail::StatelessLayer<TanhshrinkImpl> {
 public:
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Tanhshrink);

class ThresholdImpl : public detail::OptionsLayer<ThresholdImpl, ThresholdOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(at::Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Threshold);

// Member: weight [num_parameters], at first `init`.
class PReLUImpl : public Cloneable<PReLUImpl> {
 public:
  explicit PReLUImpl(const PReLUOptions& options_ = {});
  at::Tensor forward(const at::Tensor& input);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  PReLUOptions options;
  at::Tensor weight;

 protected:
  TORCH_MODULE_TENSORS(weight)
};
TORCH_COMPILED_MODULE(PReLU);

}  // namespace torch::nn
