// Gamma and Dirichlet distributions, and how their numbers change with the parameters (implicit reparameterization,
// Figurnov et al. 2018): of a number x with distribution function F and density f the derivative is -(dF/da) / f.
#include <algorithm>
#include <cmath>
#include <limits>

#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/cpu/pointwise.h"
#include "aten/cpu/special/special.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/random/kernels.h"
#include "aten/ops/shared/draws.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"

namespace at::native {

using random::Draws;

namespace {

void check_type(const char* op, const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() == ScalarType::Float || self.scalar_type() == ScalarType::Double, "\"",
                              op, "\" not implemented for '", self.scalar_type(), "'");
}

// Marsaglia & Tsang 2000. C: the type in which the parameters are changed, which decides the numbers.
template <class C>
double draw_gamma(Draws& draws, C alpha) {
  double scale = 1;
  if (alpha < 1) {
    if (alpha == 0) return 0;
    scale = std::pow(1 - draws.uniform(), static_cast<double>(1 / alpha));
    alpha += 1;
  }
  const double d = static_cast<double>(static_cast<C>(alpha - static_cast<C>(1.0f / 3.0f)));
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    double x, y;
    do {
      x = draws.normal();
      y = 1 + c * x;
    } while (y <= 0);
    const double v = y * y * y, u = 1 - draws.uniform(), xx = x * x;
    if (u < 1 - 0.0331 * xx * xx || std::log(u) < 0.5 * xx + d * (1 - v + std::log(v))) return scale * d * v;
  }
}

constexpr double kHalfPi = 1.57079632679489662;
constexpr double kStep = 1.0 / 16;
constexpr int kNodes = 72;  // on each side: the last ones weigh less than a rounding error

// The integral of f(ln v, ln(1 - v)) over v in (0, 1), whatever f does at the ends (Takahasi & Mori 1974).
template <class F>
double integral_over_unit(const F& f) {
  double sum = 0;
  for (int k = -kNodes; k <= kNodes; ++k) {
    const double u = k * kStep, y = kHalfPi * std::sinh(u);
    const double log_v = -std::log1p(std::exp(-2 * y)), log_rest = -std::log1p(std::exp(2 * y));
    const double weight = 2 * kHalfPi * std::cosh(u) * std::exp(log_v + log_rest);
    if (weight > 0) sum += weight * f(log_v, log_rest);
  }
  return sum * kStep;
}

// The integral of f over (0, inf).
template <class F>
double integral_over_half_line(double scale, const F& f) {
  double sum = 0;
  for (int k = -kNodes; k <= kNodes; ++k) {
    const double u = k * kStep, s = scale * std::exp(kHalfPi * std::sinh(u)), value = f(s);
    if (value != 0) sum += value * s * kHalfPi * std::cosh(u);
  }
  return sum * kStep;
}

double digamma(double x) {
  return cpu::special::polygamma(0, x);
}

// By the expansion of the quantile in powers of 1 / sqrt(alpha) (Cornish & Fisher 1938).
double gamma_gradient_of_large(double alpha, double x) {
  const double root = std::sqrt(alpha);
  double z = (x - alpha) / root;
  for (int i = 0; i < 16; ++i) z = (x - alpha - (z * z - 1) / 3 - (z * z * z - 7 * z) / (36 * root)) / root;
  return 1 + z / (2 * root) - (z * z * z - 7 * z) / (72 * alpha * root);
}

// d x / d alpha. The density times ln t - psi(alpha) is integrated over that side of x where the latter has one sign.
double gamma_gradient(double alpha, double x) {
  if (!(alpha > 0) || !(x > 0) || std::isinf(x)) return std::isnan(alpha) || std::isnan(x) ? NAN : 0;
  if (alpha > 5e4) return gamma_gradient_of_large(alpha, x);
  const double psi = digamma(alpha), log_x = std::log(x);
  if (log_x > psi) {
    return integral_over_half_line(std::sqrt(x) + std::min(1.0, x), [&](double s) {
      const double e = (alpha - 1) * std::log1p(s / x) - s;
      return e > -745 ? std::exp(e) * (std::log(x + s) - psi) : 0.0;
    });
  }
  if (alpha >= 1) {
    return -x * integral_over_unit([&](double log_v, double log_rest) {
      return std::exp((alpha - 1) * log_v + x * std::exp(log_rest)) * (log_x + log_v - psi);
    });
  }
  // Over v^alpha, so that nothing is infinite.
  return -x / alpha * integral_over_unit([&](double log_w, double) {
    return std::exp(-x * std::expm1(log_w / alpha)) * (log_x + log_w / alpha - psi);
  });
}

// The integral of v^(a - 1) g(ln v, v) over (0, 1).
template <class G>
double power_integral(double a, const G& g) {
  if (a >= 1) {
    return integral_over_unit(
        [&](double log_v, double) { return std::exp((a - 1) * log_v) * g(log_v, std::exp(log_v)); });
  }
  return integral_over_unit([&](double log_w, double) { return g(log_w / a, std::exp(log_w / a)); }) / a;
}

// d x / d alpha of a number x with the distribution Beta(alpha, beta), over 1 - x.
double beta_gradient(double x, double alpha, double beta) {
  if (!(alpha > 0 && beta > 0 && x > 0 && x < 1)) return std::isnan(alpha + beta + x) ? NAN : 0;
  const double shift = digamma(alpha) - digamma(alpha + beta);
  if (std::log(x) <= shift) {
    const double log_x = std::log(x), log_rest = std::log1p(-x);
    return -x / (1 - x) * power_integral(alpha, [&](double log_v, double v) {
      return std::exp((beta - 1) * (std::log1p(-x * v) - log_rest)) * (log_x + log_v - shift);
    });
  }
  return power_integral(beta, [&](double, double v) {
    const double log_t = std::log1p(-(1 - x) * v);
    return std::exp((alpha - 1) * (log_t - std::log(x))) * (log_t - shift);
  });
}

// out = f(elements of the inputs), all in double.
template <size_t N, class F>
void each_element(const char* op, const Tensor (&inputs)[N], Tensor& out, const F& f) {
  if (out.numel() == 0) return;
  Tensor numbers[N];
  const double* from[N];
  for (size_t i = 0; i < N; ++i) {
    numbers[i] = dense(at::expand(inputs[i], out.sizes()), ScalarType::Double);
    from[i] = numbers[i].template const_data_ptr<double>();
  }
  DenseOut to(out);
  cpu::visit_float_double(out.scalar_type(), op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const y = to.data<T>();
    at::parallel_for(0, out.numel(), 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(f(from, i));
    });
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
      y[i] = std::max(std::numeric_limits<T>::min(), static_cast<T>(draw_gamma<T>(draws, a[i])));
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
  each_element("_standard_gamma_grad_cpu", {self, output}, out,
               [](const auto& from, int64_t i) { return gamma_gradient(from[0][i], from[1][i]); });
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
  each_element("_dirichlet_grad_cpu", {x, alpha, total}, out, [](const auto& from, int64_t i) {
    return beta_gradient(from[0][i], from[1][i], from[2][i] - from[1][i]);
  });
}

}  // namespace at::native
