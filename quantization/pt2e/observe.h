// The operator that observes: quantization::observe(Tensor(a) x, Observer observer) -> Tensor(a).
#pragma once

#include <memory>

#include "aten/core/custom_class.h"
#include "c10/value/ivalue.h"
#include "graph/ir/graph.h"
#include "quantization/observers/observer.h"

namespace torch::quantization {

/// An observer as a constant of a node.
struct ObserverHandle final : CustomClassHolder {
  explicit ObserverHandle(std::shared_ptr<ObserverBase> observer) : module(std::move(observer)) {}
  std::shared_ptr<ObserverBase> module;
};

c10::IValue observer_value(std::shared_ptr<ObserverBase> observer);
/// That of a node that observes; null for other nodes.
std::shared_ptr<ObserverBase> observer_of(const graph::Node& node);

/// Qparams that are computed from those of other observers.
class DerivedObserverImpl : public ObserverBase {
 public:
  using Derive = std::function<QParams(const std::vector<std::shared_ptr<ObserverBase>>&)>;
  DerivedObserverImpl(const ObserverOptions& options, std::vector<std::shared_ptr<ObserverBase>> from, Derive derive);
  at::Tensor forward(const at::Tensor& x) override { return x; }
  QParams calculate_qparams() override { return derive_(from_); }

 private:
  std::vector<std::shared_ptr<ObserverBase>> from_;
  Derive derive_;
};

}  // namespace torch::quantization
