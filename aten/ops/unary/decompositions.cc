#include "aten/ops/unary/decompositions.h"

#include <cmath>
#include <limits>

#include "aten/ops/binary/ops.h"
#include "aten/ops/shared/decomposing.h"
#include "aten/ops/unary/ops.h"

namespace at::decompositions {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor scaled(const Tensor& self, double factor) {
  return in_wide(
      to_floating(self.scalar_type()), [&](const Tensor& x) { return at::mul(x, factor); }, self);
}

Tensor equals(const Tensor& self, double value) {
  return isIntegralType(self.scalar_type(), true) ? at::full_like(self, false, TensorOptions().dtype(kBool))
                                                  : at::eq(self, value);
}

Tensor conjugate(const Tensor& t) {
  return t.is_complex() ? at::conj_physical(t) : t;
}

double largest(ScalarType type) {
  switch (type) {
    case ScalarType::Half:
      return 65504;
    case ScalarType::BFloat16:
      return 0x1.fep127;
    case ScalarType::Float:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

}  // namespace

Tensor deg2rad(const Tensor& self) {
  return scaled(self, M_PI / 180);
}
Tensor rad2deg(const Tensor& self) {
  return scaled(self, 180 / M_PI);
}

Tensor frac(const Tensor& self) {
  return at::sub(self, at::trunc(self));
}

Tensor isneginf(const Tensor& self) {
  return equals(self, -kInfinity);
}
Tensor isposinf(const Tensor& self) {
  return equals(self, kInfinity);
}

Tensor logit(const Tensor& self, std::optional<double> eps) {
  return in_wide(
      to_floating(self.scalar_type()),
      [&](const Tensor& t) {
        const auto number = [&](double value) { return at::scalar_tensor(value, t.options()); };
        // Not clamp: with an eps above 1/2 the lower bound comes first.
        const auto bounded = [&](double low) {
          return at::where(at::lt(t, low), number(low), at::where(at::gt(t, 1 - low), number(1 - low), t));
        };
        const Tensor x = eps.has_value() && *eps >= 0 ? bounded(*eps) : t;
        return at::log(at::div(x, at::sub(number(1), x)));
      },
      self);
}

Tensor mvlgamma(const Tensor& self, int64_t p) {
  return in_wide(
      to_floating(self.scalar_type()),
      [&](const Tensor& x) {
        const Tensor halves = at::mul(places(p, x, x.scalar_type()), 0.5);
        const double constant = static_cast<double>(p) * static_cast<double>(p - 1) / 4 * std::log(M_PI);
        return at::add(at::sum(at::lgamma(at::sub(at::unsqueeze(x, -1), halves)), IntArrayRef(-1)), constant);
      },
      self);
}

Tensor nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  if (isIntegralType(self.scalar_type(), true)) return at::clone(self);
  if (self.is_complex())
    return at::view_as_complex(decompositions::nan_to_num(at::view_as_real(self), nan, posinf, neginf));
  const double limit = largest(self.scalar_type());
  const auto replaced = [&](const Tensor& mask, double value, const Tensor& t) {
    return at::where(mask, at::scalar_tensor(value, self.options()), t);
  };
  const Tensor numbers = replaced(at::isnan(self), nan.value_or(0), self);
  return replaced(at::eq(self, kInfinity), posinf.value_or(limit),
                  replaced(at::eq(self, -kInfinity), neginf.value_or(-limit), numbers));
}

Tensor sgn(const Tensor& self) {
  if (!self.is_complex()) return at::sign(self);
  const Tensor size = at::abs(self);
  return at::where(at::eq(size, 0), at::scalar_tensor(0, self.options()), at::div(self, size));
}

Tensor square(const Tensor& self) {
  return at::pow(self, 2);
}

Tensor sigmoid_backward(const Tensor& grad_output, const Tensor& output) {
  return in_wide(
      promoted_type({grad_output, output}),
      [](const Tensor& grad, const Tensor& result) {
        const Tensor y = conjugate(result);
        return at::mul(grad, at::sub(y, at::mul(y, y)));
      },
      grad_output, output);
}

Tensor tanh_backward(const Tensor& grad_output, const Tensor& output) {
  return in_wide(
      promoted_type({grad_output, output}),
      [](const Tensor& grad, const Tensor& result) {
        const Tensor y = conjugate(result);
        return at::sub(grad, at::mul(grad, at::mul(y, y)));
      },
      grad_output, output);
}

Tensor sinc(const Tensor& self) {
  return in_wide(
      to_floating(self.scalar_type()),
      [](const Tensor& x) {
        const Tensor angle = at::mul(x, M_PI);
        return at::where(at::eq(x, 0), at::scalar_tensor(1, x.options()), at::div(at::sin(angle), angle));
      },
      self);
}

}  // namespace at::decompositions
