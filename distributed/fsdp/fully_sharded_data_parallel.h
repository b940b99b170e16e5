// A module whose parameters are spread over the ranks, by the names of PyTorch's first interface.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/arg.h"
#include "c10/util/intrusive_ptr.h"
#include "distributed/fsdp/full_state_dict.h"
#include "distributed/fsdp/fully_shard.h"
#include "distributed/process_group/process_group.h"
#include "distributed/tensor/device_mesh.h"
#include "nn/module/module.h"
#include "nn/module/module_call.h"
#include "nn/module/module_holder.h"

namespace torch::distributed::fsdp {

/// FULL_SHARD: parameters are freed after forward and gathered again for backward. SHARD_GRAD_OP: they stay until the
/// gradients are there. NO_SHARD: every rank has all of them, and gradients are all-reduced. HYBRID_SHARD and
/// _HYBRID_SHARD_ZERO2: the first two within the second dimension of a mesh, replicated along the first.
enum class ShardingStrategy { FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD, _HYBRID_SHARD_ZERO2 };

/// When backward gathers the next module's parameters: while this one is computed with, which needs memory for both, or
/// when its own are freed, and only its gradients are on their way.
enum class BackwardPrefetch { BACKWARD_PRE, BACKWARD_POST };

/// What state_dict() holds: whole tensors, which takes all ranks, or the ranks' DTensors.
enum class StateDictType { FULL_STATE_DICT, SHARDED_STATE_DICT };

/// Dtypes of parameters, reductions and buffers in forward and backward; none: their own.
struct MixedPrecision {
  TORCH_ARG(std::optional<at::ScalarType>, param_dtype);
  TORCH_ARG(std::optional<at::ScalarType>, reduce_dtype);
  TORCH_ARG(std::optional<at::ScalarType>, buffer_dtype);
  /// Whether floating arguments of wrapped modules are cast to param_dtype, and of the outermost one.
  TORCH_ARG(bool, cast_forward_inputs) = false;
  TORCH_ARG(bool, cast_root_forward_inputs) = true;
};

/// Which modules below the wrapped one are sharded on their own.
using AutoWrapPolicy = std::function<bool(nn::Module& module)>;
/// Modules of these types: module_wrap_policy<Block, nn::TransformerEncoderLayerImpl>().
template <class... Modules>
AutoWrapPolicy module_wrap_policy() {
  return [](nn::Module& module) { return ((module.as<Modules>() != nullptr) || ...); };
}
/// Modules with `min_num_params` elements of parameters or more that no module below has taken.
AutoWrapPolicy size_based_auto_wrap_policy(int64_t min_num_params = 100'000'000);

/// Settings of FullyShardedDataParallel.
struct FullyShardedDataParallelOptions {
  FullyShardedDataParallelOptions() = default;
  FullyShardedDataParallelOptions(c10::intrusive_ptr<c10d::ProcessGroup> process_group)
      : process_group_(std::move(process_group)) {}
  FullyShardedDataParallelOptions(tensor::DeviceMesh mesh) : device_mesh_(std::move(mesh)) {}

  /// The ranks that share the parameters. None: those of device_mesh, or of the default group.
  TORCH_ARG(c10::intrusive_ptr<c10d::ProcessGroup>, process_group);
  /// Of one dimension, or of two for the hybrid strategies, which need it.
  TORCH_ARG(std::optional<tensor::DeviceMesh>, device_mesh);
  TORCH_ARG(ShardingStrategy, sharding_strategy) = ShardingStrategy::FULL_SHARD;
  TORCH_ARG(AutoWrapPolicy, auto_wrap_policy);
  /// None: each module's parameters are gathered when they are needed, with the least memory.
  TORCH_ARG(std::optional<BackwardPrefetch>, backward_prefetch) = BackwardPrefetch::BACKWARD_PRE;
  TORCH_ARG(MixedPrecision, mixed_precision);
  /// Whether shards, gradients and optimizer state lie on the CPU.
  TORCH_ARG(bool, cpu_offload) = false;
  /// That stay as they are.
  TORCH_ARG(std::vector<at::Tensor>, ignored_states);
  /// Called for the module first: to give one from the meta device memory and values.
  TORCH_ARG(std::function<void(nn::Module&)>, param_init_fn);
  /// Whether parameters and buffers become those of the first rank.
  TORCH_ARG(bool, sync_module_states) = false;
};

/// What FullyShardedDataParallel does for modules of any type.
class FullyShardedDataParallelBase : public nn::Module {
 public:
  /// While it lives, backward passes add gradients up on this rank, without communication.
  class NoSync {
   public:
    explicit NoSync(FSDPModule module) : module_(std::move(module)) { module_->set_requires_gradient_sync(false); }
    NoSync(NoSync&& other) noexcept : module_(std::exchange(other.module_, std::nullopt)) {}
    NoSync& operator=(NoSync&&) = delete;
    ~NoSync() {
      if (module_) module_->set_requires_gradient_sync(true);
    }

   private:
    std::optional<FSDPModule> module_;
  };
  [[nodiscard]] NoSync no_sync() { return NoSync(FSDPModule(*wrapped_)); }

  /// While it lives, modules have whole parameters in their own dtype; at its end, with `writeback`, each rank's shards
  /// become what these are then. Not within forward or backward. A call of all ranks.
  class SummonedParams {
   public:
    SummonedParams(const FullyShardedDataParallelBase& of, bool writeback);
    SummonedParams(SummonedParams&& other) noexcept
        : groups_(std::exchange(other.groups_, {})), writeback_(other.writeback_) {}
    SummonedParams& operator=(SummonedParams&&) = delete;
    ~SummonedParams();

   private:
    std::vector<std::shared_ptr<detail::ParamGroup>> groups_;
    bool writeback_;
  };
  [[nodiscard]] SummonedParams summon_full_params(bool writeback = true) { return SummonedParams(*this, writeback); }

  /// As torch::distributed::fsdp::clip_grad_norm_: by the norm over all ranks.
  double clip_grad_norm_(double max_norm, double norm_type = 2.0);

  /// What state_dict() and load_state_dict() hold from now on; full ones in the beginning.
  void set_state_dict_type(StateDictType type);
  StateDictType state_dict_type() const {
    return full_ ? StateDictType::FULL_STATE_DICT : StateDictType::SHARDED_STATE_DICT;
  }

  const FullyShardedDataParallelOptions& options() const { return options_; }

 protected:
  explicit FullyShardedDataParallelBase(FullyShardedDataParallelOptions options);
  void wrap(const std::shared_ptr<nn::Module>& module);

 private:
  void sync_module_states(nn::Module& module) const;
  void shard_below(nn::Module& module, const FullyShardOptions& settings);
  void shard(nn::Module& module, const FullyShardOptions& settings) const;

  FullyShardedDataParallelOptions options_;
  std::optional<tensor::DeviceMesh> mesh_;
  std::shared_ptr<nn::Module> wrapped_;
  std::unique_ptr<FullStateDict> full_;
};

/// See FullyShardedDataParallel.
template <typename M>
class FullyShardedDataParallelImpl : public FullyShardedDataParallelBase {
 public:
  FullyShardedDataParallelImpl(std::shared_ptr<M> module_, FullyShardedDataParallelOptions options)
      : FullyShardedDataParallelBase(std::move(options)), module(std::move(module_)) {
    wrap(module);
  }
  FullyShardedDataParallelImpl(const nn::ModuleHolder<M>& holder, FullyShardedDataParallelOptions options)
      : FullyShardedDataParallelImpl(holder.ptr(), std::move(options)) {}

  /// Calls the module.
  template <typename... Args>
  auto forward(Args&&... args) {
    return nn::call_module(*module, std::forward<Args>(args)...);
  }

  const std::shared_ptr<M> module;
};

/// fully_shard() (fully_shard.h) for a module and those below it that a policy names, with the interface of PyTorch's
/// first FSDP. Parameters are sharded one by one, as with use_orig_params; optimizers are made afterwards, with its
/// parameters().
///
///   FullyShardedDataParallel fsdp(net, FullyShardedDataParallelOptions(group).auto_wrap_policy(
///                                          module_wrap_policy<BlockImpl>()));
///   torch::optim::AdamW optimizer(fsdp->parameters(), 3e-4);
///   loss(fsdp(part_of(batch)), targets).backward();
///   fsdp->clip_grad_norm_(1.0);
///   optimizer.step();
///
/// Names in state_dict() are the wrapped module's. What holds for fully_shard() holds here: modules are called by
/// holders, containers or call_module(). With NO_SHARD every rank has, beside its parameters, a copy while they are
/// used.
template <typename M>
class FullyShardedDataParallel : public nn::ModuleHolder<FullyShardedDataParallelImpl<M>> {
 public:
  using Impl = FullyShardedDataParallelImpl<M>;
  using nn::ModuleHolder<Impl>::ModuleHolder;
  FullyShardedDataParallel(std::shared_ptr<M> module, FullyShardedDataParallelOptions options)
      : nn::ModuleHolder<Impl>(std::make_shared<Impl>(std::move(module), std::move(options))) {}
  FullyShardedDataParallel(const nn::ModuleHolder<M>& module, FullyShardedDataParallelOptions options)
      : nn::ModuleHolder<Impl>(std::make_shared<Impl>(module.ptr(), std::move(options))) {}
};
template <typename M>
FullyShardedDataParallel(std::shared_ptr<M>, FullyShardedDataParallelOptions) -> FullyShardedDataParallel<M>;
template <typename M>
FullyShardedDataParallel(const nn::ModuleHolder<M>&, FullyShardedDataParallelOptions) -> FullyShardedDataParallel<M>;

}  // namespace torch::distributed::fsdp
