// polygamma, mvlgamma, i0.
#include <math.h>

#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/cpu/pointwise.h"
#include "aten/cpu/special/special.h"
#include "aten/cpu/special/special_loops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/unary/kernels.h"
#include "aten/ops/unary/ops.h"

namespace at::native {

namespace special = cpu::special;

namespace {

struct Polygamma {
  static double run(int64_t n, double x) { return special::polygamma(n, x); }
};
// log of the multivariate gamma function of dimension p: p (p - 1) / 4 log(pi) + sum of log gamma(x - j / 2).
struct Mvlgamma {
  static double run(int64_t p, double x) {
    double sum = 0.25 * static_cast<double>(p) * static_cast<double>(p - 1) * 1.14472988584940017414;
    for (int64_t j = 0; j < p; ++j) {
      int sign;
      sum += ::lgamma_r(x - 0.5 * static_cast<double>(j), &sign);
    }
    return sum;
  }
};
struct BesselI0 {
  static double run(double x) { return special::bessel_i(0, x, false); }
};
constexpr cpu::ElementOp kPolygamma = special::integer_op<Polygamma>(), kMvlgamma = special::integer_op<Mvlgamma>(),
                         kI0 = special::unary_op<BesselI0>();

}  // namespace

TensorSpec unary_float_real_meta(const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(!self.is_complex(), "the function is not implemented for complex tensors, got ",
                              self.scalar_type());
  return pointwise::result_spec({self}, pointwise::to_floating(self.scalar_type()));
}
TensorSpec polygamma_meta(int64_t n, const Tensor& self) {
  TORCH_CHECK(n >= 0, "polygamma(n, x) does not support negative n.");
  return unary_float_real_meta(self);
}
TensorSpec mvlgamma_meta(const Tensor& self, int64_t p) {
  TORCH_CHECK(p >= 1, "p has to be greater than or equal to 1");
  TORCH_CHECK(p <= 65536, "mvlgamma: expected p of at most 65536, but got ", p);
  return unary_float_real_meta(self);
}
void polygamma_cpu(int64_t n, const Tensor& self, Tensor& out) {
  pointwise::run("polygamma", kPolygamma, out.scalar_type(), &n, out, {self});
}
void mvlgamma_cpu(const Tensor& self, int64_t p, Tensor& out) {
  pointwise::run("mvlgamma", kMvlgamma, out.scalar_type(), &p, out, {self});
}
void i0_cpu(const Tensor& self, Tensor& out) {
  pointwise::run("i0", kI0, out.scalar_type(), nullptr, out, {self});
}

Tensor& polygamma_inplace(Tensor& self, int64_t n) {
  const Tensor result = at::polygamma(n, self);
  TORCH_CHECK(result.scalar_type() == self.scalar_type(), "result type ", result.scalar_type(),
              " can't be cast to the desired output type ", self.scalar_type());
  return at::copy_(self, result);
}

}  // namespace at::native
