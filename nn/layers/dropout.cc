#include "nn/layers/dropout.h"

#include "nn/functional/dropout.h"

namespace torch::nn {

namespace F = torch::nn::functional;

namespace {

template <typename FuncOptions>
FuncOptions now(const DropoutOptions& options, bool training) {
  return FuncOptions().p(options.p()).training(training).inplace(options.inplace());
}

std::string text_of(const char* name, const DropoutOptions& options) {
  return c10::str("torch::nn::", name, "(p=", options.p(), ", inplace=", options.inplace() ? "true" : "false", ")");
}

}  // namespace

at::Tensor DropoutImpl::forward(at::Tensor input) {
  return F::dropout(std::move(input), now<F::DropoutFuncOptions>(options, is_training()));
}
void DropoutImpl::pretty_print(std::ostream& stream) const {
  detail::put_text_with_words(stream, text_of("Dropout", options));
}

at::Tensor Dropout1dImpl::forward(at::Tensor input) {
  return F::dropout1d(std::move(input), now<F::DropoutFuncOptions>(options, is_training()));
}
void Dropout1dImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, text_of("Dropout1d", options));
}

at::Tensor Dropout2dImpl::forward(at::Tensor input) {
  return F::dropout2d(std::move(input), now<F::Dropout2dFuncOptions>(options, is_training()));
}
void Dropout2dImpl::pretty_print(std::ostream& stream) const {
  detail::put_text_with_words(stream, text_of("Dropout2d", options));
}

at::Tensor Dropout3dImpl::forward(at::Tensor input) {
  return F::dropout3d(std::move(input), now<F::Dropout3dFuncOptions>(options, is_training()));
}
void Dropout3dImpl::pretty_print(std::ostream& stream) const {
  detail::put_text_with_words(stream, text_of("Dropout3d", options));
}

at::Tensor AlphaDropoutImpl::forward(const at::Tensor& input) {
  return F::alpha_dropout(input, now<F::AlphaDropoutFuncOptions>(options, is_training()));
}
void AlphaDropoutImpl::pretty_print(std::ostream& stream) const {
  detail::put_text_with_words(stream, text_of("AlphaDropout", options));
}

at::Tensor FeatureAlphaDropoutImpl::forward(const at::Tensor& input) {
  return F::feature_alpha_dropout(input, now<F::FeatureAlphaDropoutFuncOptions>(options, is_training()));
}
void FeatureAlphaDropoutImpl::pretty_print(std::ostream& stream) const {
  detail::put_text_with_words(stream, text_of("FeatureAlphaDropout", options));
}

template class Cloneable<DropoutImpl>;
template class Cloneable<Dropout1dImpl>;
template class Cloneable<Dropout2dImpl>;
template class Cloneable<Dropout3dImpl>;
template class Cloneable<AlphaDropoutImpl>;
template class Cloneable<FeatureAlphaDropoutImpl>;

}  // namespace torch::nn
