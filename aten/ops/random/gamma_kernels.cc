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
#include "aten/ops/random/kernels.h"
#include "aten/ops/shared/draws.h"
#include "aten/ops/unary/ops.h"
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

// By the expansion of the quantile in powers of 1 / sqrt(alpha) (Cornish & Fisher 1938).
double gamma_gradient_of_large(double alpha, double x) {
  const double root = std::sqrt(alpha);
  double z = (x - alpha) / root;
  for (int i = 0; i < 16; ++i) z = (x - alpha - (z * z - 1) / 3 - (z * z * z - 7 * z) / (36 * root)) / root;
  return 1 + z / (2 * root) - (z * z * z - 7 * z) / (72 * alpha * root);
}

// A number and its derivative by a parameter.
struct Dual {
  double value, slope;
  friend Dual operator+(Dual x, Dual y) { return {x.value + y.value, x.slope + y.slope}; }
  friend Dual operator*(Dual x, Dual y) { return {x.value * y.value, x.slope * y.value + x.value * y.slope}; }
  friend Dual operator/(Dual x, Dual y) {
    const double ratio = x.value / y.value;
    return {ratio, (x.slope - ratio * y.slope) / y.value};
  }
};

// Gamma(a, x) exp(x) / x^a and its derivative by a, by Legendre's continued fraction, for x > a + 1.
Dual upper_gamma_fraction(double a, double x, double precision) {
  Dual b{x + 1 - a, -1}, c{1e300, 0}, d = Dual{1, 0} / b, fraction = d;
  for (int n = 1; n < 100000; ++n) {
    const Dual numerator{-n * (n - a), static_cast<double>(n)};
    b.value += 2;
    d = Dual{1, 0} / (numerator * d + b);
    c = b + numerator / c;
    const Dual factor = c * d;
    fraction = fraction * factor;
    if (std::abs(factor.value - 1) + std::abs(factor.slope) < precision) break;
  }
  return fraction;
}

// d x / d alpha, psi = digamma(alpha). With density f, the distribution function is P = f x / alpha * sum t_n,
// t_n = t_(n-1) x / (alpha + n), and 1 - P = f x * the fraction above; the logarithm of f x has the derivative
// ln x - psi.
double gamma_gradient(double alpha, double x, double psi, double precision) {
  if (!(alpha > 0) || !(x > 0) || std::isinf(x)) return std::isnan(alpha) || std::isnan(x) ? NAN : 0;
  if (alpha > 5e4) return gamma_gradient_of_large(alpha, x);
  const double slope = std::log(x) - psi;
  if (x > alpha + 2 + 2 * std::sqrt(alpha)) {
    const Dual fraction = upper_gamma_fraction(alpha, x, precision);
    return x * (fraction.value * slope + fraction.slope);
  }
  double term = 1, sum = 1, slopes = 0, sum_of_slopes = 0;
  for (double n = 1; term > precision * sum || x > alpha + n; ++n) {
    const double part = 1 / (alpha + n);
    term *= x * part, slopes += part;
    sum += term, sum_of_slopes += term * slopes;
  }
  return -x / alpha * (sum * (slope - 1 / alpha) - sum_of_slopes);
}

// The sum of t_n, t_0 = 1, t_n = t_(n-1) z (total + n - 1) / (a + n), and its derivative where `total` changes, and `a`
// by as much if `both` do.
Dual beta_series(double a, double total, double z, bool both, double precision) {
  double term = 1, sum = 1, slopes = 0, sum_of_slopes = 0;
  for (double n = 1; term > precision * sum || z * (total + n - 1) > a + n; ++n) {
    const double below = 1 / (a + n), above = 1 / (total + n - 1);
    term *= z * (total + n - 1) * below;
    slopes += both ? above - below : above;
    sum += term, sum_of_slopes += term * slopes;
  }
  return {sum, sum_of_slopes};
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

// d x / d alpha of a number x with the distribution Beta(alpha, beta), over 1 - x; shift = digamma(alpha) -
// digamma(alpha + beta). By that side of x where the derivative of the density's logarithm has one sign.
double beta_gradient(double x, double alpha, double beta, double shift, double precision) {
  if (!(alpha > 0 && beta > 0 && x > 0 && x < 1)) return std::isnan(alpha + beta + x) ? NAN : 0;
  const double total = alpha + beta, log_x = std::log(x);
  const bool below = log_x <= shift;
  const double z = below ? x : 1 - x, first = below ? alpha : beta;
  // Terms grow up to number (z total - first) / (1 - z) and then shrink by nearly z.
  constexpr double kMostTerms = 1000;
  if (z < 0.97 && (z * total - first) < kMostTerms * (1 - z)) {
    const Dual series = beta_series(first, total, z, below, precision);
    if (below) return -x / alpha * (series.value * (log_x - shift - 1 / alpha) + series.slope);
    return x / beta * (series.value * (log_x - shift) + series.slope);
  }
  if (below) {
    const double log_rest = std::log1p(-x);
    return -x / (1 - x) * power_integral(alpha, [&](double log_v, double v) {
      return std::exp((beta - 1) * (std::log1p(-x * v) - log_rest)) * (log_x + log_v - shift);
    });
  }
  return power_integral(beta, [&](double, double v) {
    const double log_t = std::log1p(-(1 - x) * v);
    return std::exp((alpha - 1) * (log_t - log_x)) * (log_t - shift);
  });
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
