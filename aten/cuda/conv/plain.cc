// Calls of the kernels that compute convolutions by their definition.
#include <algorithm>

#include "aten/cuda/conv/convolution.h"

namespace at::cuda {
namespace {

constexpr int64_t kMost = INT32_MAX;

// Dimensions [batch, channel, depth, height, width] of a tensor that may have fewer of the last three.
ConvolutionCall::Operand operand_of(const Tensor& t) {
  ConvolutionCall::Operand operand{};
  operand.data = static_cast<char*>(const_cast<void*>(t.const_data_ptr()));
  const int64_t spatial = t.dim() - 2;
  for (int64_t d = 0; d < 2; ++d) operand.strides[d] = t.stride(d);
  for (int64_t d = 0; d < spatial; ++d) operand.strides[5 - spatial + d] = t.stride(2 + d);
  return operand;
}

uint32_t checked(const char* name, int64_t size) {
  TORCH_CHECK(size <= kMost, name, ": sizes of 2^31 and more are not supported on CUDA tensors, but got ", size);
  return static_cast<uint32_t>(size);
}

FastDivisor divisor_of(uint32_t size) {
  return FastDivisor(std::max<uint32_t>(size, 1));
}

}  // namespace

void convolve_plainly(ConvolutionPart part, const ConvolutionTensors& t) {
  const matrix::Convolution& c = t.sizes;
  const Tensor& to = part == ConvolutionPart::kForward ? t.y : part == ConvolutionPart::kGradInput ? t.x : t.w;
  if (to.numel() == 0) return;
  const auto size = [&](int64_t n) { return checked(t.name, n); };
  ConvolutionCall call{};
  call.name = t.name;
  call.dtype = to.scalar_type();
  call.batch = size(c.batch);
  call.groups = size(c.groups);
  call.inputs = size(c.in_channels / c.groups);
  call.outputs = size(c.out_channels / c.groups);
  for (int d = 0; d < 3; ++d) {
    call.in[d] = size(c.input[d]);
    call.out[d] = size(c.output[d]);
    call.kernel[d] = size(c.kernel[d]);
    call.dilation[d] = size(c.dilation[d]);
    size(c.padding[d]), size(c.input[d] + c.padding[d]);
    call.padding[d] = c.padding[d];
    call.stride[d] = FastDivisor(size(c.stride[d]));
    call.terms[d] = divisor_of(size(c.output[2 - d]));
  }
  call.x = operand_of(t.x), call.w = operand_of(t.w), call.y = operand_of(t.y);
  if (t.bias != nullptr) {
    call.bias = static_cast<const char*>(t.bias->const_data_ptr());
    call.bias_stride = t.bias->stride(0);
  }
  if (t.add != nullptr) call.add = operand_of(*t.add);
  call.alpha = c.alpha;
  call.relu = c.relu;

  const bool of_weight = part == ConvolutionPart::kGradWeight, of_input = part == ConvolutionPart::kGradInput;
  call.channels = divisor_of(of_input ? call.inputs : call.outputs);
  const uint32_t* const places = of_weight ? call.kernel : of_input ? call.in : call.out;
  for (int d = 0; d < 3; ++d) call.places[d] = divisor_of(places[2 - d]);
  call.places[3] = divisor_of(size(to.size(1)));
  call.places[4] = divisor_of(size(to.size(0)));
  if (of_weight) {
    const __int128 terms = __int128{c.batch} * c.output[0] * c.output[1] * c.output[2];
    TORCH_CHECK(terms <= kMost, t.name, ": sums of 2^31 and more terms are not supported on CUDA tensors");
    call.term_count = static_cast<uint32_t>(terms);
  }
  const int64_t each = to.numel() / to.size(0);
  TORCH_CHECK(each <= kMost && (!of_weight || to.numel() <= kMost), t.name,
              ": samples of 2^31 elements and more are not supported on CUDA tensors");
  // As many samples together as a kernel counts.
  const int64_t together = of_weight ? to.size(0) : std::max<int64_t>(1, kMost / each);
  const auto item = static_cast<int64_t>(to.itemsize());
  for (int64_t begin = 0; begin < to.size(0); begin += together) {
    const int64_t count = std::min(together, to.size(0) - begin);
    launch_convolution(part, call, static_cast<uint32_t>(count * each));
    for (ConvolutionCall::Operand* operand : {&call.x, &call.y, &call.add}) {
      if (operand->data != nullptr) operand->data += count * operand->strides[0] * item;
    }
  }
}

}  // namespace at::cuda
