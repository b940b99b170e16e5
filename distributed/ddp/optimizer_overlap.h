// Parameters that are stepped as soon as their gradients are reduced, while backward goes on.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "distributed/ddp/comm.h"
#include "distributed/ddp/distributed_data_parallel.h"
#include "optim/optimizer.h"

namespace c10d {

/// Runs another hook, then `step(parameter, gradient)` for each parameter of the bucket, on a thread of the process
/// group.
class OptimizerOverlapCommHook : public CommHookInterface {
 public:
  using Step = std::function<void(const at::Tensor& parameter, const at::Tensor& gradient)>;
  OptimizerOverlapCommHook(std::unique_ptr<CommHookInterface> hook, Step step);
  c10::intrusive_ptr<c10::ivalue::Future> runHook(GradBucket& bucket) override;
  void finishRounds() override { hook_->finishRounds(); }
  at::Tensor parseHookResult(const c10::IValue& result) override { return detail::parseCppCommHookResult(result); }

 private:
  const std::shared_ptr<CommHookInterface> hook_;
  const std::shared_ptr<Step> step_;
};

/// Steps each parameter of `ddp` in backward with an optimizer of its own of the class Optimizer, made from `options`.
/// grad() stays undefined. To be called instead of register_comm_hook(); `hook` is by default an AllReduceCommHook.
/// Returns the optimizers in the order of ddp.parameters(), for their settings and states.
///
///   auto optimizers = c10d::register_optimizer_overlap<torch::optim::SGD>(*ddp, torch::optim::SGDOptions(0.1));
///   loss(ddp(x)).backward();     // parameters are those of the next step
template <class Optimizer, class Options>
std::vector<std::shared_ptr<Optimizer>> register_optimizer_overlap(
    torch::nn::parallel::DistributedDataParallelBase& ddp, const Options& options,
    std::unique_ptr<CommHookInterface> hook = nullptr) {
  std::vector<std::shared_ptr<Optimizer>> optimizers;
  auto by_parameter = std::make_shared<std::unordered_map<c10::TensorImpl*, std::shared_ptr<Optimizer>>>();
  for (const at::Tensor& p : ddp.parameters()) {
    if (!p.requires_grad()) continue;
    optimizers.push_back(std::make_shared<Optimizer>(std::vector<at::Tensor>{p}, options));
    (*by_parameter)[p.unsafeGetTensorImpl()] = optimizers.back();
  }
  if (hook == nullptr) hook = std::make_unique<AllReduceCommHook>(ddp.process_group());
  ddp.reducer()->set_optimizer_in_backward();
  ddp.register_comm_hook(std::make_unique<OptimizerOverlapCommHook>(
                             std::move(hook),
                             [by_parameter](const at::Tensor& parameter, const at::Tensor& gradient) {
                               const auto found = by_parameter->find(parameter.unsafeGetTensorImpl());
                               if (found == by_parameter->end()) return;
                               parameter.mutable_grad() = gradient;
                               found->second->step();
                               parameter.mutable_grad() = at::Tensor();
                             }),
                         "optimizer_overlap");
  return optimizers;
}

}  // namespace c10d
