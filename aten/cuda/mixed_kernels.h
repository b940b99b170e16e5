// Kernels of operators whose results have another type than their arguments, or a step of another dtype than the
// compute type.
#pragma once

#include "aten/cuda/elementwise_call.h"

namespace at::cuda {

extern const ElementKernels kFrexpMantissaKernels;
extern const ElementKernels kFrexpExponentKernels;
/// Of the real and the imaginary part, and of the magnitude and the angle: complex numbers.
extern const ElementKernels kComplexKernels;
extern const ElementKernels kPolarKernels;
/// nextafter of float32 whose values are those of float16 or bfloat16.
extern const ElementKernels kNextAfterHalfKernels;
extern const ElementKernels kNextAfterBFloat16Kernels;
/// Of numbers, scale, zero point and whether it is to be done; parameters: least and most integer, whether zero points
/// are whole.
extern const ElementKernels kFakeQuantizeKernels;
extern const ElementKernels kFakeQuantizeMaskKernels;
/// Of numbers, their gradients, scale and whole zero point, with the same parameters: what the sum of is the gradient
/// of the scale.
extern const ElementKernels kFakeQuantizeOfScaleKernels;

}  // namespace at::cuda
