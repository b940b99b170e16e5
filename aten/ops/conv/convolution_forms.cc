// conv1d to conv3d, their transposed forms and conv_tbc, by way of convolution; im2col and col2im.
#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/conv/kernels.h"
#include "aten/ops/conv/ops.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/shared/arguments.h"
#include "aten/ops/shared/matrix_support.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

// Adds a batch dimension to an input that has none, and takes it away from the result.
template <class F>
Tensor with_batch(const char* name, const Tensor& input, int64_t dims, const F& f) {
  TORCH_CHECK(input.dim() == dims + 1 || input.dim() == dims + 2, "Expected ", dims + 1, "D (unbatched) or ", dims + 2,
              "D (batched) input to ", name, ", but got input of size: ", input.sizes());
  if (input.dim() == dims + 2) return f(input);
  return at::squeeze(f(at::unsqueeze(input, 0)), 0);
}

Tensor forward(const char* name, int64_t dims, const Tensor& input, const Tensor& weight,
               const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
               int64_t groups) {
  return with_batch(name, input, dims, [&](const Tensor& x) {
    return at::convolution(x, weight, bias, stride, padding, dilation, false, IntArrayRef{0}, groups);
  });
}

Tensor transposed(const char* name, int64_t dims, const Tensor& input, const Tensor& weight,
                  const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding,
                  IntArrayRef output_padding, int64_t groups, IntArrayRef dilation) {
  return with_batch(name, input, dims, [&](const Tensor& x) {
    return at::convolution(x, weight, bias, stride, padding, dilation, true, output_padding, groups);
  });
}

Tensor padded(const char* name, int64_t dims, const Tensor& input, const Tensor& weight,
              const std::optional<Tensor>& bias, IntArrayRef stride, std::string_view padding, IntArrayRef dilation,
              int64_t groups) {
  if (padding == "valid") return forward(name, dims, input, weight, bias, stride, IntArrayRef{0}, dilation, groups);
  TORCH_CHECK(padding == "same", "Invalid padding string: '", padding, "'");
  TORCH_CHECK(weight.dim() == dims + 2, "Expected ", dims + 2, "-dimensional weight for ", name,
              ", but got weight of size ", weight.sizes());
  for (int64_t s : stride) TORCH_CHECK(s == 1, "padding='same' is not supported for strided convolutions");
  TORCH_CHECK(dilation.size() == 1 || dilation.size() == static_cast<size_t>(dims),
              "expected dilation to be a single integer value or a list of ", dims,
              " values to match the convolution dimensions, but got dilation=", dilation);
  return with_batch(name, input, dims, [&](const Tensor& x) {
    // What an odd total leaves over goes behind.
    DimVector front(static_cast<size_t>(dims)), extra(static_cast<size_t>(2 * dims), 0);
    bool uneven = false;
    for (int64_t i = 0; i < dims; ++i) {
      const int64_t d = dilation[dilation.size() == 1 ? 0 : i];
      int64_t total;
      TORCH_CHECK(d > 0, "dilation should be greater than zero, but got ", dilation);
      TORCH_CHECK(!__builtin_mul_overflow(d, weight.size(2 + i) - 1, &total), "padding='same': the padding overflows");
      front[i] = total / 2;
      if (total % 2 != 0) extra[2 * (dims - 1 - i) + 1] = 1, uneven = true;
    }
    const Tensor in = uneven ? at::constant_pad_nd(x, extra, 0) : x;
    return at::convolution(in, weight, bias, IntArrayRef{1}, front, dilation, false, IntArrayRef{0}, groups);
  });
}

void check_kernel_size(const char* name, const Tensor& weight, IntArrayRef kernel_size, int64_t dims) {
  TORCH_CHECK(weight.dim() == dims + 2, name, ": expected a weight of ", dims + 2, " dimensions, but got ",
              weight.sizes());
  for (int64_t d = 0; d < dims; ++d) {
    TORCH_CHECK(!kernel_size.empty() && kernel_size[kernel_size.size() == 1 ? 0 : d] == weight.size(2 + d), name,
                ": expected kernel_size to be that of a weight of size ", weight.sizes(), ", but got ", kernel_size);
  }
}

Tensor of_kernel(const char* name, int64_t dims, const Tensor& self, const Tensor& weight, IntArrayRef kernel_size,
                 const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation) {
  check_kernel_size(name, weight, kernel_size, dims);
  return forward(name, dims, self, weight, bias, stride, padding, dilation, 1);
}

}  // namespace

Tensor conv1d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride,
              IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return forward("conv1d", 1, input, weight, bias, stride, padding, dilation, groups);
}
Tensor conv2d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride,
              IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return forward("conv2d", 2, input, weight, bias, stride, padding, dilation, groups);
}
Tensor conv3d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride,
              IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return forward("conv3d", 3, input, weight, bias, stride, padding, dilation, groups);
}

Tensor conv1d_padding(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride,
                      std::string_view padding, IntArrayRef dilation, int64_t groups) {
  return padded("conv1d", 1, input, weight, bias, stride, padding, dilation, groups);
}
Tensor conv2d_padding(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride,
                      std::string_view padding, IntArrayRef dilation, int64_t groups) {
  return padded("conv2d", 2, input, weight, bias, stride, padding, dilation, groups);
}
Tensor conv3d_padding(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride,
                      std::string_view padding, IntArrayRef dilation, int64_t groups) {
  return padded("conv3d", 3, input, weight, bias, stride, padding, dilation, groups);
}

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                        IntArrayRef stride, IntArrayRef padding, IntArrayRef output_padding, int64_t groups,
                        IntArrayRef dilation) {
  return transposed("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation);
}
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                        IntArrayRef stride, IntArrayRef padding, IntArrayRef output_padding, int64_t groups,
                        IntArrayRef dilation) {
  return transposed("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation);
}
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                        IntArrayRef stride, IntArrayRef padding, IntArrayRef output_padding, int64_t groups,
                        IntArrayRef dilation) {
  return transposed("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation);
}

Tensor convolution_plain(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                         IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
                         IntArrayRef output_padding, int64_t groups, bool, bool, bool, bool) {
  return at::convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
}

Tensor convolution_deprecated(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
                              IntArrayRef output_padding, int64_t groups, bool, bool, bool) {
  return at::convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
}

Tensor convolution_mode(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                        IntArrayRef stride, std::string_view padding, IntArrayRef dilation, int64_t groups) {
  TORCH_CHECK(input.dim() >= 3 && input.dim() <= 5,
              "_convolution_mode: expected an input of 3 to 5 dimensions, but got ", input.sizes());
  return padded("_convolution_mode", input.dim() - 2, input, weight, bias, stride, padding, dilation, groups);
}

// --- by the names of PyTorch's own kernels, without groups ---

Tensor thnn_conv2d(const Tensor& self, const Tensor& weight, IntArrayRef kernel_size, const std::optional<Tensor>& bias,
                   IntArrayRef stride, IntArrayRef padding) {
  return of_kernel("thnn_conv2d", 2, self, weight, kernel_size, bias, stride, padding, IntArrayRef{1});
}
Tensor slow_conv2d_forward(const Tensor& self, const Tensor& weight, IntArrayRef kernel_size,
                           const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding) {
  return of_kernel("_slow_conv2d_forward", 2, self, weight, kernel_size, bias, stride, padding, IntArrayRef{1});
}
Tensor slow_conv3d(const Tensor& self, const Tensor& weight, IntArrayRef kernel_size, const std::optional<Tensor>& bias,
                   IntArrayRef stride, IntArrayRef padding) {
  return of_kernel("slow_conv3d", 3, self, weight, kernel_size, bias, stride, padding, IntArrayRef{1});
}
Tensor slow_conv3d_forward(const Tensor& self, const Tensor& weight, IntArrayRef kernel_size,
                           const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding) {
  return of_kernel("slow_conv3d_forward", 3, self, weight, kernel_size, bias, stride, padding, IntArrayRef{1});
}
Tensor slow_conv_dilated2d(const Tensor& self, const Tensor& weight, IntArrayRef kernel_size,
                           const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding,
                           IntArrayRef dilation) {
  return of_kernel("slow_conv_dilated2d", 2, self, weight, kernel_size, bias, stride, padding, dilation);
}
Tensor slow_conv_dilated3d(const Tensor& self, const Tensor& weight, IntArrayRef kernel_size,
                           const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding,
                           IntArrayRef dilation) {
  return of_kernel("slow_conv_dilated3d", 3, self, weight, kernel_size, bias, stride, padding, dilation);
}
Tensor slow_conv_transpose2d(const Tensor& self, const Tensor& weight, IntArrayRef kernel_size,
                             const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding,
                             IntArrayRef output_padding, IntArrayRef dilation) {
  check_kernel_size("slow_conv_transpose2d", weight, kernel_size, 2);
  return transposed("slow_conv_transpose2d", 2, self, weight, bias, stride, padding, output_padding, 1, dilation);
}
Tensor slow_conv_transpose3d(const Tensor& self, const Tensor& weight, IntArrayRef kernel_size,
                             const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding,
                             IntArrayRef output_padding, IntArrayRef dilation) {
  check_kernel_size("slow_conv_transpose3d", weight, kernel_size, 3);
  return transposed("slow_conv_transpose3d", 3, self, weight, bias, stride, padding, output_padding, 1, dilation);
}

Tensor mkldnn_convolution(const Tensor& self, const Tensor& weight, const std::optional<Tensor>& bias,
                          IntArrayRef padding, IntArrayRef stride, IntArrayRef dilation, int64_t groups) {
  return at::convolution(self, weight, bias, stride, padding, dilation, false, IntArrayRef{0}, groups);
}

Tensor convolution_overrideable(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                                IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
                                IntArrayRef output_padding, int64_t groups) {
  return at::convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
}

Tensor conv_tbc(const Tensor& self, const Tensor& weight, const Tensor& bias, int64_t pad) {
  TORCH_CHECK(self.dim() == 3, "Input must have 3 dims: time, batch, in_channel.");
  TORCH_CHECK(weight.dim() == 3, "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.");
  TORCH_CHECK(bias.dim() == 1, "Bias must be 1-D");
  const Tensor result = at::convolution(at::permute(self, {1, 2, 0}), at::permute(weight, {2, 1, 0}), bias,
                                        IntArrayRef{1}, IntArrayRef{pad}, IntArrayRef{1}, false, IntArrayRef{0}, 1);
  return at::permute(result, {2, 0, 1});
}

namespace {

Tensor conjugate(const Tensor& t) {
  return t.is_complex() ? at::conj_physical(t) : t;
}
Tensor plus(const Tensor& a, const Tensor& b) {
  return a.defined() ? at::add(a, b) : b;
}

}  // namespace

// Of the gradients of input, weight and bias the cotangents ggI, ggW, ggb, back to gO, self and weight.
std::tuple<Tensor, Tensor, Tensor> convolution_double_backward(
    const std::optional<Tensor>& ggI, const std::optional<Tensor>& ggW, const std::optional<Tensor>& ggb,
    const Tensor& gO, const Tensor& weight, const Tensor& self, IntArrayRef stride, IntArrayRef padding,
    IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups,
    std::array<bool, 3> output_mask) {
  const auto convolve = [&](const Tensor& x, const Tensor& w) {
    return at::convolution(x, w, std::nullopt, stride, padding, dilation, transposed, output_padding, groups);
  };
  const auto backward_of = [&](const Tensor& x, const Tensor& w, bool for_input) {
    return at::convolution_backward(conjugate(gO), x, w, OptionalIntArrayRef(std::nullopt), stride, padding, dilation,
                                    transposed, output_padding, groups,
                                    std::array<bool, 3>{for_input, !for_input, false});
  };
  Tensor of_output, of_input, of_weight;
  if (output_mask[0]) {
    if (given(ggI)) of_output = convolve(*ggI, conjugate(weight));
    if (given(ggW)) of_output = plus(of_output, convolve(conjugate(self), *ggW));
    if (given(ggb)) {
      const int64_t channels = gO.dim() - weight.dim() + 1;
      TORCH_CHECK(channels >= 0 && channels < gO.dim() && gO.size(channels) == ggb->numel(),
                  "_convolution_double_backward: expected ggb with an element for each channel of gO, but got ",
                  ggb->sizes(), " and ", gO.sizes());
      DimVector sizes(static_cast<size_t>(gO.dim()), 1);
      sizes[static_cast<size_t>(channels)] = ggb->numel();
      of_output = plus(of_output, at::expand(at::reshape(*ggb, sizes), gO.sizes()));
    }
  }
  if (output_mask[1] && given(ggW)) of_input = std::get<0>(backward_of(self, *ggW, true));
  if (output_mask[2] && given(ggI)) of_weight = std::get<1>(backward_of(*ggI, weight, false));
  return {of_output, of_input, of_weight};
}

}  // namespace at::native
