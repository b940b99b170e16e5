// Special functions: shape rules and CPU kernels.
#include <cmath>

#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/cpu/elementwise.h"
#include "aten/cpu/pointwise.h"

namespace at::native {
namespace {

template <class F, class T>
void unary_loop(char* const* data, int64_t n, const void*) {
  T* out = reinterpret_cast<T*>(data[0]);
  const T* in = reinterpret_cast<const T*>(data[1]);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(F::run(static_cast<double>(in[i])));
}
template <class F>
constexpr cpu::ElementOp unary_op() {
  return {cpu::baseline_table<cpu::ElementLoop>(unary_loop<F, float>), cpu::baseline_table<cpu::ElementLoop>(unary_loop<F, double>), {}, {}, {}, {}};
}

struct Entr {
  static double run(double x) { return x > 0 ? -x * std::log(x) : x == 0 ? 0.0 : std::isnan(x) ? x : -INFINITY; }
};
constexpr cpu::ElementOp kEntr = unary_op<Entr>();

}  // namespace

TensorSpec special_unary_meta(const Tensor& self) {
  TORCH_CHECK(!self.is_complex(), "special functions of one argument are not implemented for complex tensors, got ", self.scalar_type());
  return pointwise::result_spec({self}, pointwise::to_floating(self.scalar_type()));
}

void special_entr_cpu(const Tensor& self, Tensor& out) {
  pointwise::run("special_entr", kEntr, out.scalar_type(), nullptr, out, {self});
}

}  // namespace at::native
