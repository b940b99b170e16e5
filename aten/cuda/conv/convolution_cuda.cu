// Convolutions of floating-point and complex numbers.
#include "aten/cuda/conv/convolution.cuh"
#include "aten/cuda/conv/convolution_integer.h"

namespace at::cuda {

void launch_convolution(ConvolutionPart part, const ConvolutionCall& call, uint32_t elements) {
  switch (call.dtype) {
    case ScalarType::Half:
      return launch_convolution_of<float, Half>(part, call, elements);
    case ScalarType::BFloat16:
      return launch_convolution_of<float, BFloat16>(part, call, elements);
    case ScalarType::Float:
      return launch_convolution_of<float, float>(part, call, elements);
    case ScalarType::Double:
      return launch_convolution_of<double, double>(part, call, elements);
    case ScalarType::ComplexFloat:
      return launch_convolution_of<c10::complex<float>, c10::complex<float>>(part, call, elements);
    case ScalarType::ComplexDouble:
      return launch_convolution_of<c10::complex<double>, c10::complex<double>>(part, call, elements);
    default:
      return launch_integer_convolution(part, call, elements);
  }
}

}  // namespace at::cuda
