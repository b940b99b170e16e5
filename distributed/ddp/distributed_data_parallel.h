// A module trained by several ranks, each with a part of the batch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/arg.h"
#include "c10/util/intrusive_ptr.h"
#include "distributed/ddp/comm.h"
#include "distributed/ddp/join.h"
#include "distributed/ddp/logger.h"
#include "distributed/ddp/reducer.h"
#include "distributed/process_group/process_group.h"
#include "nn/module/module.h"
#include "nn/module/module_call.h"
#include "nn/module/module_holder.h"

namespace torch::nn::parallel {

/// Settings of DistributedDataParallel.
struct DistributedDataParallelOptions {
  DistributedDataParallelOptions() = default;
  DistributedDataParallelOptions(c10::intrusive_ptr<c10d::ProcessGroup> process_group)
      : process_group_(std::move(process_group)) {}

  /// The ranks that train together. None: the default group.
  TORCH_ARG(c10::intrusive_ptr<c10d::ProcessGroup>, process_group);
  /// Whether every forward pass begins with rank 0's buffers on all ranks.
  TORCH_ARG(bool, broadcast_buffers) = true;
  /// Whether parameters are compared, and parameters and buffers taken from rank 0, in the beginning.
  TORCH_ARG(bool, init_sync) = true;
  /// The size of buckets in MiB (the first has 1 MiB, or this, where it is less).
  TORCH_ARG(double, bucket_cap_mb) = 25;
  /// Whether a forward pass may leave parameters out: their gradients count as zeros, and a parameter that no rank used
  /// keeps the gradient it had. Costs a walk over the graph, and buckets keep their first order.
  TORCH_ARG(bool, find_unused_parameters) = false;
  /// Whether gradients are parts of buckets. False: copies, which take as much memory again.
  TORCH_ARG(bool, gradient_as_bucket_view) = true;
  /// Whether all iterations use the same parameters as often as the first: allows unused parameters at no cost after
  /// it, and parts of the model that re-entrant checkpoints run several times.
  TORCH_ARG(bool, static_graph) = false;
  /// With find_unused_parameters: buckets without a used parameter are not sent. All ranks must leave out the same
  /// ones.
  TORCH_ARG(bool, skip_all_reduce_unused_params) = false;
  /// Whether state_dict() has "module." before the names, as Python's. Both forms are loaded.
  TORCH_ARG(bool, state_dict_prefix) = false;
  /// Full names of parameters that are left alone.
  TORCH_ARG(std::vector<std::string>, parameters_to_ignore);
};

/// What DistributedDataParallel does for modules of any type.
class DistributedDataParallelBase : public Module, public torch::distributed::algorithms::Joinable {
 public:
  /// While it lives, backward passes accumulate into grad() of this rank only. Of what follows a forward pass the mode
  /// at that pass counts.
  class NoSync {
   public:
    explicit NoSync(DistributedDataParallelBase& ddp) : ddp_(&ddp), before_(ddp.requires_sync_) {
      ddp.requires_sync_ = false;
    }
    NoSync(NoSync&& other) noexcept : ddp_(std::exchange(other.ddp_, nullptr)), before_(other.before_) {}
    NoSync& operator=(NoSync&&) = delete;
    ~NoSync() {
      if (ddp_ != nullptr) ddp_->requires_sync_ = before_;
    }

   private:
    DistributedDataParallelBase* ddp_;
    bool before_;
  };
  [[nodiscard]] NoSync no_sync() { return NoSync(*this); }

  /// Once, before the first backward pass. `name` is for the logging data.
  void register_comm_hook(std::unique_ptr<c10d::CommHookInterface> hook, const std::string& name = "custom");
  void register_builtin_comm_hook(c10d::BuiltinCommHookType type);
  /// As the option; before the first forward pass.
  void set_static_graph();
  /// After a backward pass that failed: what it left is forgotten, gradients are as it left them.
  void reset_state() { reducer_->reset_state(); }
  /// Parameters and buffers become those of rank `source`.
  void sync_module_states(int source = 0);

  const c10::intrusive_ptr<c10d::ProcessGroup>& process_group() const { return options_.process_group(); }
  const std::shared_ptr<c10d::Reducer>& reducer() const { return reducer_; }
  const std::shared_ptr<c10d::Logger>& logger() const { return logger_; }
  c10::DDPLoggingData get_ddp_logging_data() const { return logger_->get_ddp_logging_data(); }
  const DistributedDataParallelOptions& options() const { return options_; }

  std::unique_ptr<torch::distributed::algorithms::JoinHook> join_hook(
      const torch::distributed::algorithms::JoinOptions& options) override;
  c10::Device join_device() const override;
  c10::intrusive_ptr<c10d::ProcessGroup> join_process_group() const override { return process_group(); }

 protected:
  explicit DistributedDataParallelBase(DistributedDataParallelOptions options);
  void wrap(const std::shared_ptr<Module>& module);
  void before_forward();
  void after_forward(const std::vector<at::Tensor>& outputs, bool has_visible_outputs);

 private:
  class ShadowHook;
  void sync_buffers();
  bool is_another_syncing(bool mine);

  DistributedDataParallelOptions options_;
  std::shared_ptr<Module> wrapped_;
  std::vector<at::Tensor> params_, buffers_;
  std::shared_ptr<c10d::Reducer> reducer_;
  std::shared_ptr<c10d::Logger> logger_;
  bool requires_sync_ = true;          // gradients are reduced
  bool requires_forward_sync_ = true;  // buffers are, since the last gradients were
};

/// See DistributedDataParallel.
template <typename M>
class DistributedDataParallelImpl : public DistributedDataParallelBase {
 public:
  DistributedDataParallelImpl(std::shared_ptr<M> module_, DistributedDataParallelOptions options)
      : DistributedDataParallelBase(std::move(options)), module(std::move(module_)) {
    wrap(module);
  }
  explicit DistributedDataParallelImpl(const ModuleHolder<M>& holder, DistributedDataParallelOptions options)
      : DistributedDataParallelImpl(holder.ptr(), std::move(options)) {}

  /// Calls the module, and makes ready to average the gradients of the backward pass that follows.
  template <typename... Args>
  auto forward(Args&&... args) {
    using R = decltype(call_module(*module, std::forward<Args>(args)...));
    static_assert(!std::is_void_v<R>, "DistributedDataParallel: forward of the module returns nothing");
    before_forward();
    std::remove_cvref_t<R> result = call_module(*module, std::forward<Args>(args)...);
    constexpr bool kIsVisible = detail::TensorsOf<std::remove_cvref_t<R>>::any;
    std::vector<at::Tensor> outputs;
    if constexpr (kIsVisible) {
      detail::TensorWalk walk(outputs, /*writes=*/false);
      detail::walk_tensors(walk, result);
    }
    after_forward(outputs, kIsVisible);
    return result;
  }

  const std::shared_ptr<M> module;
};

/// Data-parallel training: every rank has the whole module and computes on its own part of the batch; gradients are
/// averaged over the ranks while backward computes the next ones.
///
///   auto net = Net();
///   torch::nn::parallel::DistributedDataParallel ddp(net, {group});
///   torch::optim::SGD sgd(ddp->parameters(), 0.1);
///   for (...) {
///     loss(ddp(part_of(batch)), targets).backward();   // grad() is the mean over the ranks
///     sgd.step();
///     sgd.zero_grad();
///   }
///   { auto only_here = ddp->no_sync(); loss(ddp(x)).backward(); }   // accumulates without communication
///
/// All ranks construct it, with the same module (else all throw and say which parameter of which rank differs), and all
/// call forward and backward equally often (or see Join). Parameters and buffers are rank 0's from then on. Parameters
/// must not be replaced afterwards, and dtypes, devices and requires_grad not changed. Each gradient is divided by the
/// number of ranks, then they are added: with a loss that is a mean over its part, that is the gradient of the mean
/// over all parts of equal size.
///
/// forward() finds outputs in tensors, tuples, pairs, vectors, maps and optionals of them, and in classes with
/// for_each_tensor (nn/module/module_call.h).
///
/// When a rank dies, stalls or disagrees, backward (or forward) of all others throws within the group's timeout; the
/// text says which parameters were being reduced and which rank was waited for. A forward pass after a backward pass
/// that did not bring all gradients throws and names the parameters.
template <typename M>
class DistributedDataParallel : public ModuleHolder<DistributedDataParallelImpl<M>> {
 public:
  using Impl = DistributedDataParallelImpl<M>;
  using ModuleHolder<Impl>::ModuleHolder;
  DistributedDataParallel(std::shared_ptr<M> module, DistributedDataParallelOptions options)
      : ModuleHolder<Impl>(std::make_shared<Impl>(std::move(module), std::move(options))) {}
  DistributedDataParallel(const ModuleHolder<M>& module, DistributedDataParallelOptions options)
      : ModuleHolder<Impl>(std::make_shared<Impl>(module.ptr(), std::move(options))) {}
};
template <typename M>
DistributedDataParallel(std::shared_ptr<M>, DistributedDataParallelOptions) -> DistributedDataParallel<M>;
template <typename M>
DistributedDataParallel(const ModuleHolder<M>&, DistributedDataParallelOptions) -> DistributedDataParallel<M>;

}  // namespace torch::nn::parallel
