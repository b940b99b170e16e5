// Products and convolutions of quantized CUDA tensors with packed weights.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "aten/core/tensor.h"
#include "aten/cpu/matrix/convolution.h"
#include "aten/cuda/quantized/product_call.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/device_parts.h"
#include "c10/core/device_guard.h"
#include "c10/util/exception.h"

namespace at::quantized::device {
namespace {

constexpr int64_t kMost = INT32_MAX, kBytesOfWord = 4;

int32_t small(int64_t n) {
  TORCH_CHECK(n <= kMost && n >= -kMost,
              "quantized products: sizes of 2^31 and more are not supported on CUDA tensors, but got ", n);
  return static_cast<int32_t>(n);
}
uint32_t size(int64_t n) {
  return static_cast<uint32_t>(small(n));
}

}  // namespace

ProductWeight product_weight(const Tensor& integers, const Tensor& zero_points, const Tensor& scales,
                             const Tensor& bias) {
  const int64_t outputs = integers.size(0), inputs = integers.size(1);
  const TensorOptions options = TensorOptions(integers.device()).dtype(kInt);
  const Tensor places = at::reshape(integers, {outputs, inputs, outputs * inputs == 0 ? 0 : -1});
  const int64_t missing = (kBytesOfWord - inputs % kBytesOfWord) % kBytesOfWord;
  ProductWeight result;
  result.words = at::clone(at::constant_pad_nd(at::transpose(places, 1, 2), {0, missing}, 0), MemoryFormat::Contiguous);
  result.sums = at::to(at::sum(places, IntArrayRef{1, 2}), kInt);
  if (zero_points.defined()) result.zero_points = at::clone(at::to(zero_points, options), MemoryFormat::Contiguous);
  result.scales = scales;
  result.bias = bias;
  return result;
}

void convolve(const matrix::Convolution& c, const Tensor& input, int64_t zero_point, const ProductWeight& weight,
              const ProductResult& result, const Tensor& out, const int64_t* spread) {
  if (out.numel() == 0) return;
  const c10::DeviceGuard guard(out.device());
  const int64_t inputs = c.in_channels / c.groups;
  int64_t places = 1, input_places = 1;
  cuda::ByteProductCall call{};
  call.name = "quantized products";
  call.weight = weight.words.const_data_ptr<int8_t>();
  call.sums = weight.sums.const_data_ptr<int32_t>();
  if (weight.zero_points.defined()) call.zero_points = weight.zero_points.const_data_ptr<int32_t>();
  call.scales = weight.scales.const_data_ptr<float>();
  call.bias = weight.bias.const_data_ptr<float>();
  call.result = result;
  call.zero_point = static_cast<int32_t>(zero_point);
  call.groups = size(c.groups);
  call.channels = size(c.in_channels);
  call.inputs = size(inputs);
  call.outputs = size(c.out_channels / c.groups);
  call.kernel_places = inputs == 0 ? 0 : size(c.kernel[0] * c.kernel[1] * c.kernel[2]);
  call.by_words = inputs % kBytesOfWord == 0 && reinterpret_cast<uintptr_t>(input.const_data_ptr()) % kBytesOfWord == 0;
  for (int d = 0; d < 3; ++d) {
    const int64_t apart = spread == nullptr ? 1 : spread[d];
    // Everywhere that a window reaches.
    small((c.output[d] - 1) * c.stride[d] + (c.kernel[d] - 1) * c.dilation[d]);
    small(c.input[d] * apart);
    call.in[d] = small(c.input[d]);
    call.stride[d] = small(c.stride[d]);
    call.padding[d] = small(c.padding[d]);
    call.dilation[d] = small(c.dilation[d]);
    call.spread[d] = cuda::FastDivisor(size(apart));
    call.out_sizes[d] = cuda::FastDivisor(size(c.output[d]));
    call.kernel[d] = cuda::FastDivisor(size(c.kernel[d]));
    places *= c.output[d];
    input_places *= c.input[d];
  }
  call.words_of_place = cuda::FastDivisor(std::max(1u, size((inputs + kBytesOfWord - 1) / kBytesOfWord)));
  call.all_outputs = cuda::FastDivisor(size(c.out_channels));
  call.group_outputs = cuda::FastDivisor(call.outputs);
  size(places * c.out_channels), size(int64_t{call.kernel_places} * call.words_of_place.divisor * kBytesOfWord);
  const int64_t images = std::min(c.batch, kMost / (places * c.out_channels));
  const auto* from = input.const_data_ptr<uint8_t>();
  auto* to = static_cast<char*>(out.mutable_data_ptr());
  for (int64_t image = 0; image < c.batch; image += images) {
    const int64_t count = std::min(images, c.batch - image);
    call.rows = size(count * places);
    call.input = from + image * input_places * c.in_channels;
    call.out = to + image * places * c.out_channels * static_cast<int64_t>(out.itemsize());
    cuda::launch_byte_product(call);
  }
}

}  // namespace at::quantized::device
