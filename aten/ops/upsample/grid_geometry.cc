#include "aten/ops/upsample/grid_geometry.h"

#include "c10/util/exception.h"

namespace at::native {
namespace {

TensorSpec spec_like(const Tensor& t) {
  return {DimVector(t.sizes().begin(), t.sizes().end()), {}, t.scalar_type(), t.device()};
}

}  // namespace

const char* sampling_name(int dims) {
  return dims == 2 ? "grid_sampler_2d" : "grid_sampler_3d";
}

Sampling checked_sampling(int dims, const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                          int64_t padding_mode, bool align_corners) {
  constexpr const char* op = "grid_sampler";
  TORCH_CHECK(input.dim() == dims + 2 && grid.dim() == dims + 2, op, "(): expected input and grid of ", dims + 2,
              " dimensions, but got input with sizes ", input.sizes(), " and grid with sizes ", grid.sizes());
  TORCH_CHECK(input.device() == grid.device(), op, "(): expected input and grid to be on same device, but input is on ",
              input.device(), " and grid is on ", grid.device());
  TORCH_CHECK(input.scalar_type() == grid.scalar_type(), op, "(): expected scalar type ", input.scalar_type(),
              " of grid, as of input, but found ", grid.scalar_type());
  TORCH_CHECK(input.size(0) == grid.size(0), op,
              "(): expected grid and input to have same batch size, but got input with sizes ", input.sizes(),
              " and grid with sizes ", grid.sizes());
  TORCH_CHECK(grid.size(-1) == dims, op, "(): expected grid to have size ", dims,
              " in last dimension, but got grid with sizes ", grid.sizes());
  for (int64_t d = 2; d < input.dim(); ++d) {
    TORCH_CHECK(input.size(d) > 0, op, "(): expected input to have non-empty spatial dimensions, but input has sizes ",
                input.sizes(), " with dimension ", d, " being empty");
  }
  const int64_t modes = dims == 2 ? 3 : 2;
  TORCH_CHECK(interpolation_mode >= 0 && interpolation_mode < modes, op, "(): interpolation_mode ", interpolation_mode,
              " is not one of 0 (bilinear), 1 (nearest)",
              dims == 2 ? ", 2 (bicubic)" : "; bicubic interpolation only supports 4D input");
  TORCH_CHECK(padding_mode >= 0 && padding_mode < 3, op, "(): padding_mode ", padding_mode,
              " is not one of 0 (zeros), 1 (border), 2 (reflection)");
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(input.scalar_type()), "\"", op, "\" not implemented for '",
                              input.scalar_type(), "'");
  Sampling s{dims, static_cast<SamplingMode>(interpolation_mode), static_cast<SamplingPadding>(padding_mode),
             align_corners};
  s.batch = input.size(0), s.channels = input.size(1), s.places = 1;
  for (int d = 0; d < dims; ++d) {
    s.size[static_cast<size_t>(d)] = input.size(dims + 1 - d);
    s.places *= grid.size(d + 1);
  }
  return s;
}

TensorSpec sampled_spec(const Sampling& s, const Tensor& input, const Tensor& grid) {
  DimVector sizes{s.batch, s.channels};
  for (int d = 0; d < s.dims; ++d) sizes.push_back(grid.size(d + 1));
  return {sizes, {}, input.scalar_type(), input.device()};
}

std::array<TensorSpec, 2> sampling_backward_spec(const Sampling& s, const Tensor& grad_output, const Tensor& input,
                                                 const Tensor& grid, std::array<bool, 2> mask) {
  const TensorSpec expected = sampled_spec(s, input, grid);
  TORCH_CHECK(grad_output.sizes() == IntArrayRef(expected.sizes), sampling_name(s.dims),
              "_backward(): expected grad_output of sizes ", IntArrayRef(expected.sizes), ", but got ",
              grad_output.sizes());
  TORCH_CHECK(grad_output.scalar_type() == input.scalar_type(), sampling_name(s.dims),
              "_backward(): expected grad_output of type ", input.scalar_type(), ", but got ",
              grad_output.scalar_type());
  std::array<TensorSpec, 2> specs{spec_like(input), spec_like(grid)};
  for (size_t i = 0; i < 2; ++i) {
    if (!mask[i]) specs[i].sizes = DimVector{0};
  }
  return specs;
}

Sampling check_sampling_backward_grad(const Tensor& to_input, const Tensor& to_grid, const Tensor& grad_output,
                                      const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                                      int64_t padding_mode, bool align_corners) {
  const int dims = static_cast<int>(input.dim()) - 2;
  TORCH_CHECK(dims == 2 || dims == 3,
              "_grid_sampler_backward_grad: expected an input of 4 or 5 dimensions, but got sizes ", input.sizes());
  const Sampling s = checked_sampling(dims, input, grid, interpolation_mode, padding_mode, align_corners);
  sampling_backward_spec(s, grad_output, input, grid, {true, true});
  TORCH_CHECK(to_input.sizes() == input.sizes() && to_grid.sizes() == grid.sizes() &&
                  to_input.scalar_type() == input.scalar_type() && to_grid.scalar_type() == grid.scalar_type(),
              "_grid_sampler_backward_grad: expected gradients like input, ", input.sizes(), ", and grid, ",
              grid.sizes(), ", but got ", to_input.sizes(), " and ", to_grid.sizes());
  return s;
}

}  // namespace at::native
