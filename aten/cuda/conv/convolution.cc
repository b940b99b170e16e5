// convolution, its gradients and its forms of the table of CUDA tensors.
#include "aten/cuda/conv/convolution.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "aten/core/structured.h"
#include "aten/cuda/cudnn/convolution.h"
#include "aten/ops/conv/check.h"
#include "aten/ops/conv/kernels.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

// By cuDNN, and by kernels of ours what it does not take.
void run_once(cuda::ConvolutionPart part, const cuda::ConvolutionTensors& tensors, MemoryFormat format) {
  if (!cuda::cudnn::try_convolve(part, tensors, format)) cuda::convolve_plainly(part, tensors);
}

// In parts where a tensor has more elements than are counted in 32 bits.
void run(cuda::ConvolutionPart part, const cuda::ConvolutionTensors& t, MemoryFormat format) {
  const int64_t batch = t.sizes.batch, largest = std::max(t.x.numel(), t.y.numel());
  if (part == cuda::ConvolutionPart::kGradWeight || largest <= INT32_MAX || batch <= 1)
    return run_once(part, t, format);
  const int64_t together = std::max<int64_t>(1, INT32_MAX / (largest / batch));
  for (int64_t begin = 0; begin < batch; begin += together) {
    matrix::Convolution sizes = t.sizes;
    sizes.batch = std::min(together, batch - begin);
    const auto samples = [&](const Tensor& all) { return at::narrow(all, 0, begin, sizes.batch); };
    Tensor add;
    if (t.add != nullptr) add = samples(*t.add);
    run_once(part,
             {.name = t.name,
              .sizes = sizes,
              .x = samples(t.x),
              .w = t.w,
              .y = samples(t.y),
              .bias = t.bias,
              .add = t.add != nullptr ? &add : nullptr},
             format);
  }
}

// relu(convolution + alpha * z), each as it is given.
void rectified(const char* name, CheckedConvolution c, const Tensor& self, const Tensor& weight, const Tensor* bias,
               const Tensor* z, Tensor& out) {
  c.engine.relu = true;
  Tensor add;
  if (z != nullptr) add = z->is_alias_of(out) ? at::clone(*z) : *z;
  run(cuda::ConvolutionPart::kForward,
      {.name = name, .sizes = c.engine, .x = self, .w = weight, .y = out, .bias = bias, .add = z ? &add : nullptr},
      result_format(self, weight));
}

}  // namespace

void convolution_cuda(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride,
                      IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                      int64_t groups, Tensor& out) {
  const Tensor* b = defined(bias);
  const CheckedConvolution c =
      check_convolution(input, weight, b, stride, padding, dilation, transposed, output_padding, groups);
  if (transposed) {
    run(cuda::ConvolutionPart::kGradInput,
        {.name = "convolution", .sizes = c.engine, .x = out, .w = weight, .y = input, .bias = b},
        result_format(input, weight));
  } else {
    run(cuda::ConvolutionPart::kForward,
        {.name = "convolution", .sizes = c.engine, .x = input, .w = weight, .y = out, .bias = b},
        result_format(input, weight));
  }
}

void cudnn_convolution_relu_cuda(const Tensor& self, const Tensor& weight, const std::optional<Tensor>& bias,
                                 IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups,
                                 Tensor& out) {
  const Tensor* b = defined(bias);
  rectified("cudnn_convolution_relu",
            check_convolution(self, weight, b, stride, padding, dilation, false, IntArrayRef{0}, groups), self, weight,
            b, nullptr, out);
}

void cudnn_convolution_add_relu_cuda(const Tensor& self, const Tensor& weight, const Tensor& z,
                                     const std::optional<Scalar>& alpha, const std::optional<Tensor>& bias,
                                     IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups,
                                     Tensor& out) {
  const Tensor* b = defined(bias);
  CheckedConvolution c = check_convolution(self, weight, b, stride, padding, dilation, false, IntArrayRef{0}, groups);
  c.engine.alpha = alpha ? alpha->toDouble() : 1;
  rectified("cudnn_convolution_add_relu", std::move(c), self, weight, b, &z, out);
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward_cuda(const Tensor& grad_output, const Tensor& input,
                                                             const Tensor& weight, OptionalIntArrayRef,
                                                             IntArrayRef stride, IntArrayRef padding,
                                                             IntArrayRef dilation, bool transposed,
                                                             IntArrayRef output_padding, int64_t groups,
                                                             std::array<bool, 3> output_mask) {
  const CheckedConvolution c = check_convolution_backward(grad_output, input, weight, stride, padding, dilation,
                                                          transposed, output_padding, groups);
  const MemoryFormat format = result_format(input, weight);
  // One copy, if any, for both gradients.
  const Tensor grad = output_mask[0] && output_mask[1] ? dense(grad_output, format) : grad_output;
  std::tuple<Tensor, Tensor, Tensor> result;
  // A transposed convolution is the gradient of another, whose input is grad_output.
  cuda::ConvolutionTensors tensors{.name = "convolution_backward",
                                   .sizes = c.engine,
                                   .x = transposed ? grad : input,
                                   .w = weight,
                                   .y = transposed ? input : grad};
  if (output_mask[0]) {
    cuda::ConvolutionTensors of = tensors;
    std::get<0>(result) = gradient_like(input, input, format);
    (transposed ? of.y : of.x) = std::get<0>(result);
    run(transposed ? cuda::ConvolutionPart::kForward : cuda::ConvolutionPart::kGradInput, of, format);
  }
  if (output_mask[1]) {
    std::get<1>(result) = gradient_like(weight, input, format);
    tensors.w = std::get<1>(result);
    run(cuda::ConvolutionPart::kGradWeight, tensors, format);
  }
  if (output_mask[2]) {
    DimVector dims = {0};
    for (int64_t d = 2; d < grad_output.dim(); ++d) dims.push_back(d);
    std::get<2>(result) = at::sum(grad_output, IntArrayRef(dims), false, std::nullopt);
  }
  return result;
}

}  // namespace at::native
