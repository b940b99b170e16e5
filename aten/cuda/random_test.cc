// Random tensors of CUDA devices: numbers that others have published, and distributions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "aten/core/tensor.h"
#include "aten/cuda/generator.h"
#include "aten/cuda/rng_state.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "c10/core/cpu_generator.h"
#include "c10/cuda/frontend.h"
#include "c10/cuda/philox.cuh"
#include "c10/cuda/testing.h"

namespace {

using at::IntArrayRef;
using at::ScalarType;
using at::Tensor;
using at::testing::elements;
using at::testing::expect_close;
using at::testing::expect_error;
using at::testing::values;
using c10::cuda::testing::in_all_orders;

at::TensorOptions on_cuda(ScalarType dtype = ScalarType::Float) {
  return at::TensorOptions().dtype(dtype).device(c10::kCUDA);
}
Tensor blank(IntArrayRef sizes, ScalarType dtype = ScalarType::Float) {
  return at::empty(sizes, on_cuda(dtype));
}

uint64_t offset() {
  return at::cuda::detail::getDefaultCUDAGenerator().get_offset();
}

// To four digits, as they were printed.
void expect_printed(const Tensor& t, const std::vector<double>& printed) {
  expect_close(t, printed, 0, 5.1e-5);
}

// Tests of distributions need one order only.
void once(const std::function<void()>& body) {
  c10::cuda::testing::in_own_process([&] {
    if (c10::cuda::device_count() > 0) body();
  });
}

// Kolmogorov's and Smirnov's test at one in ten thousand; the seed is fixed.
void expect_distributed(const std::vector<double>& numbers, const std::function<double(double)>& cumulative) {
  std::vector<double> sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  double distance = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const double expected = cumulative(sorted[i]), k = static_cast<double>(i);
    distance = std::max({distance, std::fabs(expected - k / n), std::fabs(expected - (k + 1) / n)});
  }
  EXPECT_LT(distance, 2.23 / std::sqrt(n));
}

double normal_cumulative(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

TEST(CUDARandom, PublishedUniformNumbers) {
  in_all_orders([] {
    torch::cuda::manual_seed(42);
    expect_printed(at::rand({12}, on_cuda()),
                   {0.6130, 0.0101, 0.3984, 0.0403, 0.1563, 0.4825, 0.7362, 0.4060, 0.5189, 0.2867, 0.2416, 0.9228});
    torch::cuda::manual_seed(0);
    expect_printed(at::rand({12}, on_cuda()),
                   {0.3990, 0.5167, 0.0249, 0.9401, 0.9459, 0.7967, 0.4150, 0.8203, 0.2290, 0.9096, 0.1183, 0.0752});
    expect_printed(at::rand({2, 4}, on_cuda()), {0.9722, 0.7910, 0.4690, 0.3300, 0.3345, 0.3783, 0.7640, 0.6405});
    at::manual_seed(1729);
    expect_printed(at::rand({2, 2}, on_cuda()), {0.3344, 0.2640, 0.2119, 0.0582});
    expect_printed(at::rand({2, 2}, on_cuda()), {0.0024, 0.6778, 0.2441, 0.6812});
  });
}

TEST(CUDARandom, PublishedNormalNumbers) {
  in_all_orders([] {
    torch::cuda::manual_seed(0);
    expect_printed(at::randn({16}, on_cuda()), {-0.9247, -0.4253, -2.6438, 0.1452, -0.1209, -0.5797, -0.6229, -0.3284,
                                                -1.0745, -0.3631, -1.6711, 2.2655, 0.3117, -0.1842, 1.2866, 1.1820});
    torch::cuda::manual_seed(42);
    expect_printed(at::randn({4}, on_cuda()), {0.1940, 2.1614, -0.1721, 0.8491});
    expect_printed(at::randn({4}, on_cuda()), {0.1391, -0.1082, -0.7174, 0.7566});
    expect_printed(at::randn({4}, on_cuda()), {-0.5187, 1.2268, 0.6255, -0.9117});
  });
}

// Thread t makes the elements t, t + T, ... of each 4 T, and the generator goes on behind what each thread has drawn.
TEST(CUDARandom, NumbersBeyondTheFirstDraws) {
  once([] {
    const auto* device = at::cuda::getCurrentDeviceProperties();
    const int64_t threads = int64_t{device->multiProcessorCount} * (device->maxThreadsPerMultiProcessor / 256) * 256;
    torch::cuda::manual_seed(5);
    const int64_t n = 4 * threads + 300;
    const std::vector<float> drawn = elements<float>(at::rand({n}, on_cuda()));
    EXPECT_EQ(offset(), 8u);
    for (const int64_t i :
         {int64_t{0}, int64_t{255}, threads - 1, threads, 2 * threads + 7, 4 * threads - 1, 4 * threads, n - 1}) {
      const int64_t thread = i % threads, turn = i / (4 * threads), word = i % (4 * threads) / threads;
      const c10::cuda::RandomWords words =
          c10::cuda::philox(5, static_cast<uint64_t>(thread), static_cast<uint64_t>(turn));
      const uint32_t all[] = {words.x, words.y, words.z, words.w};
      EXPECT_EQ(drawn[static_cast<size_t>(i)], c10::cuda::uniform(all[word])) << i;
    }
    torch::cuda::manual_seed(5);
    at::rand({4 * threads}, on_cuda());
    EXPECT_EQ(offset(), 4u);
    torch::cuda::manual_seed(5);
    at::rand({2 * threads + 1}, on_cuda(ScalarType::Double));
    EXPECT_EQ(offset(), 8u);
    at::rand({0}, on_cuda());
    EXPECT_EQ(offset(), 8u);
  });
}

TEST(CUDARandom, LayoutsAreFilledInTheOrderOfMemory) {
  once([] {
    const auto drawn = [](Tensor& t) {
      torch::cuda::manual_seed(3);
      at::normal_(t);
      return elements<float>(t);
    };
    Tensor plain = blank({6, 5}), turned = at::t(blank({5, 6})), wide = blank({6, 10});
    Tensor sliced = at::slice(wide, 1, 0, 10, 2);
    const std::vector<float> expected = drawn(plain);
    EXPECT_EQ(elements<float>(at::t(at::zeros_like(plain))).size(), 30u);
    drawn(turned);
    EXPECT_EQ(elements<float>(at::t(turned)), expected);
    EXPECT_EQ(drawn(sliced), expected);
    Tensor permuted = at::permute(blank({3, 2, 5}), {2, 0, 1});
    torch::cuda::manual_seed(3);
    at::normal_(permuted);
    EXPECT_EQ(elements<float>(at::permute(permuted, {1, 2, 0})), expected);
    // A complex number is a pair.
    torch::cuda::manual_seed(3);
    const Tensor complex = at::randn({15}, on_cuda(ScalarType::ComplexFloat));
    expect_close(at::reshape(at::view_as_real(complex), {30}), [&] {
      std::vector<double> scaled;
      for (const float v : expected) scaled.push_back(v / std::sqrt(2.0));
      return scaled;
    }());
  });
}

TEST(CUDARandom, UniformNumbersLieInTheirRange) {
  once([] {
    torch::cuda::manual_seed(1);
    for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16}) {
      Tensor t = blank({20000}, dtype);
      at::uniform_(t, -2, 3);
      const std::vector<double> numbers = values(t);
      EXPECT_GE(*std::min_element(numbers.begin(), numbers.end()), -2);
      EXPECT_LT(*std::max_element(numbers.begin(), numbers.end()), 3);
      if (dtype == ScalarType::Float || dtype == ScalarType::Double)
        expect_distributed(numbers, [](double x) { return (x + 2) / 5; });
      at::uniform_(t, 1, 1);
      EXPECT_EQ(values(t), std::vector<double>(20000, 1.0));
    }
    Tensor t = blank({4});
    expect_error<c10::Error>([&] { at::uniform_(t, 2, 1); }, "uniform_ expects to return a [from, to) range");
    Tensor integers = blank({4}, ScalarType::Int);
    expect_error<c10::NotImplementedError>([&] { at::uniform_(integers); }, "not implemented for 'Int'");
  });
}

TEST(CUDARandom, Distributions) {
  once([] {
    torch::cuda::manual_seed(2);
    for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double}) {
      SCOPED_TRACE(toString(dtype));
      Tensor t = blank({20000}, dtype);
      const auto check = [&](const std::function<double(double)>& cumulative) {
        expect_distributed(values(t), cumulative);
      };
      at::normal_(t, 1, 2);
      check([](double x) { return normal_cumulative((x - 1) / 2); });
      at::log_normal_(t, 0.5, 0.25);
      check([](double x) { return normal_cumulative((std::log(x) - 0.5) / 0.25); });
      at::exponential_(t, 1.5);
      check([](double x) { return 1 - std::exp(-1.5 * x); });
      const std::vector<double> times = values(t);
      EXPECT_GT(*std::min_element(times.begin(), times.end()), 0);
      at::cauchy_(t, 1, 2);
      check([](double x) { return 0.5 + std::atan((x - 1) / 2) / 3.14159265358979323846; });
    }
    Tensor narrow = blank({20000}, ScalarType::Half);
    at::normal_(narrow);
    double sum = 0, squares = 0;
    for (const double v : values(narrow)) sum += v, squares += v * v;
    EXPECT_NEAR(sum / 20000, 0, 0.03);
    EXPECT_NEAR(squares / 20000, 1, 0.05);
  });
}

TEST(CUDARandom, TrialsAndCounts) {
  once([] {
    torch::cuda::manual_seed(4);
    for (const ScalarType dtype :
         {ScalarType::Float, ScalarType::Double, ScalarType::Int, ScalarType::Long, ScalarType::Half}) {
      Tensor t = blank({20000}, dtype);
      at::geometric_(t, 0.25);
      double ones = 0, twos = 0;
      for (const double v : values(t)) {
        ASSERT_GE(v, 1);
        ASSERT_EQ(v, std::floor(v));
        ones += v == 1, twos += v == 2;
      }
      EXPECT_NEAR(ones / 20000, 0.25, 0.015);
      EXPECT_NEAR(twos / 20000, 0.1875, 0.015);
    }
    for (const ScalarType dtype :
         {ScalarType::Float, ScalarType::Bool, ScalarType::Byte, ScalarType::Double, ScalarType::BFloat16}) {
      Tensor t = blank({20000}, dtype);
      const auto share = [&] {
        double ones = 0;
        for (const double v : values(t)) {
          EXPECT_TRUE(v == 0 || v == 1);
          ones += v;
        }
        return ones / 20000;
      };
      at::bernoulli_(t, 0.3);
      EXPECT_NEAR(share(), 0.3, 0.015);
      at::bernoulli_(t, 0);
      EXPECT_EQ(share(), 0);
      at::bernoulli_(t, 1);
      EXPECT_EQ(share(), 1);
    }
    const Tensor p = at::testing::tensor_of({0, 1, 0.5, 0.25}, {4}).to(c10::Device(c10::kCUDA));
    Tensor drawn = blank({5000, 4});
    at::bernoulli_(drawn, p);
    const std::vector<double> all = values(drawn);
    double sums[4] = {};
    for (size_t i = 0; i < all.size(); ++i) sums[i % 4] += all[i];
    EXPECT_EQ(sums[0], 0);
    EXPECT_EQ(sums[1], 5000);
    EXPECT_NEAR(sums[2] / 5000, 0.5, 0.03);
    EXPECT_NEAR(sums[3] / 5000, 0.25, 0.03);
    EXPECT_EQ(values(at::bernoulli(at::ones({3}, on_cuda()))), (std::vector<double>{1, 1, 1}));
    for (const double v : values(at::dropout(at::ones({100}, on_cuda()), 0.5, true))) EXPECT_TRUE(v == 0 || v == 2);
  });
}

TEST(CUDARandom, Integers) {
  once([] {
    torch::cuda::manual_seed(6);
    const c10::cuda::RandomWords words = c10::cuda::philox(6, 0, 0);
    // One thread's words stand T apart; the first element of the first threads:
    EXPECT_EQ(elements<int64_t>(at::randint(10, {1}, on_cuda(ScalarType::Long)))[0],
              static_cast<int64_t>(words.x % 10));
    const c10::cuda::RandomWords next = c10::cuda::philox(6, 0, 1);
    const uint64_t wide = uint64_t{next.x} << 32 | next.y;
    EXPECT_EQ(elements<int64_t>(at::randint(-5, int64_t{1} << 40, {1}, on_cuda(ScalarType::Long)))[0],
              static_cast<int64_t>(wide % ((uint64_t{1} << 40) + 5)) - 5);
    for (const ScalarType dtype : {ScalarType::Byte, ScalarType::Char, ScalarType::Short, ScalarType::Int,
                                   ScalarType::Long, ScalarType::Float, ScalarType::Half}) {
      const std::vector<double> drawn = values(at::randint(3, 9, {5000}, on_cuda(dtype)));
      const std::set<double> seen(drawn.begin(), drawn.end());
      EXPECT_EQ(seen, (std::set<double>{3, 4, 5, 6, 7, 8}));
      EXPECT_NEAR(static_cast<double>(std::count(drawn.begin(), drawn.end(), 3)) / 5000, 1.0 / 6, 0.02);
    }
    Tensor bytes = blank({20000}, ScalarType::Byte);
    at::random_(bytes);
    const std::vector<double> drawn = values(bytes);
    EXPECT_EQ(std::set<double>(drawn.begin(), drawn.end()).size(), 256u);
    Tensor longs = blank({2000}, ScalarType::Long);
    at::random_(longs);
    for (const int64_t v : elements<int64_t>(longs)) ASSERT_GE(v, 0);
    at::random_(longs, std::numeric_limits<int64_t>::min(), std::optional<int64_t>());
    int64_t negative = 0;
    for (const int64_t v : elements<int64_t>(longs)) negative += v < 0;
    EXPECT_NEAR(static_cast<double>(negative), 1000, 150);
    Tensor floats = blank({2000});
    at::random_(floats);
    for (const double v : values(floats)) ASSERT_TRUE(v >= 0 && v <= 0x1p24 && v == std::floor(v));
    expect_error<c10::Error>([&] { at::random_(floats, 3, 3); }, "random_ expects 'from' to be less than 'to'");
  });
}

TEST(CUDARandom, GeneratorsOfCalls) {
  in_all_orders([] {
    at::Generator mine = at::cuda::detail::createCUDAGenerator(0);
    mine.set_current_seed(42);
    torch::cuda::manual_seed(1);
    expect_printed(at::rand({3}, mine, on_cuda()), {0.6130, 0.0101, 0.3984});
    EXPECT_EQ(mine.get_offset(), 4u);
    EXPECT_EQ(offset(), 0u);
    expect_error<c10::Error>([] { at::rand({3}, at::detail::createCPUGenerator(), on_cuda()); },
                             "Expected a 'cuda' device type for generator but found 'cpu'");
    expect_error<c10::Error>([] { at::rand({3}, at::cuda::detail::createCUDAGenerator(1), on_cuda()); },
                             "Expected a 'cuda:0' generator device but found 'cuda:1'");
    // The device of the tensor decides, not the current one.
    at::cuda::detail::getDefaultCUDAGenerator(1).get<at::CUDAGeneratorImpl>()->set_current_seed(42);
    expect_printed(at::rand({3}, on_cuda().device(c10::Device("cuda:1"))), {0.6130, 0.0101, 0.3984});
  });
}

TEST(CUDARandom, StatesAreTensors) {
  in_all_orders([] {
    torch::cuda::manual_seed_all(9);
    at::rand({3}, on_cuda());
    const Tensor state = torch::cuda::get_rng_state();
    EXPECT_TRUE(state.is_cpu());
    EXPECT_EQ(state.numel(), 16);
    const std::vector<double> drawn = values(at::rand({3}, on_cuda()));
    torch::cuda::set_rng_state(state);
    EXPECT_EQ(values(at::rand({3}, on_cuda())), drawn);
    const std::vector<Tensor> all = torch::cuda::get_rng_state_all();
    ASSERT_EQ(all.size(), 2u);
    torch::cuda::manual_seed_all(10);
    torch::cuda::set_rng_state_all(all);
    EXPECT_EQ(torch::cuda::initial_seed(), 9u);
    EXPECT_EQ(offset(), 8u);
    torch::cuda::set_rng_state(state, c10::Device("cuda:1"));
    EXPECT_EQ(elements<uint8_t>(torch::cuda::get_rng_state(c10::Device("cuda:1"))), elements<uint8_t>(state));
    expect_error<c10::Error>([&] { torch::cuda::set_rng_state_all({state}); },
                             "set_rng_state_all: expected a state for each of 2");
    expect_error<c10::Error>([&] { torch::cuda::get_rng_state(c10::Device("cpu")); }, "expected a CUDA device");
  });
}

}  // namespace
