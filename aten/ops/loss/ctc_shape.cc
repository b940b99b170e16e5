#include "aten/ops/loss/ctc_shape.h"

#include <algorithm>

#include "c10/util/exception.h"

namespace at::native {
namespace {

constexpr char kChecking[] = " (while checking arguments for ctc_loss_allocate_outputs)";

void check_lengths(const char* name, IntArrayRef lengths, int64_t batch, int64_t most) {
  TORCH_CHECK(static_cast<int64_t>(lengths.size()) == batch, name, " must be of size batch_size");
  for (const int64_t n : lengths) {
    TORCH_CHECK(n >= 0, "Expected ", name, " to have value at least 0, but got value ", n, kChecking);
    TORCH_CHECK(n <= most, "Expected ", name, " to have value at most ", most, ", but got value ", n, kChecking);
  }
}

void check_targets(const Tensor& targets, IntArrayRef lengths, int64_t batch) {
  TORCH_CHECK(
      targets.scalar_type() == kLong || targets.scalar_type() == kInt,
      "Expected tensor for argument #2 'targets' to have one of the following scalar types: Long, Int; but got ",
      toString(targets.scalar_type()), " instead", kChecking);
  TORCH_CHECK(targets.dim() == 1 || targets.dim() == 2, "Expected 1 to 2 dimensions, but got ", targets.dim(),
              "-dimensional tensor for argument #2 'targets'", kChecking);
  int64_t longest = 0, total = 0;
  for (const int64_t n : lengths) longest = std::max(longest, n), total += n;
  const int64_t rows = targets.dim() == 2 ? batch : total;
  TORCH_CHECK(targets.size(0) == rows, "Expected tensor to have size ", rows, " at dimension 0, but got size ",
              targets.size(0), " for argument #2 'targets'", kChecking);
  TORCH_CHECK(targets.dim() != 2 || targets.size(1) >= longest, "Expected tensor to have size at least ", longest,
              " at dimension 1, but got size ", targets.size(1), " for argument #2 'targets'", kChecking);
}

}  // namespace

CtcShape ctc_shape(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                   IntArrayRef target_lengths, int64_t blank) {
  TORCH_CHECK_NOT_IMPLEMENTED(log_probs.scalar_type() == kFloat || log_probs.scalar_type() == kDouble,
                              "\"ctc_loss_cpu\" not implemented for '", toString(log_probs.scalar_type()), "'");
  TORCH_CHECK(log_probs.dim() == 3, "Expected 3-dimensional tensor, but got ", log_probs.dim(),
              "-dimensional tensor for argument #1 'log_probs'", kChecking);
  TORCH_CHECK(log_probs.numel() > 0, "log_probs tensor must not be empty");
  const int64_t steps = log_probs.size(0), batch = log_probs.size(1), classes = log_probs.size(2);
  TORCH_CHECK(blank >= 0 && blank < classes, "blank must be in label range");
  check_lengths("input_lengths", input_lengths, batch, steps);
  check_lengths("target_lengths", target_lengths, batch, targets.numel());
  check_targets(targets, target_lengths, batch);
  return {steps, batch, classes, 2 * *std::max_element(target_lengths.begin(), target_lengths.end()) + 1};
}

}  // namespace at::native
