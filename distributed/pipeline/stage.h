// A part of a model that runs on one rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/arg.h"
#include "c10/util/exception.h"
#include "c10/util/intrusive_ptr.h"
#include "distributed/ddp/distributed_data_parallel.h"
#include "distributed/pipeline/microbatch.h"
#include "distributed/process_group/process_group.h"
#include "nn/module/module.h"
#include "nn/module/module_call.h"
#include "nn/module/module_holder.h"

namespace torch::distributed::pipelining {

/// Sizes or dtypes of what goes into a stage or comes out of it are not those that were said or seen before.
class PipeliningShapeError : public c10::Error {
 public:
  using Error::Error;
};

/// Settings of a PipelineStage.
struct PipelineStageOptions {
  PipelineStageOptions() = default;
  PipelineStageOptions(c10::intrusive_ptr<c10d::ProcessGroup> group) : group_(std::move(group)) {}

  /// The ranks of the pipeline. None: the default group.
  TORCH_ARG(c10::intrusive_ptr<c10d::ProcessGroup>, group);
  /// What a microbatch's inputs and outputs are like: of these only sizes and dtypes count, so they may be on the meta
  /// device. None: as they come. Others throw PipeliningShapeError.
  TORCH_ARG(Tensors, input_args);
  TORCH_ARG(Tensors, output_args);
  /// What UNSHARD, RESHARD and REDUCE_GRAD do.
  TORCH_ARG(std::function<void()>, unshard);
  TORCH_ARG(std::function<void()>, reshard);
  TORCH_ARG(std::function<void()>, reduce_grad);
};

namespace detail {

constexpr size_t kMostInputs = 8;

template <class M, size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires(M & module, const at::Tensor& t) {
    nn::call_module(module, (static_cast<void>(I), t)...);
  };
}

template <class R>
Tensors to_tensors(R&& result) {
  using Value = std::remove_cvref_t<R>;
  static_assert(nn::detail::TensorsOf<Value>::any, "forward of a pipeline stage returns tensors");
  Tensors list;
  Value value = std::forward<R>(result);
  nn::detail::TensorWalk walk(list, /*writes=*/false);
  nn::detail::walk_tensors(walk, value);
  return list;
}

[[noreturn]] void bad_number_of_inputs(const nn::Module& module, size_t inputs);

// Calls forward of `module` with as many tensors as there are; `Taken` says with how many it can be.
template <class Taken, class M, size_t N = 0>
Tensors call_with(M& module, const Tensors& args) {
  if constexpr (N > kMostInputs) {
    bad_number_of_inputs(module, args.size());
  } else {
    if constexpr (takes<Taken>(std::make_index_sequence<N>())) {
      if (args.size() == N) {
        return [&]<size_t... I>(std::index_sequence<I...>) {
          return to_tensors(nn::call_module(module, args[I]...));
        }
        (std::make_index_sequence<N>());
      }
    }
    return call_with<Taken, M, N + 1>(module, args);
  }
}

}  // namespace detail

/// Stage `stage_index` of `num_stages`: the outputs of each are the inputs of the next. Copies are of the same module.
///
///   auto net = torch::nn::Sequential(...);                      // this rank's part of the model
///   PipelineStage stage(net, rank, size, torch::kCPU, {group});
///   Schedule1F1B schedule(stage, 8, loss);                      // schedules.h
///
/// forward() takes up to 8 tensors and returns one, or several in a tuple, vector or the like; those of floating dtype
/// are differentiated, in every stage. Sizes and dtypes are those of all microbatches of a step, and the next stage is
/// told them with the first one; they may differ from step to step.
///
/// A DistributedDataParallel is called such that its gradients are averaged in the last backward of each step; then
/// find_unused_parameters and static_graph throw, and buffers are rank 0's as they were at the first step. Gradients of
/// modules of fully_shard() are reduced once, at the end of each step; until then each rank has them whole, and the
/// parameters, too, unless a forward frees these (reshard_after_forward).
class PipelineStage {
 public:
  template <class M>
  PipelineStage(const std::shared_ptr<M>& submodule, int64_t stage_index, int64_t num_stages,
                c10::Device device = c10::DeviceType::CPU, PipelineStageOptions options = {})
      : PipelineStage(std::static_pointer_cast<nn::Module>(submodule), stage_index, num_stages, device,
                      std::move(options), nullptr) {
    using nn::parallel::DistributedDataParallelBase;
    if constexpr (std::is_base_of_v<DistributedDataParallelBase, M>) {
      using Wrapped = std::remove_reference_t<decltype(*submodule->module)>;
      take_ddp(submodule.get());
      forward_ = [ddp = submodule](const Tensors& args) {
        const auto guard = ddp->no_sync();
        return detail::call_with<Wrapped>(*ddp, args);
      };
    } else {
      forward_ = [module = submodule](const Tensors& args) { return detail::call_with<M>(*module, args); };
    }
  }
  template <class M>
  PipelineStage(const nn::ModuleHolder<M>& submodule, int64_t stage_index, int64_t num_stages,
                c10::Device device = c10::DeviceType::CPU, PipelineStageOptions options = {})
      : PipelineStage(submodule.ptr(), stage_index, num_stages, device, std::move(options)) {}

  int64_t stage_index() const { return stage_index_; }
  int64_t num_stages() const { return num_stages_; }
  bool is_first() const { return stage_index_ == 0; }
  bool is_last() const { return stage_index_ + 1 == num_stages_; }
  c10::Device device() const { return device_; }
  const c10::intrusive_ptr<c10d::ProcessGroup>& group() const { return options_.group(); }
  const std::shared_ptr<nn::Module>& submodule() const { return submodule_; }
  const PipelineStageOptions& options() const { return options_; }

  /// For schedules. The results of forward; what must be done before and after the backwards of a step, before the
  /// last of a stage's, and before one of weights alone that reads parameters; and what ends the groups that this rank
  /// works in.
  Tensors forward(const Tensors& args) const { return forward_(args); }
  void before_backwards() const;
  void before_last_backward() const;
  void before_weight_backward() const;
  void after_backwards() const;
  void abort(const std::string& reason) const;

 private:
  PipelineStage(std::shared_ptr<nn::Module> submodule, int64_t stage_index, int64_t num_stages, c10::Device device,
                PipelineStageOptions options, std::nullptr_t);
  void take_ddp(nn::parallel::DistributedDataParallelBase* ddp);
  template <class Act>
  void for_sharded(const Act& act) const;

  std::shared_ptr<nn::Module> submodule_;
  int64_t stage_index_, num_stages_;
  c10::Device device_;
  PipelineStageOptions options_;
  std::function<Tensors(const Tensors&)> forward_;
  nn::parallel::DistributedDataParallelBase* ddp_ = nullptr;  // the submodule
};

}  // namespace torch::distributed::pipelining
