// The initialisers' numbers for seed 42, against PyTorch's (testdata/record_init.py), their statistics and their
// errors.
#include "nn/init/init.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/testing/message_of.h"
#include "nn/layers/layers.h"
#include "nn/module/sequential.h"

namespace torch::nn {
namespace {

const std::map<std::string, std::vector<double>>& recorded() {
  static const std::map<std::string, std::vector<double>> numbers = {
#include "nn/init/testdata/init_numbers.inc"
  };
  return numbers;
}

std::vector<double> values_of(const std::vector<at::Tensor>& tensors) {
  std::vector<double> out;
  for (const at::Tensor& t : tensors) {
    const at::Tensor c = at::contiguous(t);
    for (int64_t i = 0; i < c.numel(); ++i) out.push_back(c.data_ptr<float>()[i]);
  }
  return out;
}

void expect(const std::string& name, const std::vector<at::Tensor>& tensors, double tolerance = 0) {
  const std::vector<double>& wanted = recorded().at(name);
  const std::vector<double> got = values_of(tensors);
  ASSERT_EQ(got.size(), wanted.size()) << name;
  for (size_t i = 0; i < got.size(); ++i) {
    // Recorded to nine digits, which tell every float apart.
    EXPECT_NEAR(got[i], wanted[i], tolerance + 1e-8 * std::abs(wanted[i])) << name << " " << i;
  }
}

template <typename F>
at::Tensor fresh(std::vector<int64_t> sizes, F&& f) {
  at::manual_seed(42);
  at::Tensor t = at::empty(sizes);
  f(t);
  return t;
}

TEST(Init, NumbersOfPyTorch) {
  expect("uniform_", {fresh({2, 3}, [](auto& t) { init::uniform_(t, -1, 2); })});
  expect("normal_", {fresh({2, 3}, [](auto& t) { init::normal_(t, 1, 2); })});
  expect("normal_20", {fresh({4, 5}, [](auto& t) { init::normal_(t, 1, 2); })});
  expect("kaiming_uniform_", {fresh({2, 3}, [](auto& t) { init::kaiming_uniform_(t, 0.2); })});
  expect("kaiming_normal_fan_out_relu",
         {fresh({2, 3, 2, 2}, [](auto& t) { init::kaiming_normal_(t, 0, torch::kFanOut, torch::kReLU); })});
  expect("xavier_uniform_", {fresh({2, 3}, [](auto& t) { init::xavier_uniform_(t, 5.0 / 3); })});
  expect("xavier_normal_", {fresh({3, 2, 2}, [](auto& t) { init::xavier_normal_(t); })});
  expect("sparse_", {fresh({4, 3}, [](auto& t) { init::sparse_(t, 0.5, 1); })});
  expect("dirac_", {fresh({2, 3, 3, 2}, [](auto& t) { init::dirac_(t); })});
  expect("eye_", {fresh({2, 3}, [](auto& t) { init::eye_(t); })});
  // Another order of operations in the factorization.
  expect("orthogonal_tall", {fresh({4, 3}, [](auto& t) { init::orthogonal_(t); })}, 1e-6);
  expect("orthogonal_wide", {fresh({2, 2, 2}, [](auto& t) { init::orthogonal_(t, 2); })}, 1e-6);
}

TEST(Init, LayersOfPyTorch) {
  at::manual_seed(42);
  expect("Linear", Linear(3, 2)->parameters());
  at::manual_seed(42);
  expect("Conv2d", Conv2d(Conv2dOptions(2, 2, 3).groups(2))->parameters());
  at::manual_seed(42);
  expect("Embedding", Embedding(EmbeddingOptions(3, 4).padding_idx(1))->parameters());
  at::manual_seed(42);
  expect("Bilinear", Bilinear(2, 3, 2)->parameters());
  at::manual_seed(42);
  expect("Sequential", Sequential(Linear(2, 2), LayerNorm(std::vector<int64_t>{2}), Linear(2, 1))->parameters());
}

TEST(Init, OrthogonalIsOrthogonal) {
  const at::Tensor t = fresh({5, 20}, [](auto& x) { init::orthogonal_(x); });
  const at::Tensor product = at::matmul(t, at::t(t));
  const at::Tensor identity = at::eye(5);
  for (int i = 0; i < 25; ++i) EXPECT_NEAR(product.data_ptr<float>()[i], identity.data_ptr<float>()[i], 1e-5);
}

TEST(Init, Gains) {
  EXPECT_DOUBLE_EQ(init::calculate_gain(torch::kLinear), 1.0);
  EXPECT_DOUBLE_EQ(init::calculate_gain(torch::kConv2D), 1.0);
  EXPECT_DOUBLE_EQ(init::calculate_gain(torch::kSigmoid), 1.0);
  EXPECT_DOUBLE_EQ(init::calculate_gain(torch::kTanh), 5.0 / 3.0);
  EXPECT_DOUBLE_EQ(init::calculate_gain(torch::kReLU), std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(init::calculate_gain(torch::kLeakyReLU, 0.5), std::sqrt(2.0 / 1.25));
}

using c10::testing::message_of;

TEST(Init, Errors) {
  EXPECT_EQ(message_of([] { init::eye_(at::empty({3})); }), "Only tensors with 2 dimensions are supported");
  EXPECT_EQ(message_of([] { init::sparse_(at::empty({3}), 0.5); }), "Only tensors with 2 dimensions are supported");
  EXPECT_EQ(message_of([] {
              init::dirac_(at::empty({3, 3}));
            }),
            "Only tensors with 3, 4, or 5 dimensions are supported");
  EXPECT_EQ(message_of([] { init::orthogonal_(at::empty({3})); }),
            "Only tensors with 2 or more dimensions are supported");
  EXPECT_EQ(message_of([] { init::xavier_normal_(at::empty({3})); }),
            "Fan in and fan out cannot be computed for tensor with fewer than 2 dimensions");
  EXPECT_THROW(init::sparse_(at::empty({3, 3}), 1.5), c10::Error);
}

TEST(Init, ConstantsReturnTheirArgument) {
  at::Tensor t = at::empty({3});
  EXPECT_TRUE(init::constant_(t, 2.5).is_same(t));
  EXPECT_EQ(values_of({t}), (std::vector<double>{2.5, 2.5, 2.5}));
  EXPECT_EQ(values_of({init::ones_(t)}), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(values_of({init::zeros_(t)}), (std::vector<double>{0, 0, 0}));
}

TEST(Init, DrawsFromAGivenGenerator) {
  const at::Generator g = at::detail::createCPUGenerator(7);
  at::Tensor a = at::empty({20}), b = at::empty({20});
  at::manual_seed(1);
  const at::Tensor next = at::clone(init::uniform_(at::empty({1})));
  at::manual_seed(1);
  init::trunc_normal_(a, 0.5, 1, 0, 1, g);
  EXPECT_TRUE(at::equal(init::uniform_(at::empty({1})), next));
  EXPECT_GE(at::item(at::min(a)).to<double>(), 0);
  EXPECT_LE(at::item(at::max(a)).to<double>(), 1);
  // An interval that a normal value hardly ever meets.
  init::trunc_normal_(b, 0, 1, 2, 2.0001, g);
  EXPECT_GE(at::item(at::min(b)).to<double>(), 2);
  EXPECT_THROW(init::trunc_normal_(b, 0, 1, 2, 1), c10::ValueError);
}

TEST(Init, DiracOfGroups) {
  at::Tensor t = init::dirac_(at::empty({4, 2, 3}), 2);
  EXPECT_EQ(at::item(at::sum(t)).to<double>(), 4);
  EXPECT_EQ(at::item(at::select(at::select(at::select(t, 0, 3), 0, 1), 0, 1)).to<double>(), 1);
  EXPECT_THROW(init::dirac_(at::empty({3, 2, 3}), 2), c10::ValueError);
  EXPECT_EQ(init::calculate_gain(torch::kSELU), 0.75);
}

}  // namespace
}  // namespace torch::nn
