#include "quantization/pt2e/observe.h"

#include "aten/core/library.h"
#include "c10/util/exception.h"

namespace torch::quantization {

namespace {
at::Tensor observe(const at::Tensor& x, const c10::intrusive_ptr<ObserverHandle>& observer) {
  return observer->module->forward(x);
}
}  // namespace

TORCH_LIBRARY(quantization, m) {
  m.class_<ObserverHandle>("Observer");
  m.def("observe(Tensor(a) x, __torch__.torch.classes.quantization.Observer observer) -> Tensor(a)", &observe);
}

c10::IValue observer_value(std::shared_ptr<ObserverBase> observer) {
  return make_custom_class<ObserverHandle>(std::move(observer));
}

std::shared_ptr<ObserverBase> observer_of(const graph::Node& node) {
  if (!node.calls("quantization::observe") || !node.operand(1).is_constant()) return nullptr;
  return node.operand(1).constant().toCustomClass<ObserverHandle>()->module;
}

DerivedObserverImpl::DerivedObserverImpl(const ObserverOptions& options,
                                         std::vector<std::shared_ptr<ObserverBase>> from, Derive derive)
    : ObserverBase(options), from_(std::move(from)), derive_(std::move(derive)) {
  TORCH_CHECK_VALUE(derive_ != nullptr, "DerivedQuantizationSpec: expected a derive_qparams_fn, but got none");
}

}  // namespace torch::quantization
