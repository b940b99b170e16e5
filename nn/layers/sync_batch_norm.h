// Batch norm over all processes: here of one process, whose batch is the whole.
#pragma once

#include <iosfwd>
#include <memory>

#include "nn/layers/normalization.h"

namespace torch::nn {

// Input [N, C, *] of at least two dimensions; otherwise as BatchNorm.
class SyncBatchNormImpl : public BatchNormImplBase<0, SyncBatchNormImpl> {
 public:
  using BatchNormImplBase::BatchNormImplBase;
  SyncBatchNormImpl(int64_t num_features) : BatchNormImplBase(BatchNormOptions(num_features)) {}
  void pretty_print(std::ostream& stream) const override { print(stream, "torch::nn::SyncBatchNorm"); }

  // The module with a SyncBatchNorm, of the same tensors, in the place of each BatchNorm in it; a BatchNorm itself
  // becomes one. Modules call what they call: a container's children are replaced, but a member that holds a BatchNorm
  // goes on holding it.
  static std::shared_ptr<Module> convert_sync_batchnorm(const std::shared_ptr<Module>& module);

 protected:
  void _check_input_dim(const at::Tensor& input) override;
};

extern template class Cloneable<SyncBatchNormImpl>;
class SyncBatchNorm : public ModuleHolder<SyncBatchNormImpl> {
 public:
  using ModuleHolder<SyncBatchNormImpl>::ModuleHolder;
  using Impl = SyncBatchNormImpl;

  // As SyncBatchNormImpl's, also of a holder.
  template <typename M>
  static std::shared_ptr<Module> convert_sync_batchnorm(const ModuleHolder<M>& module) {
    return SyncBatchNormImpl::convert_sync_batchnorm(module.ptr());
  }
  static std::shared_ptr<Module> convert_sync_batchnorm(const std::shared_ptr<Module>& module) {
    return SyncBatchNormImpl::convert_sync_batchnorm(module);
  }
};
using SyncBatchNormOptions = BatchNormOptions;

}  // namespace torch::nn
