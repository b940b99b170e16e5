#include "utils/testing/assert_close.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "aten/core/tensor_literal.h"
#include "autograd/factories.h"
#include "c10/testing/message_of.h"
#include "nn/module/ordered_dict.h"

namespace torch::testing {
namespace {

using at::Tensor;
using c10::testing::message_of;
using Dict = std::map<std::string, Tensor>;

template <class A, class B>
std::string said(const A& actual, const B& expected, const AssertCloseOptions& options = {}) {
  return message_of([&] { assert_close(actual, expected, options); });
}

TEST(AssertClose, TensorsWithinTolerances) {
  assert_close(torch::tensor({1.0, 2.0}), torch::tensor({1.0, 2.000001}));
  assert_close(torch::tensor({1.0, 2.0}), torch::tensor({1.0, 2.1}), {.rtol = 0.1, .atol = 0});
  assert_close(torch::tensor({NAN}), torch::tensor({NAN}), {.equal_nan = true});
  assert_close(torch::tensor({INFINITY}), torch::tensor({INFINITY}));
  assert_close(torch::zeros({0}), torch::zeros({0}));
  assert_close(torch::ones({2}), torch::ones({2}, at::kDouble), {.check_dtype = false});
  EXPECT_EQ(
      said(torch::tensor({1.0, 8.0}), torch::tensor({1.0, 3.0})),
      "Tensor-likes are not close!\n\nMismatched elements: 1 / 2 (50.0%)\nGreatest absolute difference: 5.0 at index "
      "(1,) (up to 1e-05 allowed)\nGreatest relative difference: 1.6666666269302368 at index (1,) (up to 1.3e-06 "
      "allowed)");
  EXPECT_EQ(
      said(torch::tensor({{1.0, std::nan("")}, {3.0, 4.0}}), torch::tensor({{1.0, 2.0}, {3.0, 9.0}}),
           {.rtol = 0, .atol = 0}),
      "Tensor-likes are not equal!\n\nMismatched elements: 2 / 4 (50.0%)\nGreatest absolute difference: nan at index "
      "(0, 1)\nGreatest relative difference: nan at index (0, 1)");
}

TEST(AssertClose, WholeAndComplexNumbers) {
  EXPECT_EQ(
      said(torch::tensor({1, 2, 3}), torch::tensor({1, 3, 3})),
      "Tensor-likes are not equal!\n\nMismatched elements: 1 / 3 (33.3%)\nGreatest absolute difference: 1 at index "
      "(1,)\nGreatest relative difference: 0.3333333432674408 at index (1,)");
  const at::TensorOptions bytes(at::kByte);
  EXPECT_NE(said(torch::tensor({1, 2}, bytes), torch::tensor({2, 1}, bytes)).find("difference: 1 at index (0,)"),
            std::string::npos);
  EXPECT_NE(said(torch::tensor({c10::complex<float>(1, 2)}), torch::tensor({c10::complex<float>(1, 3)}))
                .find("relative difference: 0.3162277"),
            std::string::npos);
  EXPECT_NE(said(torch::tensor({true, false}), torch::tensor({true, true})).find("relative difference: 1.0 at"),
            std::string::npos);
}

TEST(AssertClose, Attributes) {
  EXPECT_EQ(said(torch::ones({7}), torch::ones({8})),
            "The values for attribute 'shape' do not match: torch.Size([7]) != torch.Size([8]).");
  EXPECT_EQ(said(torch::ones({6}), torch::ones({6}, at::kDouble)),
            "The values for attribute 'dtype' do not match: torch.float32 != torch.float64.");
  EXPECT_EQ(said(torch::ones({2, 3}).t(), torch::ones({3, 2}), {.check_stride = true}),
            "The values for attribute 'stride()' do not match: (1, 3) != (2, 1).");
  const Tensor meta = torch::ones({2}, at::TensorOptions().device(at::kMeta));
  EXPECT_EQ(said(torch::ones({2}), meta), "The values for attribute 'device' do not match: cpu != meta.");
  assert_close(meta, meta);
  assert_close(meta, torch::zeros({2}), {.check_device = false});
}

TEST(AssertClose, Numbers) {
  assert_close(1.0, 1.0 + 1e-9);
  assert_close(1, 1.0, {.check_dtype = false});
  EXPECT_EQ(said(1, 1.0), "The (d)types do not match: int != float.");
  EXPECT_EQ(said(true, false), "Booleans mismatch: True is not False");
  EXPECT_EQ(said(1, 2),
            "Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: 1\nRelative difference: 0.5");
  EXPECT_EQ(
      said(torch::tensor(1.0), torch::tensor(1.1)),
      "Scalars are not close!\n\nExpected 1.100000023841858 but got 1.0.\nAbsolute difference: 0.10000002384185791 (up "
      "to 1e-05 allowed)\nRelative difference: 0.09090911061310529 (up to 1.3e-06 allowed)");
  EXPECT_NE(said(c10::complex<double>(1, 2), c10::complex<double>(1, 3)).find("Expected (1+3j) but got (1+2j)."),
            std::string::npos);
}

TEST(AssertClose, ListsAndMaps) {
  const Tensor one = torch::ones({1}), zero = torch::zeros({1});
  assert_close({one, zero}, {one, zero});
  EXPECT_NE(message_of([&] {
              assert_close({one, zero}, {one, one});
            }).find("\n\nThe failure occurred for item [1]"),
            std::string::npos);
  EXPECT_EQ(message_of([&] { assert_close({one}, {one, one}); }), "The length of the sequences mismatch: 1 != 2");
  EXPECT_NE(said(Dict{{"x", one}}, Dict{{"x", zero}})
                .find("difference: inf at index (0,) (up to 1.3e-06 allowed)\n\nThe "
                      "failure occurred for item ['x']"),
            std::string::npos);
  EXPECT_EQ(said(Dict{{"a", one}}, Dict{{"b", one}}),
            "The keys of the mappings do not match:\nMissing keys in the actual mapping: ['b']\nAdditional keys in the "
            "actual "
            "mapping: ['a']");
  OrderedDict<std::string, Tensor> ordered;
  ordered.insert("x", one);
  assert_close(ordered, ordered);
}

TEST(AssertClose, Arguments) {
  EXPECT_EQ(message_of<c10::ValueError>([&] { assert_close(1.0, 2.0, {.rtol = 0.1}); }),
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no atol.");
  const auto prefixed = [](const std::string& usual) { return "mine: " + usual.substr(0, 7); };
  EXPECT_EQ(said(torch::ones({1}), torch::zeros({1}), {.msg = prefixed}), "mine: Tensor-");
}

}  // namespace
}  // namespace torch::testing
