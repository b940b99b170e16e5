#include "aten/ops/attention/ops.h"

#include <cmath>
#include <limits>

#include "aten/ops/binary/ops.h"
#include "aten/ops/matmul/matrix_test_support.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/cpu_generator.h"
#include "gtest/gtest.h"

namespace {

using namespace at;
using namespace at::matrix_testing;

// softmax(q k^T * scale + mask) v by plain loops; all of four dimensions, the mask already spread.
std::vector<Number> reference(const Tensor& q, const Tensor& k, const Tensor& v, const std::vector<double>& mask, double scale, bool causal) {
  const auto qs = values(q), ks = values(k), vs = values(v);
  const int64_t b = q.size(0), h = q.size(1), lq = q.size(2), e = q.size(3), kh = k.size(1), lk = k.size(2), ev = v.size(3);
  std::vector<Number> out(static_cast<size_t>(b * h * lq * ev));
  for (int64_t n = 0; n < b * h; ++n) {
    const int64_t shared = n / h * kh + n % h / (h / kh);
    for (int64_t i = 0; i < lq; ++i) {
      std::vector<double> p(static_cast<size_t>(lk));
      double sum = 0, max = -INFINITY;
      for (int64_t j = 0; j < lk; ++j) {
        double s = 0;
        for (int64_t x = 0; x < e; ++x) s += qs[(n * lq + i) * e + x].real() * ks[(shared * lk + j) * e + x].real();
        s = s * scale + (mask.empty() ? 0 : mask[(n * lq + i) * lk + j]);
        if (causal && j > i) s = -INFINITY;
        p[j] = s;
        max = std::max(max, s);
      }
      for (double& x : p) x = max == -INFINITY ? 0 : std::exp(x - max), sum += x;
      for (int64_t j = 0; j < lk; ++j)
        for (int64_t x = 0; x < ev; ++x) out[(n * lq + i) * ev + x] += sum > 0 ? p[j] / sum * vs[(shared * lk + j) * ev + x] : 0.0;
    }
  }
  return out;
}

std::vector<double> spread_mask(const Tensor& mask, std::vector<int64_t> sizes) {
  std::vector<double> m;
  const bool boolean = mask.scalar_type() == kBool;
  for (const Number& x : values(at::expand(mask, sizes, false))) m.push_back(!boolean ? x.real() : x.real() != 0 ? 0 : -INFINITY);
  return m;
}

TEST(Attention, EveryDtypeAndLayout) {
  for (ScalarType t : {kFloat, kDouble, kHalf, kBFloat16})
    for (Arrangement l : kLayouts)
      for (bool causal : {false, true}) {
        const Tensor q = random_tensor({2, 3, 5, 4}, t, l), k = random_tensor({2, 3, 7, 4}, t, l), v = random_tensor({2, 3, 7, 6}, t, l);
        const Tensor out = at::scaled_dot_product_attention(q, k, v, {}, 0, causal);
        expect_values(out, {2, 3, 5, 6}, reference(q, k, v, {}, 0.5, causal), toString(t));
        expect_values(at::scaled_dot_product_attention(q, k, v, {}, 0, causal, 0.1), {2, 3, 5, 6}, reference(q, k, v, {}, 0.1, causal), "own scale");
        expect_same(at::to(std::get<0>(at::_scaled_dot_product_attention_math(q, k, v, {}, 0, causal)), kHalf),
                    at::to(out, kHalf), "the composition");
      }
}

TEST(Attention, PackedProjectionsNeedNoCopy) {
  // As a transformer calls it: one projection of [batch, time, 3 * width], cut into heads by views.
  const int64_t b = 2, t = 9, h = 3, d = 4;
  const Tensor qkv = random_tensor({b, t, 3 * h * d});
  auto head = [&](int64_t i) { return at::transpose(at::view(at::narrow(qkv, 2, i * h * d, h * d), {b, t, h, d}), 1, 2); };
  const Tensor out = at::scaled_dot_product_attention(head(0), head(1), head(2), {}, 0, true);
  expect_values(out, {b, h, t, d}, reference(head(0), head(1), head(2), {}, 0.5, true), "packed");
  // The result's rows lie so that joining the heads again is a view.
  const Tensor joined = at::reshape(at::transpose(out, 1, 2), {b, t, h * d});
  EXPECT_EQ(joined.data_ptr(), out.data_ptr());
}

TEST(Attention, Masks) {
  const Tensor q = random_tensor({2, 2, 5, 4}, kDouble), k = random_tensor({2, 2, 7, 4}, kDouble), v = random_tensor({2, 2, 7, 3}, kDouble);
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{5, 7}, {7}, {2, 5, 7}, {2, 1, 5, 7}, {1, 1, 1, 7}, {5, 1}}) {
    const Tensor added = random_tensor(sizes, kDouble), flags = at::to(random_tensor(sizes, kInt), kBool);
    for (const Tensor& m : {added, flags}) {
      const auto want = reference(q, k, v, spread_mask(m, {2, 2, 5, 7}), 0.5, false);
      expect_values(at::scaled_dot_product_attention(q, k, v, m), {2, 2, 5, 3}, want, "mask");
      expect_values(std::get<0>(at::_scaled_dot_product_attention_math(q, k, v, m)), {2, 2, 5, 3}, want,
                    "mask of the composition");
    }
  }
}

TEST(Attention, EveryRankAndBroadcasting) {
  for (const std::vector<int64_t>& outer : std::vector<std::vector<int64_t>>{{}, {3}, {2, 3}, {2, 2, 3}}) {
    std::vector<int64_t> qs = outer, ks = outer, want_sizes = outer;
    for (int64_t x : {5, 4}) qs.push_back(x);
    for (int64_t x : {7, 4}) ks.push_back(x);
    for (int64_t x : {5, 4}) want_sizes.push_back(x);
    const Tensor q = random_tensor(qs, kDouble), k = random_tensor(ks, kDouble), v = random_tensor(ks, kDouble);
    auto flat = [](const Tensor& t) { return at::reshape(t, {-1, 1, t.size(-2), t.size(-1)}); };
    expect_values(at::scaled_dot_product_attention(q, k, v), want_sizes, reference(flat(q), flat(k), flat(v), {}, 0.5, false), "rank");
  }
  const Tensor q = random_tensor({2, 3, 5, 4}, kDouble), k = random_tensor({1, 3, 7, 4}, kDouble), v = random_tensor({3, 7, 4}, kDouble);
  auto full = [](const Tensor& t) { return at::expand(t, {2, 3, 7, 4}, false); };
  expect_values(at::scaled_dot_product_attention(q, k, v), {2, 3, 5, 4}, reference(q, full(k), full(v), {}, 0.5, false), "broadcast");
  const Tensor g = random_tensor({2, 6, 5, 4}, kDouble), gk = random_tensor({2, 2, 7, 4}, kDouble);
  expect_values(at::scaled_dot_product_attention(g, gk, gk, {}, 0, false, std::nullopt, true), {2, 6, 5, 4}, reference(g, gk, gk, {}, 0.5, false), "grouped");
}

TEST(Attention, ZeroSizes) {
  EXPECT_EQ(at::scaled_dot_product_attention(random_tensor({0, 2, 3, 4}), random_tensor({0, 2, 5, 4}), random_tensor({0, 2, 5, 4})).sizes(), IntArrayRef({0, 2, 3, 4}));
  EXPECT_EQ(at::scaled_dot_product_attention(random_tensor({1, 2, 0, 4}), random_tensor({1, 2, 5, 4}), random_tensor({1, 2, 5, 4})).sizes(), IntArrayRef({1, 2, 0, 4}));
  expect_values(at::scaled_dot_product_attention(random_tensor({1, 1, 2, 4}), random_tensor({1, 1, 0, 4}), random_tensor({1, 1, 0, 3})), {1, 1, 2, 3}, std::vector<Number>(6), "no keys");
}

TEST(Attention, DropoutFollowsTheGenerator) {
  const Tensor q = random_tensor({1, 2, 30, 4}), v = random_tensor({1, 2, 30, 4});
  auto draw = [&] {
    at::manual_seed(5);
    return values(at::scaled_dot_product_attention(q, q, v, {}, 0.5));
  };
  const auto first = draw();
  EXPECT_EQ(first, draw());
  EXPECT_NE(first, values(at::scaled_dot_product_attention(q, q, v, {}, 0.5)));
  // Everything dropped gives zeros.
  for (const Number& x : values(at::scaled_dot_product_attention(q, q, v, {}, 1.0))) EXPECT_EQ(x, 0.0);
}

TEST(Attention, DropoutMaskAndWeightsOfTheComposition) {
  const Tensor q = random_tensor({2, 3, 4}, kDouble), v = random_tensor({2, 3, 5}, kDouble),
               kept = at::to(random_tensor({2, 3, 3}, kInt), kBool);
  const auto [all, weights] = at::_scaled_dot_product_attention_math(q, q, v);
  expect_same(at::matmul(weights, v), all, "weights");
  const auto [out, left] = at::_scaled_dot_product_attention_math(q, q, v, {}, 0.5, false, kept);
  expect_same(left, at::mul(weights, kept), "weights that are left");
  expect_same(out, at::mul(at::matmul(left, v), 2), "result");
}

TEST(Attention, BadArguments) {
  auto r = [](std::vector<int64_t> s, ScalarType t = kFloat) { return random_tensor(std::move(s), t); };
  const Tensor q = r({1, 2, 3, 4});
  KINDLING_EXPECT_ERROR(at::scaled_dot_product_attention(q, r({1, 2, 3, 4}, kDouble), q), "Expected query, key, and value to have the same dtype");
  KINDLING_EXPECT_ERROR(at::scaled_dot_product_attention(r({4}), r({4}), r({4})), "at least 2 dimensional");
  KINDLING_EXPECT_ERROR(at::scaled_dot_product_attention(q, r({1, 2, 3, 5}), q), "the same last dimension");
  KINDLING_EXPECT_ERROR(at::scaled_dot_product_attention(q, q, r({1, 2, 5, 4})), "the same length");
  KINDLING_EXPECT_ERROR(at::scaled_dot_product_attention(q, q, q, r({3, 3}), 0, true), "Explicit attn_mask should not be set when is_causal=True");
  KINDLING_EXPECT_ERROR(at::scaled_dot_product_attention(q, q, q, r({3, 3}, kLong)), "Expected attn_mask dtype to be bool or float");
  KINDLING_EXPECT_ERROR(at::scaled_dot_product_attention(q, q, q, r({3, 5})), "The expanded size of the tensor");
  KINDLING_EXPECT_ERROR(at::scaled_dot_product_attention(q, q, q, {}, 1.5), "dropout probability has to be between 0 and 1, but got 1.5");
  KINDLING_EXPECT_ERROR(at::scaled_dot_product_attention(r({2, 2}, kLong), r({2, 2}, kLong), r({2, 2}, kLong)), "not implemented for 'Long'");
  KINDLING_EXPECT_ERROR(at::scaled_dot_product_attention(q, r({1, 3, 3, 4}), r({1, 3, 3, 4})), "must match the size of tensor b");
  KINDLING_EXPECT_ERROR(at::scaled_dot_product_attention(r({1, 4, 3, 4}), r({1, 3, 3, 4}), r({1, 3, 3, 4}), {}, 0, false, std::nullopt, true), "must divide the number of heads in query");
}

TEST(Attention, ResultsLieAsTheirQueriesDo) {
  using at::testing::sample;
  const auto strides = [](const Tensor& q, int64_t width) {
    const Tensor v = sample({2, 3, 5, width});
    return at::scaled_dot_product_attention(q, sample({2, 3, 5, 4}), v).strides().vec();
  };
  const Tensor q = sample({2, 3, 5, 4});
  using Strides = std::vector<int64_t>;
  EXPECT_EQ(strides(q, 4), (Strides{60, 20, 4, 1}));
  EXPECT_EQ(strides(at::transpose(sample({2, 5, 3, 4}), 1, 2), 4), (Strides{60, 4, 12, 1}));
  EXPECT_EQ(strides(at::permute(sample({5, 2, 3, 4}), {1, 2, 0, 3}), 4), (Strides{12, 4, 24, 1}));
  // Of a product that has queries, keys and values side by side.
  EXPECT_EQ(strides(at::transpose(at::view(at::narrow(sample({2, 5, 36}), 2, 0, 12), {2, 5, 3, 4}), 1, 2), 4),
            (Strides{60, 4, 12, 1}));
  EXPECT_EQ(strides(at::transpose(sample({2, 3, 4, 5}), 2, 3), 4), (Strides{60, 20, 4, 1}));
  EXPECT_EQ(strides(q, 6), (Strides{90, 30, 6, 1}));
}

}  // namespace
