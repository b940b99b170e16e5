// convolution and its gradients: shapes, and calls of the convolution engine.
#include <array>
#include <tuple>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/conv/check.h"
#include "aten/ops/conv/kernels.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/shared/matrix_support.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

void check_rectified(const char* op, const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.is_floating_point(), "\"", op, "\" not implemented for '",
                              toString(self.scalar_type()), "'");
}

// A convolution that is not transposed; `add`, if any, is added as c.engine.alpha says.
void convolve(CheckedConvolution& c, const Tensor& input, const Tensor& weight, const Tensor* bias, const Tensor* add,
              Tensor& out) {
  const MemoryFormat format = result_format(input, weight);
  c.engine.channels_last = format != MemoryFormat::Contiguous;
  const Tensor x = dense(input, format), w = dense(weight), b = bias == nullptr ? Tensor() : dense(*bias);
  DenseOut to(out, format);
  Tensor added;
  if (add != nullptr) {
    added = dense(*add, format);
    if (added.is_alias_of(to.tensor())) added = at::clone(added, format);
    c.engine.add = added.const_data_ptr();
  }
  matrix::convolution_forward(c.engine, x.data_ptr(), w.data_ptr(), bias == nullptr ? nullptr : b.data_ptr(),
                              to.tensor().data_ptr());
  to.commit();
}

}  // namespace

TensorSpec convolution_meta(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                            IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
                            IntArrayRef output_padding, int64_t groups) {
  const CheckedConvolution c =
      check_convolution(input, weight, defined(bias), stride, padding, dilation, transposed, output_padding, groups);
  const MemoryFormat format = result_format(input, weight);
  const DimVector strides = format == MemoryFormat::Contiguous ? DimVector() : strides_of_format(c.result, format);
  return {c.result, strides, input.scalar_type(), input.device()};
}

void convolution_cpu(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride,
                     IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                     int64_t groups, Tensor& out) {
  const Tensor* b = defined(bias);
  CheckedConvolution c =
      check_convolution(input, weight, b, stride, padding, dilation, transposed, output_padding, groups);
  if (!transposed) return convolve(c, input, weight, b, nullptr, out);
  const MemoryFormat format = result_format(input, weight);
  c.engine.channels_last = format != MemoryFormat::Contiguous;
  const Tensor x = dense(input, format), w = dense(weight);
  DenseOut to(out, format);
  matrix::convolution_backward_input(c.engine, x.data_ptr(), w.data_ptr(), to.tensor().data_ptr());
  if (b != nullptr) {
    DimVector shape(static_cast<size_t>(out.dim()), 1);
    shape[1] = b->size(0);
    at::add_(to.tensor(), at::reshape(*b, shape), 1);
  }
  to.commit();
}

TensorSpec cudnn_convolution_relu_meta(const Tensor& self, const Tensor& weight, const std::optional<Tensor>& bias,
                                       IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  check_rectified("cudnn_convolution_relu", self);
  return convolution_meta(self, weight, bias, stride, padding, dilation, false, IntArrayRef{0}, groups);
}

void cudnn_convolution_relu_cpu(const Tensor& self, const Tensor& weight, const std::optional<Tensor>& bias,
                                IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups,
                                Tensor& out) {
  const Tensor* b = defined(bias);
  CheckedConvolution c = check_convolution(self, weight, b, stride, padding, dilation, false, IntArrayRef{0}, groups);
  c.engine.relu = true;
  convolve(c, self, weight, b, nullptr, out);
}

TensorSpec cudnn_convolution_add_relu_meta(const Tensor& self, const Tensor& weight, const Tensor& z,
                                           const std::optional<Scalar>& alpha, const std::optional<Tensor>& bias,
                                           IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                                           int64_t groups) {
  check_rectified("cudnn_convolution_add_relu", self);
  const TensorSpec spec =
      convolution_meta(self, weight, bias, stride, padding, dilation, false, IntArrayRef{0}, groups);
  TORCH_CHECK(z.sizes() == IntArrayRef(spec.sizes), "cudnn_convolution_add_relu: expected z of size ",
              IntArrayRef(spec.sizes), ", that of the convolution, but got ", z.sizes());
  check_same_device({&self, &z});
  TORCH_CHECK(z.scalar_type() == self.scalar_type(), "cudnn_convolution_add_relu: expected z of type ",
              toString(self.scalar_type()), ", but got ", toString(z.scalar_type()));
  TORCH_CHECK(!alpha || !alpha->isComplex(), "cudnn_convolution_add_relu: expected a real alpha, but got ", *alpha);
  return spec;
}

void cudnn_convolution_add_relu_cpu(const Tensor& self, const Tensor& weight, const Tensor& z,
                                    const std::optional<Scalar>& alpha, const std::optional<Tensor>& bias,
                                    IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups,
                                    Tensor& out) {
  const Tensor* b = defined(bias);
  CheckedConvolution c = check_convolution(self, weight, b, stride, padding, dilation, false, IntArrayRef{0}, groups);
  c.engine.relu = true;
  c.engine.alpha = alpha ? alpha->toDouble() : 1;
  convolve(c, self, weight, b, &z, out);
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward_meta(const Tensor& grad_output, const Tensor& input,
                                                             const Tensor& weight, OptionalIntArrayRef bias_sizes,
                                                             IntArrayRef stride, IntArrayRef padding,
                                                             IntArrayRef dilation, bool transposed,
                                                             IntArrayRef output_padding, int64_t groups,
                                                             std::array<bool, 3> output_mask) {
  check_convolution_backward(grad_output, input, weight, stride, padding, dilation, transposed, output_padding, groups);
  const MemoryFormat format = result_format(input, weight);
  std::tuple<Tensor, Tensor, Tensor> result;
  if (output_mask[0]) std::get<0>(result) = gradient_like(input, input, format);
  if (output_mask[1]) std::get<1>(result) = gradient_like(weight, input, format);
  if (output_mask[2]) {
    std::get<2>(result) = empty_contiguous({grad_output.size(1)}, input.scalar_type(), input.device());
  }
  return result;
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward_cpu(const Tensor& grad_output, const Tensor& input,
                                                            const Tensor& weight, OptionalIntArrayRef bias_sizes,
                                                            IntArrayRef stride, IntArrayRef padding,
                                                            IntArrayRef dilation, bool transposed,
                                                            IntArrayRef output_padding, int64_t groups,
                                                            std::array<bool, 3> output_mask) {
  CheckedConvolution c = check_convolution_backward(grad_output, input, weight, stride, padding, dilation, transposed,
                                                    output_padding, groups);
  const MemoryFormat format = result_format(input, weight);
  c.engine.channels_last = format != MemoryFormat::Contiguous;
  const Tensor grad = dense(grad_output, format);
  std::tuple<Tensor, Tensor, Tensor> result;
  if (output_mask[0]) {
    const Tensor w = dense(weight);
    Tensor to = gradient_like(input, input, format);
    if (transposed)
      matrix::convolution_forward(c.engine, grad.data_ptr(), w.data_ptr(), nullptr, to.data_ptr());
    else
      matrix::convolution_backward_input(c.engine, grad.data_ptr(), w.data_ptr(), to.data_ptr());
    std::get<0>(result) = to;
  }
  if (output_mask[1]) {
    const Tensor x = dense(input, format);
    Tensor to = gradient_like(weight, input, format);
    DenseOut plain(to);
    const Tensor& out = transposed ? x : grad;
    const Tensor& in = transposed ? grad : x;
    matrix::convolution_backward_weight(c.engine, out.data_ptr(), in.data_ptr(), plain.tensor().data_ptr());
    plain.commit();
    std::get<1>(result) = to;
  }
  if (output_mask[2]) {
    DimVector dims = {0};
    for (int64_t d = 2; d < grad.dim(); ++d) dims.push_back(d);
    std::get<2>(result) = at::sum(grad, IntArrayRef(dims), false, std::nullopt);
  }
  return result;
}

}  // namespace at::native
