// Limits of gradients.
//
//   torch::nn::utils::clip_grad_norm_(model->parameters(), 1.0);
#pragma once

#include <vector>

#include "aten/core/tensor.h"

namespace torch::nn::utils {

// The norm of all tensors together, as a tensor on the first one's device; zero where there is none. norm_type infinity
// is the largest magnitude. Throws where it is not finite and error_if_nonfinite is set.
at::Tensor get_total_norm(const std::vector<at::Tensor>& tensors, double norm_type = 2.0,
                          bool error_if_nonfinite = false);

// Scales the gradients of the parameters by max_norm / (total_norm + 1e-6), in place, where that is below 1: what
// clip_grad_norm_ does with a norm that is known already, such as one over several devices.
// A norm on a device is not waited for, so that this can be captured into a graph, with get_total_norm().
void clip_grads_with_norm_(const std::vector<at::Tensor>& parameters, double max_norm, const at::Tensor& total_norm);
void clip_grads_with_norm_(const std::vector<at::Tensor>& parameters, double max_norm, double total_norm);

// Scales the gradients of all parameters together, in place, to a total norm of at most max_norm, by
// max_norm / (norm + 1e-6) where that is below 1. Returns the norm before. norm_type infinity is the largest magnitude.
// Throws where the norm is not finite and error_if_nonfinite is set, before anything is scaled.
double clip_grad_norm_(const std::vector<at::Tensor>& parameters, double max_norm, double norm_type = 2.0,
                       bool error_if_nonfinite = false);
double clip_grad_norm_(const at::Tensor& parameter, double max_norm, double norm_type = 2.0,
                       bool error_if_nonfinite = false);

// Cuts every element of every gradient to [-clip_value, clip_value], in place.
void clip_grad_value_(const std::vector<at::Tensor>& parameters, double clip_value);
void clip_grad_value_(const at::Tensor& parameter, double clip_value);

}  // namespace torch::nn::utils
