// Limits of gradients that are spread over ranks.
#pragma once

#include <vector>

#include "aten/core/tensor.h"

namespace torch::distributed::fsdp {

/// The norm of all gradients together, over all ranks: of DTensors each element counts once, however many ranks have
/// it; plain tensors are taken to be the same on all ranks. `norm_type` infinity is the largest magnitude. 0 where
/// there are none. A call of all ranks of the gradients' meshes.
double get_total_norm(const std::vector<at::Tensor>& gradients, double norm_type = 2.0);

/// Scales the gradients of the parameters in place to a total norm of at most max_norm, by max_norm / (norm + 1e-6)
/// where that is below 1. Returns the norm before: the same number on all ranks, and that of one process. Throws, with
/// nothing scaled, where it is not finite and error_if_nonfinite is set. A call of all ranks.
///
///   double norm = torch::distributed::fsdp::clip_grad_norm_(net->parameters(), 1.0);
double clip_grad_norm_(const std::vector<at::Tensor>& parameters, double max_norm, double norm_type = 2.0,
                       bool error_if_nonfinite = false);

}  // namespace torch::distributed::fsdp
