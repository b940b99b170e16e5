#include <cmath>
#include <functional>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "gtest/gtest.h"

namespace {

using at::ScalarType;
using at::Tensor;
using at::testing::tensor_of;
using at::testing::values;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Case {
  const char* name;
  Tensor (*op)(const Tensor&);
  double (*exact)(double);
};
const Case kCases[] = {
    {"relu", at::relu, [](double x) { return x > 0 ? x : 0.0; }},
    {"relu6", at::relu6, [](double x) { return std::fmin(std::fmax(x, 0.0), 6.0); }},
    {"gelu", [](const Tensor& x) { return at::gelu(x); }, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
    {"gelu_tanh", [](const Tensor& x) { return at::gelu(x, "tanh"); },
     [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
    {"silu", at::silu, [](double x) { return x * sigmoid(x); }},
    {"mish", at::mish, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
    {"hardsigmoid", at::hardsigmoid, [](double x) { return std::fmin(std::fmax(x + 3, 0.0), 6.0) / 6; }},
    {"hardswish", at::hardswish, [](double x) { return x * std::fmin(std::fmax(x + 3, 0.0), 6.0) / 6; }},
    {"log_sigmoid", at::log_sigmoid, [](double x) { return -std::log1p(std::exp(-x)); }},
    {"softplus", [](const Tensor& x) { return at::softplus(x, 2, 3); }, [](double x) { return 2 * x > 3 ? x : std::log1p(std::exp(2 * x)) / 2; }},
    {"elu", [](const Tensor& x) { return at::elu(x, 1.5); }, [](double x) { return x > 0 ? x : 1.5 * std::expm1(x); }},
    {"selu", at::selu, [](double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x)); }},
    {"celu", [](const Tensor& x) { return at::celu(x, 2); }, [](double x) { return x > 0 ? x : 2 * std::expm1(x / 2); }},
    {"leaky_relu", [](const Tensor& x) { return at::leaky_relu(x, 0.25); }, [](double x) { return x > 0 ? x : 0.25 * x; }},
    {"hardtanh", [](const Tensor& x) { return at::hardtanh(x, -1, 2); }, [](double x) { return std::fmin(std::fmax(x, -1.0), 2.0); }},
    {"hardshrink", [](const Tensor& x) { return at::hardshrink(x, 1); }, [](double x) { return std::fabs(x) > 1 ? x : 0.0; }},
    {"softshrink", [](const Tensor& x) { return at::softshrink(x, 1); }, [](double x) { return x > 1 ? x - 1 : x < -1 ? x + 1 : 0.0; }},
    {"threshold", [](const Tensor& x) { return at::threshold(x, 1, 9); }, [](double x) { return x > 1 ? x : 9.0; }},
};

TEST(Activation, FormulasInEveryDtypeAndLayout) {
  const std::vector<double> x = {-30, -4, -2.5, -1, -0.25, 0, 0.5, 1.5, 3, 5, 25};
  for (const Case& c : kCases) {
    for (ScalarType type : {ScalarType::Half, ScalarType::BFloat16, ScalarType::Float, ScalarType::Double}) {
      const Tensor t = tensor_of(x, {5, 7}, type);
      for (const Tensor& in : {t, at::transpose(t, 0, 1), at::slice(t, 1, 0, 7, 3)}) {
        const std::vector<double> got = values(c.op(in)), a = values(in);
        const double tolerance = type == ScalarType::BFloat16 ? 1e-2 : type == ScalarType::Half ? 2e-3 : type == ScalarType::Double ? 1e-12 : 2e-6;
        for (size_t i = 0; i < got.size(); ++i) {
          const double e = c.exact(a[i]);
          ASSERT_NEAR(got[i], e, tolerance * (std::fabs(e) + 0.1)) << c.name << "(" << a[i] << ") in " << at::toString(type);
        }
      }
    }
  }
}

TEST(Activation, NanPropagates) {
  const Tensor x = tensor_of({NAN}, {20});
  for (const Case& c : kCases) {
    if (std::string(c.name) == "threshold") continue;
    for (double v : values(c.op(x))) ASSERT_TRUE(std::isnan(v)) << c.name;
  }
}

TEST(Activation, LimitsOfIntegers) {
  const Tensor bytes = tensor_of({0, 1, 2, 200}, {4}, ScalarType::Byte);
  at::testing::expect_close(at::hardtanh(bytes, -0.5, 0.5), {0, 0, 0, 0});
  at::testing::expect_close(at::hardtanh(bytes, -300, 2.9), {0, 1, 2, 2});
  at::testing::expect_error<c10::Error>([&] { at::hardtanh(bytes, -5.5, -1); }, "Clamp max value -1 is outside the representable range of Byte");
}

TEST(Activation, ThresholdOfIntegers) {
  for (ScalarType type : {ScalarType::Byte, ScalarType::Int, ScalarType::Long}) {
    const Tensor y = at::threshold(tensor_of({1, 2, 3, 4}, {4}, type), 2, 9);
    EXPECT_EQ(y.scalar_type(), type);
    EXPECT_EQ(values(y), (std::vector<double>{9, 9, 3, 4}));
  }
}

TEST(Activation, GradientKernelsMatchDifferences) {
  const std::vector<double> x = {-3, -1, -0.2, 0.3, 1, 2.5};
  const Tensor ones = tensor_of({1}, {6}, ScalarType::Double);
  const double h = 1e-6;
  const struct {
    const char* name;
    Tensor (*op)(const Tensor&);
    Tensor (*gradient)(const Tensor&, const Tensor&);
  } pairs[] = {
      {"gelu", [](const Tensor& t) { return at::gelu(t); }, [](const Tensor& g, const Tensor& t) { return at::gelu_backward(g, t); }},
      {"gelu_tanh", [](const Tensor& t) { return at::gelu(t, "tanh"); }, [](const Tensor& g, const Tensor& t) { return at::gelu_backward(g, t, "tanh"); }},
      {"silu", at::silu, at::silu_backward},
      {"relu", at::relu, [](const Tensor& g, const Tensor& t) { return at::threshold_backward(g, t, 0); }},
  };
  for (const auto& p : pairs) {
    std::vector<double> up = x, down = x;
    for (double& v : up) v += h;
    for (double& v : down) v -= h;
    const std::vector<double> high = values(p.op(tensor_of(up, {6}, ScalarType::Double))), low = values(p.op(tensor_of(down, {6}, ScalarType::Double)));
    const std::vector<double> got = values(p.gradient(ones, tensor_of(x, {6}, ScalarType::Double)));
    const std::vector<double> in_float = values(p.gradient(tensor_of({1}, {6}), tensor_of(x, {6})));
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(got[i], (high[i] - low[i]) / (2 * h), 1e-8) << p.name;
      EXPECT_NEAR(in_float[i], got[i], 1e-6) << p.name;
    }
  }
}

TEST(Activation, GluPreluAndTheirArguments) {
  const Tensor x = tensor_of({1, 2, 3, 4}, {2, 4});
  EXPECT_NEAR(values(at::glu(x, 1))[1], 2 * sigmoid(4), 1e-6);
  EXPECT_EQ(at::glu(x, 0).sizes(), at::IntArrayRef({1, 4}));
  Tensor overwritten = at::clone(x);
  at::glu_out(overwritten, overwritten, 1);
  EXPECT_EQ(values(overwritten), values(at::glu(x, 1)));
  EXPECT_THROW(at::glu(tensor_of({1}, {3})), c10::Error);
  const Tensor y = at::prelu(tensor_of({-1, -2, 3}, {1, 3, 1}), tensor_of({2, 3, 4}, {3}));
  EXPECT_EQ(values(y), (std::vector<double>{-2, -6, 3}));
  EXPECT_THROW(at::prelu(x, tensor_of({1}, {3})), c10::Error);
  EXPECT_THROW(at::gelu(x, "exact"), c10::Error);
  EXPECT_THROW(at::softshrink(x, -1), c10::Error);
  EXPECT_THROW(at::celu(x, 0), c10::Error);
  EXPECT_THROW(at::gelu(tensor_of({1}, {1}, ScalarType::Int)), c10::Error);
  EXPECT_EQ(values(at::relu(tensor_of({-1, 2}, {2}, ScalarType::Int))), (std::vector<double>{0, 2}));
}

TEST(Pointwise, ClampWhereAndThree) {
  const Tensor x = tensor_of({-2, 0, 5}, {3});
  EXPECT_EQ(values(at::clamp(x, -1, 2)), (std::vector<double>{-1, 0, 2}));
  EXPECT_EQ(values(at::clamp_min(x, 0)), (std::vector<double>{0, 0, 5}));
  EXPECT_EQ(values(at::clamp(x, std::nullopt, 1)), (std::vector<double>{-2, 0, 1}));
  EXPECT_EQ(values(at::clamp(x, tensor_of({-1}, {1}), tensor_of({0, 1, 2}, {3}))), (std::vector<double>{-1, 0, 2}));
  EXPECT_EQ(at::clamp(tensor_of({1}, {1}, ScalarType::Int), 0.5).scalar_type(), ScalarType::Float);
  for (const ScalarType type : {ScalarType::Int, ScalarType::Short, ScalarType::Char, ScalarType::Byte}) {
    const Tensor small = tensor_of({1, 2}, {2}, type);
    EXPECT_THROW(at::clamp(small, int64_t{1} << 40), c10::Error);
    EXPECT_EQ(values(at::clamp(small, std::nullopt, int64_t{1} << 40)), (std::vector<double>{1, 2}));
    EXPECT_EQ(values(at::clamp_max(small, int64_t{1} << 40)), (std::vector<double>{1, 2}));
    EXPECT_EQ(values(at::clamp_min(small, -(int64_t{1} << 40))), (std::vector<double>{1, 2}));
    EXPECT_THROW(at::clamp_max(small, -(int64_t{1} << 40)), c10::Error);
  }
  EXPECT_THROW(at::clamp_min(tensor_of({1}, {1}, ScalarType::Char), 300), c10::Error);
  EXPECT_EQ(at::where(tensor_of({1}, {}, ScalarType::Bool)).size(), 1u);
  EXPECT_EQ(at::where(tensor_of({1}, {}, ScalarType::Bool))[0].numel(), 1);
  EXPECT_EQ(at::where(tensor_of({0}, {}, ScalarType::Bool))[0].numel(), 0);
  EXPECT_THROW(at::clamp(x, std::optional<at::Scalar>(), std::optional<at::Scalar>()), c10::Error);
  const Tensor mask = tensor_of({1, 0, 1}, {3}, ScalarType::Bool);
  for (ScalarType type : {ScalarType::Byte, ScalarType::Half, ScalarType::Float, ScalarType::Long, ScalarType::ComplexDouble}) {
    EXPECT_EQ(values(at::where(mask, tensor_of({1, 2, 3}, {3}, type), tensor_of({7}, {2, 1}, type))), (std::vector<double>{1, 7, 3, 1, 7, 3}));
  }
  EXPECT_EQ(at::where(mask, x, 2.5).scalar_type(), ScalarType::Float);
  EXPECT_THROW(at::where(x, x, x), c10::Error);
  EXPECT_EQ(values(at::addcmul(x, x, x, 2)), (std::vector<double>{6, 0, 55}));
  EXPECT_EQ(values(at::addcdiv(x, x, tensor_of({2}, {3}), 2)), (std::vector<double>{-4, 0, 10}));
  EXPECT_THROW(at::addcdiv(tensor_of({1}, {1}, ScalarType::Int), tensor_of({1}, {1}, ScalarType::Int), tensor_of({1}, {1}, ScalarType::Int)), c10::Error);
  EXPECT_EQ(values(at::lerp(x, tensor_of({2}, {3}), 0.5)), (std::vector<double>{0, 1, 3.5}));
  EXPECT_EQ(values(at::lerp(x, tensor_of({2}, {3}), tensor_of({0, 0.5, 1}, {3}))), (std::vector<double>{-2, 1, 2}));
  EXPECT_THROW(at::lerp(x, tensor_of({2}, {3}, ScalarType::Double), 0.5), c10::Error);
  // A weight without dimensions promotes as one does elsewhere; others have the dtype of self.
  const Tensor half = at::lerp(tensor_of({-2, 0, 5}, {3}, ScalarType::Half), tensor_of({2}, {3}, ScalarType::Half),
                               tensor_of({0.5}, {}));
  EXPECT_EQ(half.scalar_type(), ScalarType::Half);
  EXPECT_EQ(values(half), (std::vector<double>{0, 1, 3.5}));
  EXPECT_EQ(at::lerp(x, x, tensor_of({1}, {}, ScalarType::ComplexFloat)).scalar_type(), ScalarType::ComplexFloat);
  EXPECT_THROW(at::lerp(x, x, tensor_of({0.5}, {1}, ScalarType::Double)), c10::Error);
}

}  // namespace
