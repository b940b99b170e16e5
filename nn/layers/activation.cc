#include "nn/layers/activation.h"

#include "aten/ops/activation/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/unary/ops.h"
#include "c10/util/string_util.h"
#include "nn/functional/activation.h"

namespace torch::nn {

namespace F = torch::nn::functional;

namespace {

// The options' last part, which is shown only where it is set.
const char* inplace_text(bool inplace, bool first = false) {
  return !inplace ? "" : first ? "inplace=true" : ", inplace=true";
}

void put(std::ostream& stream, bool inplace, std::string_view text) {
  (inplace ? detail::put_text_with_words : detail::put_text)(stream, text);
}

}  // namespace

at::Tensor ELUImpl::forward(at::Tensor input) {
  return F::elu(std::move(input), options);
}
void ELUImpl::pretty_print(std::ostream& stream) const {
  put(stream, options.inplace(),
      c10::str("torch::nn::ELU(alpha=", options.alpha(), inplace_text(options.inplace()), ")"));
}

at::Tensor SELUImpl::forward(at::Tensor input) {
  return F::selu(std::move(input), options);
}
void SELUImpl::pretty_print(std::ostream& stream) const {
  put(stream, options.inplace(), c10::str("torch::nn::SELU(", inplace_text(options.inplace(), true), ")"));
}

at::Tensor HardshrinkImpl::forward(const at::Tensor& input) {
  return F::hardshrink(input, options);
}
void HardshrinkImpl::pretty_print(std::ostream& stream) const {
  detail::put_text_with_words(stream, c10::str("torch::nn::Hardshrink(", options.lambda(), ")"));
}

void HardtanhImpl::reset() {
  TORCH_CHECK(options.min_val() < options.max_val(), "max_val must be greater than min_val");
}
at::Tensor HardtanhImpl::forward(at::Tensor input) {
  return F::hardtanh(std::move(input), options);
}
void HardtanhImpl::pretty_print(std::ostream& stream) const {
  detail::put_text_with_words(stream, c10::str("torch::nn::Hardtanh(min_val=", options.min_val(),
                                               ", max_val=", options.max_val(), inplace_text(options.inplace()), ")"));
}

at::Tensor LeakyReLUImpl::forward(at::Tensor input) {
  return F::leaky_relu(std::move(input), options);
}
void LeakyReLUImpl::pretty_print(std::ostream& stream) const {
  detail::put_text_with_words(stream, c10::str("torch::nn::LeakyReLU(negative_slope=", options.negative_slope(),
                                               inplace_text(options.inplace()), ")"));
}

at::Tensor LogSigmoidImpl::forward(const at::Tensor& input) {
  return F::logsigmoid(input);
}
void LogSigmoidImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::LogSigmoid()"));
}

at::Tensor SoftmaxImpl::forward(const at::Tensor& input) {
  return F::softmax(input, F::SoftmaxFuncOptions(options.dim()));
}
void SoftmaxImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::Softmax(dim=", options.dim(), ")"));
}

at::Tensor SoftminImpl::forward(const at::Tensor& input) {
  return F::softmin(input, F::SoftminFuncOptions(options.dim()));
}
void SoftminImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::Softmin(dim=", options.dim(), ")"));
}

at::Tensor LogSoftmaxImpl::forward(const at::Tensor& input) {
  return F::log_softmax(input, F::LogSoftmaxFuncOptions(options.dim()));
}
void LogSoftmaxImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::LogSoftmax(dim=", options.dim(), ")"));
}

at::Tensor Softmax2dImpl::forward(const at::Tensor& input) {
  TORCH_CHECK_VALUE(input.dim() == 4 || input.dim() == 3, "Softmax2d requires a 3D or 4D tensor as input");
  return F::softmax(input, F::SoftmaxFuncOptions(-3));
}
void Softmax2dImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::Softmax2d()"));
}

at::Tensor ReLUImpl::forward(at::Tensor input) {
  return F::relu(std::move(input), options);
}
void ReLUImpl::pretty_print(std::ostream& stream) const {
  put(stream, options.inplace(), c10::str("torch::nn::ReLU(", inplace_text(options.inplace(), true), ")"));
}

at::Tensor ReLU6Impl::forward(at::Tensor input) {
  return F::relu6(std::move(input), options);
}
void ReLU6Impl::pretty_print(std::ostream& stream) const {
  put(stream, options.inplace(), c10::str("torch::nn::ReLU6(", inplace_text(options.inplace(), true), ")"));
}

at::Tensor RReLUImpl::forward(at::Tensor input) {
  return F::rrelu(std::move(input), F::RReLUFuncOptions()
                                        .lower(options.lower())
                                        .upper(options.upper())
                                        .training(is_training())
                                        .inplace(options.inplace()));
}
void RReLUImpl::pretty_print(std::ostream& stream) const {
  put(stream, options.inplace(),
      c10::str("torch::nn::RReLU(lower=", options.lower(), ", upper=", options.upper(), inplace_text(options.inplace()),
               ")"));
}

at::Tensor CELUImpl::forward(at::Tensor input) {
  return F::celu(std::move(input), options);
}
void CELUImpl::pretty_print(std::ostream& stream) const {
  put(stream, options.inplace(),
      c10::str("torch::nn::CELU(alpha=", options.alpha(), inplace_text(options.inplace()), ")"));
}

at::Tensor GLUImpl::forward(const at::Tensor& input) {
  return F::glu(input, options);
}
void GLUImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::GLU(dim=", options.dim(), ")"));
}

at::Tensor GELUImpl::forward(const at::Tensor& input) {
  return F::gelu(input, options);
}
void GELUImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::GELU()"));
}

at::Tensor SiLUImpl::forward(at::Tensor input) {
  return options.inplace() ? at::silu_(input) : F::silu(input);
}
void SiLUImpl::pretty_print(std::ostream& stream) const {
  put(stream, options.inplace(), options.inplace() ? "torch::nn::SiLU(inplace=true)" : "torch::nn::SiLU()");
}

at::Tensor MishImpl::forward(at::Tensor input) {
  return options.inplace() ? at::mish_(input) : F::mish(input);
}
void MishImpl::pretty_print(std::ostream& stream) const {
  put(stream, options.inplace(), options.inplace() ? "torch::nn::Mish(inplace=true)" : "torch::nn::Mish()");
}

at::Tensor SigmoidImpl::forward(const at::Tensor& input) {
  return at::sigmoid(input);
}
void SigmoidImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::Sigmoid()"));
}

at::Tensor SoftplusImpl::forward(const at::Tensor& input) {
  return F::softplus(input, options);
}
void SoftplusImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream,
                   c10::str("torch::nn::Softplus(beta=", options.beta(), ", threshold=", options.threshold(), ")"));
}

at::Tensor SoftshrinkImpl::forward(const at::Tensor& input) {
  return F::softshrink(input, options);
}
void SoftshrinkImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::Softshrink(", options.lambda(), ")"));
}

at::Tensor SoftsignImpl::forward(const at::Tensor& input) {
  return F::softsign(input);
}
void SoftsignImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::Softsign()"));
}

at::Tensor TanhImpl::forward(const at::Tensor& input) {
  return at::tanh(input);
}
void TanhImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::Tanh()"));
}

at::Tensor TanhshrinkImpl::forward(const at::Tensor& input) {
  return F::tanhshrink(input);
}
void TanhshrinkImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::Tanhshrink()"));
}

at::Tensor ThresholdImpl::forward(at::Tensor input) {
  return F::threshold(std::move(input), options);
}
void ThresholdImpl::pretty_print(std::ostream& stream) const {
  put(stream, options.inplace(),
      c10::str("torch::nn::Threshold(threshold=", options.threshold(), ", value=", options.value(),
               inplace_text(options.inplace()), ")"));
}

PReLUImpl::PReLUImpl(const PReLUOptions& options_) : options(options_) {
  reset();
}
at::Tensor PReLUImpl::forward(const at::Tensor& input) {
  return F::prelu(input, weight);
}
void PReLUImpl::reset() {
  weight = register_parameter(
      "weight", at::full({options.num_parameters()}, options.init(), at::TensorOptions(c10::get_default_dtype())));
}
void PReLUImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::PReLU(num_parameters=", options.num_parameters(), ")"));
}

at::Tensor HardsigmoidImpl::forward(at::Tensor input) {
  return F::hardsigmoid(std::move(input), options);
}
void HardsigmoidImpl::pretty_print(std::ostream& stream) const {
  put(stream, options.inplace(),
      options.inplace() ? "torch::nn::Hardsigmoid(inplace=true)" : "torch::nn::Hardsigmoid()");
}

at::Tensor HardswishImpl::forward(at::Tensor input) {
  return F::hardswish(std::move(input), options);
}
void HardswishImpl::pretty_print(std::ostream& stream) const {
  put(stream, options.inplace(), options.inplace() ? "torch::nn::Hardswish(inplace=true)" : "torch::nn::Hardswish()");
}

template class Cloneable<ELUImpl>;
template class Cloneable<SELUImpl>;
template class Cloneable<HardshrinkImpl>;
template class Cloneable<HardtanhImpl>;
template class Cloneable<LeakyReLUImpl>;
template class Cloneable<LogSigmoidImpl>;
template class Cloneable<SoftmaxImpl>;
template class Cloneable<SoftminImpl>;
template class Cloneable<LogSoftmaxImpl>;
template class Cloneable<HardsigmoidImpl>;
template class Cloneable<HardswishImpl>;
template class Cloneable<Softmax2dImpl>;
template class Cloneable<ReLUImpl>;
template class Cloneable<ReLU6Impl>;
template class Cloneable<RReLUImpl>;
template class Cloneable<CELUImpl>;
template class Cloneable<GLUImpl>;
template class Cloneable<GELUImpl>;
template class Cloneable<SiLUImpl>;
template class Cloneable<MishImpl>;
template class Cloneable<SigmoidImpl>;
template class Cloneable<SoftplusImpl>;
template class Cloneable<SoftshrinkImpl>;
template class Cloneable<SoftsignImpl>;
template class Cloneable<TanhImpl>;
template class Cloneable<TanhshrinkImpl>;
template class Cloneable<ThresholdImpl>;
template class Cloneable<PReLUImpl>;

}  // namespace torch::nn
