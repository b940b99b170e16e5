#include "nn/functional/vision.h"

#include "aten/ops/upsample/ops.h"

namespace torch::nn::functional {

Tensor affine_grid(const Tensor& theta, at::IntArrayRef size, bool align_corners) {
  TORCH_CHECK_VALUE(theta.is_floating_point(), "Expected theta to have floating point type, but got ",
                    theta.dtype().name());
  TORCH_CHECK_NOT_IMPLEMENTED(
      size.size() == 4 || size.size() == 5,
      "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size ", size);
  const int64_t dims = static_cast<int64_t>(size.size()) - 2;
  TORCH_CHECK_VALUE(theta.dim() == 3 && theta.size(-2) == dims && theta.size(-1) == dims + 1, "Expected a batch of ",
                    dims, "D affine matrices of shape Nx", dims, "x", dims + 1, " for size ", size, ". Got ",
                    theta.sizes(), ".");
  for (int64_t n : size) TORCH_CHECK_VALUE(n > 0, "Expected non-zero, positive output size. Got ", size);
  return at::affine_grid_generator(theta, size, align_corners);
}

Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleFuncOptions& options) {
  if (!options.align_corners().has_value()) {
    TORCH_WARN(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
        "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.");
  }
  // The choices stand in the order of the operator's numbers.
  return at::grid_sampler(input, grid, static_cast<int64_t>(options.mode().index()),
                          static_cast<int64_t>(options.padding_mode().index()),
                          options.align_corners().value_or(false));
}

}  // namespace torch::nn::functional
