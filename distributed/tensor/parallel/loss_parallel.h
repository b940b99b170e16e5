// The cross entropy of logits whose classes lie on several ranks.
#pragma once

namespace torch::distributed::tensor::parallel {

/// While it lasts, on this thread, cross entropies (torch::nn::functional::cross_entropy, CrossEntropyLoss,
/// at::cross_entropy_loss) of a DTensor that is sharded along the classes are computed without gathering it: ranks
/// exchange the largest logit of each sample, and then the sums of exponentials and the logits of the targets.
///
///   loss = log(sum_c exp(x[c])) - x[target]
///
///   auto logits = distribute_tensor(torch::randn({4, 16}).requires_grad_(), mesh, {Shard(1)});
///   const auto guard = loss_parallel();
///   torch::Tensor loss = torch::nn::functional::cross_entropy(logits, target);    // a replicated DTensor
///   loss.backward();                                                              // sends nothing
///
/// The targets are indices of classes, and they and the weights DTensors or plain tensors that are the same on all
/// ranks. Other dimensions of the mesh may share the samples: the result is of all of them, replicated, or lies as the
/// samples do where the reduction is None. Probabilities as targets and label smoothing throw NotImplementedError;
/// targets that are no class throw IndexError. Half and bfloat16 are computed in float32. The gradient cannot be
/// differentiated again.
class LossParallel {
 public:
  LossParallel();
  ~LossParallel();
  LossParallel(const LossParallel&) = delete;
  LossParallel& operator=(const LossParallel&) = delete;

 private:
  bool before_;
};

[[nodiscard]] inline LossParallel loss_parallel() {
  return LossParallel();
}

}  // namespace torch::distributed::tensor::parallel
