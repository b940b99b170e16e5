#include "aten/cuda/conv/convolution.cuh"
#include "aten/cuda/conv/convolution_integer.h"

namespace at::cuda {

void launch_integer_convolution(ConvolutionPart part, const ConvolutionCall& call, uint32_t elements) {
  switch (call.dtype) {
    case ScalarType::Byte:
      return launch_convolution_of<int64_t, uint8_t>(part, call, elements);
    case ScalarType::Char:
      return launch_convolution_of<int64_t, int8_t>(part, call, elements);
    case ScalarType::Short:
      return launch_convolution_of<int64_t, int16_t>(part, call, elements);
    case ScalarType::Int:
      return launch_convolution_of<int64_t, int32_t>(part, call, elements);
    default:
      return launch_convolution_of<int64_t, int64_t>(part, call, elements);
  }
}

}  // namespace at::cuda
