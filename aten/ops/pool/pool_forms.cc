// Pooling by way of other pooling operators: one dimension as two, and the forms without indices.
#include <tuple>

#include "aten/core/tensor.h"
#include "aten/ops/pool/kernels.h"
#include "aten/ops/pool/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

// `values` for one dimension as the last of two.
DimVector second_of_two(const char* op, const char* name, IntArrayRef values, int64_t first) {
  if (values.empty()) return {};
  TORCH_CHECK(values.size() == 1, op, ": ", name, " must contain one int, got ", values.size());
  return {first, values[0]};
}

void check_one_dimension(const char* op, const Tensor& self) {
  TORCH_CHECK(self.dim() == 2 || self.dim() == 3, "Expected 2 to 3 dimensions, but got ", self.dim(),
              "-dimensional tensor for argument #1 'self' (while checking arguments for ", op, ")");
}

// In the words of max_pool1d, which has its own. One value each, or no stride.
void check_windows(IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation) {
  const int64_t kernel = kernel_size.back(), pad = padding.back();
  TORCH_CHECK(kernel > 0, "max_pool1d() kernel_size must be greater than zero, but got ", kernel);
  TORCH_CHECK(stride.empty() || stride.back() > 0, "max_pool1d() stride must be greater than zero, but got ",
              stride.back());
  TORCH_CHECK(pad >= 0, "max_pool1d() padding must be non-negative, but got ", pad);
  TORCH_CHECK(pad <= kernel / 2, "max_pool1d() padding should be at most half of kernel size, but got padding=", pad,
              " and kernel_size=", kernel);
  TORCH_CHECK(dilation.back() > 0, "max_pool1d() dilation must be greater than zero, but got ", dilation.back());
}

std::tuple<Tensor, Tensor> narrowed(const std::tuple<Tensor, Tensor>& pair) {
  return {at::squeeze(std::get<0>(pair), -2), at::squeeze(std::get<1>(pair), -2)};
}

}  // namespace

std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                                                   IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  constexpr const char* kName = "max_pool1d";
  check_one_dimension(kName, self);
  return narrowed(at::max_pool2d_with_indices(
      at::unsqueeze(self, -2), second_of_two(kName, "kernel_size", kernel_size, 1),
      second_of_two(kName, "stride", stride, 1), second_of_two(kName, "padding", padding, 0),
      second_of_two(kName, "dilation", dilation, 1), ceil_mode));
}

Tensor max_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  IntArrayRef dilation, bool ceil_mode) {
  TORCH_CHECK(self.dim() == 2 || self.dim() == 3,
              "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:",
              self.sizes());
  constexpr const char* kName = "max_pool1d";
  const DimVector kernel = second_of_two(kName, "kernel_size", kernel_size, 1),
                  steps = second_of_two(kName, "stride", stride, 1), pad = second_of_two(kName, "padding", padding, 0),
                  dilated = second_of_two(kName, "dilation", dilation, 1);
  if (!kernel.empty() && !pad.empty() && !dilated.empty()) check_windows(kernel, steps, pad, dilated);
  return at::squeeze(at::max_pool2d(at::unsqueeze(self, -2), kernel, steps, pad, dilated, ceil_mode), -2);
}
Tensor max_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  IntArrayRef dilation, bool ceil_mode) {
  return std::get<0>(at::max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
}
Tensor max_pool3d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  IntArrayRef dilation, bool ceil_mode) {
  return std::get<0>(at::max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
}

Tensor avg_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode,
                  bool count_include_pad) {
  constexpr const char* kName = "avg_pool1d";
  check_one_dimension(kName, self);
  return at::squeeze(
      at::avg_pool2d(at::unsqueeze(self, -2), second_of_two(kName, "kernel_size", kernel_size, 1),
                     second_of_two(kName, "stride", stride, 1), second_of_two(kName, "padding", padding, 0), ceil_mode,
                     count_include_pad, std::nullopt),
      -2);
}

Tensor adaptive_avg_pool1d(const Tensor& self, IntArrayRef output_size) {
  constexpr const char* kName = "adaptive_avg_pool1d";
  TORCH_CHECK(self.dim() == 2 || self.dim() == 3, kName, "(): Expected 2D or 3D tensor, but got ", self.sizes());
  return at::squeeze(
      at::adaptive_avg_pool2d(at::unsqueeze(self, -2), second_of_two(kName, "output_size", output_size, 1)), -2);
}

std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& self, IntArrayRef output_size) {
  constexpr const char* kName = "adaptive_max_pool1d";
  TORCH_CHECK(self.dim() == 2 || self.dim() == 3, kName, "(): Expected 2D or 3D tensor, but got ", self.sizes());
  return narrowed(
      at::adaptive_max_pool2d(at::unsqueeze(self, -2), second_of_two(kName, "output_size", output_size, 1)));
}

Tensor max_pool2d_backward(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                           IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  const Tensor indices =
      std::get<1>(at::max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
  return at::max_pool2d_with_indices_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode,
                                              indices);
}

Tensor fractional_max_pool2d_backward(const Tensor& grad_output, const Tensor& self, IntArrayRef, IntArrayRef,
                                      const Tensor& indices) {
  return at::adaptive_max_pool2d_backward(grad_output, self, indices);
}

Tensor fractional_max_pool3d_backward(const Tensor& grad_output, const Tensor& self, IntArrayRef, IntArrayRef,
                                      const Tensor& indices) {
  return at::adaptive_max_pool3d_backward(grad_output, self, indices);
}

Tensor& adaptive_avg_pool3d_backward_out(const Tensor& grad_output, const Tensor& self, Tensor& grad_input) {
  return at::_adaptive_avg_pool3d_backward_outf(grad_output, self, grad_input);
}

}  // namespace at::native
