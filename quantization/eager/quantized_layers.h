// Activations, normalizations and tables of vectors on quantized tensors: torch.ao.nn.quantized beside its linear
// layers (quantized_linear.h). Inputs are quantized tensors of one scale; results have the layer's scale and zero
// point, those of ReLU6, Dropout and DeQuantize none of their own.
#pragma once

#include <string>

#include "nn/module/any_module.h"
#include "nn/options/activation.h"
#include "nn/options/embedding.h"
#include "nn/options/normalization.h"
#include "quantization/eager/quantized_layer.h"

namespace torch::nn::quantized {

/// Float numbers in, a tensor of `dtype` (QUInt8, QInt8 or QInt32) out.
class QuantizeImpl : public QuantizedLayer, public Cloneable<QuantizeImpl> {
 public:
  QuantizeImpl(double scale, int64_t zero_point, c10::ScalarType dtype);
  at::Tensor forward(const at::Tensor& x);
  void reset() override {}
  std::string extra_repr() const override;

  c10::ScalarType dtype;
};
TORCH_MODULE(Quantize);

/// A quantized tensor in, float numbers out.
class DeQuantizeImpl : public Cloneable<DeQuantizeImpl> {
 public:
  at::Tensor forward(const at::Tensor& qx);
  void reset() override {}
};
TORCH_MODULE(DeQuantize);

class ReLU6Impl : public Cloneable<ReLU6Impl> {
 public:
  at::Tensor forward(const at::Tensor& qx);
  void reset() override {}
};
TORCH_MODULE(ReLU6);

/// In evaluation: gives its input.
class DropoutImpl : public Cloneable<DropoutImpl> {
 public:
  explicit DropoutImpl(double p_ = 0.5) : p(p_) {}
  at::Tensor forward(const at::Tensor& qx) { return qx; }
  void reset() override {}

  double p;
};
TORCH_MODULE(Dropout);

/// One argument of an operator beside the tensor: what the activations below are.
class ActivationLayer : public QuantizedLayer {
 public:
  std::string extra_repr() const override { return qparams_text(); }

 protected:
  ActivationLayer(const char* op, double scale, int64_t zero_point)
      : QuantizedLayer(scale, zero_point), op_(detail::find_operator(op)) {}
  c10::OperatorHandle op_;
};

class HardswishImpl : public ActivationLayer, public Cloneable<HardswishImpl> {
 public:
  HardswishImpl(double scale, int64_t zero_point) : ActivationLayer("quantized::hardswish", scale, zero_point) {}
  at::Tensor forward(const at::Tensor& qx) { return detail::call_for_tensor(op_, {qx, scale, zero_point}); }
  void reset() override {}
};
TORCH_MODULE(Hardswish);

class SigmoidImpl : public ActivationLayer, public Cloneable<SigmoidImpl> {
 public:
  SigmoidImpl(double scale, int64_t zero_point) : ActivationLayer("quantized::sigmoid", scale, zero_point) {}
  at::Tensor forward(const at::Tensor& qx) { return detail::call_for_tensor(op_, {qx, scale, zero_point}); }
  void reset() override {}
};
TORCH_MODULE(Sigmoid);

class ELUImpl : public ActivationLayer, public Cloneable<ELUImpl> {
 public:
  ELUImpl(double scale, int64_t zero_point, const ELUOptions& options_ = {})
      : ActivationLayer("quantized::elu", scale, zero_point), options(options_) {}
  at::Tensor forward(const at::Tensor& qx) {
    return detail::call_for_tensor(op_, {qx, scale, zero_point, options.alpha()});
  }
  void reset() override {}

  ELUOptions options;
};
TORCH_MODULE(ELU);

class LeakyReLUImpl : public ActivationLayer, public Cloneable<LeakyReLUImpl> {
 public:
  LeakyReLUImpl(double scale, int64_t zero_point, const LeakyReLUOptions& options_ = {})
      : ActivationLayer("quantized::leaky_relu", scale, zero_point), options(options_) {}
  at::Tensor forward(const at::Tensor& qx) {
    return detail::call_for_tensor(op_, {qx, options.negative_slope(), options.inplace(), scale, zero_point});
  }
  void reset() override {}

  LeakyReLUOptions options;
};
TORCH_MODULE(LeakyReLU);

class SoftmaxImpl : public ActivationLayer, public Cloneable<SoftmaxImpl> {
 public:
  explicit SoftmaxImpl(int64_t dim_ = -1, double scale = 1, int64_t zero_point = 0)
      : ActivationLayer("quantized::softmax", scale, zero_point), dim(dim_) {}
  at::Tensor forward(const at::Tensor& qx) { return detail::call_for_tensor(op_, {qx, dim, scale, zero_point}); }
  void reset() override {}

  int64_t dim;
};
TORCH_MODULE(Softmax);

/// State: "weight", quantized, "scale", "zero_point".
class PReLUImpl : public ActivationLayer, public Cloneable<PReLUImpl> {
 public:
  /// `weight`: quantized.
  PReLUImpl(double scale, int64_t zero_point, const at::Tensor& weight);
  at::Tensor forward(const at::Tensor& qx) { return detail::call_for_tensor(op_, {qx, weight, scale, zero_point}); }
  void reset() override {}

  at::Tensor weight;

 protected:
  Parts parts() const override;
  void set_parts(const Parts& parts) override;
};
TORCH_MODULE(PReLU);

/// What the normalizations share: weight and bias, float buffers.
class NormalizationLayer : public QuantizedLayer {
 public:
  at::Tensor weight, bias;
  std::string extra_repr() const override { return qparams_text(); }

 protected:
  NormalizationLayer(const std::string& op, double scale, int64_t zero_point)
      : QuantizedLayer(scale, zero_point), op_(detail::find_operator(op)) {}
  /// Ones and zeros of these sizes, or undefined ones, where there are none yet; else copies.
  void register_affine(at::IntArrayRef sizes, bool has_weight, bool has_bias);
  at::Tensor register_copy(const char* name, const at::Tensor& own, const at::Tensor& first);
  c10::OperatorHandle op_;
};

/// Of D dimensions beside batch and channels, with relu behind it; by its running statistics.
template <size_t D, bool kRelu>
class BatchNormOf : public NormalizationLayer, public Cloneable<BatchNormOf<D, kRelu>> {
 public:
  explicit BatchNormOf(const BatchNormOptions& options, double scale = 1, int64_t zero_point = 0);
  at::Tensor forward(const at::Tensor& qx);
  void reset() override;

  BatchNormOptions options;
  at::Tensor running_mean, running_var, num_batches_tracked;
};
extern template class BatchNormOf<2, false>;
extern template class BatchNormOf<2, true>;
extern template class BatchNormOf<3, false>;
extern template class BatchNormOf<3, true>;
using BatchNorm2dImpl = BatchNormOf<2, false>;
using BatchNorm3dImpl = BatchNormOf<3, false>;
TORCH_MODULE(BatchNorm2d);
TORCH_MODULE(BatchNorm3d);

class LayerNormImpl : public NormalizationLayer, public Cloneable<LayerNormImpl> {
 public:
  explicit LayerNormImpl(const LayerNormOptions& options_, double scale = 1, int64_t zero_point = 0);
  at::Tensor forward(const at::Tensor& qx);
  void reset() override;

  LayerNormOptions options;
};
TORCH_MODULE(LayerNorm);

class GroupNormImpl : public NormalizationLayer, public Cloneable<GroupNormImpl> {
 public:
  explicit GroupNormImpl(const GroupNormOptions& options_, double scale = 1, int64_t zero_point = 0);
  at::Tensor forward(const at::Tensor& qx);
  void reset() override;

  GroupNormOptions options;
};
TORCH_MODULE(GroupNorm);

/// Of one to three dimensions: InstanceNorm1d to 3d are one class.
class InstanceNormImpl : public NormalizationLayer, public Cloneable<InstanceNormImpl> {
 public:
  explicit InstanceNormImpl(const InstanceNormOptions& options_, double scale = 1, int64_t zero_point = 0);
  at::Tensor forward(const at::Tensor& qx);
  void reset() override;

  InstanceNormOptions options;
};
using InstanceNorm1dImpl = InstanceNormImpl;
using InstanceNorm2dImpl = InstanceNormImpl;
using InstanceNorm3dImpl = InstanceNormImpl;
TORCH_MODULE(InstanceNorm1d);
TORCH_MODULE(InstanceNorm2d);
TORCH_MODULE(InstanceNorm3d);

/// A table, quantized by rows with float zero points: QUInt8 or QUInt4x2. State: "_packed_params.dtype",
/// "_packed_params._packed_weight".
class TableLayer : public StatefulLayer {
 public:
  /// Quantized.
  at::Tensor weight() const;
  /// Throws c10::Error for another dtype or scheme.
  void set_weight(const at::Tensor& weight);
  std::string extra_repr() const override;

 protected:
  TableLayer(const char* op, const at::Tensor& weight);
  Parts parts() const override;
  void set_parts(const Parts& parts) override;
  /// `op`_byte or `op`_4bit.
  at::Tensor look_up(c10::Stack stack) const;
  c10::IValue packed_;

 private:
  std::string name_;
  std::optional<c10::OperatorHandle> op_;
  c10::OperatorHandle unpack_;
  c10::ScalarType dtype_ = c10::ScalarType::QUInt8;
};

/// Indices of any shape in, float rows out.
class EmbeddingImpl : public TableLayer, public Cloneable<EmbeddingImpl> {
 public:
  explicit EmbeddingImpl(const at::Tensor& weight) : TableLayer("quantized::embedding", weight) {}
  at::Tensor forward(const at::Tensor& indices);
  void reset() override {}
};
TORCH_MODULE(Embedding);

/// Sums of rows, float.
class EmbeddingBagImpl : public TableLayer, public Cloneable<EmbeddingBagImpl> {
 public:
  /// Throws NotImplementedError for modes other than sum.
  explicit EmbeddingBagImpl(const at::Tensor& weight, const EmbeddingBagMode& mode = torch::kSum,
                            bool include_last_offset_ = false);
  at::Tensor forward(const at::Tensor& indices, const at::Tensor& offsets = {},
                     const at::Tensor& per_sample_weights = {});
  void reset() override {}

  bool include_last_offset;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(at::Tensor())}, {2, AnyValue(at::Tensor())})
};
TORCH_MODULE(EmbeddingBag);

}  // namespace torch::nn::quantized

namespace torch::nn::intrinsic::quantized {
using BNReLU2dImpl = nn::quantized::BatchNormOf<2, true>;
using BNReLU3dImpl = nn::quantized::BatchNormOf<3, true>;
TORCH_MODULE(BNReLU2d);
TORCH_MODULE(BNReLU3d);
}  // namespace torch::nn::intrinsic::quantized
