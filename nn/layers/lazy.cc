#include "nn/layers/lazy.h"

namespace torch::nn {

int64_t detail::size_in(const StateDict& state, const std::string& name, int64_t dim) {
  const at::Tensor* const t = state.find(name);
  return t != nullptr && t->defined() && t->dim() > dim ? t->size(dim) : 0;
}

void detail::check_lazy_input(const at::Tensor& input, int64_t dims, const char* layer) {
  TORCH_CHECK(input.dim() == dims + 1 || input.dim() == dims + 2, "Expected ", dims + 1, "D (unbatched) or ", dims + 2,
              "D (batched) input to ", layer, dims, "d, but got input of size: ", input.sizes());
}

LazyLinearImpl::LazyLinearImpl(const LazyLinearOptions& options_)
    : LazyImpl(LinearOptions(0, options_.out_features()).bias(options_.bias())) {
  reset();
}
void LazyLinearImpl::reserve_names() {
  weight = register_parameter("weight", at::Tensor(), false);
  bias = register_parameter("bias", at::Tensor(), false);
}
int64_t LazyLinearImpl::input_size_of(const at::Tensor& input) const {
  TORCH_CHECK(input.dim() > 0, "LazyLinear: Expected an input of at least one dimension");
  return input.size(-1);
}
int64_t LazyLinearImpl::input_size_in(const StateDict& state, const std::string& prefix) const {
  return detail::size_in(state, prefix + "weight", 1);
}
at::Tensor LazyLinearImpl::forward(const at::Tensor& input) {
  initialize(input);
  return LinearImpl::forward(input);
}
void LazyLinearImpl::pretty_print(std::ostream& stream) const {
  if (!has_uninitialized_params()) return LinearImpl::pretty_print(stream);
  detail::put_text(stream, c10::str("torch::nn::LazyLinear(in_features=0, out_features=", options.out_features(),
                                    ", bias=", options.bias() ? "true" : "false", ")"));
}

at::Tensor LazyConv1dImpl::forward(const at::Tensor& input) {
  initialize(input);
  return Conv1dImpl::forward(input);
}
void LazyConv1dImpl::pretty_print(std::ostream& stream) const {
  if (!has_uninitialized_params()) return Conv1dImpl::pretty_print(stream);
  print(stream, "torch::nn::LazyConv1d");
}

at::Tensor LazyConv2dImpl::forward(const at::Tensor& input) {
  initialize(input);
  return Conv2dImpl::forward(input);
}
void LazyConv2dImpl::pretty_print(std::ostream& stream) const {
  if (!has_uninitialized_params()) return Conv2dImpl::pretty_print(stream);
  print(stream, "torch::nn::LazyConv2d");
}

at::Tensor LazyConv3dImpl::forward(const at::Tensor& input) {
  initialize(input);
  return Conv3dImpl::forward(input);
}
void LazyConv3dImpl::pretty_print(std::ostream& stream) const {
  if (!has_uninitialized_params()) return Conv3dImpl::pretty_print(stream);
  print(stream, "torch::nn::LazyConv3d");
}

at::Tensor LazyConvTranspose1dImpl::forward(const at::Tensor& input,
                                            const std::optional<c10::IntArrayRef>& output_size) {
  initialize(input);
  return ConvTranspose1dImpl::forward(input, output_size);
}
void LazyConvTranspose1dImpl::pretty_print(std::ostream& stream) const {
  if (!has_uninitialized_params()) return ConvTranspose1dImpl::pretty_print(stream);
  print(stream, "torch::nn::LazyConvTranspose1d");
}

at::Tensor LazyConvTranspose2dImpl::forward(const at::Tensor& input,
                                            const std::optional<c10::IntArrayRef>& output_size) {
  initialize(input);
  return ConvTranspose2dImpl::forward(input, output_size);
}
void LazyConvTranspose2dImpl::pretty_print(std::ostream& stream) const {
  if (!has_uninitialized_params()) return ConvTranspose2dImpl::pretty_print(stream);
  print(stream, "torch::nn::LazyConvTranspose2d");
}

at::Tensor LazyConvTranspose3dImpl::forward(const at::Tensor& input,
                                            const std::optional<c10::IntArrayRef>& output_size) {
  initialize(input);
  return ConvTranspose3dImpl::forward(input, output_size);
}
void LazyConvTranspose3dImpl::pretty_print(std::ostream& stream) const {
  if (!has_uninitialized_params()) return ConvTranspose3dImpl::pretty_print(stream);
  print(stream, "torch::nn::LazyConvTranspose3d");
}

at::Tensor LazyBatchNorm1dImpl::forward(const at::Tensor& input) {
  initialize(input);
  return BatchNorm1dImpl::forward(input);
}
void LazyBatchNorm1dImpl::pretty_print(std::ostream& stream) const {
  if (!has_uninitialized_params()) return BatchNorm1dImpl::pretty_print(stream);
  print(stream, "torch::nn::LazyBatchNorm1d");
}

at::Tensor LazyBatchNorm2dImpl::forward(const at::Tensor& input) {
  initialize(input);
  return BatchNorm2dImpl::forward(input);
}
void LazyBatchNorm2dImpl::pretty_print(std::ostream& stream) const {
  if (!has_uninitialized_params()) return BatchNorm2dImpl::pretty_print(stream);
  print(stream, "torch::nn::LazyBatchNorm2d");
}

at::Tensor LazyBatchNorm3dImpl::forward(const at::Tensor& input) {
  initialize(input);
  return BatchNorm3dImpl::forward(input);
}
void LazyBatchNorm3dImpl::pretty_print(std::ostream& stream) const {
  if (!has_uninitialized_params()) return BatchNorm3dImpl::pretty_print(stream);
  print(stream, "torch::nn::LazyBatchNorm3d");
}

at::Tensor LazyInstanceNorm1dImpl::forward(const at::Tensor& input) {
  initialize(input);
  return InstanceNorm1dImpl::forward(input);
}
void LazyInstanceNorm1dImpl::pretty_print(std::ostream& stream) const {
  if (!has_uninitialized_params()) return InstanceNorm1dImpl::pretty_print(stream);
  print(stream, "torch::nn::LazyInstanceNorm1d");
}

at::Tensor LazyInstanceNorm2dImpl::forward(const at::Tensor& input) {
  initialize(input);
  return InstanceNorm2dImpl::forward(input);
}
void LazyInstanceNorm2dImpl::pretty_print(std::ostream& stream) const {
  if (!has_uninitialized_params()) return InstanceNorm2dImpl::pretty_print(stream);
  print(stream, "torch::nn::LazyInstanceNorm2d");
}

at::Tensor LazyInstanceNorm3dImpl::forward(const at::Tensor& input) {
  initialize(input);
  return InstanceNorm3dImpl::forward(input);
}
void LazyInstanceNorm3dImpl::pretty_print(std::ostream& stream) const {
  if (!has_uninitialized_params()) return InstanceNorm3dImpl::pretty_print(stream);
  print(stream, "torch::nn::LazyInstanceNorm3d");
}

template class detail::LazyImpl<LazyLinearImpl, LinearImpl>;
template class detail::LazyImpl<LazyConv1dImpl, Conv1dImpl>;
template class detail::LazyImpl<LazyConv2dImpl, Conv2dImpl>;
template class detail::LazyImpl<LazyConv3dImpl, Conv3dImpl>;
template class detail::LazyImpl<LazyConvTranspose1dImpl, ConvTranspose1dImpl>;
template class detail::LazyImpl<LazyConvTranspose2dImpl, ConvTranspose2dImpl>;
template class detail::LazyImpl<LazyConvTranspose3dImpl, ConvTranspose3dImpl>;
template class detail::LazyImpl<LazyBatchNorm1dImpl, BatchNorm1dImpl>;
template class detail::LazyImpl<LazyBatchNorm2dImpl, BatchNorm2dImpl>;
template class detail::LazyImpl<LazyBatchNorm3dImpl, BatchNorm3dImpl>;
template class detail::LazyImpl<LazyInstanceNorm1dImpl, InstanceNorm1dImpl>;
template class detail::LazyImpl<LazyInstanceNorm2dImpl, InstanceNorm2dImpl>;
template class detail::LazyImpl<LazyInstanceNorm3dImpl, InstanceNorm3dImpl>;

}  // namespace torch::nn
