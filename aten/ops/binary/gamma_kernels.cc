// The regularized incomplete gamma functions.
#include "aten/core/tensor.h"
#include "aten/cpu/pointwise.h"
#include "aten/cpu/special/special.h"
#include "aten/cpu/special/special_loops.h"
#include "aten/ops/binary/kernels.h"

namespace at::native {
namespace {

struct Lower {
  static double run(double a, double x) { return cpu::special::lower_gamma(a, x); }
};
struct Upper {
  static double run(double a, double x) { return cpu::special::upper_gamma(a, x); }
};
constexpr cpu::ElementOp kLower = cpu::special::binary_op<Lower>(), kUpper = cpu::special::binary_op<Upper>();

}  // namespace

void igamma_cpu(const Tensor& self, const Tensor& other, Tensor& out) {
  pointwise::run("igamma", kLower, out.scalar_type(), nullptr, out, {self, other});
}
void igammac_cpu(const Tensor& self, const Tensor& other, Tensor& out) {
  pointwise::run("igammac", kUpper, out.scalar_type(), nullptr, out, {self, other});
}

}  // namespace at::native
