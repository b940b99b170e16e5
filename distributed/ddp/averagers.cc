#include "distributed/ddp/averagers.h"

#include <map>
#include <tuple>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "distributed/ddp/comm.h"

namespace torch::distributed::algorithms {
namespace {

using at::Tensor;

void check(const char* name, int64_t period, int64_t warmup_steps) {
  TORCH_CHECK_VALUE(warmup_steps >= 0, name, ": Arg ``warmup_steps`` must be a non-negative number, but is ",
                    warmup_steps);
  TORCH_CHECK_VALUE(period >= 1, name, ": Arg ``period`` must be a positive value, but is ", period);
}

}  // namespace

void average_parameters(const std::vector<Tensor>& params,
                        const c10::intrusive_ptr<c10d::ProcessGroup>& process_group) {
  const c10::NoGradGuard no_grad;
  std::map<std::pair<c10::ScalarType, std::string>, std::vector<Tensor>> by_kind;
  for (const Tensor& p : params) {
    if (p.grad().defined()) by_kind[{p.scalar_type(), p.device().str()}].push_back(p);
  }
  for (const auto& [kind, tensors] : by_kind) {
    std::vector<Tensor> flat;
    for (const Tensor& t : tensors) flat.push_back(at::reshape(t, {-1}));
    std::vector<Tensor> all{at::cat(flat)};
    all[0].div_(process_group->getSize());
    process_group->allreduce(all)->wait();
    int64_t at = 0;
    for (const Tensor& t : tensors) {
      t.copy_(at::view(at::narrow(all[0], 0, at, t.numel()), t.sizes()));
      at += t.numel();
    }
  }
}

void ModelAverager::average_parameters(const std::vector<torch::optim::OptimizerParamGroup>& groups) {
  std::vector<Tensor> params;
  for (const auto& group : groups) params.insert(params.end(), group.params().begin(), group.params().end());
  average_parameters(params);
}

PeriodicModelAverager::PeriodicModelAverager(int64_t period, int64_t warmup_steps,
                                             c10::intrusive_ptr<c10d::ProcessGroup> process_group)
    : period_(period),
      warmup_steps_(warmup_steps),
      group_(c10d::group_or_default(std::move(process_group), "PeriodicModelAverager")) {
  check("PeriodicModelAverager", period, warmup_steps);
  if (period == 1) {
    TORCH_WARN(
        "PeriodicModelAverager: with a period of 1 gradients could be averaged as well, by DistributedDataParallel");
  }
}

void PeriodicModelAverager::average_parameters(const std::vector<Tensor>& params) {
  if (step >= warmup_steps_ && (step - warmup_steps_) % period_ == 0) {
    algorithms::average_parameters(params, group_);
  }
  ++step;
}

HierarchicalModelAverager::HierarchicalModelAverager(Groups groups, int64_t warmup_steps)
    : groups_(std::move(groups)), warmup_steps_(warmup_steps) {
  TORCH_CHECK_VALUE(!groups_.empty(), "HierarchicalModelAverager: expected one group or more");
  for (size_t i = 0; i < groups_.size(); ++i) {
    check("HierarchicalModelAverager", groups_[i].first, warmup_steps);
    TORCH_CHECK(groups_[i].second, "HierarchicalModelAverager: expected a process group for period ", groups_[i].first);
    TORCH_CHECK_VALUE(i == 0 || (groups_[i].first > groups_[i - 1].first &&
                                 groups_[i].second->getSize() > groups_[i - 1].second->getSize()),
                      "HierarchicalModelAverager: periods and sizes of groups must grow, but after period ",
                      groups_[i == 0 ? 0 : i - 1].first, " comes ", groups_[i].first, " with ",
                      groups_[i].second->getSize(), " ranks");
  }
}

void HierarchicalModelAverager::average_parameters(const std::vector<Tensor>& params) {
  if (step >= warmup_steps_) {
    for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
      if ((step - warmup_steps_) % group->first != 0) continue;
      algorithms::average_parameters(params, group->second);
      break;
    }
  }
  ++step;
}

PostLocalSGDOptimizer::PostLocalSGDOptimizer(std::shared_ptr<torch::optim::Optimizer> optim,
                                             std::shared_ptr<ModelAverager> averager)
    : optim_(std::move(optim)), averager_(std::move(averager)) {
  TORCH_CHECK(optim_ != nullptr && averager_ != nullptr,
              "PostLocalSGDOptimizer: expected an optimizer and an averager");
}

Tensor PostLocalSGDOptimizer::step(torch::optim::Optimizer::LossClosure closure) {
  Tensor loss = optim_->step(std::move(closure));
  averager_->average_parameters(optim_->param_groups());
  return loss;
}

torch::optim::StateDict PostLocalSGDOptimizer::state_dict() const {
  torch::optim::StateDict state = optim_->state_dict();
  state.set("step", averager_->step);
  return state;
}

void PostLocalSGDOptimizer::load_state_dict(const torch::optim::StateDict& state) {
  torch::optim::StateDict of_optimizer = state.clone();
  const bool has_step = of_optimizer.erase("step");
  optim_->load_state_dict(of_optimizer);
  if (!has_step) {
    TORCH_WARN("PostLocalSGDOptimizer: the state has no number of steps; the averager counts from 0 again");
  }
  averager_->step = has_step ? torch::optim::checked_count(state.at("step"), "step") : 0;
}

}  // namespace torch::distributed::algorithms
