#pragma once

#include "aten/core/tensor.h"

namespace at::native {

// Of log_probs [steps][batch][classes]; the paths of a batch go through at most `states` states.
struct CtcShape {
  int64_t steps, batch, classes, states;
};

// Of what ctc_loss is called with. Throws what does not fit; labels are the kernels' to check.
CtcShape ctc_shape(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                   IntArrayRef target_lengths, int64_t blank);

}  // namespace at::native
