// Gamma and Dirichlet distributions, and how their numbers change with the parameters (implicit reparameterization,
// Figurnov et al. 2018): of a number x with distribution function F and density f the derivative is -(dF/da) / f.
#include <algorithm>
#include <cmath>
#include <limits>

#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/cpu/pointwise.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/random/distributions.h"
#include "aten/ops/random/kernels.h"
#include "aten/ops/shared/draws.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"

namespace at::native {

using random::Draws;
using random::beta_gradient;
using random::draw_gamma;
using random::gamma_gradient;

namespace {

void check_type(const char* op, const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() == ScalarType::Float || self.scalar_type() == ScalarType::Double, "\"",
                              op, "\" not implemented for '", self.scalar_type(), "'");
}

// An argument of `out`'s sizes, in double.
Tensor argument(const Tensor& t, const Tensor& out) {
  return dense(at::expand(t, out.sizes()), ScalarType::Double);
}

// out = f(elements of the inputs, precision that the result has). The inputs are dense and of double.
template <class F, class... Inputs>
void each_element(const char* op, Tensor& out, const F& f, const Inputs&... inputs) {
  DenseOut to(out);
  cpu::visit_float_double(out.scalar_type(), op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const y = to.data<T>();
    const auto fill = [&](const auto*... from) {
      at::parallel_for(0, out.numel(), 64, [&](int64_t begin, int64_t end) {
        constexpr double kPrecision = std::numeric_limits<T>::epsilon() / 16;
        for (int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(f(from[i]..., kPrecision));
      });
    };
    fill(inputs.template const_data_ptr<double>()...);
  });
  to.commit();
}

}  // namespace

TensorSpec standard_gamma_meta(const Tensor& self, std::optional<Generator>) {
  check_type("gamma_cpu", self);
  return {DimVector(self.sizes()), {}, self.scalar_type(), self.device()};
}

void standard_gamma_cpu(const Tensor& self, std::optional<Generator> generator, Tensor& out) {
  if (self.numel() == 0) return;
  const Tensor alpha = dense(self);
  DenseOut to(out);
  Draws draws(generator);
  cpu::visit_float_double(self.scalar_type(), "gamma_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const a = alpha.const_data_ptr<T>();
    T* const y = to.data<T>();
    for (int64_t i = 0; i < out.numel(); ++i) {
      const auto number = static_cast<T>(draw_gamma<T>(draws, a[i]));
      y[i] = number < std::numeric_limits<T>::min() ? std::numeric_limits<T>::min() : number;
    }
  });
  to.commit();
}

TensorSpec standard_gamma_grad_meta(const Tensor& self, const Tensor& output) {
  check_type("_standard_gamma_grad_cpu", self);
  TORCH_CHECK(output.scalar_type() == self.scalar_type(),
              "_standard_gamma_grad: expected self and output of one dtype, but got ", self.scalar_type(), " and ",
              output.scalar_type());
  return pointwise::result_spec({self, output}, self.scalar_type());
}

void standard_gamma_grad_cpu(const Tensor& self, const Tensor& output, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor alpha = argument(self, out), x = argument(output, out);
  each_element("_standard_gamma_grad_cpu", out, gamma_gradient, alpha, x, at::digamma(alpha));
}

TensorSpec sample_dirichlet_meta(const Tensor& self, std::optional<Generator>) {
  check_type("dirichlet", self);
  TORCH_CHECK(self.dim() > 0, "_sample_dirichlet: expected parameters of at least one dimension");
  return {DimVector(self.sizes()), {}, self.scalar_type(), self.device()};
}

void sample_dirichlet_cpu(const Tensor& self, std::optional<Generator> generator, Tensor& out) {
  if (self.numel() == 0) return;
  const Tensor gammas = at::clone(dense(self, ScalarType::Double));
  double* const g = gammas.data_ptr<double>();
  {
    Draws draws(generator);
    for (int64_t i = 0; i < gammas.numel(); ++i) g[i] = draw_gamma<double>(draws, g[i]);
  }
  const int64_t width = self.size(-1);
  DenseOut to(out);
  cpu::visit_float_double(self.scalar_type(), "dirichlet", [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const y = to.data<T>();
    const T least = std::numeric_limits<T>::min(), most = std::nextafter(T(1), T(0));
    for (int64_t first = 0; first < gammas.numel(); first += width) {
      double sum = 0;
      for (int64_t k = 0; k < width; ++k) sum += g[first + k];
      for (int64_t k = 0; k < width; ++k) y[first + k] = std::clamp(static_cast<T>(g[first + k] / sum), least, most);
    }
  });
  to.commit();
}

TensorSpec dirichlet_grad_meta(const Tensor& x, const Tensor& alpha, const Tensor& total) {
  check_type("_dirichlet_grad_cpu", x);
  TORCH_CHECK(x.scalar_type() == alpha.scalar_type() && x.scalar_type() == total.scalar_type(),
              "_dirichlet_grad: expected x, alpha and total of one dtype, but got ", x.scalar_type(), ", ",
              alpha.scalar_type(), " and ", total.scalar_type());
  return pointwise::result_spec({x, alpha, total}, x.scalar_type());
}

void dirichlet_grad_cpu(const Tensor& x, const Tensor& alpha, const Tensor& total, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor a = argument(alpha, out), sum = argument(total, out);
  each_element("_dirichlet_grad_cpu", out, beta_gradient, argument(x, out), a, at::sub(sum, a),
               at::sub(at::digamma(a), at::digamma(sum)));
}

}  // namespace at::native
