// All parameters as one vector, and back.
#pragma once

#include <vector>

#include "aten/core/tensor.h"

namespace torch::nn::utils {

// The elements of all parameters, one after another, as a new 1-d tensor. All must be on one device.
at::Tensor parameters_to_vector(const std::vector<at::Tensor>& parameters);
// Writes consecutive parts of `vec` into the parameters. Throws, with nothing written, where its length is not theirs.
void vector_to_parameters(const at::Tensor& vec, const std::vector<at::Tensor>& parameters);

}  // namespace torch::nn::utils
