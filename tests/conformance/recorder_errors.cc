#include "tests/conformance/recorder_errors.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "tests/conformance/compare.h"

namespace conformance {
namespace {

using at::Tensor;
using c10::IValue;
using c10::ScalarType;

Tensor real_values(const Tensor& t) { return at::contiguous(at::to(at::detach(t), ScalarType::Double)); }
Tensor wide_values(const Tensor& t) {
  return at::contiguous(at::to(at::detach(t), t.is_complex() ? ScalarType::ComplexDouble : ScalarType::Double));
}

double epsilon_of(ScalarType type) {
  switch (type) {
    case ScalarType::BFloat16: return 0x1p-7;
    case ScalarType::Half: return 0x1p-10;
    case ScalarType::Float:
    case ScalarType::ComplexFloat: return 0x1p-23;
    default: return 0x1p-52;
  }
}

Tensor tensor_argument(const Recorded& v, const char* name) {
  const auto index = v.op.schema().argument_index(name);
  return index && v.args[*index].isTensor() ? v.args[*index].toTensor() : Tensor();
}

// as_strided_scatter's gradient with respect to self. The result takes self's elements where src does not overwrite them, so
// the gradient is the cotangent with zeros at the places that are written. PyTorch (1.13 to 2.15) gives the opposite: the
// cotangent at those places, and elsewhere zeros or (1.13) memory that nothing was written to.
bool scatter_into_strides(const Recorded& v) {
  if (v.name != "as_strided_scatter" || v.gradient != 0 || !v.args[0].isTensor()) return false;
  if (v.got.sizes() != v.expected.sizes() || v.got.scalar_type() != v.expected.scalar_type()) return false;
  const Tensor self = v.args[0].toTensor();
  if (!self.is_contiguous()) return false;
  const int64_t offset = v.args[4].isInt() ? v.args[4].toInt() : 0;
  const auto written = [&](const Tensor& t) { return at::as_strided(t, v.args[2].toIntVector(), v.args[3].toIntVector(), offset); };
  const Tensor right = at::clone(v.cotangent, at::MemoryFormat::Contiguous), recorded = at::clone(v.expected, at::MemoryFormat::Contiguous);
  if (difference(written(recorded), written(right))) return false;
  Tensor zeros = written(right);
  at::zero_(zeros);
  return !difference(v.got, right, 10);
}

// dot, vdot and matmul of complex vectors. Debian's build of PyTorch 1.13 calls a BLAS that returns complex numbers in another way than
// it expects, and gives 0 whatever the vectors.
bool complex_dot(const Recorded& v) {
  if ((v.name != "dot" && v.name != "vdot" && v.name != "matmul") || v.gradient >= 0 || !v.expected.is_complex() || v.expected.dim() != 0) return false;
  const Tensor recorded = wide_values(v.expected), x = wide_values(v.args[0].toTensor()), y = wide_values(v.args[1].toTensor());
  if (!x.is_complex() || !y.is_complex() || x.dim() != 1) return false;
  const auto* e = static_cast<const double*>(recorded.data_ptr());
  if (e[0] != 0 || e[1] != 0) return false;
  const auto *a = static_cast<const double*>(x.data_ptr()), *b = static_cast<const double*>(y.data_ptr());
  const double sign = v.name == "vdot" ? -1 : 1;  // of the imaginary parts of the first
  double sum[2] = {0, 0};
  for (int64_t i = 0; i < x.numel(); ++i) {
    sum[0] += a[2 * i] * b[2 * i] - sign * a[2 * i + 1] * b[2 * i + 1];
    sum[1] += a[2 * i] * b[2 * i + 1] + sign * a[2 * i + 1] * b[2 * i];
  }
  Tensor right = at::clone(recorded);
  static_cast<double*>(right.data_ptr())[0] = sum[0];
  static_cast<double*>(right.data_ptr())[1] = sum[1];
  return !difference(v.got, at::to(right, v.expected.scalar_type()));
}

// The call again with its tensors in float64 or complex128, and with `magnitudes` each number replaced by its modulus.
Tensor wide_call(const Recorded& v, bool magnitudes = false);

// A float64 or complex128 tensor's elements as complex numbers.
std::complex<double> element(const Tensor& t, int64_t i) {
  const double* p = static_cast<const double*>(t.data_ptr());
  return t.is_complex() ? std::complex<double>(p[2 * i], p[2 * i + 1]) : p[i];
}

Tensor modulus_of(const Tensor& t) {
  double* p = static_cast<double*>(t.data_ptr());
  for (int64_t i = 0; i < t.numel(); ++i) {
    const double size = std::abs(element(t, i));
    if (t.is_complex()) p[2 * i] = size, p[2 * i + 1] = 0;
    else p[i] = size;
  }
  return t;
}

c10::Stack wide_arguments(const Recorded& v, bool magnitudes) {
  c10::Stack stack = v.args;
  for (IValue& value : stack) {
    if (value.isTensor()) {
      const Tensor t = value.toTensor();
      if (!t.is_floating_point() && !t.is_complex()) continue;
      Tensor wide = at::clone(wide_values(t), at::MemoryFormat::Contiguous);
      if (magnitudes) modulus_of(wide);
      value = IValue(wide.set_requires_grad(t.requires_grad()));
    } else if (magnitudes && value.isInt()) {
      value = IValue(std::abs(value.toInt()));
    } else if (magnitudes && (value.isDouble() || value.isComplexDouble())) {
      value = IValue(std::abs(std::complex<double>(value.toScalar().toComplexDouble().real(), value.toScalar().toComplexDouble().imag())));
    }
  }
  return stack;
}

Tensor wide_call(const Recorded& v, bool magnitudes) {
  const at::NoGradGuard no_grad;
  c10::Stack stack = wide_arguments(v, magnitudes);
  v.op.callBoxed(stack);
  return wide_values(stack[0].toTensor());
}

// The gradient in question, in float64 or complex128.
Tensor wide_gradient(const Recorded& v) {
  const at::AutoGradMode grad(true);
  c10::Stack stack = wide_arguments(v, false);
  std::vector<Tensor> inputs;
  for (const IValue& value : stack) {
    if (value.isTensor() && value.toTensor().requires_grad()) inputs.push_back(value.toTensor());
  }
  v.op.callBoxed(stack);
  const Tensor result = stack[0].toTensor();
  return wide_values(torch::autograd::grad({result}, inputs, {at::to(v.cotangent, result.scalar_type())})[static_cast<size_t>(v.gradient)]);
}

// Sums of products. PyTorch 1.13 rounds sums of 16-bit numbers after every term, and where large terms cancel, those of other
// types end in other last digits. Right is the same call in float64, or within a few
// units of the last place of the sum of the terms' magnitudes; the recorded result is within the error of such a sum.
bool rounded_sums(const Recorded& v) {
  static const std::set<std::string> names = {"addbmm", "addmm", "addmv", "addr", "baddbmm", "bilinear", "bmm", "matmul", "mm", "mv", "norm"};
  if (names.count(v.name) == 0 || v.gradient >= 0 || c10::isIntegralType(v.expected.scalar_type(), true)) return false;
  int64_t terms = 4;
  if (v.name == "addbmm") terms += v.args[1].toTensor().numel() / std::max<int64_t>(v.args[1].toTensor().size(1), 1);
  if (v.name == "norm") terms += v.args[0].toTensor().numel();
  for (const IValue& value : v.args) {
    if (!value.isTensor()) continue;
    for (const int64_t size : value.toTensor().sizes()) terms = std::max(terms, size + 4);
  }
  const Tensor right = wide_call(v), magnitude = wide_call(v, /*magnitudes=*/true);
  if (v.got.sizes() != v.expected.sizes() || v.got.scalar_type() != v.expected.scalar_type()) return false;
  const Tensor recorded = wide_values(v.expected), got = wide_values(v.got);
  const bool close = !difference(v.got, at::to(right, v.expected.scalar_type()));
  const double epsilon = epsilon_of(v.expected.scalar_type());
  for (int64_t i = 0; i < right.numel(); ++i) {
    const double unit = epsilon * std::abs(element(magnitude, i));
    if (!close && !(std::abs(element(got, i) - element(right, i)) <= 4 * unit)) return false;
    if (!(std::abs(element(recorded, i) - element(right, i)) <= static_cast<double>(terms) * unit)) return false;
  }
  return true;
}

// pow, sinc and ldexp of complex64. PyTorch computes them in float as e^w, with a relative error that grows with |w|. Right is
// the same call in complex128.
bool complex_powers(const Recorded& v) {
  if (v.expected.scalar_type() != ScalarType::ComplexFloat || v.got.sizes() != v.expected.sizes()) return false;
  double largest = 0;
  const auto among = [&](const IValue& value, double (*f)(std::complex<double>)) {
    if (!value.isTensor()) return value.isScalar() ? f(value.toScalar().toComplexDouble().real()) : 0.0;
    double most = 0;
    const Tensor t = wide_values(value.toTensor());
    for (int64_t i = 0; i < t.numel(); ++i) most = std::max(most, f(element(t, i)));
    return most;
  };
  const auto modulus = [](std::complex<double> z) { return std::abs(z); };
  const auto log_modulus = [](std::complex<double> z) { return z == 0.0 ? 0.0 : std::abs(std::log(z)); };
  if (v.name == "pow") largest = among(v.args[0], log_modulus) * among(v.args[1], modulus);
  else if (v.name == "ldexp") largest = among(v.args[1], modulus);
  else if (v.name == "sinc") largest = 4 * among(v.args[0], modulus);
  else return false;
  const Tensor right = v.gradient < 0 ? wide_call(v) : wide_gradient(v), recorded = wide_values(v.expected);
  if (difference(v.got, at::to(right, v.expected.scalar_type()), v.gradient < 0 ? 1 : 10)) return false;
  const double bound = 8 * epsilon_of(ScalarType::Float) * (1 + largest);
  for (int64_t i = 0; i < right.numel(); ++i) {
    const std::complex<double> r = element(right, i), e = element(recorded, i);
    if (r != e && !(std::abs(e - r) <= bound * std::abs(r))) return false;
  }
  return true;
}

// The gradient of sqrt at complex 0, a division by 0: infinite, but NaN in PyTorch 1.13.
bool sqrt_of_zero(const Recorded& v) {
  if (v.name != "sqrt" || v.gradient != 0 || !v.expected.is_complex() || v.got.sizes() != v.expected.sizes()) return false;
  const Tensor x = wide_values(v.args[0].toTensor()), got = at::clone(wide_values(v.got)), expected = wide_values(v.expected);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const std::complex<double> e = element(expected, i), g = element(got, i);
    if (element(x, i) != 0.0 || !std::isnan(e.real()) || (!std::isinf(g.real()) && !std::isinf(g.imag()))) continue;
    double* p = static_cast<double*>(got.data_ptr()) + 2 * i;
    p[0] = e.real(), p[1] = e.imag();
  }
  return !difference(at::to(got, v.expected.scalar_type()), v.expected, 10);
}

// layer_norm where the mean is large against the deviation, as of one element, whose result is the bias and whose gradient is
// 0, or in 16 bits. PyTorch 1.13 computes x * rstd - mean * rstd, and the rounding errors of the two products stay.
bool normalized(const Recorded& v) {
  if ((v.name != "layer_norm" && v.name != "native_layer_norm") || v.gradient > 0 || v.result != 0) return false;
  if (v.got.sizes() != v.expected.sizes() || v.got.scalar_type() != v.expected.scalar_type() || v.got.numel() == 0) return false;
  const Tensor x = wide_values(v.args[0].toTensor()), weight = tensor_argument(v, "weight"), recorded = wide_values(v.expected);
  int64_t width = 1;
  for (const int64_t size : v.args[1].toIntVector()) width *= size;
  if (v.gradient == 0 && width != 1) return false;
  const Tensor right = v.gradient < 0 ? wide_call(v) : at::mul(x, 0);
  if (difference(v.got, at::to(right, v.expected.scalar_type()))) return false;
  const double eps = v.args[*v.op.schema().argument_index("eps")].toDouble();
  const Tensor weights = weight.defined() ? wide_values(weight) : Tensor(), cotangent = v.gradient == 0 ? wide_values(v.cotangent) : Tensor();
  for (int64_t row = 0; row < x.numel() / width; ++row) {
    const double* p = x.data_ptr<double>() + row * width;
    double mean = 0, variance = 0, largest = 0;
    for (int64_t i = 0; i < width; ++i) mean += p[i] / static_cast<double>(width);
    for (int64_t i = 0; i < width; ++i) variance += (p[i] - mean) * (p[i] - mean) / static_cast<double>(width);
    for (int64_t i = 0; i < width; ++i) largest = std::max(largest, std::fabs(p[i]));
    if (v.gradient == 0) largest = std::fabs(element(cotangent, row));
    for (int64_t i = 0; i < width; ++i) {
      const double w = weights.defined() ? std::fabs(weights.data_ptr<double>()[i]) : 1;
      const double bound = 2 * epsilon_of(v.expected.scalar_type()) * (1 + largest * w / std::sqrt(variance + eps));
      if (!(std::abs(element(recorded, row * width + i) - element(right, row * width + i)) <= bound)) return false;
    }
  }
  return true;
}

// fmod, remainder and floor_divide where the quotient of two finite numbers is beyond the range of float. PyTorch's vector code
// gives NaN there (its scalar code, for the last elements of a row, does not); right is what C's fmod gives. The gradient with
// respect to the divisor is minus the whole part of the quotient.
bool overflowing_quotient(const Recorded& v) {
  const bool floor = v.name == "floor_divide", remainder = v.name == "remainder";
  if ((!floor && !remainder && v.name != "fmod") || (v.gradient >= 0 && v.gradient != 1) || !v.args[0].isTensor() || !v.args[1].isTensor()) return false;
  if (!v.expected.is_floating_point() || v.got.sizes() != v.expected.sizes()) return false;
  if (v.gradient == 1 && v.cotangent.sizes() != v.expected.sizes()) return false;
  const Tensor x = real_values(at::expand(v.args[0].toTensor(), v.expected.sizes())), y = real_values(at::expand(v.args[1].toTensor(), v.expected.sizes()));
  Tensor right = at::clone(real_values(v.expected));
  double* r = right.data_ptr<double>();
  for (int64_t i = 0; i < right.numel(); ++i) {
    const double a = x.data_ptr<double>()[i], b = y.data_ptr<double>()[i];
    if (!std::isnan(r[i]) || !std::isfinite(a) || !std::isfinite(b) || b == 0) continue;
    if (std::fabs(a / b) <= std::numeric_limits<float>::max()) continue;
    const double rest = std::fmod(a, b);
    const bool wraps = rest != 0 && (rest < 0) != (b < 0);
    if (v.gradient == 1) {
      r[i] = -real_values(v.cotangent).data_ptr<double>()[i] * (remainder ? std::floor(a / b) : std::trunc(a / b));
      continue;
    }
    r[i] = floor ? std::floor(a / b) : remainder && wraps ? rest + b : rest;
  }
  return !difference(v.got, at::to(right, v.expected.scalar_type()));
}

// What of a gradient at clamp's result goes to its argument `of` ("self", "min", "max"), by the rule of PyTorch
// before 2.15 (all to self at a bound) or since (nothing at bounds that are numbers, halves at ones that are tensors).
double clamp_share(const std::string& of, double x, double low, double high, bool tensors, bool before) {
  if (before)
    return of == "self" ? x >= low && x <= high : of == "min" ? x < low && low < high : x > high || high < low;
  if (!tensors) return x > low && x < high;
  const auto part = [](double difference) { return difference > 0 ? 1.0 : difference == 0 ? 0.5 : 0.0; };
  const double above = part(x - low), below = part(high - std::max(x, low));
  return of == "self" ? above * below : of == "min" ? (1 - above) * below : 1 - below;
}

// The gradient of clamp at a bound, recorded before PyTorch 2.15.
bool clamp_at_bound(const Recorded& v) {
  static const std::set<std::string> names = {"clamp", "clamp_max", "clamp_min", "clip"};
  if (names.count(v.name) == 0 || v.gradient < 0 || v.got.sizes() != v.expected.sizes()) return false;
  const Tensor cotangent = real_values(v.cotangent);
  const auto all = [&](const Tensor& t) { return at::contiguous(at::expand(real_values(t), cotangent.sizes())); };
  bool tensors = false;
  std::string of;
  int differentiable = 0;
  const auto values_of = [&](const char* name, double missing) {
    const auto index = v.op.schema().argument_index(name);
    const IValue value = index ? v.args[*index] : IValue();
    if (!value.isTensor()) {
      const double bound = value.isNone() ? missing : value.toScalar().toDouble();
      return std::vector<double>(static_cast<size_t>(cotangent.numel()), bound);
    }
    if (value.toTensor().requires_grad() && differentiable++ == v.gradient) of = name;
    tensors = tensors || std::string(name) != "self";
    const Tensor t = all(value.toTensor());
    return std::vector<double>(t.data_ptr<double>(), t.data_ptr<double>() + t.numel());
  };
  const std::vector<double> x = values_of("self", 0), low = values_of("min", -HUGE_VAL),
                            high = values_of("max", HUGE_VAL);
  const auto gradient = [&](bool before) {
    Tensor shares = at::clone(cotangent);
    for (size_t i = 0; i < x.size(); ++i)
      shares.data_ptr<double>()[i] *= clamp_share(of, x[i], low[i], high[i], tensors, before);
    return at::to(at::sum_to_size(shares, v.expected.sizes()), v.expected.scalar_type());
  };
  return !of.empty() && !difference(v.expected, gradient(true), 10) && !difference(v.got, gradient(false), 10);
}

// Bessel functions in float64. PyTorch's approximations are off by up to 8.7e-7 (that of y1), most right of 5.
bool coarse_bessel(const Recorded& v) {
  static const std::map<std::string, double (*)(double)> functions = {
      {"special_bessel_j0", ::j0}, {"special_bessel_j1", ::j1}, {"special_bessel_y0", ::y0}, {"special_bessel_y1", ::y1}};
  const auto function = functions.find(v.name);
  if (function == functions.end() || v.gradient >= 0 || v.expected.scalar_type() != ScalarType::Double ||
      v.got.sizes() != v.expected.sizes())
    return false;
  const Tensor x = real_values(v.args[0].toTensor()), got = real_values(v.got), expected = real_values(v.expected);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double at = x.data_ptr<double>()[i], right = function->second(at), recorded = expected.data_ptr<double>()[i];
    if (std::isnan(right) ? !std::isnan(recorded) : !(std::fabs(recorded - right) <= 9e-7)) return false;
    if (std::isnan(right) ? !std::isnan(got.data_ptr<double>()[i])
                          : !(std::fabs(got.data_ptr<double>()[i] - right) <= 1e-14))
      return false;
  }
  return true;
}

// unique_dim before PyTorch 2.15 compared slices with dim exchanged with the first dimension.
bool turned_slices(const Recorded& v) {
  if (v.name != "unique_dim" || v.gradient >= 0 || !v.args[0].isTensor() || v.args[0].toTensor().dim() < 3) return false;
  const Tensor self = v.args[0].toTensor();
  const int64_t dim = v.args[1].toInt() < 0 ? v.args[1].toInt() + self.dim() : v.args[1].toInt();
  c10::Stack stack = v.args;
  stack[0] = IValue(at::transpose(self, 0, dim));
  stack[1] = IValue(int64_t{0});
  v.op.callBoxed(stack);
  const Tensor turned = stack[v.result].toTensor();
  return !difference(v.expected, v.result == 0 ? at::transpose(turned, 0, dim) : turned);
}

// normal(mean, std, out=empty) of a mean without dimensions. PyTorch does not resize the result, and draws nothing.
bool unfilled_normal(const Recorded& v) {
  if (v.name != "normal" || v.gradient >= 0 || v.expected.numel() != 0 || !v.args[0].isTensor() || v.args[1].isTensor())
    return false;
  const Tensor mean = v.args[0].toTensor(), got = real_values(v.got);
  if (mean.dim() != 0 || v.got.dim() != 0 || v.got.scalar_type() != v.expected.scalar_type()) return false;
  return std::fabs(got.data_ptr<double>()[0] - real_values(mean).data_ptr<double>()[0]) <= 10 * v.args[1].toDouble();
}

// gradient of 16-bit numbers. PyTorch 1.13 rounds every product of its formula for unequal spacings.
bool rounded_differences(const Recorded& v) {
  if (v.name != "gradient" || v.gradient >= 0 || epsilon_of(v.expected.scalar_type()) < 0x1p-10 ||
      v.got.sizes() != v.expected.sizes())
    return false;
  const at::NoGradGuard no_grad;
  c10::Stack stack = wide_arguments(v, false);
  v.op.callBoxed(stack);
  const Tensor right = real_values(stack[0].toListRef()[v.result].toTensor()), recorded = real_values(v.expected),
               x = real_values(v.args[0].toTensor());
  if (difference(v.got, at::to(right, v.expected.scalar_type()))) return false;
  double largest = 0;
  for (int64_t i = 0; i < x.numel(); ++i) largest = std::max(largest, std::fabs(x.data_ptr<double>()[i]));
  return std::fabs(at::item(at::amax(at::abs(at::sub(recorded, right)))).toDouble()) <=
         4 * epsilon_of(v.expected.scalar_type()) * largest;
}

// renorm of complex numbers with the norm of the largest modulus: PyTorch 1.13 gives NaN for all gradients. Right is
// what the difference quotient says, in complex128 along two directions.
bool largest_modulus(const Recorded& v) {
  if (v.name != "renorm" || v.gradient != 0 || !v.expected.is_complex() || v.got.sizes() != v.expected.sizes())
    return false;
  if (!std::isinf(v.args[1].toScalar().toDouble())) return false;
  const Tensor expected = wide_values(v.expected), got = wide_values(v.got), cotangent = wide_values(v.cotangent),
               x = wide_values(v.args[0].toTensor());
  for (int64_t i = 0; i < expected.numel(); ++i) {
    if (!std::isnan(element(expected, i).real())) return false;
  }
  const auto inner = [](const Tensor& a, const Tensor& b) {
    double sum = 0;
    for (int64_t i = 0; i < a.numel(); ++i) sum += (element(a, i) * std::conj(element(b, i))).real();
    return sum;
  };
  for (const double turn : {1.0, 2.5}) {
    constexpr double kStep = 1e-6;
    Tensor direction = at::clone(x, at::MemoryFormat::Contiguous);
    for (int64_t i = 0; i < 2 * x.numel(); ++i)
      static_cast<double*>(direction.data_ptr())[i] = std::cos(turn * static_cast<double>(i * i + 1));
    const auto moved = [&](double by) {
      c10::Stack args = v.args;
      args[0] = IValue(at::add(x, direction, at::Scalar(by)));
      return wide_call(Recorded{v.name, v.op, args, v.result, -1, v.cotangent, v.got, v.expected});
    };
    const double slope = (inner(moved(kStep), cotangent) - inner(moved(-kStep), cotangent)) / (2 * kStep),
                 ours = inner(got, direction);
    if (!(std::fabs(slope - ours) <= 1e-4 * (1 + std::fabs(slope)))) return false;
  }
  return true;
}

// The distribution function of Gamma(a, 1) or of Beta(a, b), by the midpoint rule over a variable that smooths the end
// at 0.
double gamma_or_beta_below(double a, double b, bool beta, double x) {
  constexpr int kPieces = 20000;
  const double power = std::max(1.0, 3 / a),
               log_norm = beta ? std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) : -std::lgamma(a);
  double sum = 0;
  for (int i = 0; i < kPieces; ++i) {
    const double u = (i + 0.5) / kPieces, t = x * std::pow(u, power);
    const double rest = beta ? (b - 1) * std::log1p(-t) : -t;
    sum += std::exp((a - 1) * std::log(t) + rest + log_norm) * x * power * std::pow(u, power - 1);
  }
  return sum / kPieces;
}

// How numbers of gamma and Dirichlet distributions change with their parameters. PyTorch approximates it, to 1e-3 at
// worst. Right is what the difference quotient of the distribution function says over the density.
bool coarse_reparameterization(const Recorded& v) {
  const bool beta = v.name == "_dirichlet_grad", of_samples = v.name == "_standard_gamma" && v.gradient == 0;
  if (!(v.gradient < 0 && (beta || v.name == "_standard_gamma_grad")) && !of_samples) return false;
  if (v.got.sizes() != v.expected.sizes() || v.got.scalar_type() != v.expected.scalar_type()) return false;
  const at::NoGradGuard no_grad;
  const Tensor alpha = real_values(v.args[beta ? 1 : 0].toTensor());
  Tensor x, total;
  if (of_samples) {
    const uint64_t seed = v.args.size() > 1 && v.args[1].isGenerator()
                              ? v.args[1].toGenerator().current_seed()
                              : at::detail::getDefaultCPUGenerator().current_seed();
    c10::Stack stack{IValue(at::detach(v.args[0].toTensor()))};
    const at::Generator fresh = at::make_generator<at::CPUGeneratorImpl>(seed);
    stack.emplace_back(IValue::Tag::Generator, fresh.getIntrusivePtr());
    v.op.callBoxed(stack);
    x = real_values(stack[0].toTensor());
  } else {
    x = real_values(v.args[beta ? 0 : 1].toTensor());
  }
  if (beta) total = real_values(v.args[2].toTensor());
  if (alpha.sizes() != v.got.sizes() || x.sizes() != v.got.sizes()) return false;
  const Tensor got = real_values(v.got), expected = real_values(v.expected);
  for (int64_t i = 0; i < x.numel(); ++i) {
    constexpr double kStep = 1e-3;
    const double a = alpha.data_ptr<double>()[i], at = x.data_ptr<double>()[i],
                 sum = beta ? total.data_ptr<double>()[i] : 0;
    const auto below = [&](double by) { return gamma_or_beta_below(a + by, sum - a, beta, at); };
    const double change = (8 * (below(kStep) - below(-kStep)) - (below(2 * kStep) - below(-2 * kStep))) / (12 * kStep);
    const double density =
        std::exp((a - 1) * std::log(at) +
                 (beta ? (sum - a - 1) * std::log1p(-at) + std::lgamma(sum) - std::lgamma(a) - std::lgamma(sum - a)
                       : -at - std::lgamma(a)));
    double right = -change / density / (beta ? 1 - at : 1);
    if (of_samples) right *= real_values(v.cotangent).data_ptr<double>()[i];
    const double near = std::fabs(right) + 1e-9;
    if (!(std::fabs(got.data_ptr<double>()[i] - right) <= 1e-5 * near &&
          std::fabs(expected.data_ptr<double>()[i] - right) <= 1e-3 * near))
      return false;
  }
  return true;
}

// _compute_linear_combination of complex numbers. PyTorch steps through the coefficients as if they were real: of each
// row it reads the parts of the first numbers one after the other.
bool misread_coefficients(const Recorded& v) {
  if (v.name != "_compute_linear_combination" || v.gradient >= 0 || !v.expected.is_complex()) return false;
  const Tensor input = wide_values(v.args[0].toTensor()), coefficients = wide_values(v.args[1].toTensor());
  if (v.got.sizes() != v.expected.sizes() || v.got.scalar_type() != v.expected.scalar_type()) return false;
  const int64_t rows = coefficients.size(0), n = input.size(0), width = input.numel() / n;
  const Tensor right = at::clone(wide_values(v.expected)), misread = at::clone(right);
  const auto* parts = static_cast<const double*>(coefficients.const_data_ptr());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < width; ++k) {
      std::complex<double> sum = 0, wrong = 0;
      for (int64_t j = 0; j < n; ++j) {
        const std::complex<double> x = element(input, j * width + k);
        sum += element(coefficients, i * n + j) * x;
        wrong += parts[2 * i * n + j] * x;
      }
      static_cast<std::complex<double>*>(right.data_ptr())[i * width + k] = sum;
      static_cast<std::complex<double>*>(misread.data_ptr())[i * width + k] = wrong;
    }
  }
  const ScalarType type = v.expected.scalar_type();
  return !difference(v.expected, at::to(misread, type), 10) && !difference(v.got, at::to(right, type), 10);
}

}  // namespace

bool recorder_erred(const Recorded& given) {
  // What the rules read, and call again, is on the CPU.
  const auto here = [](const Tensor& t) { return t.defined() ? at::to(at::detach(t), c10::Device(c10::kCPU), t.scalar_type()) : t; };
  c10::Stack args = given.args;
  for (IValue& value : args) {
    if (!value.isTensor() || value.toTensor().is_cpu()) continue;
    const bool differentiable = value.toTensor().requires_grad();
    value = IValue(here(value.toTensor()).set_requires_grad(differentiable));
  }
  const Tensor got = given.got.is_cpu() ? given.got : here(given.got);
  const Tensor cotangent = given.cotangent.defined() && !given.cotangent.is_cpu() ? here(given.cotangent) : given.cotangent;
  const Recorded v{given.name, given.op, args, given.result, given.gradient, cotangent, got, given.expected};
  return scatter_into_strides(v) || complex_dot(v) || rounded_sums(v) || complex_powers(v) || sqrt_of_zero(v) ||
         normalized(v) || overflowing_quotient(v) || clamp_at_bound(v) || coarse_bessel(v) || turned_slices(v) || unfilled_normal(v) ||
         rounded_differences(v) || largest_modulus(v) || coarse_reparameterization(v) || misread_coefficients(v);
}

}  // namespace conformance
