// The regularized incomplete gamma functions.
#include "aten/core/tensor.h"
#include "aten/cpu/pointwise.h"
#include "aten/cpu/special/loops.h"
#include "aten/ops/binary/kernels.h"

namespace at::native {

void igamma_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  pointwise::run("igamma", cpu::special::loops::lower_gamma, out.scalar_type(), nullptr, out, {self, other});
}
void igammac_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  pointwise::run("igammac", cpu::special::loops::upper_gamma, out.scalar_type(), nullptr, out, {self, other});
}

}  // namespace at::native
