// Training with parameters, gradients and optimizer state spread over the ranks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "distributed/fsdp/policies.h"
#include "nn/module/computed_tensor.h"
#include "nn/module/module.h"
#include "nn/module/module_call.h"

namespace torch::distributed::fsdp {

namespace detail {
class ParamGroup;
class State;
}  // namespace detail

/// Waits for parameters that are being gathered. A small value.
class UnshardHandle {
 public:
  explicit UnshardHandle(std::shared_ptr<detail::ParamGroup> group) : group_(std::move(group)) {}
  /// The module has the whole parameters then. Its forward waits by itself.
  void wait();

 private:
  std::shared_ptr<detail::ParamGroup> group_;
};

/// What can be done with a module that fully_shard() was called for: a small value beside the module, which stays what
/// it is. Setters with `recurse` count for all such modules below, too.
class FSDPModule {
 public:
  /// Throws TypeError for a module that is not sharded.
  explicit FSDPModule(nn::ModuleRef module);
  static bool is(const nn::Module& module);

  /// Frees the whole parameters: the module has its shards then. Of this module's group only.
  void reshard();
  /// Gathers the parameters of this module's group; with `async_op` it only begins to, and gives a handle.
  std::optional<UnshardHandle> unshard(bool async_op = false);

  /// Whether backward passes reduce gradients, or only add them up on this rank, without communication.
  void set_requires_gradient_sync(bool requires_gradient_sync, bool recurse = true);
  /// With replicas (HSDP): whether backward passes all-reduce over them, or only reduce over the shards' ranks and add
  /// up.
  void set_requires_all_reduce(bool requires_all_reduce, bool recurse = true);
  /// Of the modules below the same root: whether the next backward pass is the last before the optimizer's step. If
  /// not, reductions may go on after it.
  void set_is_last_backward(bool is_last_backward);
  void set_reshard_after_forward(bool reshard_after_forward, bool recurse = true);
  /// Whether whole parameters are freed when their gradients are there. If not, the next forward pass need not gather
  /// them; reshard() has to be called before the optimizer's step.
  void set_reshard_after_backward(bool reshard_after_backward, bool recurse = true);
  /// Whether backward needs this module's parameters: that of an embedding does not.
  void set_unshard_in_backward(bool unshard_in_backward);

  /// Which modules are gathered while this one computes, in forward (none by default) or backward (by default the one
  /// that ended forward before it). Each takes memory; a list of this module alone is none.
  void set_modules_to_forward_prefetch(const std::vector<FSDPModule>& modules);
  void set_modules_to_backward_prefetch(const std::vector<FSDPModule>& modules);

  /// By what gradients are divided. Otherwise: by the number of ranks, in float16 about half of it before they are
  /// added.
  void set_gradient_divide_factor(double factor);
  void set_reduce_scatter_divide_factor(double factor) { set_gradient_divide_factor(factor); }
  /// Whether gradients are only added by the engine, and divided here.
  void set_force_sum_reduction_for_comms(bool enable);
  /// `hook(gradients)`, a flat tensor of this rank's shards, after all reductions; it may change it in place.
  void set_all_reduce_hook(std::function<void(at::Tensor)> hook);

  /// After an exception in forward or backward, on the root: what the pass left is forgotten, all parameters are
  /// sharded, and gradients that were not reduced yet, kept ones included, are dropped. The next call of the root does
  /// it, too.
  void reset_iter_state();

 private:
  std::shared_ptr<detail::State> state_;
};

/// Shards the parameters of a module: those of it and of all modules below that no call for one of these has taken.
///
///   auto mesh = init_device_mesh(torch::kCPU, {8});
///   for (Block& block : net->blocks) fully_shard(block, {mesh});
///   fully_shard(net, {mesh});                                  // bottom-up; what is left goes with the root
///   torch::optim::AdamW optimizer(net->parameters(), 3e-4);    // afterwards
///   for (...) {
///     loss(net(part_of(batch)), targets).backward();
///     clip_grad_norm_(net->parameters(), 1.0);                 // clip_grad.h
///     optimizer.step();
///     optimizer.zero_grad();
///   }
///
/// Each parameter becomes a DTensor, Shard(0) over the mesh (rank r of P has the rows [r c, (r + 1) c), c = ceil(n /
/// P)), or (Replicate(), Shard(0)) over a mesh of two dimensions. One that is a DTensor already, for tensor
/// parallelism, is sharded once more; both meshes are then slices by name of one. Each rank takes its part of what it
/// has: no data is sent. Parameters on the meta device get memory after it, with to_empty(), and then values.
/// Parameters that several modules share are sharded once, but must be within one call.
///
/// Before forward the parameters of a call are gathered by one all-gather, and its module has plain tensors then, of
/// the whole; after it they are freed (reshard_after_forward). Backward gathers them again, the next ones while it
/// computes. When the gradients of a module's arguments are there, its parameters' gradients are reduced by one
/// reduce-scatter; grad() of the shards is the mean over the ranks when backward returns. At most two modules'
/// parameters are whole at a time, besides the root's. Gradients and optimizer state have the sizes of the shards. A
/// parameter without a gradient is left out: all ranks must use the same ones.
///
/// It works by hooks, which run where a holder, a container or nn::call_module() calls a module: `block(x)`, not
/// `block->forward(x)`. That holds for each module it is called for, the root first. A module that is called otherwise
/// has DTensors, and throws ("got mixed torch.Tensor and DTensor") where it meets a plain one. Classes say where their
/// parameters are by TORCH_MODULE_TENSORS (nn/module/module.h), as all layers do; one that does not throws here. Copies
/// of sharded modules cannot be called. There are no second derivatives.
///
/// The modules of a list are one call: gathered before the first of them, and freed after the last.
///
/// Throws c10::ValueError, TypeError or NotImplementedError, which name the parameter, before anything is changed.
FSDPModule fully_shard(nn::ModuleRef module, const FullyShardOptions& options = {});
FSDPModule fully_shard(const std::vector<nn::ModuleRef>& modules, const FullyShardOptions& options = {});

/// Calls another method than forward as forward is called: between the hooks, with whole parameters. What Python
/// registers by register_fsdp_forward_method().
///
///   torch::Tensor y = call_fsdp_forward_method(*net, &NetImpl::encode, x);
template <class M, class Method, class... Args>
auto call_fsdp_forward_method(M& module, Method method, Args&&... args) {
  struct Caller {
    M& module;
    Method method;
    auto forward(std::remove_reference_t<Args>&... given) { return std::invoke(method, module, given...); }
  };
  using R = std::invoke_result_t<Method, M&, std::remove_reference_t<Args>&...>;
  const nn::detail::HookRunner* const runner = nn::detail::hook_runner.load(std::memory_order_acquire);
  if (runner == nullptr) return std::invoke(method, module, args...);
  Caller caller{module, std::move(method)};
  nn::detail::HookedForward<Caller, R, std::remove_reference_t<Args>&...> call(caller, args...);
  runner->run(module, call);
  return call.result();
}

}  // namespace torch::distributed::fsdp
