// Gradients as products of thin matrices.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "c10/core/generator.h"
#include "c10/util/arg.h"
#include "distributed/ddp/comm.h"

namespace c10d {

/// Settings of PowerSGD.
struct PowerSGDOptions {
  /// Columns of the two matrices: more is nearer to the gradient, and slower.
  TORCH_ARG(int64_t, matrix_approximation_rank) = 1;
  /// So many iterations are reduced as they are. At least 2 with error feedback or a warm start.
  TORCH_ARG(int64_t, start_powerSGD_iter) = 1000;
  /// A matrix is compressed where (rows + columns) * rank * this is less than rows * columns.
  TORCH_ARG(double, min_compression_rate) = 2;
  /// Whether what compression loses is added to the next gradient.
  TORCH_ARG(bool, use_error_feedback) = true;
  /// Whether an iteration begins with the last one's Q.
  TORCH_ARG(bool, warm_start) = true;
  /// Added to the norms that columns are divided by.
  TORCH_ARG(double, orthogonalization_epsilon) = 0;
  /// Decides the random matrices, on all ranks alike.
  TORCH_ARG(int64_t, random_seed) = 0;
};

/// What PowerSGD remembers from one iteration to the next.
class PowerSGDState {
 public:
  /// Throws ValueError for settings out of range.
  explicit PowerSGDState(c10::intrusive_ptr<ProcessGroup> process_group, PowerSGDOptions options = {});

  const c10::intrusive_ptr<ProcessGroup> process_group;
  const PowerSGDOptions options;
  int64_t iter = 0;
  /// How many numbers gradients had, and how many were sent, since compression began.
  int64_t numel_before_compression = 0, numel_after_compression = 0;
  double compression_rate() const {
    return numel_after_compression == 0
               ? 1
               : static_cast<double>(numel_before_compression) / static_cast<double>(numel_after_compression);
  }

 private:
  friend class PowerSGDCommHook;
  at::Generator generator_;
  std::map<size_t, at::Tensor> errors_;             // by bucket
  std::map<size_t, std::vector<at::Tensor>> warm_;  // Q of each matrix of a bucket
};

/// PowerSGD (Vogels, Karimireddy, Jaggi 2019, "PowerSGD: Practical Low-Rank Gradient Compression for Distributed
/// Optimization"). Each gradient of two dimensions or more is a matrix M of shape[0] rows; where it pays (see
/// min_compression_rate) it is replaced by P Q^T with `rank` columns each: Q is random with orthonormal columns (or the
/// last iteration's), P = M Q is added up over the ranks and orthonormalized, Q = M^T P is averaged over the ranks. All
/// other gradients are averaged as they are. With error feedback what a rank lost, M - P Q^T, is added to its next
/// gradient.
///
///   auto state = std::make_shared<c10d::PowerSGDState>(group, c10d::PowerSGDOptions().start_powerSGD_iter(10));
///   ddp->register_comm_hook(std::make_unique<c10d::PowerSGDCommHook>(state));
///
/// Rounds of a bucket are done when later buckets come, in an order that is the same on all ranks.
class PowerSGDCommHook : public CommHookInterface {
 public:
  /// `batched`: the whole bucket is one square matrix, padded with zeros; quicker, and farther from the gradient.
  explicit PowerSGDCommHook(std::shared_ptr<PowerSGDState> state, bool batched = false);
  c10::intrusive_ptr<c10::ivalue::Future> runHook(GradBucket& bucket) override;
  void finishRounds() override;
  at::Tensor parseHookResult(const c10::IValue& result) override { return detail::parseCppCommHookResult(result); }

 private:
  struct Rounds;
  void start(Rounds& rounds);
  void advance(Rounds& rounds);
  void advance_all();

  const std::shared_ptr<PowerSGDState> state_;
  const bool batched_;
  std::deque<std::shared_ptr<Rounds>> running_;
};

/// Makes the columns of a matrix orthonormal, in place, one after the other (Gram and Schmidt); `epsilon` is added to
/// their norms. A column that the ones before it span, as far as the dtype can tell, becomes zeros.
void orthogonalize(const at::Tensor& matrix, double epsilon = 0);

}  // namespace c10d
