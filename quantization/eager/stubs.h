// Where a model's numbers become bytes and numbers again, and the arithmetic between its layers.
#pragma once

#include <memory>
#include <vector>

#include "nn/module/any_module.h"
#include "nn/module/cloneable.h"
#include "nn/module/sequential.h"
#include "quantization/eager/quantized_layer.h"
#include "quantization/qconfig.h"

namespace torch::quantization {

/// How a module is quantized, where prepare() is given no mapping, and its children, where they have none of their own;
/// none: it stays float. Kept with the module, and with its clones, until convert().
void set_qconfig(nn::Module& module, std::optional<QConfig> qconfig);
/// Takes it away: the parent's counts again.
void remove_qconfig(nn::Module& module);
/// What was set, or propagated; null: nothing.
const std::optional<QConfig>* qconfig_of(const nn::Module& module);

/// Gives its input back until convert() puts nn::quantized::Quantize in its place.
class QuantStubImpl : public nn::Cloneable<QuantStubImpl> {
 public:
  QuantStubImpl() = default;
  /// With a QConfig of its own.
  explicit QuantStubImpl(QConfig qconfig) { set_qconfig(*this, std::move(qconfig)); }
  at::Tensor forward(const at::Tensor& x) { return x; }
  void reset() override {}
};
TORCH_MODULE(QuantStub);

/// Gives its input back until convert() puts nn::quantized::DeQuantize in its place.
class DeQuantStubImpl : public nn::Cloneable<DeQuantStubImpl> {
 public:
  DeQuantStubImpl() = default;
  explicit DeQuantStubImpl(QConfig qconfig) { set_qconfig(*this, std::move(qconfig)); }
  at::Tensor forward(const at::Tensor& x) { return x; }
  void reset() override {}
};
TORCH_MODULE(DeQuantStub);

/// A module, "module", with stubs before it, "quant", and behind it, "dequant".
class QuantWrapperImpl : public nn::Cloneable<QuantWrapperImpl> {
 public:
  explicit QuantWrapperImpl(nn::AnyModule module_);
  template <typename M>
  explicit QuantWrapperImpl(const nn::ModuleHolder<M>& holder) : QuantWrapperImpl(nn::AnyModule(holder)) {}
  at::Tensor forward(const at::Tensor& x);
  std::shared_ptr<nn::Module> clone(const std::optional<c10::Device>& device = std::nullopt) const override;
  void reset() override {}

 protected:
  void on_set_child(const std::string& name, const std::shared_ptr<nn::Module>& child) override;
  void on_set_any_child(const std::string& name, const nn::AnyModule& child) override;

 private:
  nn::AnyModule& part(const std::string& name);
  nn::AnyModule quant_, module_, dequant_;
};
TORCH_MODULE(QuantWrapper);

}  // namespace torch::quantization

namespace torch::nn::quantized {

class QFunctionalImpl;

/// Arithmetic as a module, so that its results are observed: one for each place where a model adds, multiplies or
/// concatenates. Its child activation_post_process sees the results; convert() makes a QFunctional of it, which this
/// one calls from then on.
///
///   y = skip->add(x, y);      // for at::add(x, y)
class FloatFunctionalImpl : public Cloneable<FloatFunctionalImpl> {
 public:
  FloatFunctionalImpl() { reset(); }
  at::Tensor add(const at::Tensor& x, const at::Tensor& y);
  /// Not observed: the quantized result has a scale that follows from x's.
  at::Tensor add_scalar(const at::Tensor& x, double y);
  at::Tensor mul(const at::Tensor& x, const at::Tensor& y);
  at::Tensor mul_scalar(const at::Tensor& x, double y);
  at::Tensor cat(const std::vector<at::Tensor>& x, int64_t dim = 0);
  at::Tensor add_relu(const at::Tensor& x, const at::Tensor& y);
  at::Tensor matmul(const at::Tensor& x, const at::Tensor& y);
  /// Throws c10::Error: there is nothing to call but the functions above.
  at::Tensor forward(const at::Tensor& x);
  std::shared_ptr<Module> clone(const std::optional<c10::Device>& device = std::nullopt) const override;
  void reset() override;

  /// Calls go there from now on.
  void call_instead(std::shared_ptr<QFunctionalImpl> quantized) { quantized_ = std::move(quantized); }

 private:
  at::Tensor observed(at::Tensor result);
  std::shared_ptr<QFunctionalImpl> quantized_;
};
TORCH_MODULE(FloatFunctional);

/// The same on quantized tensors. Results have the module's scale and zero point.
class QFunctionalImpl : public QuantizedLayer, public Cloneable<QFunctionalImpl> {
 public:
  explicit QFunctionalImpl(double scale_ = 1, int64_t zero_point_ = 0) : QuantizedLayer(scale_, zero_point_) {}
  at::Tensor add(const at::Tensor& x, const at::Tensor& y);
  at::Tensor add_scalar(const at::Tensor& x, double y);
  at::Tensor mul(const at::Tensor& x, const at::Tensor& y);
  at::Tensor mul_scalar(const at::Tensor& x, double y);
  at::Tensor cat(const std::vector<at::Tensor>& x, int64_t dim = 0);
  at::Tensor add_relu(const at::Tensor& x, const at::Tensor& y);
  at::Tensor matmul(const at::Tensor& x, const at::Tensor& y);
  at::Tensor forward(const at::Tensor& x);
  void reset() override {}
  std::string extra_repr() const override { return qparams_text(); }
};
TORCH_MODULE(QFunctional);

}  // namespace torch::nn::quantized
