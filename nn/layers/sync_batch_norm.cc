#include "nn/layers/sync_batch_norm.h"

#include "nn/module/sequential.h"

namespace torch::nn {
namespace {

std::shared_ptr<SyncBatchNormImpl> converted(Module& module) {
  auto* const bn = dynamic_cast<detail::BatchNormState*>(&module);
  if (bn == nullptr || module.as<SyncBatchNormImpl>() != nullptr) return nullptr;
  auto sync = std::make_shared<SyncBatchNormImpl>(bn->options);
  sync->weight = sync->replace_parameter("weight", bn->weight);
  sync->bias = sync->replace_parameter("bias", bn->bias);
  sync->running_mean = sync->replace_buffer("running_mean", bn->running_mean);
  sync->running_var = sync->replace_buffer("running_var", bn->running_var);
  sync->num_batches_tracked = sync->replace_buffer("num_batches_tracked", bn->num_batches_tracked);
  sync->train(bn->is_training());
  return sync;
}

}  // namespace

void SyncBatchNormImpl::_check_input_dim(const at::Tensor& input) {
  TORCH_CHECK_VALUE(input.dim() >= 2, "expected at least 2D input (got ", input.dim(), "D input)");
}

std::shared_ptr<Module> SyncBatchNormImpl::convert_sync_batchnorm(const std::shared_ptr<Module>& module) {
  TORCH_CHECK(module != nullptr, "convert_sync_batchnorm: expected a module, but got an empty pointer");
  if (auto sync = converted(*module)) return sync;
  for (const auto& child : module->named_children()) {
    if (child.value() == nullptr) continue;
    const std::shared_ptr<Module> fresh = convert_sync_batchnorm(child.value());
    if (fresh == child.value()) continue;
    if (auto* const sequence = module->as<SequentialImpl>()) {
      sequence->replace_module(child.key(), std::dynamic_pointer_cast<SyncBatchNormImpl>(fresh));
    } else {
      module->set_submodule(child.key(), fresh);
    }
  }
  return module;
}

template class Cloneable<SyncBatchNormImpl>;

}  // namespace torch::nn
