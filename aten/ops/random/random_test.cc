// The vectors of random.md: values that PyTorch gives after manual_seed(42).
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "c10/core/accelerator.h"
#include "c10/core/cpu_generator.h"
#include "gtest/gtest.h"

namespace {

using at::ScalarType;
using at::Tensor;
using at::testing::blank;
using at::testing::elements;
using at::testing::values;

class Random : public testing::Test {
 protected:
  void SetUp() override { at::manual_seed(42); }
};

Tensor list(const std::vector<double>& v, ScalarType type = ScalarType::Float) {
  return at::testing::tensor_of(v, {static_cast<int64_t>(v.size())}, type);
}

// Equal as numbers of `type` at the places `where` (all, in order, when empty).
void expect(const Tensor& t, std::vector<double> want, std::vector<size_t> where = {}) {
  const std::vector<double> got = values(t);
  if (where.empty()) {
    where.resize(want.size());
    std::iota(where.begin(), where.end(), 0);
  }
  const std::vector<double> rounded = values(list(want, t.scalar_type()));
  for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[where[i]], rounded[i]) << "at " << where[i];
}

TEST_F(Random, Rand) {
  expect(at::rand({3}), {0.88226926, 0.91500396, 0.38286376});
  at::manual_seed(42);
  expect(at::rand({2}, ScalarType::Double), {0.05815448596142969, 0.06291016742457756});
  at::manual_seed(42);
  expect(at::rand({2}, ScalarType::Half), {0.88226926, 0.91500396});
  at::manual_seed(42);
  expect(at::rand({2}, ScalarType::BFloat16), {0.88226926, 0.91500396});
}

// Rounding does not reach the end of the interval.
TEST_F(Random, UniformNumbersOf16BitsStayBelowTheirEnd) {
  for (const ScalarType type : {ScalarType::Half, ScalarType::BFloat16}) {
    for (const auto& [from, to] : {std::pair{0.0, 1.0}, {-1.0, 0.0}, {-3.0, -2.0}}) {
      Tensor t = blank({20000}, type);
      at::uniform_(t, from, to);
      double most = from;
      for (const double v : values(t)) {
        EXPECT_GE(v, from);
        most = std::max(most, v);
      }
      EXPECT_LT(most, to);
      EXPECT_GT(most, to - 0.02);
    }
    Tensor same = blank({3}, type);
    at::uniform_(same, 2, 2);
    expect(same, {2, 2, 2});
  }
}

// A number that rounding makes `to` is `from`, as PyTorch counts them from the same seed.
TEST_F(Random, UniformNumbersThatAreRoundedToTheEnd) {
  struct Row {
    ScalarType type;
    double from, to;
    int64_t count_of_from;
    double sum;
  };
  const Row rows[] = {{ScalarType::BFloat16, 0, 1, 4, 1000.643346786499}, {ScalarType::BFloat16, 1, 3, 7, 4001.2109375},
                      {ScalarType::BFloat16, -1, 0, 3, -995.3320503234863}, {ScalarType::Half, -5, -1, 1, -5981.26953125},
                      {ScalarType::Half, 1, 3, 3, 4003.390625}, {ScalarType::Float, 1, 1 + 0x1p-22, 966, 2000.0001232624054}};
  for (const Row& row : rows) {
    at::manual_seed(3);
    Tensor t = blank({2000}, row.type);
    at::uniform_(t, row.from, row.to);
    int64_t count = 0;
    double sum = 0;
    for (const double v : values(t)) count += v == row.from, sum += v;
    EXPECT_EQ(count, row.count_of_from) << at::toString(row.type) << " " << row.from;
    EXPECT_NEAR(sum, row.sum, 1e-9) << at::toString(row.type) << " " << row.from;
  }
}

TEST_F(Random, UniformPartsOfComplexNumbers) {
  Tensor z = blank({2}, ScalarType::ComplexFloat);
  at::uniform_(z);
  expect(at::view_as_real(z), {0.88226926, 0.91500396, 0.38286376, 0.95930564});
  at::manual_seed(42);
  expect(at::view_as_real(at::rand_like(z)), {0.88226926, 0.91500396, 0.38286376, 0.95930564});
}

TEST_F(Random, Uniform) {
  Tensor t = blank({5});
  at::uniform_(t, -.1, .3);
  expect(t, {0.25290772, 0.26600158, 0.053145505, 0.28372225, 0.056179285});
  EXPECT_THROW(at::uniform_(t, 1, 0), c10::Error);
}

TEST_F(Random, NormalScalarPath) {
  expect(at::randn({3}), {0.33669037, 0.1288094, 0.23446237});
  at::manual_seed(42);
  expect(at::randn({2}, ScalarType::Double), {0.33669035438385886, 0.1288094051365897});
  at::manual_seed(42);
  Tensor t = blank({1}, ScalarType::Double);
  at::normal_(t, .3, 2.7);
  expect(t, {1.209063956836419});
}

TEST_F(Random, NormalBlocks) {
  expect(at::randn({16}), {1.9269153, 1.4872841, -0.7521353, 0.7624454}, {0, 1, 8, 15});
  at::manual_seed(42);
  expect(at::randn({17}), {1.9269153, -0.15959747, -0.30972677}, {0, 1, 16});
  at::manual_seed(42);
  Tensor t = blank({16});
  at::normal_(t, .3, 2.7);
  expect(t, {5.5026712, 4.315667, -1.7307652}, {0, 1, 8});
  at::manual_seed(42);
  expect(at::randn({16}, ScalarType::Double), {0.2995562877502637, 0.17347640142361004}, {0, 8});
  at::manual_seed(42);
  // 16-bit numbers are float's, rounded; a last block that is not whole draws 16 numbers of its own and no more.
  for (const ScalarType type : {ScalarType::Half, ScalarType::BFloat16}) {
    at::manual_seed(42);
    expect(at::randn({16}, type), {1.9269153, 1.4872841, -0.7521353, 0.7624454}, {0, 1, 8, 15});
    const double next = values(at::rand({1}))[0];
    at::manual_seed(42);
    const std::vector<double> whole = values(at::randn({32}, type));
    at::manual_seed(42);
    const std::vector<double> part = values(at::randn({17}, type));
    EXPECT_EQ(part[0], whole[0]);
    for (size_t i = 1; i < 17; ++i) EXPECT_EQ(part[i], whole[15 + i]);
    at::manual_seed(42);
    at::randn({16}, type);
    EXPECT_EQ(values(at::rand({1}))[0], next);
  }
}

// What the results' memory looks like decides how they are drawn.
TEST_F(Random, IntoGivenMemory) {
  Tensor wide = blank({40}), out = at::slice(wide, 0, 0, 40, 2);
  at::randn_out(out, {20});
  const std::vector<double> strided = values(out);
  at::manual_seed(42);
  Tensor filled = at::slice(blank({40}), 0, 0, 40, 2);
  at::normal_(filled);
  EXPECT_EQ(strided, values(filled));
  at::manual_seed(42);
  at::normal_out(out, list(std::vector<double>(20, 0)), list(std::vector<double>(20, 1)));
  EXPECT_EQ(strided, values(out));
  at::manual_seed(42);
  EXPECT_NE(strided, values(at::randn({20})));
  // An argument may be the result.
  Tensor mean = list(std::vector<double>(20, 3));
  at::manual_seed(42);
  const std::vector<double> want = values(at::normal(mean, 2.0));
  at::manual_seed(42);
  at::normal_out(mean, mean, 2.0);
  EXPECT_EQ(values(mean), want);
  Tensor base = blank({3, 5}), across = at::transpose(base, 0, 1);
  at::manual_seed(42);
  at::rand_out(across, {5, 3});
  at::manual_seed(42);
  EXPECT_TRUE(at::equal(base, at::rand({3, 5})));
}

TEST_F(Random, TheCachedNormalIsSharedAndOtherwiseLeftAlone) {
  expect(at::randn({1}), {0.33669037});
  expect(at::randn({16}), {0.67841846}, {0});
  expect(at::rand({1}), {0.26963168});
  expect(at::randn({1}), {0.1288094});
}

TEST_F(Random, NormalOfTensorsAndComplex) {
  expect(at::normal(list({1, 2, 3}), list({.5, 1.5, 2.5})), {1.1683452, 2.1932142, 3.586156});
  at::manual_seed(42);
  const Tensor z = at::randn({2}, ScalarType::ComplexFloat);
  EXPECT_EQ(elements<float>(at::view_as_real(z)), (std::vector<float>{0.23807603f, 0.09108201f, 0.16578993f, 0.16287005f}));
}

TEST_F(Random, RandomWithoutBounds) {
  const struct {
    ScalarType type;
    std::vector<double> want;
  } cases[] = {{ScalarType::Int, {1608637542, 1273642419}}, {ScalarType::Byte, {102, 179, 92, 14}},
               {ScalarType::Char, {102, 51}},               {ScalarType::Bool, {0, 1, 0, 0, 0, 1}},
               {ScalarType::Float, {14801927}},             {ScalarType::Double, {523809042610868}}};
  for (const auto& c : cases) {
    at::manual_seed(42);
    Tensor t = blank({static_cast<int64_t>(c.want.size())}, c.type);
    at::random_(t);
    expect(t, c.want);
  }
  at::manual_seed(42);
  Tensor t = blank({2}, ScalarType::Long);
  at::random_(t);
  EXPECT_EQ(elements<int64_t>(t), (std::vector<int64_t>{6909045637428952499, 8314211556539077902}));
}

TEST_F(Random, RandomWithBounds) {
  expect(at::randint(100, {5}), {42, 67, 76, 14, 26});
  at::manual_seed(42);
  const Tensor wide = at::randint(-5, int64_t{1} << 40, {2});
  EXPECT_EQ(elements<int64_t>(wide), (std::vector<int64_t>{441476371554, 395845085946}));
  at::manual_seed(42);
  Tensor all = blank({2}, ScalarType::Long);
  at::random_(all, INT64_MIN, std::optional<int64_t>());
  EXPECT_EQ(elements<int64_t>(all), (std::vector<int64_t>{6909045637428952499, -909160480315697906}));
  at::manual_seed(42);
  Tensor half = blank({3}, ScalarType::Half);
  at::random_(half, 0, 60000);
  expect(half, {55904, 11632, 5788});
  EXPECT_THROW(at::random_(half, 3, 3), c10::Error);
}

TEST_F(Random, Permutation) {
  expect(at::randperm(10), {2, 6, 1, 8, 4, 5, 0, 9, 3, 7});
  EXPECT_EQ(at::randperm(0).numel(), 0);
  EXPECT_THROW(at::randperm(-1), c10::Error);
}

TEST_F(Random, Bernoulli) {
  Tensor t = blank({12});
  at::bernoulli_(t, .3);
  expect(t, {1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0});
  at::manual_seed(42);
  expect(at::bernoulli(list(std::vector<double>(12, .3))), {0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0});
  EXPECT_THROW(at::bernoulli_(t, 1.5), c10::Error);
  at::manual_seed(42);
  expect(at::bernoulli(list(std::vector<double>(12, .3), ScalarType::Half)), {0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0});
  // In the order of the memory, as the other fills.
  Tensor base = blank({3, 4}), across = at::transpose(base, 0, 1);
  at::manual_seed(42);
  at::bernoulli_(across, .3);
  EXPECT_EQ(values(base), values(t));
  at::manual_seed(42);
  at::bernoulli_(across, list(std::vector<double>(3, .3)));
  expect(base, {0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0});
}

TEST_F(Random, Dropout) {
  const double kept = 1.4285715;
  expect(at::dropout(list(std::vector<double>(8, 1)), .3, true), {kept, kept, kept, kept, kept, kept, 0, 0});
  at::manual_seed(42);
  const Tensor maps = at::feature_dropout(at::ones({2, 3, 1, 1}), .5, true);
  expect(maps, {2, 2, 2, 2, 0, 2});
  at::manual_seed(42);
  const double a = 1.3150446, b = -1.0595483;
  expect(at::alpha_dropout(list(std::vector<double>(8, 1)), .3, true), {a, a, a, a, a, a, b, b});
  Tensor base = at::ones({2, 4}), across = at::transpose(base, 0, 1);
  at::manual_seed(42);
  at::dropout_(across, .3, true);
  expect(base, {kept, kept, kept, kept, kept, kept, 0, 0});
  const Tensor x = at::ones({4});
  EXPECT_TRUE(at::dropout(x, .5, false).is_same(x));
  EXPECT_THROW(at::dropout(x, 1.5, true), c10::Error);
}

TEST_F(Random, OtherContinuousFills) {
  Tensor t = blank({2}, ScalarType::Double);
  at::exponential_(t, 1.5);
  expect(t, {0.039942677127201426, 0.04331741919559019});
  at::manual_seed(42);
  at::cauchy_(t, 1, 2);
  expect(t, {-9.824974593994627}, {0});
  at::manual_seed(42);
  at::log_normal_(t, .5, .25);
  expect(t, {1.7935064038928716}, {0});
  at::manual_seed(42);
  Tensor g = blank({6}, ScalarType::Long);
  at::geometric_(g, .2);
  expect(g, {13, 13, 10, 14, 3, 4});
}

TEST_F(Random, Multinomial) {
  const Tensor w = list({.1, .2, .3, .4});
  expect(at::multinomial(w, 8, true), {0, 0, 1, 0, 2, 2, 3, 3});
  at::manual_seed(42);
  expect(at::multinomial(w, 3), {3, 1, 2});
  // One sample is drawn alike with replacement and without.
  at::manual_seed(42);
  expect(at::multinomial(w, 1, true), {3});
  EXPECT_THROW(at::multinomial(w, 5), c10::Error);
  EXPECT_THROW(at::multinomial(list({1, -1}), 1), c10::Error);
  EXPECT_THROW(at::multinomial(list({0, 0}), 1, true), c10::Error);
}

TEST_F(Random, PoissonAndBinomial) {
  const auto all = [](double v, size_t n, ScalarType type = ScalarType::Float) { return list(std::vector<double>(n, v), type); };
  expect(at::poisson(all(3.5, 6)), {1, 1, 4, 1, 5, 3});
  at::manual_seed(42);
  expect(at::poisson(all(50, 6)), {35, 40, 50, 38, 42, 47});
  at::manual_seed(42);
  expect(at::binomial(all(10, 6), all(.3, 6)), {1, 1, 4, 1, 5, 3});
  at::manual_seed(42);
  expect(at::binomial(all(100, 6), all(.75, 6)), {84, 81, 75, 82, 80, 77});
  EXPECT_THROW(at::poisson(all(-1, 1)), c10::Error);
}

// Numbers are drawn ahead: a call for many draws as many calls for one do, and leaves the generator where they do.
TEST_F(Random, ManyAtOnceAreThoseOneByOne) {
  const std::pair<const char*, std::function<Tensor(int64_t)>> cases[] = {
      {"poisson 0.5", [](int64_t n) { return at::poisson(at::full({n}, 0.5)); }},
      {"poisson 50", [](int64_t n) { return at::poisson(at::full({n}, 50.0)); }},
      {"binomial 10", [](int64_t n) { return at::binomial(at::full({n}, 10.0), at::full({n}, 0.7)); }},
      {"binomial 100", [](int64_t n) { return at::binomial(at::full({n}, 100.0), at::full({n}, 0.4)); }},
      {"cauchy", [](int64_t n) { return at::cauchy(at::zeros({n}), 1, 2); }},
      {"exponential", [](int64_t n) { return at::exponential(at::zeros({n}), 0.5); }},
      {"geometric", [](int64_t n) { return at::geometric(at::zeros({n}), 0.3); }},
      {"uniform", [](int64_t n) { return at::uniform(at::zeros({n}, at::kDouble), -1, 3); }},
  };
  for (const auto& [name, draw] : cases) {
    for (const int64_t n : {0, 1, 7, 255, 256, 257, 700}) {
      at::manual_seed(42);
      const std::vector<double> together = values(draw(n)), next = values(at::rand({3}));
      at::manual_seed(42);
      std::vector<double> apart;
      for (int64_t i = 0; i < n; ++i) apart.push_back(values(draw(1))[0]);
      EXPECT_EQ(together, apart) << name << " of " << n;
      EXPECT_EQ(next, values(at::rand({3}))) << "after " << name << " of " << n;
    }
  }
}

TEST_F(Random, RandomizedRectifier) {
  expect(at::rrelu(list({-1, 2, -3}), .1, .3, true), {-0.1116309, 2, -0.3377461});
  expect(at::rrelu(list({-1, 2}), .1, .3, false), {-0.2, 2});
  // The bounds are not rounded to a narrow dtype.
  at::manual_seed(42);
  expect(at::rrelu(list({-1, -1, -1, -1}, ScalarType::BFloat16), .01, .3, true),
         {-0.02685546875, -0.0281982421875, -0.0458984375, -0.0252685546875});
}

TEST_F(Random, FillsOfACopy) {
  const Tensor x = list({1, 2, 3});
  const std::vector<std::pair<std::function<Tensor()>, std::function<Tensor(Tensor)>>> both{
      {[&] { return at::uniform(x, 1, 2); }, [](Tensor t) { return at::uniform_(t, 1, 2); }},
      {[&] { return at::cauchy(x); }, [](Tensor t) { return at::cauchy_(t); }},
      {[&] { return at::log_normal(x, 1, 2); }, [](Tensor t) { return at::log_normal_(t, 1, 2); }},
      {[&] { return at::exponential(x, 2); }, [](Tensor t) { return at::exponential_(t, 2); }},
      {[&] { return at::geometric(x, .5); }, [](Tensor t) { return at::geometric_(t, .5); }},
      {[&] { return at::random(x); }, [](Tensor t) { return at::random_(t); }},
      {[&] { return at::random(x, 7); }, [](Tensor t) { return at::random_(t, 7); }},
      {[&] { return at::random(x, 3, 9); }, [](Tensor t) { return at::random_(t, 3, 9); }},
      {[&] { return at::bernoulli(x, list({0, 1, .5})); }, [](Tensor t) { return at::bernoulli_(t, list({0, 1, .5})); }},
  };
  for (const auto& [functional, in_place] : both) {
    at::manual_seed(3);
    const Tensor result = functional();
    at::manual_seed(3);
    EXPECT_TRUE(at::equal(result, in_place(at::clone(x))));
    EXPECT_FALSE(at::equal(result, x));
    EXPECT_EQ(values(x), (std::vector<double>{1, 2, 3}));
  }
  Tensor out = blank({0});
  at::manual_seed(3);
  at::uniform_out(out, x, 5, 5);
  EXPECT_EQ(values(out), (std::vector<double>{5, 5, 5}));
  // Into what is given they are drawn as for self; what fails leaves it as it was.
  Tensor twice = at::empty({0}, at::kDouble);
  at::manual_seed(3);
  at::normal_out(twice, x, 1, 2);
  at::manual_seed(3);
  Tensor drawn = at::clone(x);
  at::normal_(drawn, 1, 2);
  EXPECT_EQ(values(twice), values(drawn));
  at::bernoulli_out(twice, x, 1);
  EXPECT_EQ(values(twice), (std::vector<double>{1, 1, 1}));
  Tensor kept = list({7, 8});
  EXPECT_THROW(at::normal_out(kept, x, 1, -2), c10::Error);
  EXPECT_THROW(at::bernoulli_out(kept, x, 2), c10::Error);
  EXPECT_EQ(values(kept), (std::vector<double>{7, 8}));
}

TEST_F(Random, FillsInTheOrderOfTheMemory) {
  Tensor base = blank({3, 5});
  Tensor transposed = at::make_view(base, {5, 3}, {1, 5}, 0);
  at::uniform_(transposed);
  at::manual_seed(42);
  EXPECT_TRUE(at::equal(base, at::rand({3, 5})));
}

TEST_F(Random, AGivenGeneratorIsUsed) {
  at::Generator g = at::make_generator_for(at::testing::device());
  g.set_current_seed(42);
  at::manual_seed(7);
  expect(at::rand({3}, g), {0.88226926, 0.91500396, 0.38286376});
  if (!at::testing::device().is_cpu()) return;  // the kernels of the CPU, which another device's generator does not fit
  const auto again = [&] {
    g.set_current_seed(42);
    return std::optional<at::Generator>(g);
  };
  expect(at::randperm(10, again()), {2, 6, 1, 8, 4, 5, 0, 9, 3, 7});
  const Tensor mean = list(std::vector<double>(6, 3.5));
  expect(at::poisson(mean, again()), {1, 1, 4, 1, 5, 3});
  expect(at::binomial(list(std::vector<double>(6, 10)), list(std::vector<double>(6, .3)), again()), {1, 1, 4, 1, 5, 3});
  expect(at::multinomial(list({.1, .2, .3, .4}), 3, false, again()), {3, 1, 2});
  Tensor out = blank({6});
  at::poisson_out(out, mean, again());
  expect(out, {1, 1, 4, 1, 5, 3});
}

TEST_F(Random, LargeFillsHaveTheirMoments) {
  const Tensor n = at::randn({200000});
  double sum = 0, square = 0;
  for (double v : values(n)) sum += v, square += v * v;
  EXPECT_NEAR(sum / 200000, 0, 0.01);
  EXPECT_NEAR(square / 200000, 1, 0.02);
}

}  // namespace
