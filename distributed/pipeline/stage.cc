#include "distributed/pipeline/stage.h"

#include <utility>

#include "distributed/fsdp/pipelined.h"
#include "distributed/process_group/init.h"
#include "nn/module/replacement.h"

namespace torch::distributed::pipelining {

void detail::bad_number_of_inputs(const nn::Module& module, size_t inputs) {
  TORCH_CHECK_TYPE(false, "PipelineStage: forward of ", module.name(), " cannot be called with ", inputs, " tensors");
}

PipelineStage::PipelineStage(std::shared_ptr<nn::Module> submodule, int64_t stage_index, int64_t num_stages,
                             c10::Device device, PipelineStageOptions options, std::nullptr_t)
    : submodule_(std::move(submodule)),
      stage_index_(stage_index),
      num_stages_(num_stages),
      device_(device),
      options_(std::move(options)) {
  TORCH_CHECK_VALUE(submodule_ != nullptr, "PipelineStage: the submodule is null");
  TORCH_CHECK_VALUE(num_stages > 0, "PipelineStage: expected a positive num_stages, but got ", num_stages);
  TORCH_CHECK_VALUE(stage_index >= 0 && stage_index < num_stages, "PipelineStage: stage_index ", stage_index,
                    " is not below num_stages ", num_stages);
  if (!options_.group()) options_.group(c10d::get_default_group());
  TORCH_CHECK_VALUE(num_stages % options_.group()->getSize() == 0, "PipelineStage: num_stages ", num_stages,
                    " is no multiple of the ", options_.group()->getSize(), " ranks of the group");
}

void PipelineStage::take_ddp(nn::parallel::DistributedDataParallelBase* ddp) {
  TORCH_CHECK_VALUE(!ddp->options().find_unused_parameters() && !ddp->options().static_graph(),
                    "PipelineStage: a DistributedDataParallel with find_unused_parameters or static_graph cannot be a "
                    "stage, since it would have to know the outputs that are last in each step");
  ddp_ = ddp;
}

void PipelineStage::before_last_backward() const {
  if (ddp_ == nullptr) return;
  ddp_->reducer()->prepare_for_forward();
  ddp_->reducer()->prepare_for_backward({});
}

// By all of them: a stage may be sharded as a whole, or have modules that are.
template <class Act>
void PipelineStage::for_sharded(const Act& act) const {
  submodule_->apply([&](nn::Module& module) {
    if (const auto* const sharded = nn::attached<fsdp::detail::Pipelined>(module)) act(*sharded);
  });
}

void PipelineStage::before_backwards() const {
  for_sharded([](const fsdp::detail::Pipelined& sharded) { sharded.defer(true); });
}

void PipelineStage::before_weight_backward() const {
  for_sharded([](const fsdp::detail::Pipelined& sharded) { sharded.gather(); });
}

void PipelineStage::after_backwards() const {
  for_sharded([](const fsdp::detail::Pipelined& sharded) { sharded.defer(false); });
  for_sharded([](const fsdp::detail::Pipelined& sharded) { sharded.finish(); });
}

void PipelineStage::abort(const std::string& reason) const {
  group()->abort(reason);
  for_sharded([&](const fsdp::detail::Pipelined& sharded) {
    sharded.defer(false);
    sharded.abort(reason);
  });
  if (ddp_ != nullptr) ddp_->process_group()->abort(reason);
}

}  // namespace torch::distributed::pipelining
