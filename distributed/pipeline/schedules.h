// Pipelines that run: stages, and a schedule by which a batch goes through them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/arg.h"
#include "distributed/pipeline/actions.h"
#include "distributed/pipeline/microbatch.h"
#include "distributed/pipeline/simulator.h"
#include "distributed/pipeline/stage.h"

namespace torch::distributed::pipelining {

/// The loss of a microbatch, a tensor of one element, from the last stage's output and the part of the target.
using LossFunction = std::function<at::Tensor(const at::Tensor& output, const at::Tensor& target)>;

/// Settings of schedules.
struct ScheduleOptions {
  ScheduleOptions() = default;
  /// A loss function, or what can be called like one.
  template <class F>
  requires std::is_invocable_r_v<at::Tensor, F&, const at::Tensor&, const at::Tensor&> ScheduleOptions(F loss_fn)
      : loss_fn_(std::move(loss_fn)) {}

  /// On all ranks, or on none: without it steps go forwards only.
  TORCH_ARG(LossFunction, loss_fn);
  /// How the arguments of step() are split, one an argument. Empty: along dimension 0.
  TORCH_ARG(std::vector<TensorChunkSpec>, args_chunk_spec);
  /// How the outputs of the last stage are put together, one an output. Empty: along dimension 0.
  TORCH_ARG(std::vector<TensorChunkSpec>, output_merge_spec);
  /// Whether gradients are those of the mean of the microbatches' losses, for a loss that is a mean itself. False: of
  /// their sum.
  TORCH_ARG(bool, scale_grads) = true;
};

/// What a step takes beside the inputs.
struct StepOptions {
  /// Of the whole batch, split along dimension 0; on the rank that has the last stage.
  at::Tensor target = {};
  /// Gets the losses of the microbatches, detached, on the rank that has the last stage.
  std::vector<at::Tensor>* losses = nullptr;
  /// Whether the last stage's outputs are kept and put together.
  bool return_outputs = true;
};

/// Stages of one rank, run by a schedule. All ranks of the group make one of the same kind, with the same number of
/// microbatches, and call step() equally often.
///
///   Schedule1F1B schedule(stage, 8, torch::nn::MSELoss());
///   while (...) {
///     schedule.step({x}, {.target = y, .losses = &losses});   // x where stage 0 is, y where the last one is
///     optimizer.step();
///     optimizer.zero_grad();
///   }
///
/// A step splits the batch into microbatches, runs the actions of this rank in the order of the schedule, and adds to
/// grad() of the stages' parameters. Messages are sent when they are there and received ahead of time; a computation
/// waits for no other message than its own. What one stage gives to another on the same rank is not sent.
///
/// An exception on any rank ends the step on all: the group is aborted with a text that says which rank failed in which
/// action. The group is then of no more use.
class PipelineSchedule {
 public:
  virtual ~PipelineSchedule() = default;
  PipelineSchedule(const PipelineSchedule&) = delete;
  PipelineSchedule& operator=(const PipelineSchedule&) = delete;

  /// Goes through the schedule once. `args` are the inputs of stage 0, for the whole batch; other ranks' are not looked
  /// at. Returns the outputs of the last stage, for the whole batch, detached, on its rank; nothing elsewhere.
  ///
  /// Throws PipeliningShapeError where microbatches do not all have the same sizes, ValueError for arguments that
  /// cannot be split, and Error where gradients are not recorded but the schedule has backwards.
  Tensors step(const Tensors& args = {}, const StepOptions& options = {});
  /// The forwards only, with nothing recorded.
  Tensors eval(const Tensors& args = {}, const StepOptions& options = {});

  /// What all ranks do in step(), messages included.
  const PipelineOrder& pipeline_order() const { return order_; }
  const std::vector<PipelineStage>& stages() const { return stages_; }
  int64_t n_microbatches() const { return n_microbatches_; }

 protected:
  /// `compute`: what the ranks compute. With messages already it is run as it is.
  PipelineSchedule(const std::string& name, std::vector<PipelineStage> stages, int64_t n_microbatches,
                   ScheduleOptions options, const PipelineOrder& compute);

 private:
  class Step;

  const std::string name_;
  const std::vector<PipelineStage> stages_;
  const int64_t n_microbatches_;
  const ScheduleOptions options_;
  PipelineOrder order_, forward_order_;
  OrderShape shape_;
};

/// One stage on each rank.
class PipelineScheduleSingle : public PipelineSchedule {
 public:
  /// With any order of one stage a rank, such as one of orders.h, or one that was read from a file (actions.h). `name`
  /// is for errors.
  PipelineScheduleSingle(const PipelineStage& stage, int64_t n_microbatches, ScheduleOptions options,
                         const PipelineOrder& compute, const std::string& name = "PipelineScheduleSingle");
};

/// Any number of stages on each rank.
class PipelineScheduleMulti : public PipelineSchedule {
 public:
  PipelineScheduleMulti(std::vector<PipelineStage> stages, int64_t n_microbatches, ScheduleOptions options,
                        const PipelineOrder& compute, const std::string& name = "PipelineScheduleMulti");
};

/// All forwards, then all backwards. Orders of this and the following schedules are described in orders.h.
class ScheduleGPipe : public PipelineScheduleSingle {
 public:
  ScheduleGPipe(const PipelineStage& stage, int64_t n_microbatches, ScheduleOptions options = {});
};

/// A forward follows each backward. At least as many microbatches as stages.
class Schedule1F1B : public PipelineScheduleSingle {
 public:
  Schedule1F1B(const PipelineStage& stage, int64_t n_microbatches, ScheduleOptions options = {});
};

/// The same with several stages on each rank; the earlier microbatch first. Rank r has stages r, r + ranks, ...
class ScheduleInterleaved1F1B : public PipelineScheduleMulti {
 public:
  ScheduleInterleaved1F1B(const std::vector<PipelineStage>& stages, int64_t n_microbatches,
                          ScheduleOptions options = {});
};

/// Several stages on each rank; the earlier stage first.
class ScheduleLoopedBFS : public PipelineScheduleMulti {
 public:
  ScheduleLoopedBFS(const std::vector<PipelineStage>& stages, int64_t n_microbatches, ScheduleOptions options = {});
};

/// Gradients of parameters fill the time in which a rank would wait.
class ScheduleInterleavedZeroBubble : public PipelineScheduleMulti {
 public:
  ScheduleInterleavedZeroBubble(const std::vector<PipelineStage>& stages, int64_t n_microbatches,
                                ScheduleOptions options = {});
};

/// Two stages on each rank: r and 2 * ranks - 1 - r. At least as many microbatches as ranks.
class ScheduleZBVZeroBubble : public PipelineScheduleMulti {
 public:
  ScheduleZBVZeroBubble(const std::vector<PipelineStage>& stages, int64_t n_microbatches, ScheduleOptions options = {});
};

/// Two stages on each rank: r and 2 * ranks - 1 - r. At least as many microbatches as stages.
class ScheduleDualPipeV : public PipelineScheduleMulti {
 public:
  ScheduleDualPipeV(const std::vector<PipelineStage>& stages, int64_t n_microbatches, ScheduleOptions options = {});
};

}  // namespace torch::distributed::pipelining
