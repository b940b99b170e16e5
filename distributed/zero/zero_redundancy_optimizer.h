// An optimizer whose state is spread over the ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/arg.h"
#include "distributed/ddp/comm.h"
#include "distributed/ddp/distributed_data_parallel.h"
#include "distributed/ddp/join.h"
#include "distributed/process_group/process_group.h"
#include "optim/optimizer.h"

namespace torch::distributed::optim {

/// Settings of ZeroRedundancyOptimizer.
struct ZeroRedundancyOptions {
  ZeroRedundancyOptions() = default;
  ZeroRedundancyOptions(c10::intrusive_ptr<c10d::ProcessGroup> process_group)
      : process_group_(std::move(process_group)) {}

  /// The ranks that the state is spread over. None: the default group.
  TORCH_ARG(c10::intrusive_ptr<c10d::ProcessGroup>, process_group);
  /// Whether parameters become parts of flat tensors, one a rank and dtype, that are sent as they are.
  TORCH_ARG(bool, parameters_as_bucket_view) = false;
  /// Whether parameters are stepped and sent in backward, bucket by bucket (hook_with_zero_step).
  TORCH_ARG(bool, overlap_with_ddp) = false;
};

/// What ZeroRedundancyOptimizer does with optimizers of any class.
class ZeroRedundancyOptimizerBase : public torch::optim::Optimizer, public torch::distributed::algorithms::Joinable {
 public:
  /// Steps this rank's parameters, and sends each rank's to all. In overlap mode nothing is left to do.
  at::Tensor step(LossClosure closure = nullptr) override;

  /// On all ranks: brings the state of all to rank `to`, where state_dict() then gives the plain optimizer's. It is
  /// kept until the next step.
  void consolidate_state_dict(int to = 0);

  /// The rank whose optimizer has the parameter.
  int owner_of(const at::Tensor& parameter) const;
  /// How many elements of parameters each rank steps.
  const std::vector<int64_t>& load_of_ranks() const { return load_; }
  /// How many elements the state of this rank's part has.
  int64_t local_state_numel() const;

  std::unique_ptr<torch::distributed::algorithms::JoinHook> join_hook(
      const torch::distributed::algorithms::JoinOptions& options) override;
  c10::Device join_device() const override { return param_groups_.at(0).params().at(0).device(); }
  c10::intrusive_ptr<c10d::ProcessGroup> join_process_group() const override { return zero_.process_group(); }

  /// For the hook of overlap mode: steps those of the parameters that this rank has, whose gradients are given, and
  /// starts sending all.
  std::vector<std::function<void()>> step_and_send(const std::vector<at::Tensor>& params,
                                                   const std::vector<at::Tensor>& gradients);
  bool overlaps_with_ddp() const { return zero_.overlap_with_ddp(); }

 protected:
  using MakeOptimizer =
      std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<torch::optim::OptimizerParamGroup>)>;
  ZeroRedundancyOptimizerBase(const std::vector<torch::optim::OptimizerParamGroup>& param_groups,
                              std::unique_ptr<torch::optim::OptimizerOptions> defaults, ZeroRedundancyOptions options,
                              MakeOptimizer make);

 private:
  // An optimizer of this rank, and the numbers of its parameters among all.
  struct Part {
    std::unique_ptr<torch::optim::Optimizer> optimizer;
    std::vector<int64_t> numbers;
    size_t group = 0;
  };
  // Parameters of one rank and dtype.
  struct Piece {
    int owner = 0;
    std::vector<at::Tensor> params;
    at::Tensor flat;  // that they are parts of, or undefined
  };

  void partition();
  void make_flat();
  void copy_options(Part& part);
  std::vector<Piece> pieces_of(const std::vector<at::Tensor>& params) const;
  std::function<void()> send(const Piece& piece) const;
  c10::IValue local_states() const;
  void check_consolidated() const;
  void put_states(torch::optim::StateDict& state) const;
  void take_states(torch::optim::StateDict& state);

  const ZeroRedundancyOptions zero_;
  const MakeOptimizer make_;
  size_t partitioned_ = 0;  // groups
  std::vector<int64_t> load_;
  std::unordered_map<c10::TensorImpl*, int> owners_;
  std::vector<Part> parts_;
  std::unordered_map<c10::TensorImpl*, size_t> part_of_;  // in overlap mode, which has a part for each parameter
  std::vector<Piece> pieces_;
  std::vector<c10::IValue> consolidated_;  // by rank
};

/// Steps the parameters as an optimizer of the class Inner would, with state for a part of them only on each rank:
/// ZeRO's first stage (Rajbhandari et al. 2020). Each group's parameters, largest first, go to the rank that has the
/// fewest elements so far; a rank steps its own and all get them from it. Gradients must be the same on all ranks, as
/// DistributedDataParallel makes them.
///
///   using Zero = torch::distributed::optim::ZeroRedundancyOptimizer<torch::optim::Adam>;
///   Zero zero(ddp->parameters(), torch::optim::AdamOptions(1e-3), {group});
///   ...
///   zero.step();
///   zero.consolidate_state_dict();                            // on all ranks
///   if (rank == 0) torch::save(..., zero.state_dict());       // as the plain Adam's
///
/// Settings of param_groups() count at the next step, so schedules work. state_dict() throws where the state is not
/// consolidated; load_state_dict() takes a plain optimizer's on all ranks, and keeps this rank's part. Settings have no
/// effect on which rank has what. All parameters must be dense.
template <class Inner>
class ZeroRedundancyOptimizer : public ZeroRedundancyOptimizerBase {
 public:
  template <class Options>
  ZeroRedundancyOptimizer(std::vector<at::Tensor> params, const Options& defaults, ZeroRedundancyOptions options)
      : ZeroRedundancyOptimizer(
            std::vector<torch::optim::OptimizerParamGroup>{torch::optim::OptimizerParamGroup(std::move(params))},
            defaults, std::move(options)) {}
  template <class Options>
  ZeroRedundancyOptimizer(const std::vector<torch::optim::OptimizerParamGroup>& param_groups, const Options& defaults,
                          ZeroRedundancyOptions options)
      : ZeroRedundancyOptimizerBase(param_groups, std::make_unique<Options>(defaults), std::move(options),
                                    [defaults](std::vector<torch::optim::OptimizerParamGroup> groups) {
                                      return std::make_unique<Inner>(std::move(groups), defaults);
                                    }) {}
};

/// A hook that reduces with `hook`, and then steps and sends the bucket's parameters with `zero`, which must have
/// overlap_with_ddp. Parameters are those of the next step when backward ends; zero.step() does nothing. From the first
/// iteration on.
///
///   ddp->register_comm_hook(hook_with_zero_step(std::make_unique<c10d::AllReduceCommHook>(group), *ddp, zero));
std::unique_ptr<c10d::CommHookInterface> hook_with_zero_step(std::unique_ptr<c10d::CommHookInterface> hook,
                                                             torch::nn::parallel::DistributedDataParallelBase& ddp,
                                                             ZeroRedundancyOptimizerBase& zero);

}  // namespace torch::distributed::optim
