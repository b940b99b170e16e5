#include "quantization/eager/stubs.h"

#include <utility>

#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/unary/ops.h"
#include "c10/util/exception.h"
#include "nn/layers/linear.h"
#include "nn/module/replacement.h"

namespace torch::quantization {

using at::Tensor;

namespace {
struct Chosen {
  std::optional<QConfig> qconfig;
};
}  // namespace

void set_qconfig(nn::Module& module, std::optional<QConfig> qconfig) {
  nn::attach(module, std::make_shared<const Chosen>(Chosen{std::move(qconfig)}));
}
void remove_qconfig(nn::Module& module) {
  if (qconfig_of(module) != nullptr) nn::attach<Chosen>(module, nullptr);
}
const std::optional<QConfig>* qconfig_of(const nn::Module& module) {
  const Chosen* const chosen = nn::attached<Chosen>(module);
  return chosen == nullptr ? nullptr : &chosen->qconfig;
}

QuantWrapperImpl::QuantWrapperImpl(nn::AnyModule of)
    : quant_(QuantStub()), module_(std::move(of)), dequant_(DeQuantStub()) {
  TORCH_CHECK_VALUE(!module_.is_empty(), "QuantWrapper: expected a module, but got none");
  for (const char* name : {"quant", "dequant", "module"}) register_module(name, part(name).ptr());
  train(module_.ptr()->is_training());
}
nn::AnyModule& QuantWrapperImpl::part(const std::string& name) {
  TORCH_CHECK(name == "quant" || name == "module" || name == "dequant", "QuantWrapper has no attribute `", name, "`");
  return name == "quant" ? quant_ : name == "module" ? module_ : dequant_;
}
Tensor QuantWrapperImpl::forward(const Tensor& x) {
  return dequant_.forward(module_.forward(quant_.forward(x)));
}
std::shared_ptr<nn::Module> QuantWrapperImpl::clone(const std::optional<c10::Device>& device) const {
  const nn::detail::Cloning cloning(*this);
  if (auto made = cloning.made()) return made;
  auto copy = std::make_shared<QuantWrapperImpl>(module_.clone(device));
  copy->set_submodule("quant", quant_.clone(device));
  copy->set_submodule("dequant", dequant_.clone(device));
  return cloning.finish(copy);
}
void QuantWrapperImpl::on_set_child(const std::string& name, const std::shared_ptr<nn::Module>& child) {
  TORCH_CHECK(part(name).rebind(child), "QuantWrapper: submodule '", name,
              "' can be replaced by a module of another type only as an AnyModule");
}
void QuantWrapperImpl::on_set_any_child(const std::string& name, const nn::AnyModule& child) {
  part(name) = child;
}

}  // namespace torch::quantization

namespace torch::nn::quantized {

using at::Tensor;

namespace {

Tensor binary(const char* name, const Tensor& x, const Tensor& y, double scale, int64_t zero_point) {
  return detail::call(name, "", {x, y, scale, zero_point})[0].toTensor();
}
Tensor with_number(const char* name, const Tensor& x, double y) {
  return detail::call(name, "", {x, c10::Scalar(y)})[0].toTensor();
}

}  // namespace

void FloatFunctionalImpl::reset() {
  register_module("activation_post_process", Identity());
}
std::shared_ptr<Module> FloatFunctionalImpl::clone(const std::optional<c10::Device>& device) const {
  const nn::detail::Cloning cloning(*this);
  if (auto made = cloning.made()) return made;
  auto copy = std::make_shared<FloatFunctionalImpl>(*this);
  // An observer, or none.
  copy->replace_module("activation_post_process", children_["activation_post_process"]->clone(device));
  if (quantized_ != nullptr) copy->quantized_ = std::dynamic_pointer_cast<QFunctionalImpl>(quantized_->clone(device));
  return cloning.finish(copy);
}
Tensor FloatFunctionalImpl::observed(Tensor result) {
  const auto* const child = children_.find("activation_post_process");
  auto* const observer = child == nullptr ? nullptr : dynamic_cast<quantization::ObserverBase*>(child->get());
  return observer == nullptr ? result : observer->forward(result);
}
Tensor FloatFunctionalImpl::add(const Tensor& x, const Tensor& y) {
  return quantized_ != nullptr ? quantized_->add(x, y) : observed(at::add(x, y));
}
Tensor FloatFunctionalImpl::add_scalar(const Tensor& x, double y) {
  return quantized_ != nullptr ? quantized_->add_scalar(x, y) : at::add(x, c10::Scalar(y));
}
Tensor FloatFunctionalImpl::mul(const Tensor& x, const Tensor& y) {
  return quantized_ != nullptr ? quantized_->mul(x, y) : observed(at::mul(x, y));
}
Tensor FloatFunctionalImpl::mul_scalar(const Tensor& x, double y) {
  return quantized_ != nullptr ? quantized_->mul_scalar(x, y) : at::mul(x, c10::Scalar(y));
}
Tensor FloatFunctionalImpl::cat(const std::vector<Tensor>& x, int64_t dim) {
  return quantized_ != nullptr ? quantized_->cat(x, dim) : observed(at::cat(x, dim));
}
Tensor FloatFunctionalImpl::add_relu(const Tensor& x, const Tensor& y) {
  return quantized_ != nullptr ? quantized_->add_relu(x, y) : observed(at::relu(at::add(x, y)));
}
Tensor FloatFunctionalImpl::matmul(const Tensor& x, const Tensor& y) {
  return quantized_ != nullptr ? quantized_->matmul(x, y) : observed(at::matmul(x, y));
}
Tensor FloatFunctionalImpl::forward(const Tensor&) {
  TORCH_CHECK(false, "FloatFunctional is not intended to use the 'forward'. Please use the underlying operation");
  __builtin_unreachable();
}

Tensor QFunctionalImpl::add(const Tensor& x, const Tensor& y) {
  return binary("quantized::add", x, y, scale, zero_point);
}
Tensor QFunctionalImpl::add_scalar(const Tensor& x, double y) {
  return with_number("quantized::add_scalar", x, y);
}
Tensor QFunctionalImpl::mul(const Tensor& x, const Tensor& y) {
  return binary("quantized::mul", x, y, scale, zero_point);
}
Tensor QFunctionalImpl::mul_scalar(const Tensor& x, double y) {
  return with_number("quantized::mul_scalar", x, y);
}
Tensor QFunctionalImpl::cat(const std::vector<Tensor>& x, int64_t dim) {
  return detail::call("quantized::cat", "", {x, dim, scale, zero_point})[0].toTensor();
}
Tensor QFunctionalImpl::add_relu(const Tensor& x, const Tensor& y) {
  return binary("quantized::add_relu", x, y, scale, zero_point);
}
Tensor QFunctionalImpl::matmul(const Tensor& x, const Tensor& y) {
  return binary("quantized::matmul", x, y, scale, zero_point);
}
Tensor QFunctionalImpl::forward(const Tensor&) {
  TORCH_CHECK(false, "Functional is not intended to use the 'forward'. Please use the underlying operation");
  __builtin_unreachable();
}

}  // namespace torch::nn::quantized
