// Masked reductions and MaskedTensor: against what PyTorch 2.15 gives, and gradients against differences.
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/masked/masked_tensor.h"
#include "autograd/masked/reductions.h"
#include "c10/testing/message_of.h"

namespace torch::masked {
namespace {

using autograd::gradcheck;
using autograd::variable_list;
using c10::testing::message_of;
using ::testing::HasSubstr;

const double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

Tensor x() {
  return torch::tensor({{-3.0, -2.0, -1.0}, {0.0, 1.0, 2.0}}, at::kDouble);
}
Tensor mask() {
  return torch::tensor({{true, false, true}, {false, false, false}});
}
const int64_t kOne = 1;
at::OptionalIntArrayRef one() {
  return at::IntArrayRef(kOne);
}

void expect_values(const Tensor& t, const std::vector<double>& expected) {
  const Tensor wanted = torch::tensor(expected, at::kDouble).view(t.sizes());
  EXPECT_TRUE(at::allclose(t.to(at::kDouble), wanted, 1e-4, 1e-4, /*equal_nan=*/true)) << t << wanted;
}

TEST(Masked, ReducesWhatTheMaskLetsThrough) {
  const Tensor m = mask(), v = x();
  expect_values(sum(v, one(), false, {}, m), {-4, 0});
  expect_values(sum(v, {}, false, {}, m), {-4});
  expect_values(sum(v, at::IntArrayRef{}, false, {}, m), {-4});
  expect_values(prod(v, one(), false, {}, m), {3, 1});
  expect_values(prod(v, {}, true, {}, m), {3});
  expect_values(amax(v, one(), false, {}, m), {-1, -kInfinity});
  expect_values(amin(v, one(), true, {}, m), {-3, kInfinity});
  expect_values(mean(v, one(), false, {}, m), {-2, kNan});
  expect_values(mean(v, {}, false, {}, m), {-2});
  expect_values(median(v, 1, false, {}, m), {-3, kNan});
  expect_values(logsumexp(v, one(), false, {}, m), {-0.8731, -kInfinity});
  expect_values(argmax(v, 1, false, m), {2, 0});
  expect_values(argmin(v, {}, false, m), {0});
  expect_values(norm(v, 2, one(), false, {}, m), {3.1623, 0});
  expect_values(norm(v, -kInfinity, one(), false, {}, m), {1, kInfinity});
  expect_values(norm(v, kInfinity, one(), false, {}, m), {3, 0});
  expect_values(var(v, one(), 1, false, {}, m), {2, kNan});
  expect_values(var(v, one(), 0, false, {}, m), {1, kNan});
  expect_values(torch::masked::std(v, {}, 1, false, {}, m), {1.4142});
  expect_values(cumsum(v, 1, {}, m), {-3, -3, -4, 0, 0, 0});
  expect_values(cumprod(v, 1, {}, m), {-3, -3, 3, 1, 1, 1});
  expect_values(softmax(v, 1, {}, m), {0.1192, 0, 0.8808, kNan, kNan, kNan});
  expect_values(log_softmax(v, -1, {}, m), {-2.1269, -kInfinity, -0.1269, kNan, kNan, kNan});
  expect_values(softmin(v, 1, {}, m), {0.8808, 0, 0.1192, kNan, kNan, kNan});
  expect_values(normalize(v, 2, 1, 1e-12, {}, m), {-0.9487, 0, -0.3162, 0, 0, 0});
  expect_values(logaddexp(v, v, {}, m, m.logical_not()), {-3, -2, -1, 0, 1, 2});
  // Without a mask, with one that broadcasts, of numbers.
  expect_values(masked::sum(v, one()), {-6, 3});
  expect_values(masked::mean(v, one()), {-2, 1});
  expect_values(masked::var(v, one()), {1, 1});
  expect_values(sum(v, one(), false, {}, m[0]), {-4, 2});
  expect_values(sum(v, one(), false, {}, m.to(at::kLong) * 2), {-4, 0});
}

TEST(Masked, DtypesAndErrors) {
  const Tensor m = mask(), v = x().to(at::kInt);
  EXPECT_EQ(sum(v, {}, false, {}, m).scalar_type(), at::kLong);
  EXPECT_EQ(sum(v, {}, false, at::kFloat, m).scalar_type(), at::kFloat);
  EXPECT_EQ(amax(v, one(), false, {}, m).scalar_type(), at::kInt);
  expect_values(amax(v, one(), false, {}, m), {-1, -2147483648.0});
  expect_values(amin(v, one(), false, {}, m), {-3, 2147483647.0});
  EXPECT_EQ(var(v, one(), 1, false, {}, m).scalar_type(), at::kFloat);
  EXPECT_EQ(masked::median(v, 0).scalar_type(), at::kInt);
  EXPECT_EQ(
      message_of<c10::ValueError>([&] { mean(v, {}, false, {}, m); }),
      "mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Int");
  EXPECT_EQ(message_of<c10::ValueError>([&] { median(v, 1, false, {}, m); }),
            "masked median expects no fully masked out rows if dtype is not floating point");
  EXPECT_EQ(message_of([&] {
              sum(v, at::IntArrayRef{0, 0}, false, {}, m);
            }),
            "dim=0 appears multiple times in the list of dims");
  EXPECT_EQ(message_of<c10::IndexError>([&] { sum(v, at::IntArrayRef{5}, false, {}, m); }),
            "Dimension out of range (expected to be in range of [-2, 1], but got 5)");
  EXPECT_THAT(message_of<c10::IndexError>([&] { sum(v, {}, false, {}, m.unsqueeze(0)); }),
              HasSubstr("mask of at most"));
  EXPECT_THAT(message_of([&] { sum(v, {}, false, {}, m.slice(1, 0, 2)); }), HasSubstr("must match the existing size"));
  EXPECT_THAT(message_of<c10::ValueError>([&] { masked::sum(x().to_sparse()); }),
              HasSubstr("masked sum expects strided tensor"));
}

TEST(Masked, GradientsAreThoseOfDifferences) {
  at::manual_seed(1);
  const Tensor m = torch::tensor({{true, false, true, true}, {true, true, false, true}});
  const std::vector<std::function<Tensor(const Tensor&)>> functions{
      [&](const Tensor& t) { return sum(t, one(), false, {}, m); },
      [&](const Tensor& t) { return prod(t, one(), false, {}, m); },
      [&](const Tensor& t) { return amax(t, one(), false, {}, m); },
      [&](const Tensor& t) { return mean(t, {}, false, {}, m); },
      [&](const Tensor& t) { return norm(t, 3, one(), false, {}, m); },
      [&](const Tensor& t) { return torch::masked::std(t, one(), 1, false, {}, m); },
      [&](const Tensor& t) { return logsumexp(t, one(), false, {}, m); },
      [&](const Tensor& t) { return softmax(t, 1, {}, m); },
      [&](const Tensor& t) { return normalize(t, 2, 1, 1e-12, {}, m); },
      [&](const Tensor& t) { return cumprod(t, 1, {}, m); },
      [&](const Tensor& t) { return as_masked_tensor(t, m).mul(t).var(one()).get_data(); },
  };
  for (size_t i = 0; i < functions.size(); ++i) {
    const auto f = [&](const variable_list& v) -> variable_list { return {functions[i](v[0])}; };
    const auto result = gradcheck(f, {at::randn({2, 4}, at::kDouble).requires_grad_()});
    EXPECT_TRUE(result.ok) << i << ": " << result.message;
  }
}

MaskedTensor counted() {
  return masked_tensor(
      at::arange(12, at::kFloat).view({3, 4}),
      torch::tensor({{true, false, false, true}, {false, true, false, false}, {true, true, true, true}}));
}

TEST(MaskedTensor, PrintsAsPyTorchDoes) {
  const MaskedTensor t = counted();
  const std::string text =
      "MaskedTensor(\n  [\n    [  0.0000,       --,       --,   3.0000],\n    [      --,   5.0000,       --,       "
      "--],\n"
      "    [  8.0000,   9.0000,  10.0000,  11.0000]\n  ]\n)";
  EXPECT_EQ(t.str(), text);
  EXPECT_EQ(t.to_sparse().str(), text);
  EXPECT_EQ(t.select(0, 1).str(), "MaskedTensor(\n  [      --,   5.0000,       --,       --]\n)");
  EXPECT_EQ(t.to(at::kLong).str(),
            "MaskedTensor(\n  [\n    [0,       --,       --, 3],\n    [      --, 5,       --,       --],\n    [8, 9, "
            "10, 11]\n  ]\n)");
  EXPECT_EQ(t.gt(3).select(0, 0).str(), "MaskedTensor(\n  [False,       --,       --, False]\n)");
  EXPECT_EQ(t.sum().str(), "MaskedTensor( 46.0000, True)");
  EXPECT_EQ(masked_tensor(torch::tensor(3), torch::tensor(false)).str(), "MaskedTensor(--, False)");
  std::ostringstream out;
  out << t.view({3, 2, 2}).select(0, 0);
  EXPECT_EQ(out.str(), "MaskedTensor(\n  [\n    [  0.0000,       --],\n    [      --,   3.0000]\n  ]\n)");
}

TEST(MaskedTensor, OperatorsKeepTheMask) {
  const MaskedTensor t = counted();
  expect_values(t.to_tensor(-1), {0, -1, -1, 3, -1, 5, -1, -1, 8, 9, 10, 11});
  expect_values((t * t + 1.0 - t / 2).to_tensor(0), {1, 0, 0, 8.5, 0, 23.5, 0, 0, 61, 77.5, 96, 116.5});
  expect_values((2.0 - t).to_tensor(0), {2, 0, 0, -1, 0, -3, 0, 0, -6, -7, -8, -9});
  expect_values(t.sin().to_tensor(0).sum(),
                {std::sin(3) + std::sin(5) + std::sin(8) + std::sin(9) + std::sin(10) + std::sin(11)});
  expect_values(t.clamp(4, 9).to_tensor(0), {4, 0, 0, 4, 0, 5, 0, 0, 8, 9, 9, 9});
  expect_values(t.maximum(torch::tensor(6.0)).to_tensor(0), {6, 0, 0, 6, 0, 6, 0, 0, 8, 9, 10, 11});
  EXPECT_EQ(t.lt(3).scalar_type(), at::kBool);
  EXPECT_EQ(message_of<c10::ValueError>([&] { t + MaskedTensor(t.get_data(), t.get_mask().logical_not()); }),
            "Input masks must match.");
  const MaskedTensor changed = t.clone();
  changed.add_(t).neg_();
  expect_values(changed.to_tensor(0), {0, 0, 0, -6, 0, -10, 0, 0, -16, -18, -20, -22});
  expect_values(t.to_tensor(0).sum(), {46});  // a clone shares nothing
  // Applied to both.
  expect_values(t.transpose(0, 1).index({at::indexing::Slice(), 2}).to_tensor(0), {8, 9, 10, 11});
  EXPECT_EQ(t.chunk(2, 1)[1].str(), t.narrow(1, 2, 2).str());
  EXPECT_EQ(cat({t, t}, 1).select(0, 1).to_tensor(0).sum().item<double>(), 10);
  EXPECT_EQ(stack({t, t}).sizes(), at::IntArrayRef({2, 3, 4}));
  EXPECT_EQ(kron(t, t).sizes(), at::IntArrayRef({9, 16}));
  EXPECT_EQ(hstack({t, t}).str(), cat({t, t}, 1).str());
  EXPECT_EQ(vstack({t, t}).str(), cat({t, t}, 0).str());
  EXPECT_EQ(column_stack({t, t}).str(), cat({t, t}, 1).str());
  EXPECT_EQ(t.hsplit(2)[1].str() + t.vsplit(3)[2].str(), t.narrow(1, 2, 2).str() + t.slice(0, 2, 3).str());
  EXPECT_EQ(t.view({1, 3, 4}).dsplit(2)[0].str(), t.view({1, 3, 4}).narrow(2, 0, 2).str());
  EXPECT_EQ(atleast_1d(t.sum()).sizes(), at::IntArrayRef({1}));
  EXPECT_EQ(broadcast_tensors({t, t.select(0, 1)})[1].select(0, 2).str(), t.select(0, 1).str());
  EXPECT_EQ(meshgrid({t.select(0, 0), t.select(0, 1)})[0].transpose(0, 1).select(0, 1).str(), t.select(0, 0).str());
  EXPECT_EQ(unfold(t.view({1, 1, 3, 4}), {1, 4}).view({4, 3}).transpose(0, 1).str(), t.str());
  expect_values(t.clone().mul_(2.0).clamp_(0, 7).pow_(2).to_tensor(0), {0, 0, 0, 36, 0, 49, 0, 0, 49, 49, 49, 49});
  EXPECT_EQ(t.unfold(1, 2, 1).sizes(), at::IntArrayRef({3, 3, 2}));
  const Tensor m = t.get_mask();
  expect_values(where(m, t, MaskedTensor(t.get_data() * 2, m.logical_not())).to_tensor(0),
                {0, 2, 4, 3, 8, 5, 12, 14, 8, 9, 10, 11});
}

TEST(MaskedTensor, ReducesAndSaysWhereNothingWas) {
  const MaskedTensor t = masked_tensor(x().to(at::kFloat), mask());
  EXPECT_EQ(t.var(one()).str(), "MaskedTensor(\n  [  2.0000,       --]\n)");
  EXPECT_EQ(t.std().str(), "MaskedTensor(  1.4142, True)");
  EXPECT_EQ(t.all().str(), "MaskedTensor(True, True)");
  EXPECT_EQ(t.argmax(1).str(), "MaskedTensor(\n  [2,       --]\n)");
  EXPECT_EQ(t.prod(one()).str(), "MaskedTensor(\n  [  3.0000,       --]\n)");
  EXPECT_EQ(t.amax(one(), true).str(), "MaskedTensor(\n  [\n    [ -1.0000],\n    [      --]\n  ]\n)");
  EXPECT_EQ(t.norm(1).str(), "MaskedTensor(  4.0000, True)");
  EXPECT_EQ(t.softmax(1).str(),
            "MaskedTensor(\n  [\n    [  0.1192,       --,   0.8808],\n    [      --,       --,       --]\n  ]\n)");
  EXPECT_EQ(t.sum({}, true).sizes(), at::IntArrayRef({1, 1}));
  EXPECT_FALSE(t.select(0, 1).sum().get_mask().item<bool>());
  EXPECT_THAT(message_of<c10::ValueError>([&] { t.select(0, 1).mean().item(); }), HasSubstr("is not specified"));
}

TEST(MaskedTensor, GradientsAreSpecifiedWhereItIs) {
  const MaskedTensor t = masked_tensor(x(), mask(), true);
  EXPECT_FALSE(t.grad().has_value());
  (t * t).sum().backward();
  EXPECT_EQ(t.grad()->str(),
            "MaskedTensor(\n  [\n    [ -6.0000,       --,  -2.0000],\n    [      --,       --,       --]\n  ]\n)");
  const MaskedTensor of_mean = masked_tensor(x(), mask(), true);
  of_mean.mean().backward();
  EXPECT_EQ(of_mean.grad()->to_tensor(0).sum().item<double>(), 1);
  // exp and log are not finite where it is not specified, and a factor beside them has a gradient of what is.
  const MaskedTensor far = masked_tensor(torch::tensor({2.0, -1.0, 1000.0}), torch::tensor({true, false, false}), true);
  const Tensor factor = torch::tensor(3.0).requires_grad_();
  ((far.exp() + far.log()) * factor).sum().backward();
  EXPECT_NEAR(factor.grad().item<double>(), std::exp(2.0) + std::log(2.0), 1e-4);
  EXPECT_NEAR(far.grad()->to_tensor(0).sum().item<double>(), 3 * (std::exp(2.0) + 0.5), 1e-4);
  // The history of the data, and gradients given.
  const Tensor leaf = x().requires_grad_();
  const MaskedTensor kept = as_masked_tensor(leaf * 2, mask());
  kept.backward(torch::full({2, 3}, kInfinity, at::kDouble));
  expect_values(leaf.grad(), {kInfinity, 0, kInfinity, 0, 0, 0});
  EXPECT_THAT(message_of<c10::ValueError>([&] { t.select(0, 1).sum().backward(); }), HasSubstr("is not specified"));
}

TEST(MaskedTensor, SparseLayouts) {
  const MaskedTensor t = counted(), coo = t.to_sparse(), csr = t.to_sparse_csr();
  EXPECT_TRUE(coo.is_sparse_coo() && csr.is_sparse_csr() && csr.is_sparse() && !t.is_sparse());
  EXPECT_EQ(coo.get_data()._nnz(), 7);
  for (const MaskedTensor& s : {coo, csr}) {
    EXPECT_EQ(s.sin().str(), t.sin().str());
    EXPECT_EQ((s * s + s).str(), (t * t + t).str());
    EXPECT_EQ((s * 2.0).to_dense().str(), (t * 2.0).str());
    EXPECT_EQ(s.sum().str(), "MaskedTensor( 46.0000, True)");
    EXPECT_EQ(s.amin().str(), t.amin().str());
    expect_values(s.to_tensor(-1), {0, -1, -1, 3, -1, 5, -1, -1, 8, 9, 10, 11});
    EXPECT_THAT(message_of<c10::NotImplementedError>([&] { s.sum(one()); }), HasSubstr("without dimensions only"));
  }
  EXPECT_EQ(csr.to_sparse().str(), t.str());
  const MaskedTensor leaf = masked_tensor(x(), mask(), true);
  leaf.to_sparse().sin().sum().backward();
  EXPECT_NEAR(leaf.grad()->to_tensor(0).sum().item<double>(), std::cos(3.0) + std::cos(1.0), 1e-10);
}

TEST(MaskedTensor, Errors) {
  const auto error = [](const Tensor& data, const Tensor& m) { return message_of([&] { masked_tensor(data, m); }); };
  EXPECT_EQ(error(x(), mask()[0]), "data.dim() must equal mask.dim()");
  EXPECT_EQ(error(x(), mask().slice(1, 0, 2)), "data.size() must equal mask.size()");
  EXPECT_EQ(error(x(), mask().to(at::kFloat)), "mask must have dtype bool.");
  EXPECT_EQ(error(x().to(at::kBFloat16), mask()), "BFloat16 is not supported in MaskedTensor.");
  EXPECT_EQ(error(x().to_sparse(), mask()), "data and mask must have the same layout.");
  EXPECT_EQ(error({}, mask()), "data must be a Tensor");
  EXPECT_EQ(error(x().to_sparse(), mask().to_sparse()),
            "data and mask are both sparse but do not have the same indices.");
  EXPECT_THAT(message_of([] { counted().select(0, 0).to_sparse_csr(); }), HasSubstr("Only 2D tensors"));
}

}  // namespace
}  // namespace torch::masked
