// multinomial, randperm, poisson, binomial, gamma and Dirichlet numbers of CUDA devices.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "aten/core/tensor.h"
#include "aten/cuda/generator.h"
#include "aten/cuda/graph.h"
#include "aten/cuda/random/sample.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "c10/cuda/frontend.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/testing.h"
#ifdef KD_CUDA_ON_HOST
#include "tests/cuda_on_host/runtime/standin.h"
#endif

namespace {

using at::IntArrayRef;
using at::ScalarType;
using at::Tensor;
using at::testing::elements;
using at::testing::expect_error;
using at::testing::values;
using c10::cuda::testing::in_all_orders;

const c10::Device kGpu(c10::kCUDA, 0);

Tensor on_gpu(const std::vector<double>& numbers, IntArrayRef sizes, ScalarType dtype = ScalarType::Float) {
  return at::testing::tensor_of(numbers, sizes, dtype).to(kGpu);
}
Tensor all(double value, int64_t n, ScalarType dtype = ScalarType::Float) {
  return at::full({n}, at::Scalar(value), at::TensorOptions().dtype(dtype).device(kGpu));
}

void once(const std::function<void()>& body) {
  c10::cuda::testing::in_own_process([&] {
    if (c10::cuda::device_count() > 0) body();
  });
}

struct Moments {
  double mean, variance;
};
Moments moments_of(const Tensor& t) {
  const std::vector<double> numbers = values(t);
  const auto n = static_cast<double>(numbers.size());
  const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / n;
  double squares = 0;
  for (const double v : numbers) squares += (v - mean) * (v - mean);
  return {mean, squares / n};
}

// To five standard errors.
void expect_moments(const Tensor& t, double mean, double variance) {
  const Moments got = moments_of(t);
  const double error = std::sqrt(variance / static_cast<double>(t.numel()));
  EXPECT_NEAR(got.mean, mean, 5 * error);
  EXPECT_NEAR(got.variance, variance, 0.1 * variance);
}

std::map<int64_t, double> shares_of(const std::vector<int64_t>& drawn) {
  std::map<int64_t, double> shares;
  for (const int64_t v : drawn) shares[v] += 1.0 / static_cast<double>(drawn.size());
  return shares;
}

TEST(CUDASamplers, EqualSeedsGiveEqualNumbersInEveryOrderOfThreads) {
  in_all_orders([] {
    torch::cuda::manual_seed(42);
    const Tensor weights = on_gpu({0, 1, 2, 3, 4}, {5});
    EXPECT_EQ(elements<int64_t>(at::randperm(10, at::TensorOptions().device(kGpu))),
              (std::vector<int64_t>{1, 3, 4, 9, 2, 7, 5, 8, 0, 6}));
    EXPECT_EQ(elements<int64_t>(at::multinomial(weights, 8, true)), (std::vector<int64_t>{3, 4, 4, 4, 4, 1, 4, 4}));
    EXPECT_EQ(elements<int64_t>(at::multinomial(weights, 4)), (std::vector<int64_t>{3, 1, 4, 2}));
    EXPECT_EQ(elements<float>(at::poisson(all(3.5, 6))), (std::vector<float>{3, 4, 1, 5, 4, 4}));
    EXPECT_EQ(elements<float>(at::binomial(all(100, 6), all(0.75, 6))), (std::vector<float>{75, 75, 70, 75, 72, 81}));
  });
}

TEST(CUDASamplers, MultinomialWithReplacement) {
  once([] {
    torch::cuda::manual_seed(1);
    for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double, ScalarType::Half}) {
      const Tensor weights = on_gpu({0, 1, 0, 2, 1, 0, /**/ 5, 0, 0, 0, 0, 0}, {2, 6}, dtype);
      const Tensor drawn = at::multinomial(weights, 4000, true);
      EXPECT_EQ(drawn.sizes(), IntArrayRef({2, 4000}));
      const auto shares = shares_of(elements<int64_t>(at::select(drawn, 0, 0)));
      EXPECT_EQ(shares.size(), 3u);
      EXPECT_NEAR(shares.at(1), 0.25, 0.04);
      EXPECT_NEAR(shares.at(3), 0.5, 0.04);
      EXPECT_NEAR(shares.at(4), 0.25, 0.04);
      EXPECT_EQ(shares_of(elements<int64_t>(at::select(drawn, 0, 1))).size(), 1u);
    }
    // Weights far apart: each of 1000 small ones has its share.
    std::vector<double> apart(1001, 1e-6);
    apart[500] = 1e-3;
    const auto shares = shares_of(elements<int64_t>(at::multinomial(on_gpu(apart, {1001}), 4000, true)));
    EXPECT_NEAR(shares.at(500), 0.5, 0.04);
    EXPECT_GT(shares.size(), 700u);
  });
}

TEST(CUDASamplers, MultinomialWithoutReplacement) {
  once([] {
    torch::cuda::manual_seed(2);
    std::vector<double> rows;
    for (int i = 0; i < 3000; ++i) rows.insert(rows.end(), {1, 3, 0, 4});
    const Tensor weights = on_gpu(rows, {3000, 4});
    const std::vector<int64_t> drawn = elements<int64_t>(at::multinomial(weights, 3));
    std::vector<int64_t> firsts;
    for (size_t r = 0; r < 3000; ++r) {
      const std::set<int64_t> own(drawn.begin() + 3 * r, drawn.begin() + 3 * r + 3);
      EXPECT_EQ(own, (std::set<int64_t>{0, 1, 3}));
      firsts.push_back(drawn[3 * r]);
    }
    const auto shares = shares_of(firsts);
    EXPECT_NEAR(shares.at(0), 0.125, 0.04);
    EXPECT_NEAR(shares.at(1), 0.375, 0.05);
    EXPECT_NEAR(shares.at(3), 0.5, 0.05);
    // One sample is drawn alike.
    const auto single = shares_of(elements<int64_t>(at::reshape(at::multinomial(weights, 1, true), {3000})));
    EXPECT_NEAR(single.at(3), 0.5, 0.05);
    EXPECT_EQ(single.count(2), 0u);
  });
}

TEST(CUDASamplers, MultinomialRefusesWhatIsNoDistribution) {
  once([] {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    for (const bool replacement : {false, true}) {
      for (const double bad : {-1.0, kInf, std::numeric_limits<double>::quiet_NaN()}) {
        expect_error<c10::Error>([&] { at::multinomial(on_gpu({1, 1, 1, bad}, {2, 2}), 2, replacement); },
                                 "probability tensor contains either `inf`, `nan` or element < 0");
      }
      expect_error<c10::Error>([&] { at::multinomial(on_gpu({1, 1, 0, 0}, {2, 2}), 2, replacement); },
                               "invalid multinomial distribution (sum of probabilities <= 0)");
    }
  });
}

TEST(CUDASamplers, Permutations) {
  once([] {
    torch::cuda::manual_seed(3);
    for (const int64_t n : {0, 1, 2, 33, 1000}) {
      for (const ScalarType dtype : {ScalarType::Long, ScalarType::Int, ScalarType::Double}) {
        std::vector<double> drawn = values(at::randperm(n, at::TensorOptions().dtype(dtype).device(kGpu)));
        std::sort(drawn.begin(), drawn.end());
        std::vector<double> want(static_cast<size_t>(n));
        std::iota(want.begin(), want.end(), 0);
        EXPECT_EQ(drawn, want);
      }
    }
    std::map<std::vector<int64_t>, int> seen;
    for (int i = 0; i < 900; ++i) ++seen[elements<int64_t>(at::randperm(3, at::TensorOptions().device(kGpu)))];
    EXPECT_EQ(seen.size(), 6u);
    for (const auto& [order, times] : seen) EXPECT_NEAR(times, 150, 55);
  });
}

// Equal keys, which random ones of 64 bits never are in a test.
TEST(CUDASamplers, TiesOfAPermutationAreShuffled) {
  once([] {
    std::map<std::vector<int64_t>, int> seen;
    for (uint64_t seed = 0; seed < 600; ++seed) {
      const Tensor keys = on_gpu({1, 4, 4, 4, 7, 9, 9}, {7}, ScalarType::Long);
      const Tensor places = on_gpu({0, 1, 2, 3, 4, 5, 6}, {7}, ScalarType::Long);
      at::cuda::random::shuffle_ties(7, keys.const_data_ptr<int64_t>(), places.mutable_data_ptr<int64_t>(),
                                     at::PhiloxCudaState(seed, 0));
      ++seen[elements<int64_t>(places)];
    }
    EXPECT_EQ(seen.size(), 12u);
    for (const auto& [order, times] : seen) {
      EXPECT_EQ(order[0], 0);
      EXPECT_EQ(order[4], 4);
      EXPECT_NEAR(times, 50, 32);
    }
  });
}

TEST(CUDASamplers, PoissonAndBinomial) {
  once([] {
    torch::cuda::manual_seed(4);
    for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double, ScalarType::Half}) {
      expect_moments(at::poisson(all(0.5, 8000, dtype)), 0.5, 0.5);
      expect_moments(at::poisson(all(40, 8000, dtype)), 40, 40);
      expect_moments(at::binomial(all(10, 8000, dtype), all(0.25, 8000, dtype)), 2.5, 1.875);
      expect_moments(at::binomial(all(200, 8000, dtype), all(0.75, 8000, dtype)), 150, 37.5);
    }
    EXPECT_EQ(values(at::poisson(on_gpu({0, std::numeric_limits<double>::infinity()}, {2}))),
              (std::vector<double>{0, std::numeric_limits<double>::infinity()}));
    const Tensor counts = on_gpu({5, 5, 0, 7}, {4});
    EXPECT_EQ(values(at::binomial(counts, on_gpu({0, 1, 0.5, 1}, {4}))), (std::vector<double>{0, 5, 0, 7}));
    // Layouts do not matter: the order is that of the indices.
    const Tensor means = at::arange(1, 13, at::TensorOptions().dtype(ScalarType::Float).device(kGpu));
    const Tensor matrix = at::reshape(means, {3, 4});
    torch::cuda::manual_seed(4);
    const std::vector<double> plain = values(at::poisson(matrix));
    torch::cuda::manual_seed(4);
    EXPECT_EQ(values(at::poisson(at::t(at::contiguous(at::t(matrix))))), plain);
  });
}

// An error, and the device goes on; in a graph, where nothing waits, a NaN.
TEST(CUDASamplers, BadRatesEndNothing) {
  once([] {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double rate : {-1.0, nan}) {
      expect_error<c10::Error>([&] { at::poisson(on_gpu({1, rate}, {2})); },
                               "invalid Poisson rate, expected rate to be non-negative");
    }
    EXPECT_EQ(values(at::poisson(on_gpu({0}, {1}))), std::vector<double>{0});
    EXPECT_TRUE(std::isnan(values(at::binomial(on_gpu({nan}, {1}), on_gpu({0.5}, {1})))[0]));
    const Tensor rates = on_gpu({-2, 0}, {2});
    at::cuda::CUDAGraph graph;
    Tensor drawn;
    {
      const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
      graph.capture_begin();
      drawn = at::poisson(rates);
      graph.capture_end();
    }
    graph.replay();
    const std::vector<double> numbers = values(drawn);
    EXPECT_TRUE(std::isnan(numbers[0]));
    EXPECT_EQ(numbers[1], 0);
  });
}

TEST(CUDASamplers, GammaAndDirichlet) {
  once([] {
    torch::cuda::manual_seed(5);
    for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double}) {
      expect_moments(at::_standard_gamma(all(0.5, 8000, dtype)), 0.5, 0.5);
      expect_moments(at::_standard_gamma(all(9, 8000, dtype)), 9, 9);
      const Tensor zero = at::_standard_gamma(all(0, 1, dtype));
      EXPECT_EQ(values(zero)[0], dtype == ScalarType::Float ? double{std::numeric_limits<float>::min()}
                                                            : std::numeric_limits<double>::min());
      std::vector<double> rows;
      for (int i = 0; i < 4000; ++i) rows.insert(rows.end(), {1, 2, 5});
      const Tensor drawn = at::_sample_dirichlet(on_gpu(rows, {4000, 3}, dtype));
      const std::vector<double> numbers = values(drawn);
      for (size_t r = 0; r < 12000; r += 3) {
        ASSERT_NEAR(numbers[r] + numbers[r + 1] + numbers[r + 2], 1, 1e-6);
        ASSERT_GT(numbers[r], 0);
      }
      expect_moments(at::select(drawn, 1, 2), 0.625, 0.625 * 0.375 / 9);
    }
    // What has no distribution is NaN, not a loop without end.
    EXPECT_TRUE(std::isnan(values(at::_standard_gamma(on_gpu({-1}, {1})))[0]));
    EXPECT_TRUE(std::isnan(values(at::_standard_gamma(on_gpu({std::nan("")}, {1})))[0]));
  });
}

TEST(CUDASamplers, GeneratorsOfCalls) {
  once([] {
    at::Generator mine = at::cuda::detail::createCUDAGenerator(0);
    torch::cuda::manual_seed(1);
    const auto twice = [&](const std::function<Tensor()>& draw) {
      mine.set_current_seed(8);
      const std::vector<double> first = values(draw()), second = values(draw());
      EXPECT_NE(first, second);
      mine.set_current_seed(8);
      EXPECT_EQ(values(draw()), first);
    };
    twice([&] { return at::randperm(50, mine, at::TensorOptions().device(kGpu)); });
    twice([&] { return at::poisson(all(9, 30), mine); });
    twice([&] { return at::binomial(all(9, 30), all(0.5, 30), mine); });
    twice([&] { return at::multinomial(all(1, 30), 20, true, mine); });
    twice([&] { return at::multinomial(all(1, 30), 20, false, mine); });
    twice([&] { return at::_standard_gamma(all(2, 30), mine); });
    twice([&] { return at::_sample_dirichlet(all(2, 30), mine); });
    EXPECT_EQ(at::cuda::detail::getDefaultCUDAGenerator().get_offset(), 0u);
    expect_error<c10::Error>([] { at::poisson(all(1, 3), at::cuda::detail::createCUDAGenerator(1)); },
                             "Expected a 'cuda:0' generator device but found 'cuda:1'");
  });
}

// Every replay draws anew.
TEST(CUDASamplers, AreCaptured) {
  once([] {
    torch::cuda::manual_seed(6);
    const Tensor weights = all(1, 64), means = all(50, 64);
    const auto draw = [&] {
      return std::vector<Tensor>{at::multinomial(weights, 32, true), at::multinomial(weights, 32),
                                 at::randperm(64, at::TensorOptions().device(kGpu)), at::poisson(means)};
    };
    draw();
    c10::cuda::device_synchronize();
    at::cuda::CUDAGraph graph;
    std::vector<Tensor> drawn;
    {
      torch::cuda::graph capture(graph);
      drawn = draw();
    }
    const auto replayed = [&] {
      graph.replay();
      std::vector<std::vector<double>> numbers;
      for (const Tensor& t : drawn) numbers.push_back(values(t));
      return numbers;
    };
    const auto first = replayed(), second = replayed();
    for (size_t i = 0; i < first.size(); ++i) EXPECT_NE(first[i], second[i]) << i;
  });
}

}  // namespace
