// Activation layers: torch::nn::functional with options kept. None has parameters but PReLU.
#pragma once

#include <iosfwd>

#include "nn/module/cloneable.h"
#include "nn/options/activation.h"

namespace torch::nn {

class ELUImpl : public Cloneable<ELUImpl> {
 public:
  explicit ELUImpl(const ELUOptions& options_ = {});
  at::Tensor forward(at::Tensor input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  ELUOptions options;
};
TORCH_MODULE(ELU);

class SELUImpl : public Cloneable<SELUImpl> {
 public:
  explicit SELUImpl(const SELUOptions& options_ = {});
  at::Tensor forward(at::Tensor input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  SELUOptions options;
};
TORCH_MODULE(SELU);

class HardshrinkImpl : public Cloneable<HardshrinkImpl> {
 public:
  explicit HardshrinkImpl(double lambda) : HardshrinkImpl(HardshrinkOptions(lambda)) {}
  explicit HardshrinkImpl(const HardshrinkOptions& options_ = {});
  at::Tensor forward(const at::Tensor& input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  HardshrinkOptions options;
};
TORCH_MODULE(Hardshrink);

class HardtanhImpl : public Cloneable<HardtanhImpl> {
 public:
  explicit HardtanhImpl(const HardtanhOptions& options_ = {});
  at::Tensor forward(at::Tensor input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  HardtanhOptions options;
};
TORCH_MODULE(Hardtanh);

class LeakyReLUImpl : public Cloneable<LeakyReLUImpl> {
 public:
  explicit LeakyReLUImpl(const LeakyReLUOptions& options_ = {});
  at::Tensor forward(at::Tensor input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  LeakyReLUOptions options;
};
TORCH_MODULE(LeakyReLU);

class LogSigmoidImpl : public Cloneable<LogSigmoidImpl> {
 public:
  at::Tensor forward(const at::Tensor& input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(LogSigmoid);

class SoftmaxImpl : public Cloneable<SoftmaxImpl> {
 public:
  explicit SoftmaxImpl(int64_t dim) : SoftmaxImpl(SoftmaxOptions(dim)) {}
  explicit SoftmaxImpl(const SoftmaxOptions& options_);
  at::Tensor forward(const at::Tensor& input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  SoftmaxOptions options;
};
TORCH_MODULE(Softmax);

class SoftminImpl : public Cloneable<SoftminImpl> {
 public:
  explicit SoftminImpl(int64_t dim) : SoftminImpl(SoftminOptions(dim)) {}
  explicit SoftminImpl(const SoftminOptions& options_);
  at::Tensor forward(const at::Tensor& input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  SoftminOptions options;
};
TORCH_MODULE(Softmin);

class LogSoftmaxImpl : public Cloneable<LogSoftmaxImpl> {
 public:
  explicit LogSoftmaxImpl(int64_t dim) : LogSoftmaxImpl(LogSoftmaxOptions(dim)) {}
  explicit LogSoftmaxImpl(const LogSoftmaxOptions& options_);
  at::Tensor forward(const at::Tensor& input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  LogSoftmaxOptions options;
};
TORCH_MODULE(LogSoftmax);

class Softmax2dImpl : public Cloneable<Softmax2dImpl> {
 public:
  at::Tensor forward(const at::Tensor& input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(Softmax2d);

class ReLUImpl : public Cloneable<ReLUImpl> {
 public:
  explicit ReLUImpl(const ReLUOptions& options_ = {});
  at::Tensor forward(at::Tensor input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  ReLUOptions options;
};
TORCH_MODULE(ReLU);

class ReLU6Impl : public Cloneable<ReLU6Impl> {
 public:
  explicit ReLU6Impl(const ReLU6Options& options_ = {});
  at::Tensor forward(at::Tensor input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  ReLU6Options options;
};
TORCH_MODULE(ReLU6);

class RReLUImpl : public Cloneable<RReLUImpl> {
 public:
  explicit RReLUImpl(const RReLUOptions& options_ = {});
  at::Tensor forward(at::Tensor input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  RReLUOptions options;
};
TORCH_MODULE(RReLU);

class CELUImpl : public Cloneable<CELUImpl> {
 public:
  explicit CELUImpl(const CELUOptions& options_ = {});
  at::Tensor forward(at::Tensor input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  CELUOptions options;
};
TORCH_MODULE(CELU);

class GLUImpl : public Cloneable<GLUImpl> {
 public:
  explicit GLUImpl(const GLUOptions& options_ = {});
  at::Tensor forward(const at::Tensor& input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  GLUOptions options;
};
TORCH_MODULE(GLU);

class GELUImpl : public Cloneable<GELUImpl> {
 public:
  explicit GELUImpl(const GELUOptions& options_ = {});
  at::Tensor forward(const at::Tensor& input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  GELUOptions options;
};
TORCH_MODULE(GELU);

class SiLUImpl : public Cloneable<SiLUImpl> {
 public:
  at::Tensor forward(const at::Tensor& input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(SiLU);

class MishImpl : public Cloneable<MishImpl> {
 public:
  at::Tensor forward(const at::Tensor& input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(Mish);

class SigmoidImpl : public Cloneable<SigmoidImpl> {
 public:
  at::Tensor forward(const at::Tensor& input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(Sigmoid);

class SoftplusImpl : public Cloneable<SoftplusImpl> {
 public:
  explicit SoftplusImpl(const SoftplusOptions& options_ = {});
  at::Tensor forward(const at::Tensor& input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  SoftplusOptions options;
};
TORCH_MODULE(Softplus);

class SoftshrinkImpl : public Cloneable<SoftshrinkImpl> {
 public:
  explicit SoftshrinkImpl(double lambda) : SoftshrinkImpl(SoftshrinkOptions(lambda)) {}
  explicit SoftshrinkImpl(const SoftshrinkOptions& options_ = {});
  at::Tensor forward(const at::Tensor& input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  SoftshrinkOptions options;
};
TORCH_MODULE(Softshrink);

class SoftsignImpl : public Cloneable<SoftsignImpl> {
 public:
  at::Tensor forward(const at::Tensor& input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(Softsign);

class TanhImpl : public Cloneable<TanhImpl> {
 public:
  at::Tensor forward(const at::Tensor& input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(Tanh);

class TanhshrinkImpl : public Cloneable<TanhshrinkImpl> {
 public:
  at::Tensor forward(const at::Tensor& input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(Tanhshrink);

class ThresholdImpl : public Cloneable<ThresholdImpl> {
 public:
  ThresholdImpl(double threshold, double value) : ThresholdImpl(ThresholdOptions(threshold, value)) {}
  explicit ThresholdImpl(const ThresholdOptions& options_);
  at::Tensor forward(at::Tensor input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  ThresholdOptions options;
};
TORCH_MODULE(Threshold);

// Member: weight [num_parameters], at first `init`.
class PReLUImpl : public Cloneable<PReLUImpl> {
 public:
  explicit PReLUImpl(const PReLUOptions& options_ = {});
  at::Tensor forward(const at::Tensor& input);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  PReLUOptions options;
  at::Tensor weight;
};
TORCH_MODULE(PReLU);

}  // namespace torch::nn
