#include "aten/ops/conv/check.h"

#include <string>

#include "aten/core/context.h"
#include "aten/ops/shared/matrix_support.h"

namespace at::native {
namespace {

struct Parameters {
  int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1}, output_padding[3] = {0, 0, 0};
};

// `values`, one for each of `dims` dimensions or one for all, right-aligned in `to`.
void read_list(const char* name, IntArrayRef values, int64_t dims, int64_t* to) {
  TORCH_CHECK(values.size() == 1 || values.size() == static_cast<size_t>(dims), "expected ", name,
              " to be a single integer value or a list of ", dims,
              " values to match the convolution dimensions, but got ", name, "=", values);
  for (int64_t i = 0; i < dims; ++i) to[3 - dims + i] = values[values.size() == 1 ? 0 : i];
}

Parameters check_parameters(int64_t dims, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                            IntArrayRef output_padding, int64_t groups) {
  TORCH_CHECK(groups > 0, "non-positive groups is not supported");
  Parameters p;
  read_list("stride", stride, dims, p.stride);
  read_list("padding", padding, dims, p.padding);
  read_list("dilation", dilation, dims, p.dilation);
  read_list("output_padding", output_padding, dims, p.output_padding);
  for (int d = 0; d < 3; ++d) {
    TORCH_CHECK(p.padding[d] >= 0, "negative padding is not supported");
    TORCH_CHECK(p.output_padding[d] >= 0, "negative output_padding is not supported");
    TORCH_CHECK(p.stride[d] > 0, "non-positive stride is not supported");
    TORCH_CHECK(p.dilation[d] > 0, "dilation should be greater than zero, but got ", dilation);
  }
  return p;
}

int64_t checked(__int128 size) {
  TORCH_CHECK(size < (__int128{1} << 62) && size > -(__int128{1} << 62),
              "convolution: the size of the result overflows");
  return static_cast<int64_t>(size);
}

int64_t kernel_reach(int64_t kernel, int64_t dilation) {
  return checked(__int128{dilation} * (kernel - 1) + 1);
}

}  // namespace

CheckedConvolution check_convolution(const Tensor& input, const Tensor& weight, const Tensor* bias, IntArrayRef stride,
                                     IntArrayRef padding, IntArrayRef dilation, bool transposed,
                                     IntArrayRef output_padding, int64_t groups) {
  const int64_t dims = weight.dim() - 2;
  TORCH_CHECK(dims >= 1 && dims <= 3, "convolution: expected a weight of 3, 4 or 5 dimensions, but got one of size ",
              weight.sizes());
  const Parameters p = check_parameters(dims, stride, padding, dilation, output_padding, groups);
  TORCH_CHECK(input.dim() == weight.dim(), "Expected ", dims + 2, "-dimensional input for ", weight.dim(),
              "-dimensional weight ", weight.sizes(), ", but got ", input.dim(), "-dimensional input of size ",
              input.sizes(), " instead");
  check_same_device({&input, &weight, bias});
  TORCH_CHECK(input.scalar_type() == weight.scalar_type(), "Input type (", toString(input.scalar_type()),
              ") and weight type (", toString(weight.scalar_type()), ") should be the same");
  check_matrix_dtype("convolution", input.scalar_type());
  TORCH_CHECK(weight.size(0) >= groups, "Given groups=", groups, ", expected weight to be at least ", groups,
              " at dimension 0, but got weight of size ", weight.sizes(), " instead");
  TORCH_CHECK(weight.size(0) % groups == 0, "Given groups=", groups, ", expected weight to be divisible by ", groups,
              " at dimension 0, but got weight of size ", weight.sizes(), " instead");
  const int64_t in_channels = transposed ? weight.size(0) : checked(__int128{weight.size(1)} * groups);
  const int64_t out_channels = transposed ? checked(__int128{weight.size(1)} * groups) : weight.size(0);
  if (transposed) {
    TORCH_CHECK(input.size(1) == in_channels, "Given transposed=1, weight of size ", weight.sizes(), ", expected input",
                input.sizes(), " to have ", in_channels, " channels, but got ", input.size(1), " channels instead");
  } else {
    TORCH_CHECK(input.size(1) == in_channels, "Given groups=", groups, ", weight of size ", weight.sizes(),
                ", expected input", input.sizes(), " to have ", in_channels, " channels, but got ", input.size(1),
                " channels instead");
  }
  if (bias != nullptr) {
    TORCH_CHECK(bias->dim() == 1 && bias->size(0) == out_channels, "Given ", transposed ? "transposed=1, " : "",
                "weight of size ", weight.sizes(), ", expected bias to be 1-dimensional with ", out_channels,
                " elements, but got bias of size ", bias->sizes(), " instead");
    TORCH_CHECK(bias->scalar_type() == input.scalar_type(), "Input type (", toString(input.scalar_type()),
                ") and bias type (", toString(bias->scalar_type()), ") should be the same");
  }
  CheckedConvolution c;
  c.engine.type = matrix_type(input.scalar_type());
  c.engine.dims = static_cast<int>(dims);
  c.engine.batch = input.size(0);
  c.engine.groups = groups;
  c.engine.plain_sums =
      globalContext().float32Precision(Float32Backend::MKLDNN, Float32Op::CONV) == Float32Precision::IEEE;
  c.engine.in_channels = transposed ? out_channels : in_channels;
  c.engine.out_channels = transposed ? in_channels : out_channels;
  c.result = {input.size(0), out_channels};
  bool fits = true;
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t d = 3 - dims + i, in = input.size(2 + i), kernel = weight.size(2 + i);
    TORCH_CHECK(kernel > 0, "kernel size should be greater than zero, but got a weight of size ", weight.sizes());
    const int64_t reach = kernel_reach(kernel, p.dilation[d]);
    int64_t out;
    if (transposed) {
      TORCH_CHECK(p.output_padding[d] < p.stride[d] || p.output_padding[d] < p.dilation[d],
                  "output padding must be smaller than either stride or dilation, but got output_padding: ",
                  p.output_padding[d], " stride: ", p.stride[d], " dilation: ", p.dilation[d]);
      TORCH_CHECK(in > 0, "Expected an input with non-empty spatial dimensions, but got one of size ", input.sizes());
      out = checked(__int128{in - 1} * p.stride[d] - __int128{2} * p.padding[d] + reach + p.output_padding[d]);
      TORCH_CHECK(out > 0, "Given input size per channel: ", input.sizes().slice(2),
                  ". Calculated output size per channel: ", out, " at dimension ", i, ". Output size is too small");
    } else {
      const __int128 room = __int128{in} + __int128{2} * p.padding[d] - reach;
      fits = fits && room >= 0;
      out = room >= 0 ? checked(room / p.stride[d] + 1) : 0;
    }
    c.engine.input[d] = transposed ? out : in;
    c.engine.output[d] = transposed ? in : out;
    c.engine.kernel[d] = kernel;
    c.engine.stride[d] = p.stride[d];
    c.engine.dilation[d] = p.dilation[d];
    c.engine.padding[d] = p.padding[d];
    c.result.push_back(out);
  }
  if (!fits) {
    std::string padded, kernels;
    for (int64_t i = 0; i < dims; ++i) {
      const int64_t d = 3 - dims + i;
      padded += (i > 0 ? " x " : "") +
                std::to_string(static_cast<int64_t>(__int128{input.size(2 + i)} + __int128{2} * p.padding[d]));
      kernels += (i > 0 ? " x " : "") + std::to_string(kernel_reach(weight.size(2 + i), p.dilation[d]));
    }
    TORCH_CHECK(false, "Calculated padded input size per channel: (", padded, "). Kernel size: (", kernels,
                "). Kernel size can't be greater than actual input size");
  }
  return c;
}

MemoryFormat result_format(const Tensor& input, const Tensor& weight) {
  if (input.dim() == 5 && input.scalar_type() == ScalarType::Double) return MemoryFormat::Contiguous;
  const MemoryFormat format = input.suggest_memory_format();
  return format == MemoryFormat::Contiguous ? weight.suggest_memory_format() : format;
}

CheckedConvolution check_convolution_backward(const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                                              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                                              bool transposed, IntArrayRef output_padding, int64_t groups) {
  CheckedConvolution c =
      check_convolution(input, weight, nullptr, stride, padding, dilation, transposed, output_padding, groups);
  TORCH_CHECK(grad_output.sizes() == IntArrayRef(c.result), "convolution_backward: expected grad_output of size ",
              IntArrayRef(c.result), ", but got ", grad_output.sizes());
  check_same_device({&grad_output, &input});
  TORCH_CHECK(grad_output.scalar_type() == input.scalar_type(), "convolution_backward: expected grad_output of type ",
              toString(input.scalar_type()), ", but got ", toString(grad_output.scalar_type()));
  return c;
}

}  // namespace at::native
