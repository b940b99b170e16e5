#include "quantization/eager/quantized_layers.h"

#include <utility>
#include <variant>

#include "aten/ops/activation/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/quantized/ops.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace torch::nn::quantized {

using at::Tensor;
using c10::IValue;

QuantizeImpl::QuantizeImpl(double scale_, int64_t zero_point_, c10::ScalarType dtype_)
    : QuantizedLayer(scale_, zero_point_), dtype(dtype_) {
  TORCH_CHECK_VALUE(c10::isQIntType(dtype), "Quantize: expected a dtype of quantized tensors, but got ", dtype);
}
Tensor QuantizeImpl::forward(const Tensor& x) {
  return at::quantize_per_tensor(x, scale, zero_point, dtype);
}
std::string QuantizeImpl::extra_repr() const {
  return c10::str(qparams_text(), ", dtype=", dtype);
}
Tensor DeQuantizeImpl::forward(const Tensor& qx) {
  return at::dequantize(qx);
}
Tensor ReLU6Impl::forward(const Tensor& qx) {
  static const c10::OperatorHandle op = detail::find_operator("quantized::relu6");
  return detail::call_for_tensor(op, {qx, false});
}

PReLUImpl::PReLUImpl(double scale_, int64_t zero_point_, const Tensor& weight_)
    : ActivationLayer("quantized::prelu", scale_, zero_point_), weight(detail::constant(weight_)) {
  TORCH_CHECK(weight.defined() && weight.is_quantized(), "quantized::PReLU: expected a quantized weight");
}
StatefulLayer::Parts PReLUImpl::parts() const {
  Parts all{{"weight", IValue(weight)}};
  for (auto& part : QuantizedLayer::parts()) all.push_back(std::move(part));
  return all;
}
void PReLUImpl::set_parts(const Parts& parts) {
  for (const auto& [name, value] : parts) {
    if (name != "weight") continue;
    TORCH_CHECK(value.toTensor().is_quantized(), "quantized::PReLU: expected a quantized weight");
    weight = detail::constant(value.toTensor());
  }
  QuantizedLayer::set_parts(parts);
}

Tensor NormalizationLayer::register_copy(const char* name, const Tensor& own, const Tensor& first) {
  return register_buffer(name, own.defined() ? detail::constant(own) : first);
}
void NormalizationLayer::register_affine(at::IntArrayRef sizes, bool has_weight, bool has_bias) {
  const auto options = at::TensorOptions().dtype(c10::ScalarType::Float);
  weight = register_copy("weight", weight, has_weight ? at::ones(sizes, options) : Tensor());
  bias = register_copy("bias", bias, has_bias ? at::zeros(sizes, options) : Tensor());
}

template <size_t D, bool kRelu>
BatchNormOf<D, kRelu>::BatchNormOf(const BatchNormOptions& options_, double scale_, int64_t zero_point_)
    : Module(c10::str(kRelu ? "QuantizedBNReLU" : "QuantizedBatchNorm", D, "d")),
      NormalizationLayer(c10::str("quantized::batch_norm", D, "d", kRelu ? "_relu" : ""), scale_, zero_point_),
      options(options_) {
  reset();
}
template <size_t D, bool kRelu>
void BatchNormOf<D, kRelu>::reset() {
  const auto floats = at::TensorOptions().dtype(c10::ScalarType::Float);
  register_affine({options.num_features()}, options.affine(), options.affine() && options.bias());
  running_mean = register_copy("running_mean", running_mean, at::zeros({options.num_features()}, floats));
  running_var = register_copy("running_var", running_var, at::ones({options.num_features()}, floats));
  num_batches_tracked = register_copy("num_batches_tracked", num_batches_tracked,
                                      at::zeros({}, at::TensorOptions().dtype(c10::ScalarType::Long)));
}
template <size_t D, bool kRelu>
Tensor BatchNormOf<D, kRelu>::forward(const Tensor& qx) {
  return detail::call_for_tensor(op_, {qx, detail::maybe(weight), detail::maybe(bias), running_mean, running_var,
                                       options.eps(), scale, zero_point});
}
template class BatchNormOf<2, false>;
template class BatchNormOf<2, true>;
template class BatchNormOf<3, false>;
template class BatchNormOf<3, true>;

LayerNormImpl::LayerNormImpl(const LayerNormOptions& options_, double scale_, int64_t zero_point_)
    : NormalizationLayer("quantized::layer_norm", scale_, zero_point_), options(options_) {
  reset();
}
void LayerNormImpl::reset() {
  register_affine(options.normalized_shape(), options.elementwise_affine(),
                  options.elementwise_affine() && options.bias());
}
Tensor LayerNormImpl::forward(const Tensor& qx) {
  return detail::call_for_tensor(op_, {qx, options.normalized_shape(), detail::maybe(weight), detail::maybe(bias),
                                       options.eps(), scale, zero_point});
}

GroupNormImpl::GroupNormImpl(const GroupNormOptions& options_, double scale_, int64_t zero_point_)
    : NormalizationLayer("quantized::group_norm", scale_, zero_point_), options(options_) {
  reset();
}
void GroupNormImpl::reset() {
  register_affine({options.num_channels()}, options.affine(), options.affine() && options.bias());
}
Tensor GroupNormImpl::forward(const Tensor& qx) {
  return detail::call_for_tensor(
      op_, {qx, options.num_groups(), detail::maybe(weight), detail::maybe(bias), options.eps(), scale, zero_point});
}

InstanceNormImpl::InstanceNormImpl(const InstanceNormOptions& options_, double scale_, int64_t zero_point_)
    : NormalizationLayer("quantized::instance_norm", scale_, zero_point_), options(options_) {
  reset();
}
void InstanceNormImpl::reset() {
  register_affine({options.num_features()}, options.affine(), options.affine() && options.bias());
}
Tensor InstanceNormImpl::forward(const Tensor& qx) {
  return detail::call_for_tensor(op_,
                                 {qx, detail::maybe(weight), detail::maybe(bias), options.eps(), scale, zero_point});
}

TableLayer::TableLayer(const char* op, const Tensor& weight_)
    : name_(op), unpack_(detail::find_operator("quantized::embedding_bag_unpack")) {
  set_weight(weight_);
}
Tensor TableLayer::weight() const {
  return detail::call_for_tensor(unpack_, {packed_});
}
void TableLayer::set_weight(const Tensor& table) {
  TORCH_CHECK(table.defined() && table.is_quantized() && table.qscheme() == c10::kPerChannelAffineFloatQParams &&
                  (table.scalar_type() == c10::ScalarType::QUInt8 || table.scalar_type() == c10::ScalarType::QUInt4x2),
              name_, ": expected a weight of dtype QUInt8 or QUInt4x2, quantized by rows with float zero points");
  packed_ = detail::call("quantized::embedding_bag_prepack", "", {detail::constant(table)})[0];
  dtype_ = table.scalar_type();
  op_ = detail::find_operator(name_ + (dtype_ == c10::ScalarType::QUInt8 ? "_byte" : "_4bit"));
}
Tensor TableLayer::look_up(c10::Stack stack) const {
  return detail::call_for_tensor(*op_, std::move(stack));
}
StatefulLayer::Parts TableLayer::parts() const {
  return {{"_packed_params.dtype", static_cast<int64_t>(dtype_)}, {"_packed_params._packed_weight", IValue(weight())}};
}
void TableLayer::set_parts(const Parts& parts) {
  for (const auto& [name, value] : parts) {
    if (name == "_packed_params._packed_weight") set_weight(value.toTensor());
  }
}
std::string TableLayer::extra_repr() const {
  const Tensor w = weight();
  return c10::str("num_embeddings=", w.size(0), ", embedding_dim=", w.size(1), ", dtype=", dtype_,
                  ", qscheme=torch.per_channel_affine_float_qparams");
}

Tensor EmbeddingImpl::forward(const Tensor& indices) {
  return look_up({packed_, indices, false});
}

EmbeddingBagImpl::EmbeddingBagImpl(const Tensor& weight_, const EmbeddingBagMode& mode, bool include_last_offset_)
    : TableLayer("quantized::embedding_bag", weight_), include_last_offset(include_last_offset_) {
  TORCH_CHECK_NOT_IMPLEMENTED(std::holds_alternative<enumtype::kSum>(mode),
                              "quantized::EmbeddingBag: only the mode 'sum' is supported");
}
Tensor EmbeddingBagImpl::forward(const Tensor& indices, const Tensor& offsets, const Tensor& per_sample_weights) {
  return look_up({packed_, indices, detail::maybe(offsets), false, int64_t{0}, false, detail::maybe(per_sample_weights),
                  IValue(), include_last_offset});
}

}  // namespace torch::nn::quantized
