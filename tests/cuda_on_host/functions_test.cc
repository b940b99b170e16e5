// Functions of CUDA tensors against those of CPU tensors, over special values and ranges, in units of the last place;
// and the kernels that every pointwise operator needs.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "aten/cpu/elementwise.h"
#include "aten/cpu/loops/activation.h"
#include "aten/cpu/loops/complex.h"
#include "aten/cpu/loops/integer.h"
#include "aten/cpu/loops/loops.h"
#include "aten/cpu/loops/loss.h"
#include "aten/cpu/pointwise.h"
#include "aten/cpu/special/loops.h"
#include "aten/cuda/elementwise_call.h"

namespace {

using at::kCPU;
using at::ScalarType;
using at::Tensor;

const at::Device kDevice(at::kCUDA, 0);
constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor tensor_of(const std::vector<double>& numbers, ScalarType dtype) {
  Tensor t = at::empty({static_cast<int64_t>(numbers.size())}, at::TensorOptions().dtype(at::kDouble).device(kCPU));
  std::copy(numbers.begin(), numbers.end(), t.data_ptr<double>());
  return at::to(t, dtype);
}
std::vector<double> numbers_of(const Tensor& t) {
  const Tensor wide = at::to(at::to(t, at::Device(kCPU)), at::kDouble).contiguous();
  return {wide.data_ptr<double>(), wide.data_ptr<double>() + wide.numel()};
}

// Distance of `got` from `expected` in units of the last place of `dtype` at |expected| or `least`.
double units_apart(double got, double expected, ScalarType dtype, double least) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got) ? 0 : kInf;
  if (got == expected) return 0;
  if (std::isinf(expected) || std::isinf(got)) return kInf;
  const double size = std::max(std::fabs(expected), least);
  double unit;
  if (dtype == at::kDouble) {
    unit = std::nextafter(size, kInf) - size;
  } else {
    const float narrow = static_cast<float>(size);
    unit = static_cast<double>(std::nextafter(narrow, std::numeric_limits<float>::infinity())) -
           static_cast<double>(narrow);
  }
  return std::fabs(got - expected) / unit;
}

const std::vector<double> kSpecial = {0.0,    -0.0,   1,    -1,   0.5,      -0.5,      2,      -2,     3,      -3,
                                      kInf,   -kInf,  NAN,  1e-5, 10,       -10,       1e-30,  -1e-30, 50,     -50.25,
                                      700.5,  -700.5, 1e5,  -1e5, 1e30,     -1e30,     5e-324, 1e-310, 1e-300, 1e300,
                                      -1e300, 709,    20.5, 1e-9, 0.999999, -0.999999, 36.9,   37.5,   -37.5,  -38.2};

std::vector<double> inputs(double low, double high) {
  std::vector<double> all = kSpecial;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> draw(low, high);
  for (int i = 0; i < 300; ++i) all.push_back(draw(random));
  return all;
}

struct Unary {
  const char* name;
  std::function<Tensor(const Tensor&)> op;
  double low, high;
  double units_float, units_double;
  double least = 0;       // errors are in units of at least this number's last place
  double lowest = -kInf;  // below, the CPU's own error is larger
};

void check(const Unary& f, ScalarType dtype, double units) {
  std::vector<double> taken = inputs(f.low, f.high);
  std::erase_if(taken, [&](double x) { return x < f.lowest; });
  const Tensor x = tensor_of(taken, dtype);
  const std::vector<double> in = numbers_of(x), expected = numbers_of(f.op(x)),
                            got = numbers_of(f.op(at::to(x, kDevice)));
  double worst = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    const double apart = units_apart(got[i], expected[i], dtype, f.least);
    worst = std::max(worst, apart);
    EXPECT_LE(apart, units) << f.name << "(" << in[i] << ") is " << got[i] << " and not " << expected[i] << " in "
                            << dtype;
  }
  testing::Test::RecordProperty(std::string(f.name) + (dtype == at::kDouble ? "_double" : "_float"),
                                std::to_string(worst));
}

#define UNARY(f) [](const Tensor& x) { return at::f(x); }

TEST(Functions, SpecialOnesAreTheCpus) {
  const Unary all[] = {
      {"i0", UNARY(i0), -100, 100, 1, 1},
      {"i0e", UNARY(special_i0e), -100, 100, 1, 1},
      {"i1", UNARY(special_i1), -20, 20, 1, 1},
      {"i1e", UNARY(special_i1e), -100, 100, 1, 1},
      {"k0", UNARY(special_modified_bessel_k0), 0, 20, 1, 1},
      {"k1", UNARY(special_modified_bessel_k1), 0, 20, 1, 1},
      {"k0e", UNARY(special_scaled_modified_bessel_k0), 0, 50, 1, 1},
      {"k1e", UNARY(special_scaled_modified_bessel_k1), 0, 50, 1, 1},
      {"j0", UNARY(special_bessel_j0), -50, 50, 1, 1},
      {"j1", UNARY(special_bessel_j1), -50, 50, 1, 1},
      {"y0", UNARY(special_bessel_y0), -1, 50, 1, 1},
      {"y1", UNARY(special_bessel_y1), -1, 50, 1, 1},
      {"spherical_bessel_j0", UNARY(special_spherical_bessel_j0), -50, 50, 1, 2},
      {"airy_ai", UNARY(special_airy_ai), -40, 30, 1, 4, 0, -1e4},
      {"erfcx", UNARY(special_erfcx), -10, 30, 1, 1},
      {"ndtr", UNARY(special_ndtr), -10, 10, 1, 1},
      {"log_ndtr", UNARY(special_log_ndtr), -40, 10, 1, 1},
      {"ndtri", UNARY(special_ndtri), 0, 1, 1, 1},
      {"entr", UNARY(special_entr), -1, 10, 1, 1.5},
      {"lgamma", UNARY(lgamma), -20, 60, 1, 3, 1},
      {"digamma", UNARY(digamma), -20, 60, 1, 16, 1},
      {"erfinv", UNARY(erfinv), -1, 1, 2.5, 3},
      {"polygamma(0)", [](const Tensor& x) { return at::polygamma(0, x); }, -20, 60, 1, 5, 1},
      {"polygamma(1)", [](const Tensor& x) { return at::polygamma(1, x); }, -20, 60, 1, 5, 1},
      {"polygamma(4)", [](const Tensor& x) { return at::polygamma(4, x); }, 0, 60, 1, 5, 1, -60},
      {"polygamma(30)", [](const Tensor& x) { return at::polygamma(30, x); }, 0, 60, 1, 5, 1, 0},
      {"mvlgamma", [](const Tensor& x) { return at::mvlgamma(x, 3); }, 1.1, 60, 1, 5, 10},
      {"chebyshev_t", [](const Tensor& x) { return at::special_chebyshev_polynomial_t(x, 5); }, -2, 2, 1, 64, 1},
      {"chebyshev_u", [](const Tensor& x) { return at::special_chebyshev_polynomial_u(x, 5); }, -2, 2, 1, 64, 1},
      {"chebyshev_v", [](const Tensor& x) { return at::special_chebyshev_polynomial_v(x, 5); }, -2, 2, 1, 64, 1},
      {"chebyshev_w", [](const Tensor& x) { return at::special_chebyshev_polynomial_w(x, 5); }, -2, 2, 1, 64, 1},
      {"shifted_t", [](const Tensor& x) { return at::special_shifted_chebyshev_polynomial_t(x, 5); }, -2, 2, 1, 64, 1},
      {"hermite_h", [](const Tensor& x) { return at::special_hermite_polynomial_h(x, 4); }, -2, 2, 1, 64, 1},
      {"hermite_he", [](const Tensor& x) { return at::special_hermite_polynomial_he(x, 4); }, -2, 2, 1, 64, 1},
      {"laguerre_l", [](const Tensor& x) { return at::special_laguerre_polynomial_l(x, 4); }, -2, 2, 1, 64, 1},
      {"legendre_p", [](const Tensor& x) { return at::special_legendre_polynomial_p(x, 4); }, -2, 2, 1, 64, 1},
  };
  for (const Unary& f : all) {
    check(f, at::kFloat, f.units_float);
    check(f, at::kDouble, f.units_double);
  }
}

TEST(Functions, ActivationsAreTheCpus) {
  const Unary all[] = {
      {"gelu", UNARY(gelu), -10, 10, 4, 4, 1},
      {"gelu_tanh", [](const Tensor& x) { return at::gelu(x, "tanh"); }, -10, 10, 4, 4, 1},
      {"silu", UNARY(silu), -100, 20, 4, 4},
      {"mish", UNARY(mish), -100, 20, 8, 8},
      {"softplus", UNARY(softplus), -50, 30, 4, 3},
      {"log_sigmoid", UNARY(log_sigmoid), -50, 30, 4, 3},
      {"elu", UNARY(elu), -20, 5, 3, 3},
      {"selu", UNARY(selu), -20, 5, 4, 4},
      {"celu", UNARY(celu), -20, 5, 4, 4},
      {"hardswish", UNARY(hardswish), -5, 5, 2, 2},
      {"hardsigmoid", UNARY(hardsigmoid), -5, 5, 1, 1},
      {"softshrink", UNARY(softshrink), -2, 2, 0, 0},
      {"hardshrink", UNARY(hardshrink), -2, 2, 0, 0},
      {"leaky_relu", UNARY(leaky_relu), -2, 2, 0, 0},
      {"relu6", UNARY(relu6), -2, 10, 0, 0},
  };
  for (const Unary& f : all) {
    check(f, at::kFloat, f.units_float);
    check(f, at::kDouble, f.units_double);
  }
}

TEST(Functions, OfTwoArgumentsAreTheCpus) {
  const struct {
    const char* name;
    Tensor (*op)(const Tensor&, const Tensor&);
    std::vector<double> first, second;
    double units_float, units_double, least;
  } all[] = {
      {"zeta",
       [](const Tensor& a, const Tensor& b) { return at::special_zeta(a, b); },
       {1, 1.0001, 1.5, 2, 3, 7.5, 12, 30, 59, 80, 200, NAN, kInf, 0.5},
       {1e-6, 1e-3, 0.3, 1, 2.5, 20, 1e4, 1e6, -1, 0, NAN},
       1,
       3,
       0},
      {"igamma",
       [](const Tensor& a, const Tensor& b) { return at::igamma(a, b); },
       {0, 1e-6, 1e-3, 0.4, 1, 2.5, 8, 30, 200, 1e3, 2e4, NAN, -1, kInf},
       {0, 1e-8, 1e-3, 0.3, 1, 2, 7, 9, 28, 35, 190, 210, 1e3, 2e4, 1e5, kInf, NAN, -1},
       1,
       64,  // the CPU is that far from the truth where both arguments are large
       0},
      {"igammac",
       [](const Tensor& a, const Tensor& b) { return at::igammac(a, b); },
       {0, 1e-6, 1e-3, 0.4, 1, 2.5, 8, 30, 200, 1e3, 2e4, NAN, -1, kInf},
       {0, 1e-8, 1e-3, 0.3, 1, 2, 7, 9, 28, 35, 190, 210, 1e3, 2e4, 1e5, kInf, NAN, -1},
       1,
       64,     // the CPU is that far from the truth where both arguments are large
       1e-3},  // 1 less what is near 1
      {"xlog1py",
       [](const Tensor& a, const Tensor& b) { return at::special_xlog1py(a, b); },
       {0, 1, -2, 3.5, 1e-20, NAN, kInf},
       {0, 1, -1, -0.5, 1e-12, 1e20, -2, NAN, kInf},
       1,
       2,
       0},
      {"nextafter",
       [](const Tensor& a, const Tensor& b) { return at::nextafter(a, b); },
       {0, -0.0, 1, -1, 3.25, kInf, -kInf, NAN, 1e-40},
       {0, -0.0, 1, -1, 2, -7, kInf, -kInf, NAN},
       0,
       0,
       0},
      {"chebyshev_t",
       [](const Tensor& a, const Tensor& b) { return at::special_chebyshev_polynomial_t(a, b); },
       {0.3, -0.7, 1, -1, 1.5, NAN},
       {-1, 0, 1, 2.9, 10, 70, 1e7, NAN},
       1,
       64,
       1},
  };
  for (const auto& f : all) {
    std::vector<double> a, b;
    for (const double x : f.first) {
      for (const double y : f.second) a.push_back(x), b.push_back(y);
    }
    for (const ScalarType dtype : {at::kFloat, at::kDouble}) {
      const Tensor x = tensor_of(a, dtype), y = tensor_of(b, dtype);
      const std::vector<double> expected = numbers_of(f.op(x, y)),
                                got = numbers_of(f.op(at::to(x, kDevice), at::to(y, kDevice)));
      for (size_t i = 0; i < a.size(); ++i) {
        EXPECT_LE(units_apart(got[i], expected[i], dtype, f.least),
                  dtype == at::kDouble ? f.units_double : f.units_float)
            << f.name << "(" << a[i] << ", " << b[i] << ") is " << got[i] << " and not " << expected[i] << " in "
            << dtype;
      }
    }
  }
  for (const ScalarType dtype : {at::kHalf, at::kBFloat16}) {
    const Tensor x = tensor_of({0, -0.0, 1, -1, 3.25, kInf, -kInf, NAN, 1e-40, 0, 5}, dtype),
                 y = tensor_of({1, -2, 2, -3, 1, 0, 0, 1, 2, 0, 5}, dtype);
    const std::vector<double> expected = numbers_of(at::nextafter(x, y)),
                              got = numbers_of(at::nextafter(at::to(x, kDevice), at::to(y, kDevice)));
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(units_apart(got[i], expected[i], at::kDouble, 0), 0) << i << " in " << dtype;
  }
}

// Both parts, in units of the modulus, and of infinities and NaN where they stand.
void expect_complex(const char* name, const std::vector<double>& in, const std::vector<double>& expected,
                    const std::vector<double>& got, double units) {
  for (size_t i = 0; i < expected.size(); i += 2) {
    const double least = std::min(std::hypot(expected[i], expected[i + 1]), 1e308);
    for (size_t k = i; k < i + 2; ++k) {
      const double apart = std::isinf(expected[k]) && std::isinf(got[k])
                               ? (expected[k] == got[k] ? 0 : kInf)
                               : units_apart(got[k], expected[k], at::kDouble, std::isnan(least) ? 0 : least);
      EXPECT_LE(apart, units) << name << "(" << in[i] << ", " << in[i + 1] << ") is " << got[i] << ", " << got[i + 1]
                              << " and not " << expected[i] << ", " << expected[i + 1];
      if (expected[k] == 0 && got[k] == 0) {
        EXPECT_EQ(std::signbit(got[k]), std::signbit(expected[k])) << name << "(" << in[i] << ", " << in[i + 1] << ")";
      }
    }
  }
}

TEST(Functions, ComplexOnesAreTheCpus) {
  const std::vector<double> parts = {0.0, -0.0, 1, -1, 0.3, -0.7, 2, -5, 1e-9, 1e9, kInf, -kInf, NAN, 1e-200, -1e200};
  std::vector<double> in;
  for (const double x : parts) {
    for (const double y : parts) in.push_back(x), in.push_back(y);
  }
  std::mt19937_64 random(3);
  std::normal_distribution<double> draw;
  for (int i = 0; i < 600; ++i) in.push_back(draw(random) * (i % 3 == 0 ? 10 : 1));
  const Tensor x = at::view_as_complex(at::reshape(tensor_of(in, at::kDouble), {-1, 2}));
  const struct {
    const char* name;
    Tensor (*op)(const Tensor&);
    double units;
  } all[] = {{"asin", at::asin, 6},   {"acos", at::acos, 6},   {"atan", at::atan, 10},
             {"asinh", at::asinh, 6}, {"acosh", at::acosh, 6}, {"atanh", at::atanh, 10}};
  for (const auto& f : all) {
    expect_complex(f.name, in, numbers_of(at::view_as_real(f.op(x))),
                   numbers_of(at::view_as_real(f.op(at::to(x, kDevice)))), f.units);
  }
  const Tensor usual = at::slice(x, 0, static_cast<int64_t>(parts.size() * parts.size()));
  const std::vector<double> usual_in(in.begin() + static_cast<int64_t>(2 * parts.size() * parts.size()), in.end());
  const auto compare = [&](const char* name, const auto& op, double units) {
    expect_complex(name, usual_in, numbers_of(at::view_as_real(op(usual))),
                   numbers_of(at::view_as_real(op(at::to(usual, kDevice)))), units);
  };
  compare(
      "sinc", [](const Tensor& z) { return at::sinc(z); }, 32);
  compare(
      "silu", [](const Tensor& z) { return at::silu(z); }, 32);
  compare(
      "logaddexp", [](const Tensor& z) { return at::logaddexp(z, at::neg(z)); }, 32);
}

TEST(Functions, FrexpComplexPolar) {
  for (const ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    const Tensor x = tensor_of({0, -0.0, 1, -6, 0.3, 1e-40, kInf, -kInf, NAN, 1e4}, dtype);
    const auto [mantissa, exponent] = at::frexp(at::to(x, kDevice));
    const auto [m, e] = at::frexp(x);
    EXPECT_EQ(exponent.scalar_type(), at::kInt);
    EXPECT_EQ(numbers_of(exponent), numbers_of(e)) << dtype;
    const std::vector<double> got = numbers_of(mantissa), expected = numbers_of(m);
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(units_apart(got[i], expected[i], at::kDouble, 0), 0) << i << " in " << dtype;
  }
  for (const ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf}) {
    const Tensor a = tensor_of({0, 1, 2, 3}, dtype), b = tensor_of({1, 0.5, -2, 4}, dtype);
    const Tensor z = at::complex(at::to(a, kDevice), at::to(b, kDevice)),
                 w = at::polar(at::to(a, kDevice), at::to(b, kDevice));
    EXPECT_EQ(z.scalar_type(), at::complex(a, b).scalar_type());
    EXPECT_EQ(numbers_of(at::view_as_real(z)), numbers_of(at::view_as_real(at::complex(a, b))));
    const std::vector<double> got = numbers_of(at::view_as_real(w)),
                              expected = numbers_of(at::view_as_real(at::polar(a, b)));
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], dtype == at::kHalf ? 4e-3 : 1e-6) << dtype;
  }
}

// The CPU's declarations, by name.
struct Named {
  const char* name;
  const at::cpu::ElementOp& op;
};
#define ELEMENT_OP(space, name) {#space "::" #name, at::cpu::space::name},
const Named kOperators[] = {
#include "tests/cuda_on_host/element_ops.inc"
};

TEST(Kernels, AreThereForEveryLoop) {
  EXPECT_GT(std::size(kOperators), 150u);
  for (const Named& named : kOperators) {
    const at::cuda::ElementKernels* kernels = named.op.cuda;
    EXPECT_NE(kernels, nullptr) << named.name << " has no kernels for CUDA tensors";
    if (kernels == nullptr) continue;
    const auto expect = [&](const at::cpu::ElementTable& loop, at::cuda::ElementLauncher kernel, const char* type) {
      EXPECT_TRUE(kernel != nullptr || !loop) << named.name << " has a loop for " << type << ", but no kernel";
    };
    expect(named.op.float32, kernels->float32, "float32");
    expect(named.op.float64, kernels->float64, "float64");
    expect(named.op.int32, kernels->int32, "int32");
    expect(named.op.int64, kernels->int64, "int64");
    expect(named.op.uint64, kernels->uint64, "uint64");
    expect(named.op.complex64, kernels->complex64, "complex64");
    expect(named.op.complex128, kernels->complex128, "complex128");
  }
}

// Losses and gradients of two and three tensors, which operators may also put together from others.
TEST(Kernels, OfLossesAreTheLoops) {
  namespace loops = at::cpu::loops;
  const struct {
    const char* name;
    const at::cpu::ElementOp& op;
    int inputs;
    double p0, p1, p2;
  } all[] = {{"absolute_difference", loops::absolute_difference, 2, 0, 0, 0},
             {"smooth_l1", loops::smooth_l1, 2, 0.7, 0.5 / 0.7, 0.35},
             {"huber", loops::huber, 2, 0.7, 0.35, 0},
             {"soft_margin", loops::soft_margin, 2, 0, 0, 0},
             {"divergence_of_logs", loops::divergence_of_logs, 2, 0, 0, 0},
             {"clamped_difference", loops::clamped_difference, 3, 0.6, 1, 1.5},
             {"elu_backward", loops::elu_backward, 2, 1.1, 0.7, 0.5},
             {"elu_result_backward", loops::elu_result_backward, 2, 1.1, 0.7, 0.5},
             {"leaky_relu_backward", loops::leaky_relu_backward, 2, 0.1, 0, 0},
             {"hardswish_backward", loops::hardswish_backward, 2, 0, 0, 0},
             {"softplus_backward", loops::softplus_backward, 2, 2, 3, 0}};
  for (const auto& f : all) {
    for (const ScalarType dtype : {at::kFloat, at::kDouble}) {
      std::vector<Tensor> in;
      std::mt19937_64 random(9);
      std::normal_distribution<double> draw(0, 2);
      for (int k = 0; k < f.inputs; ++k) {
        std::vector<double> drawn(203);
        for (double& x : drawn) x = draw(random);
        in.push_back(tensor_of(drawn, dtype));
      }
      const at::pointwise::Params params(dtype, {f.p0, f.p1, f.p2});
      const auto result_on = [&](const at::Device& device) {
        std::vector<Tensor> moved;
        for (const Tensor& t : in) moved.push_back(at::to(t, device));
        const Tensor out = at::empty_like(moved[0]);
        if (f.inputs == 2)
          at::pointwise::run(f.name, f.op, dtype, params.get(), out, {moved[0], moved[1]});
        else
          at::pointwise::run(f.name, f.op, dtype, params.get(), out, {moved[0], moved[1], moved[2]});
        return numbers_of(out);
      };
      const std::vector<double> got = result_on(kDevice), expected = result_on(at::Device(kCPU));
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_LE(units_apart(got[i], expected[i], dtype, 1), 4)
            << f.name << " at " << i << ": " << got[i] << " and not " << expected[i] << " in " << dtype;
      }
    }
  }
}

}  // namespace
