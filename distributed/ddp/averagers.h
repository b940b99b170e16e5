// Parameters that are averaged over ranks now and then, and an optimizer that does that.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "distributed/process_group/process_group.h"
#include "optim/optimizer.h"
#include "optim/state_dict.h"

namespace torch::distributed::algorithms {

/// The parameters that have a gradient become their means over the group's ranks, in place. All ranks must have
/// gradients for the same ones.
void average_parameters(const std::vector<at::Tensor>& params,
                        const c10::intrusive_ptr<c10d::ProcessGroup>& process_group);

/// Says in which steps parameters are averaged, and with whom.
class ModelAverager {
 public:
  virtual ~ModelAverager() = default;
  /// One step: averages, or does not.
  virtual void average_parameters(const std::vector<at::Tensor>& params) = 0;
  void average_parameters(const std::vector<torch::optim::OptimizerParamGroup>& groups);

  /// How many steps there were.
  int64_t step = 0;
};

/// Averages in step `warmup_steps` (from 0 on) and then every `period` steps. Before that nothing happens: gradients
/// are averaged meanwhile (PostLocalSGDCommHook).
class PeriodicModelAverager : public ModelAverager {
 public:
  PeriodicModelAverager(int64_t period, int64_t warmup_steps, c10::intrusive_ptr<c10d::ProcessGroup> process_group);
  using ModelAverager::average_parameters;
  void average_parameters(const std::vector<at::Tensor>& params) override;

 private:
  const int64_t period_, warmup_steps_;
  const c10::intrusive_ptr<c10d::ProcessGroup> group_;
};

/// Averages with several groups, each every so many steps: with small ones often, with large ones seldom. Of those
/// whose period a step is a multiple of, counted from `warmup_steps` on, the one with the longest is taken.
///
///   HierarchicalModelAverager averager({{2, of_this_machine}, {8, of_all}}, 100);
class HierarchicalModelAverager : public ModelAverager {
 public:
  using Groups = std::vector<std::pair<int64_t, c10::intrusive_ptr<c10d::ProcessGroup>>>;
  /// `groups`: periods and the groups that this rank is in; both periods and sizes grow.
  explicit HierarchicalModelAverager(Groups groups, int64_t warmup_steps = 0);
  using ModelAverager::average_parameters;
  void average_parameters(const std::vector<at::Tensor>& params) override;

 private:
  const Groups groups_;
  const int64_t warmup_steps_;
};

/// Runs an optimizer, and then an averager on its parameters.
///
///   auto sgd = std::make_shared<torch::optim::SGD>(ddp->parameters(), 0.1);
///   PostLocalSGDOptimizer optimizer(sgd, std::make_shared<PeriodicModelAverager>(4, 100, group));
class PostLocalSGDOptimizer {
 public:
  PostLocalSGDOptimizer(std::shared_ptr<torch::optim::Optimizer> optim, std::shared_ptr<ModelAverager> averager);

  at::Tensor step(torch::optim::Optimizer::LossClosure closure = nullptr);
  void zero_grad(bool set_to_none = true) { optim_->zero_grad(set_to_none); }
  std::vector<torch::optim::OptimizerParamGroup>& param_groups() { return optim_->param_groups(); }
  void add_param_group(const torch::optim::OptimizerParamGroup& group) { optim_->add_param_group(group); }
  /// The optimizer's, and the averager's number of steps as "step".
  torch::optim::StateDict state_dict() const;
  /// Without a "step", with a warning, the averager counts from 0.
  void load_state_dict(const torch::optim::StateDict& state);

  torch::optim::Optimizer& optimizer() { return *optim_; }

 private:
  const std::shared_ptr<torch::optim::Optimizer> optim_;
  const std::shared_ptr<ModelAverager> averager_;
};

}  // namespace torch::distributed::algorithms
