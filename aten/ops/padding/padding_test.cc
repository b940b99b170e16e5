#include "aten/ops/padding/ops.h"

#include "aten/ops/matmul/matrix_test_support.h"
#include "aten/ops/view/ops.h"
#include "gtest/gtest.h"

namespace {

using namespace at;
using namespace at::matrix_testing;

// Where place i of a dimension of `size` comes from, or -1 for the constant. What a negative padding cuts off is no
// part of a circle.
int64_t source(const std::string& mode, int64_t i, int64_t size, int64_t left, int64_t right) {
  if (mode == "constant") return i >= 0 && i < size ? i : -1;
  if (mode == "replicate") return i < 0 ? 0 : i >= size ? size - 1 : i;
  if (mode == "circular") {
    const int64_t begin = left < 0 ? -left : 0, length = (right < 0 ? size + right : size) - begin;
    return begin + ((i - begin) % length + length) % length;
  }
  return i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
}

std::vector<Number> reference(const Tensor& x, const std::vector<int64_t>& pad, const std::string& mode, Number value, std::vector<int64_t>* sizes) {
  const auto v = values(x);
  const int64_t rank = x.dim();
  sizes->assign(x.sizes().begin(), x.sizes().end());
  std::vector<int64_t> before(static_cast<size_t>(rank), 0), after(static_cast<size_t>(rank), 0);
  for (size_t i = 0; i < pad.size() / 2; ++i)
    (*sizes)[rank - 1 - i] += pad[2 * i] + pad[2 * i + 1], before[rank - 1 - i] = pad[2 * i],
                                                                             after[rank - 1 - i] = pad[2 * i + 1];
  int64_t n = 1;
  for (int64_t s : *sizes) n *= s;
  std::vector<Number> out;
  for (int64_t p = 0; p < n; ++p) {
    int64_t rest = p, place = 0, step = 1;
    bool inside = true;
    for (int64_t d = rank - 1; d >= 0; --d) {
      const int64_t i = rest % (*sizes)[d];
      rest /= (*sizes)[d];
      const int64_t from =
          before[d] == 0 && (*sizes)[d] == x.size(d) ? i : source(mode, i - before[d], x.size(d), before[d], after[d]);
      inside = inside && from >= 0;
      place += from * step;
      step *= x.size(d);
    }
    out.push_back(inside ? v[place] : value);
  }
  return out;
}

TEST(Padding, EveryModeDtypeAndLayout) {
  struct Case {
    std::vector<int64_t> sizes, pad;
  };
  const Case cases[] = {{{2, 3, 5}, {1, 2}}, {{3, 5}, {2, 0}}, {{2, 3, 4, 5}, {1, 2, 3, 0}}, {{3, 4, 5}, {-1, 2, 0, -2}}, {{2, 2, 3, 4, 5}, {1, 2, 0, 1, 2, 1}}, {{0, 2, 4}, {1, 1}}};
  for (ScalarType t : {kFloat, kDouble, kHalf, kBFloat16, kLong, kComplexDouble})
    for (const Case& c : cases)
      for (Arrangement l : kLayouts)
        for (const char* mode : {"constant", "reflect", "replicate", "circular"}) {
          const Tensor x = random_tensor(c.sizes, t, l);
          const bool constant = std::string(mode) == "constant";
          std::vector<int64_t> sizes;
          const auto want = reference(x, c.pad, mode, constant ? 2.0 : 0.0, &sizes);
          expect_values(at::pad(x, c.pad, mode, constant ? std::optional<double>(2.0) : std::nullopt), sizes, want, mode);
        }
}

TEST(Padding, ConstantOfManyDimensions) {
  const Tensor x = random_tensor({2, 3, 2}, kInt);
  std::vector<int64_t> sizes;
  const auto want = reference(x, {1, 0, 0, 1, 2, 2}, "constant", 7.0, &sizes);
  expect_values(at::constant_pad_nd(x, {1, 0, 0, 1, 2, 2}, 7), sizes, want, "constant");
  expect_same(at::constant_pad_nd(x, {}), x, "no padding");
  EXPECT_EQ(at::constant_pad_nd(x, {-1, -1}).sizes(), IntArrayRef({2, 3, 0}));
  EXPECT_EQ(at::constant_pad_nd(x, {-2, 1}).sizes(), IntArrayRef({2, 3, 1}));
}

TEST(Padding, GradientsAreTheTransposedMaps) {
  auto inner = [](const Tensor& a, const Tensor& b) {
    Number s = 0;
    const auto x = values(a), y = values(b);
    for (size_t i = 0; i < x.size(); ++i) s += x[i] * y[i];
    return s;
  };
  const Tensor a = random_tensor({2, 3, 5}, kDouble), ga = random_tensor({2, 3, 9}, kDouble, Arrangement::kTransposed);
  EXPECT_NEAR(std::abs(inner(at::reflection_pad1d(a, {3, 1}), ga) - inner(a, at::reflection_pad1d_backward(ga, a, {3, 1}))), 0, 1e-12);
  EXPECT_NEAR(std::abs(inner(at::replication_pad1d(a, {3, 1}), ga) - inner(a, at::replication_pad1d_backward(ga, a, {3, 1}))), 0, 1e-12);
  const Tensor b = random_tensor({3, 4, 5}, kDouble), gb = random_tensor({3, 7, 6}, kDouble);
  EXPECT_NEAR(std::abs(inner(at::reflection_pad2d(b, {1, 0, 2, 1}), gb) - inner(b, at::reflection_pad2d_backward(gb, b, {1, 0, 2, 1}))), 0, 1e-12);
  EXPECT_NEAR(std::abs(inner(at::replication_pad2d(b, {1, 0, 2, 1}), gb) - inner(b, at::replication_pad2d_backward(gb, b, {1, 0, 2, 1}))), 0, 1e-12);
  const Tensor c = random_tensor({1, 3, 4, 5}, kDouble), gc = random_tensor({1, 4, 5, 6}, kDouble);
  EXPECT_NEAR(std::abs(inner(at::reflection_pad3d(c, {1, 0, 0, 1, 1, 0}), gc) - inner(c, at::reflection_pad3d_backward(gc, c, {1, 0, 0, 1, 1, 0}))), 0, 1e-12);
  EXPECT_NEAR(std::abs(inner(at::replication_pad3d(c, {1, 0, 0, 1, 1, 0}), gc) - inner(c, at::replication_pad3d_backward(gc, c, {1, 0, 0, 1, 1, 0}))), 0, 1e-12);
}

TEST(Padding, BadArguments) {
  auto r = [](std::vector<int64_t> s) { return random_tensor(std::move(s)); };
  KINDLING_EXPECT_ERROR(at::pad(r({2}), {1}), "Padding length must be divisible by 2");
  KINDLING_EXPECT_ERROR(at::pad(r({2}), {1, 1, 1, 1}), "Padding length should be less than or equal to two times the input dimension");
  KINDLING_EXPECT_ERROR(at::pad(r({2}), {-2, -1}), "resulted in a negative output size");
  KINDLING_EXPECT_ERROR(at::pad(r({2, 3}), {4, 4}, "reflect"), "Padding size should be less than the corresponding input dimension, but got: padding (4, 4) at dimension 1 of input [2, 3]");
  KINDLING_EXPECT_ERROR(at::pad(r({2, 3}), {1, 1}, "foo"), "Unrecognised padding mode foo");
  KINDLING_EXPECT_ERROR(at::pad(r({3}), {1, 1}, "reflect"), "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now");
  KINDLING_EXPECT_ERROR(at::pad(r({2, 3, 0}), {1, 1}, "replicate"), "Expected 2D or 3D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: [2, 3, 0]");
  KINDLING_EXPECT_ERROR(at::pad(r({2, 3, 4}), {-5, 0}, "replicate"), "input (W: 4) is too small. Calculated output W: -1");
  KINDLING_EXPECT_ERROR(at::pad(r({2, 3}), {1, 1}, "reflect", 1.0), "Padding mode \"reflect\" doesn't take in value argument");
  KINDLING_EXPECT_ERROR(at::pad(r({2, 3}), {4, 4}, "circular"), "Padding value causes wrapping around more than once.");
  KINDLING_EXPECT_ERROR(at::pad(r({2, 3}), {-1, 3}, "circular"),
                        "Padding value causes wrapping around more than once.");
  KINDLING_EXPECT_ERROR(at::constant_pad_nd(r({2}), {-5, 4}), "removes more than the 2 elements of dimension 0");
  KINDLING_EXPECT_ERROR(at::constant_pad_nd(r({2}), {4, -3}), "removes more than the 2 elements of dimension 0");
  EXPECT_EQ(at::constant_pad_nd(r({2}), {-2, 3}).numel(), 3);
  KINDLING_EXPECT_ERROR(at::constant_pad_nd(r({2}), {INT64_MAX, INT64_MAX}), "overflows");
}

}  // namespace
