// Deprecated and doubtful use is answered by a warning, as documented.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <string>
#include <vector>

namespace {

using torch::Tensor;

struct Collect : c10::WarningHandler {
  void process(const c10::Warning& warning) override {
    texts.push_back(warning.msg());
    deprecated.push_back(std::holds_alternative<c10::DeprecationWarning>(warning.type()));
  }
  std::vector<std::string> texts;
  std::vector<bool> deprecated;
};

// The warnings of a call, those that are given once included.
Collect warnings_of(const std::function<void()>& call) {
  Collect collect;
  c10::WarningUtils::WarningHandlerGuard guard(&collect);
  c10::WarningUtils::WarnAlways always;
  call();
  return collect;
}

void expect_warning(const std::string& part, bool deprecated, const std::function<void()>& call) {
  const Collect got = warnings_of(call);
  ASSERT_EQ(got.texts.size(), 1u) << part;
  EXPECT_NE(got.texts[0].find(part), std::string::npos) << got.texts[0];
  EXPECT_EQ(got.deprecated[0], deprecated) << part;
}

void expect_silence(const std::function<void()>& call) {
  const Collect got = warnings_of(call);
  EXPECT_TRUE(got.texts.empty()) << got.texts[0];
}

TEST(Warnings, OfAnOutputThatIsResized) {
  const Tensor x = torch::ones({2, 3});
  Tensor out = torch::empty({4});
  expect_warning("An output with one or more elements was resized since it had shape [4], which does not match the required "
                 "output shape [2, 3].",
                 false, [&] { at::add_out(out, x, x); });
  EXPECT_TRUE(torch::equal(out, x + x));
  out = torch::empty({4});
  expect_warning("was resized since it had shape [4]", false, [&] { at::matmul_out(out, x, x.t()); });
  out = torch::empty({0});
  expect_silence([&] { at::add_out(out, x, x); });
  expect_silence([&] { at::add_out(out, x, x); });
  expect_silence([&] { torch::empty({4}).resize_({5}); });
}

TEST(Warnings, OfMasksOfBytes) {
  Tensor x = torch::arange(3.);
  const Tensor bytes = torch::tensor({1, 0, 1}).to(torch::kByte), mask = bytes.to(torch::kBool);
  expect_warning("indexing with dtype torch.uint8 is now deprecated", true, [&] { x.index({bytes}); });
  expect_warning("indexing with dtype torch.uint8 is now deprecated", true, [&] { x.index_put_({bytes}, 1); });
  expect_warning("masked_fill_ received a mask with dtype torch.uint8", true, [&] { x.masked_fill_(bytes, 0); });
  expect_warning("masked_select received a mask with dtype torch.uint8", true, [&] { x.masked_select(bytes); });
  expect_warning("where received a uint8 condition tensor", true, [&] { torch::where(bytes, x, x); });
  expect_silence([&] { torch::where(mask, x.index({mask}).sum(), x.masked_fill(mask, 0)); });
}

TEST(Warnings, OfTransposesOfOtherThanMatrices) {
  const Tensor matrix = torch::ones({2, 3}), batch = torch::ones({2, 2, 3}), number = torch::ones({});
  expect_warning("The use of `x.T` on tensors of dimension other than 2", true, [&] { batch.numpy_T(); });
  expect_warning("Tensor.T is deprecated on 0-D tensors", true, [&] { number.numpy_T(); });
  expect_warning("Tensor.H is deprecated on 0-D tensors", true, [&] { number.matrix_H(); });
  expect_warning("Tensor.mT is deprecated on 0-D tensors", true, [&] { number.mT(); });
  expect_silence([&] { matrix.numpy_T(), matrix.matrix_H(), batch.mT(), batch.mH(); });
}

TEST(Warnings, OfFunctionsThatAreGoingAway) {
  const Tensor a = torch::ones({2, 3}), b = torch::ones({3, 2});
  expect_warning("torch.range is deprecated", true, [] { torch::range(0, 3); });
  expect_warning("torch.cross without specifying the dim arg", true, [&] { torch::cross(a, a); });
  expect_warning("torch.chain_matmul is deprecated", true, [&] { torch::chain_matmul({a, b}); });
  expect_warning("required to pass the indexing argument", false, [] { torch::meshgrid({torch::arange(2), torch::arange(3)}); });
  expect_silence([&] {
    torch::arange(0, 3), torch::cross(a, a, 1), torch::meshgrid({torch::arange(2), torch::arange(3)}, "ij");
  });
}

TEST(Warnings, OfWhatIsLikelyNotMeant) {
  expect_warning("degrees of freedom is <= 0", false, [] { torch::ones({3, 1}).var(1); });
  expect_silence([] { torch::ones({3, 1}).var(1, /*unbiased=*/false); });
  expect_warning("Casting complex values to real discards the imaginary part", false,
                 [] { torch::ones({2}, torch::kComplexFloat).to(torch::kFloat); });
  const Tensor leaf = torch::ones({2}, torch::requires_grad());
  const Tensor result = leaf * 2;
  expect_warning("The .grad attribute of a Tensor that is not a leaf", false, [&] { result.grad(); });
  expect_silence([&] { leaf.grad(); });
  result.retain_grad();
  expect_silence([&] { result.grad(); });
}

TEST(Warnings, AreGivenOnceWhereTheyWouldRepeat) {
  Collect collect;
  c10::WarningUtils::WarningHandlerGuard guard(&collect);
  for (int i = 0; i < 3; ++i) torch::range(0, 3);
  EXPECT_LE(collect.texts.size(), 1u);
}

}  // namespace
