// Batch normalization with the statistics of all ranks' batches.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>

#include "aten/core/tensor.h"
#include "distributed/process_group/process_group.h"
#include "nn/layers/normalization.h"

namespace torch::nn::functional {

/// batch_norm in training of the ranks' inputs, [N, C, *], as one batch: N may differ, and be 0. Mean and variance are
/// those of all elements of a channel on all ranks; running statistics, where defined, become (1 - momentum) * old +
/// momentum * new on every rank, the new variance with one less for a divisor. Computes in float32 where the input has
/// 16 bits.
///
/// In backward each rank's input gets its gradient of the sum of all ranks' losses; weight and bias get this rank's
/// part of theirs, which DistributedDataParallel averages. Collectives: an all-gather of 2 C + 1 numbers in forward, an
/// all-reduce of 2 C in backward, on all ranks. Backward cannot be differentiated again. Throws, on all ranks, where a
/// channel has one element in all.
at::Tensor sync_batch_norm(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                           const at::Tensor& running_mean, const at::Tensor& running_var, double eps, double momentum,
                           const c10::intrusive_ptr<c10d::ProcessGroup>& process_group);

}  // namespace torch::nn::functional

namespace torch::nn::parallel {

/// BatchNorm of [N, C, *] whose batch in training is that of all ranks of a group (sync_batch_norm); in evaluation, and
/// where there is no group, as BatchNorm.
///
///   auto net = torch::nn::parallel::SyncBatchNorm::convert_sync_batchnorm(model.ptr(), group);
class SyncBatchNormImpl : public BatchNormImplBase<0, SyncBatchNormImpl> {
 public:
  explicit SyncBatchNormImpl(const BatchNormOptions& options_,
                             c10::intrusive_ptr<c10d::ProcessGroup> process_group_ = nullptr)
      : BatchNormImplBase(options_), process_group(std::move(process_group_)) {}
  explicit SyncBatchNormImpl(int64_t num_features, c10::intrusive_ptr<c10d::ProcessGroup> process_group_ = nullptr)
      : SyncBatchNormImpl(BatchNormOptions(num_features), std::move(process_group_)) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override { print(stream, "torch::nn::SyncBatchNorm"); }

  /// The module with a SyncBatchNorm, of the same tensors, in the place of each BatchNorm in it (those of one process,
  /// torch::nn::SyncBatchNorm, too); a BatchNorm itself becomes one. Containers call what they hold; a member of a
  /// class of one's own that holds a BatchNorm goes on holding it, so such a class looks its child up, or is written
  /// with a SyncBatchNorm.
  static std::shared_ptr<Module> convert_sync_batchnorm(const std::shared_ptr<Module>& module,
                                                        const c10::intrusive_ptr<c10d::ProcessGroup>& process_group);

  c10::intrusive_ptr<c10d::ProcessGroup> process_group;

 protected:
  void _check_input_dim(const at::Tensor& input) override;
};

class SyncBatchNorm : public ModuleHolder<SyncBatchNormImpl> {
 public:
  using ModuleHolder<SyncBatchNormImpl>::ModuleHolder;
  using Impl = SyncBatchNormImpl;

  template <typename M>
  static std::shared_ptr<Module> convert_sync_batchnorm(const ModuleHolder<M>& module,
                                                        const c10::intrusive_ptr<c10d::ProcessGroup>& process_group) {
    return SyncBatchNormImpl::convert_sync_batchnorm(module.ptr(), process_group);
  }
  static std::shared_ptr<Module> convert_sync_batchnorm(const std::shared_ptr<Module>& module,
                                                        const c10::intrusive_ptr<c10d::ProcessGroup>& process_group) {
    return SyncBatchNormImpl::convert_sync_batchnorm(module, process_group);
  }
};

}  // namespace torch::nn::parallel
