#pragma once

#include <cstdint>

#include "c10/core/scalar_type.h"

namespace at::cuda {

/// Dense log_probs [steps][batch][classes] and alpha [batch][steps][states] of float or double. A label that is no
/// class ends the launch.
struct CtcCall {
  c10::ScalarType dtype;
  int64_t steps, batch, classes, states, blank;
  // Three numbers a sequence: its steps, its labels, and where these begin in `targets`.
  const int64_t *lengths, *targets;
  const void* log_probs;
  void *alpha, *loss;
};

/// alpha: the logarithm of the probability of each state at each step, over all ways to there; loss: minus that of all
/// ways to the end.
void launch_ctc_forward(const CtcCall& call);

/// The gradient of log_probs, as those come out of a log_softmax. `scratch`: ctc_scratch() bytes.
struct CtcBackward {
  const void* grad;  // of each loss
  void *result, *scratch;
  bool zero_infinity;  // else a loss that is infinite gives NaN
};
void launch_ctc_backward(const CtcCall& call, const CtcBackward& backward);
int64_t ctc_scratch(const CtcCall& call);

}  // namespace at::cuda
