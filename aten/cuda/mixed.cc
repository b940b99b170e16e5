// Pointwise operators that need more than one kernel, or one of other types than the loops of the CPU.
#include "aten/core/tensor.h"
#include "aten/cpu/loops/loops.h"
#include "aten/cpu/pointwise.h"
#include "aten/cuda/elementwise.h"
#include "aten/cuda/mixed_kernels.h"
#include "aten/ops/binary/kernels.h"
#include "aten/ops/unary/kernels.h"
#include "c10/util/exception.h"

namespace at::native {
namespace {

void run(const char* name, const cuda::ElementKernels& kernels, ScalarType dtype, const Tensor& out,
         pointwise::Inputs inputs) {
  cuda::elementwise(name, kernels, cpu::compute_type(dtype), nullptr, out, inputs);
}

}  // namespace

void frexp_cuda(const Tensor& self, Tensor& mantissa, Tensor& exponent) {
  TORCH_CHECK_NOT_IMPLEMENTED(!isFloat8Type(self.scalar_type()), "\"frexp\" not implemented for '", self.scalar_type(),
                              "'");
  run("frexp", cuda::kFrexpExponentKernels, self.scalar_type(), exponent, {self});
  run("frexp", cuda::kFrexpMantissaKernels, self.scalar_type(), mantissa, {self});
}

void nextafter_cuda(const Tensor& self, const Tensor& other, Tensor& out) {
  switch (out.scalar_type()) {
    case ScalarType::Half:
      return run("nextafter", cuda::kNextAfterHalfKernels, ScalarType::Half, out, {self, other});
    case ScalarType::BFloat16:
      return run("nextafter", cuda::kNextAfterBFloat16Kernels, ScalarType::BFloat16, out, {self, other});
    case ScalarType::Float:
    case ScalarType::Double:
      return pointwise::run("nextafter", cpu::loops::nextafter, out.scalar_type(), nullptr, out, {self, other});
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "\"nextafter\" not implemented for '", out.scalar_type(), "'");
  }
}

void complex_cuda(const Tensor& real, const Tensor& imag, Tensor& out) {
  run("complex", cuda::kComplexKernels, real.scalar_type(), out, {real, imag});
}
void polar_cuda(const Tensor& abs, const Tensor& angle, Tensor& out) {
  run("polar", cuda::kPolarKernels, abs.scalar_type(), out, {abs, angle});
}

}  // namespace at::native
