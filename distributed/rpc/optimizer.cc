#include "distributed/rpc/optimizer.h"

#include <exception>
#include <map>
#include <unordered_map>

#include "c10/util/exception.h"
#include "distributed/process_group/rank_local.h"
#include "distributed/rpc/autograd.h"
#include "distributed/rpc/functions.h"
#include "distributed/rpc/rpc.h"

namespace torch::distributed::optim {
namespace {

using at::Tensor;
using c10::IValue;
using detail::LocalOptimizer;
using detail::LocalOptimizerPtr;
using rpc::RRefPtr;

struct Classes {
  std::mutex mutex;
  std::unordered_map<std::string, detail::MakeOptimizer> by_name;
};
// Never destroyed, as the functions of RPC.
Classes& classes() {
  static auto* const all = new Classes;
  return *all;
}

// Of a worker: one step at a time.
struct Steps {
  std::mutex mutex;
};

LocalOptimizerPtr make_local(std::string name, IValue options, std::vector<RRefPtr> parameters) {
  detail::MakeOptimizer make;
  {
    Classes& all = classes();
    const std::lock_guard<std::mutex> lock(all.mutex);
    const auto found = all.by_name.find(name);
    TORCH_CHECK_VALUE(found != all.by_name.end(),
                      "DistributedOptimizer: this worker's program has no DistributedOptimizer<", name, ">");
    make = found->second;
  }
  auto local = std::make_shared<LocalOptimizer>();
  for (const RRefPtr& parameter : parameters) local->parameters.push_back(parameter->local_value().toTensor());
  local->optimizer = make(local->parameters, options);
  return local;
}

void step_local(LocalOptimizerPtr local, int64_t context_id) {
  const c10::Dict<Tensor, Tensor> grads = autograd::get_gradients(context_id);
  const std::lock_guard<std::mutex> lock(c10d::RankLocal<Steps>::get().mutex);
  std::vector<Tensor> before;
  for (const Tensor& parameter : local->parameters) {
    before.push_back(parameter.grad());
    const auto found = grads.find(parameter);
    parameter.mutable_grad() = found == grads.end() ? Tensor() : found->value();
  }
  const auto restore = [&] {
    for (size_t i = 0; i < before.size(); ++i) local->parameters[i].mutable_grad() = before[i];
  };
  try {
    local->optimizer->step();
  } catch (...) {
    restore();
    throw;
  }
  restore();
}

[[maybe_unused]] const bool functions_are_known = [] {
  rpc::register_function("DistributedOptimizer", &make_local);
  rpc::register_function("DistributedOptimizer.check", [](LocalOptimizerPtr) {});
  rpc::register_function("DistributedOptimizer.step", &step_local);
  return true;
}();

}  // namespace

namespace detail {
void register_optimizer(const std::string& name, MakeOptimizer make) {
  Classes& all = classes();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.by_name.insert_or_assign(name, std::move(make));
}
}  // namespace detail

DistributedOptimizerBase::DistributedOptimizerBase(const std::string& name, const std::vector<RRefPtr>& parameters,
                                                   const IValue& options) {
  TORCH_CHECK_VALUE(!parameters.empty(), "DistributedOptimizer: there are no parameters");
  std::map<rpc::worker_id_t, std::vector<RRefPtr>> by_owner;
  for (size_t i = 0; i < parameters.size(); ++i) {
    TORCH_CHECK_VALUE(parameters[i].defined(), "DistributedOptimizer: parameter ", i, " is no reference");
    by_owner[parameters[i]->owner()].push_back(parameters[i]);
  }
  for (const auto& [owner, own] : by_owner)
    optimizers_.push_back(rpc::remote(static_cast<int64_t>(owner), "DistributedOptimizer", {name, options, own}));
  // What is wrong with the parameters or the settings is said here, not by the first step.
  std::vector<rpc::FuturePtr> made;
  for (const RRefPtr& optimizer : optimizers_) made.push_back(optimizer->rpc_async("DistributedOptimizer.check"));
  for (const rpc::FuturePtr& future : made) future->wait();
  for (const rpc::FuturePtr& future : made) future->waitAndThrow();
}

void DistributedOptimizerBase::step(int64_t context_id) {
  std::vector<rpc::FuturePtr> steps;
  for (const RRefPtr& optimizer : optimizers_)
    steps.push_back(optimizer->rpc_async("DistributedOptimizer.step", {context_id}));
  for (const rpc::FuturePtr& step : steps) step->wait();
  for (const rpc::FuturePtr& step : steps) step->waitAndThrow();
}

}  // namespace torch::distributed::optim
