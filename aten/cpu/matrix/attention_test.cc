#include "aten/cpu/matrix/attention.h"

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "c10/parallel/parallel.h"
#include "c10/util/bfloat16.h"
#include "c10/util/half.h"
#include "gtest/gtest.h"

namespace at::matrix {
namespace {

std::mt19937 random_bits(11);

struct Case {
  int64_t batch = 1, heads = 1, key_heads = 1, queries = 1, keys = 1, width = 1, value_width = 1;
  MaskKind mask = MaskKind::kNone;
  bool causal = false;
  double dropout = 0;
  bool packed = false;  // heads interleaved within a row, as in a projection's output
};

std::string text(const Case& c) {
  std::string s;
  for (int64_t v : {c.batch, c.heads, c.key_heads, c.queries, c.keys, c.width, c.value_width, int64_t{static_cast<int>(c.mask)}, int64_t{c.causal}, int64_t{c.packed}})
    s += std::to_string(v) + " ";
  return s + std::to_string(c.dropout);
}

template <class T>
struct Data {
  std::vector<T> values;
  HeadTensor view;
  int64_t heads, rows, cols;
  Data(int64_t batch, int64_t h, int64_t r, int64_t c, bool packed, bool random) : heads(h), rows(r), cols(c) {
    values.resize(static_cast<size_t>(batch * h * r * c) + 1);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (T& x : values) x = static_cast<T>(static_cast<float>(random ? uniform(random_bits) : 777));
    view = packed ? HeadTensor{values.data(), r * h * c, c, h * c, 1} : HeadTensor{values.data(), h * r * c, r * c, c, 1};
  }
  double at(int64_t b, int64_t h, int64_t r, int64_t c) const {
    return static_cast<double>(values[static_cast<size_t>(b * view.batch + h * view.head + r * view.row + c * view.col)]);
  }
};

template <class T>
void check(const Case& c) {
  const double tolerance = std::is_same_v<T, double> ? 1e-12 : std::is_same_v<T, float> ? 2e-5 : std::is_same_v<T, c10::Half> ? 4e-3 : 3e-2;
  Data<T> q(c.batch, c.heads, c.queries, c.width, c.packed, true), k(c.batch, c.key_heads, c.keys, c.width, c.packed, true);
  Data<T> v(c.batch, c.key_heads, c.keys, c.value_width, c.packed, true), out(c.batch, c.heads, c.queries, c.value_width, c.packed, false);
  Data<T> grad(c.batch, c.heads, c.queries, c.value_width, c.packed, true);
  Data<T> gq(c.batch, c.heads, c.queries, c.width, c.packed, false), gk(c.batch, c.key_heads, c.keys, c.width, c.packed, false);
  Data<T> gv(c.batch, c.key_heads, c.keys, c.value_width, c.packed, false);
  std::vector<char> allowed(static_cast<size_t>(c.heads * c.queries * c.keys));
  std::vector<T> added(static_cast<size_t>(c.queries * c.keys));
  for (size_t i = 0; i < allowed.size(); ++i) allowed[i] = random_bits() % 3 != 0;
  if (!allowed.empty() && c.queries > 2) std::fill(allowed.begin() + c.keys, allowed.begin() + 2 * c.keys, 0);  // query 1 of head 0 sees nothing
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (T& x : added) x = random_bits() % 5 == 0 ? static_cast<T>(-std::numeric_limits<float>::infinity()) : static_cast<T>(static_cast<float>(uniform(random_bits)));

  Attention a;
  a.type = std::is_same_v<T, double> ? Type::kFloat64 : std::is_same_v<T, float> ? Type::kFloat32 : std::is_same_v<T, c10::Half> ? Type::kFloat16 : Type::kBFloat16;
  a.batch = c.batch, a.heads = c.heads, a.key_heads = c.key_heads, a.queries = c.queries, a.keys = c.keys, a.width = c.width, a.value_width = c.value_width;
  a.query = q.view, a.key = k.view, a.value = v.view;
  a.mask_kind = c.mask;
  if (c.mask == MaskKind::kBoolean) a.mask = {allowed.data(), 0, c.queries * c.keys, c.keys, 1};
  if (c.mask == MaskKind::kAdditive) a.mask = {added.data(), 0, 0, c.keys, 1};
  a.causal = c.causal;
  a.scale = 1 / std::sqrt(static_cast<double>(c.width));
  a.dropout = c.dropout;
  a.seed = 12345;
  std::vector<double> sums(static_cast<size_t>(c.batch * c.heads * c.queries));
  attention_forward(a, out.view, sums.data());
  attention_backward(a, grad.view, out.view, sums.data(), gq.view, gk.view, gv.view);

  std::vector<double> want_gk(gk.values.size()), want_gv(gv.values.size());
  auto close = [&](double got, double want, const char* what) {
    if (std::abs(got - want) <= tolerance * (1 + std::abs(want)) * std::sqrt(1.0 + static_cast<double>(c.queries) / 8)) return true;
    ADD_FAILURE() << what << " of " << text(c) << ": got " << got << ", expected " << want;
    return false;
  };
  for (int64_t b = 0; b < c.batch; ++b) {
    for (int64_t h = 0; h < c.heads; ++h) {
      const int64_t kh = h / (c.heads / c.key_heads);
      for (int64_t i = 0; i < c.queries; ++i) {
        std::vector<double> p(static_cast<size_t>(c.keys)), factor(p), dp(p);
        double max = -INFINITY, sum = 0;
        for (int64_t j = 0; j < c.keys; ++j) {
          double s = 0;
          for (int64_t w = 0; w < c.width; ++w) s += q.at(b, h, i, w) * k.at(b, kh, j, w);
          s *= a.scale;
          if (c.mask == MaskKind::kBoolean && !allowed[static_cast<size_t>((h * c.queries + i) * c.keys + j)]) s = -INFINITY;
          if (c.mask == MaskKind::kAdditive) s += static_cast<double>(added[static_cast<size_t>(i * c.keys + j)]);
          if (c.causal && j > i) s = -INFINITY;
          p[j] = s;
          max = std::max(max, s);
        }
        for (double& x : p) x = max == -INFINITY ? 0 : std::exp(x - max), sum += x;
        double inner = 0;
        for (int64_t j = 0; j < c.keys; ++j) {
          p[j] = sum > 0 ? p[j] / sum : 0;
          factor[j] = c.dropout == 0 ? 1 : attention_keeps(a.seed, c.dropout, b * c.heads + h, i, j) ? 1 / (1 - c.dropout) : 0;
          for (int64_t w = 0; w < c.value_width; ++w) dp[j] += factor[j] * grad.at(b, h, i, w) * v.at(b, kh, j, w);
          inner += dp[j] * p[j];
        }
        for (int64_t w = 0; w < c.value_width; ++w) {
          double want = 0;
          for (int64_t j = 0; j < c.keys; ++j) {
            want += p[j] * factor[j] * v.at(b, kh, j, w);
            want_gv[static_cast<size_t>(b * gv.view.batch + kh * gv.view.head + j * gv.view.row + w)] += p[j] * factor[j] * grad.at(b, h, i, w);
          }
          if (!close(out.at(b, h, i, w), want, "result")) return;
        }
        for (int64_t w = 0; w < c.width; ++w) {
          double want = 0;
          for (int64_t j = 0; j < c.keys; ++j) {
            const double ds = p[j] * (dp[j] - inner) * a.scale;
            want += ds * k.at(b, kh, j, w);
            want_gk[static_cast<size_t>(b * gk.view.batch + kh * gk.view.head + j * gk.view.row + w)] += ds * q.at(b, h, i, w);
          }
          if (!close(gq.at(b, h, i, w), want, "gradient of the query")) return;
        }
      }
    }
  }
  for (size_t i = 0; i + 1 < gk.values.size(); ++i)
    if (!close(static_cast<double>(gk.values[i]), want_gk[i], "gradient of the key")) return;
  for (size_t i = 0; i + 1 < gv.values.size(); ++i)
    if (!close(static_cast<double>(gv.values[i]), want_gv[i], "gradient of the value")) return;
}

const Case kCases[] = {
    {.queries = 1, .keys = 1, .width = 1, .value_width = 1},
    {.batch = 2, .heads = 3, .key_heads = 3, .queries = 5, .keys = 7, .width = 4, .value_width = 6},
    {.batch = 2, .heads = 4, .key_heads = 2, .queries = 9, .keys = 9, .width = 8, .value_width = 8, .causal = true, .packed = true},
    {.heads = 2, .key_heads = 1, .queries = 66, .keys = 300, .width = 16, .value_width = 17},
    {.heads = 2, .key_heads = 2, .queries = 130, .keys = 130, .width = 33, .value_width = 32, .causal = true},
    {.heads = 1, .key_heads = 1, .queries = 40, .keys = 300, .width = 8, .value_width = 8, .causal = true},
    {.heads = 1, .key_heads = 1, .queries = 300, .keys = 20, .width = 8, .value_width = 8, .causal = true},
    {.batch = 2, .heads = 2, .key_heads = 2, .queries = 70, .keys = 270, .width = 8, .value_width = 8, .mask = MaskKind::kBoolean},
    {.batch = 2, .heads = 2, .key_heads = 1, .queries = 70, .keys = 33, .width = 8, .value_width = 8, .mask = MaskKind::kAdditive, .packed = true},
    {.batch = 2, .heads = 2, .key_heads = 1, .queries = 70, .keys = 290, .width = 8, .value_width = 12, .dropout = 0.3},
    {.heads = 2, .key_heads = 2, .queries = 70, .keys = 70, .width = 8, .value_width = 12, .causal = true, .dropout = 0.5},
    {.queries = 3, .keys = 0, .width = 4, .value_width = 4},
    {.queries = 0, .keys = 3, .width = 4, .value_width = 4},
    {.batch = 0, .queries = 2, .keys = 3, .width = 4, .value_width = 4},
};

// log_sum is float for all but float64: the checks above hand over doubles' room, which holds either.
TEST(Attention, Float64) { for (const Case& c : kCases) check<double>(c); }
TEST(Attention, Float32) { for (const Case& c : kCases) check<float>(c); }
TEST(Attention, Float16) { for (const Case& c : kCases) check<c10::Half>(c); }
TEST(Attention, BFloat16) { for (const Case& c : kCases) check<c10::BFloat16>(c); }

TEST(Attention, EveryWidthOfABlock) {
  for (int64_t keys = 1; keys < 40; ++keys) check<float>({.queries = 3, .keys = keys, .width = 3, .value_width = keys});
}

TEST(Attention, ThreadsDoNotChangeTheResult) {
  at::set_num_threads(3);
  for (const Case& c : kCases) check<float>(c);
  at::set_num_threads(2);
}

TEST(Attention, LargeScoresDoNotOverflow) {
  std::vector<float> q = {1000.f}, k = {1000.f, 999.f}, v = {1.f, 2.f}, out(1);
  Attention a;
  a.batch = a.heads = a.key_heads = a.queries = a.width = a.value_width = 1;
  a.keys = 2;
  a.query = {q.data(), 1, 1, 1, 1}, a.key = {k.data(), 2, 2, 1, 1}, a.value = {v.data(), 2, 2, 1, 1};
  attention_forward(a, {out.data(), 1, 1, 1, 1}, nullptr);
  EXPECT_EQ(out[0], 1.f);
}

TEST(Attention, NanShows) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> q = {1.f, nan}, k = {1.f, 2.f}, v = {1.f, 2.f}, out(2);
  Attention a;
  a.batch = a.heads = a.key_heads = a.width = a.value_width = 1;
  a.queries = a.keys = 2;
  a.query = {q.data(), 2, 2, 1, 1}, a.key = {k.data(), 2, 2, 1, 1}, a.value = {v.data(), 2, 2, 1, 1};
  attention_forward(a, {out.data(), 2, 2, 1, 1}, nullptr);
  EXPECT_FALSE(std::isnan(out[0]));
  EXPECT_TRUE(std::isnan(out[1]));
}

TEST(Attention, DropoutKeepsItsShare) {
  int64_t kept = 0;
  for (int64_t i = 0; i < 300; ++i)
    for (int64_t j = 0; j < 300; ++j) kept += attention_keeps(99, 0.25, 3, i, j);
  EXPECT_NEAR(static_cast<double>(kept) / 90000, 0.75, 0.01);
  EXPECT_TRUE(attention_keeps(1, 0, 0, 0, 0));
  EXPECT_FALSE(attention_keeps(1, 1, 0, 0, 0));
}

}  // namespace
}  // namespace at::matrix
