#pragma once
// What the operators that sample grids check of their arguments.

#include <array>

#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/ops/upsample/grid_formulas.h"

namespace at::native {

// Their names, by the number of dimensions.
const char* sampling_name(int dims);

// Each throws what does not fit.
Sampling checked_sampling(int dims, const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                          int64_t padding_mode, bool align_corners);
TensorSpec sampled_spec(const Sampling& s, const Tensor& input, const Tensor& grid);
std::array<TensorSpec, 2> sampling_backward_spec(const Sampling& s, const Tensor& grad_output, const Tensor& input,
                                                 const Tensor& grid, std::array<bool, 2> mask);
Sampling check_sampling_backward_grad(const Tensor& to_input, const Tensor& to_grid, const Tensor& grad_output,
                                      const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                                      int64_t padding_mode, bool align_corners);

}  // namespace at::native
