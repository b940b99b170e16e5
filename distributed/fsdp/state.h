// When the parameters of a module are gathered, freed and reduced. For the files of this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "distributed/fsdp/param_group.h"
#include "distributed/fsdp/policies.h"
#include "nn/module/module_hooks.h"

namespace torch::distributed::fsdp::detail {

class State;

/// What the modules below one root share.
struct Iteration {
  std::vector<std::weak_ptr<State>> states;         // all, the root first
  std::vector<std::weak_ptr<State>> after_forward;  // in the order in which they ended forward
  Reductions reductions;
  uint64_t pass = 0;  // the backward pass that runs, by the engine's number
};

/// Of one call of fully_shard(): the modules, which own it, their parameters, and where they stand. Its hooks run where
/// a holder, a container or call_module() calls the modules.
class State : public std::enable_shared_from_this<State> {
 public:
  /// Null: the module is not sharded.
  static std::shared_ptr<State> of(const nn::Module& module);
  /// Gives it to the modules, and registers the hooks.
  static std::shared_ptr<State> attach(std::vector<nn::Module*> modules, std::shared_ptr<ParamGroup> group,
                                       const MixedPrecisionPolicy& precision);

  const std::vector<nn::Module*>& modules() const { return modules_; }
  /// Null: there are no parameters that a module below has not taken.
  const std::shared_ptr<ParamGroup>& group() const { return group_; }
  /// Those of the modules below too, if `recurse`; this one first.
  std::vector<std::shared_ptr<State>> states(bool recurse) const;
  /// Whether forward or backward are under way.
  bool is_running() const { return phase_ != Phase::kIdle || (iteration_ != nullptr && iteration_->pass != 0); }
  /// See FSDPModule.
  void reset_iteration() noexcept;

  /// See Pipelined.
  void set_defers(bool defers) { defers_ = defers; }
  void gather();
  void finish_deferred();

  bool is_last_backward = true;  // of the root
  /// When the module that ended forward before this one is gathered in backward, if `backward_prefetch` is empty:
  /// never, before this one is computed with, or behind it.
  enum class Prefetch : uint8_t { kNever, kBefore, kBehind };
  Prefetch prefetches = Prefetch::kBefore;
  std::vector<std::weak_ptr<State>> forward_prefetch, backward_prefetch;

 private:
  enum class Phase : uint8_t { kIdle, kForward, kBackward };
  class PostBackward;

  void use_shards();
  void become_root();
  bool is_root() const { return root_ == this; }
  nn::detail::Replacement pre_forward(nn::Module& module, const std::vector<at::Tensor>& inputs);
  nn::detail::Replacement post_forward(nn::Module& module, const std::vector<at::Tensor>& outputs);
  void pre_backward();
  void post_backward(bool is_end = false);
  void end_of_backward();
  void prefetch(const std::vector<std::weak_ptr<State>>& states);
  void prefetch_before(size_t place);

  std::vector<nn::Module*> modules_;
  std::vector<nn::Module*> running_;  // of the modules, those that have not ended the forward pass,
  std::vector<nn::Module*> inside_;   // and of these those that have begun it
  std::shared_ptr<ParamGroup> group_;
  MixedPrecisionPolicy precision_;
  std::shared_ptr<Iteration> iteration_;
  const State* root_ = nullptr;
  Phase phase_ = Phase::kIdle;
  bool defers_ = false;
  size_t next_place_ = 0;       // of what is gathered behind this one
  std::vector<size_t> places_;  // in the iteration's after_forward
};

/// fully_shard() over ranks that need not shard.
void shard_over(const Ranks& ranks, const std::vector<nn::Module*>& modules, const FullyShardOptions& options);

}  // namespace torch::distributed::fsdp::detail
