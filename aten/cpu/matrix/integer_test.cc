#include "aten/cpu/matrix/integer.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "aten/cpu/isa.h"
#include "c10/parallel/parallel.h"
#include "gtest/gtest.h"

namespace {

using namespace at::matrix;
using Ints = std::vector<int32_t>;

struct Case {
  Convolution c;
  int64_t spread[3] = {1, 1, 1};
  int32_t input_zero = 0;
  Ints weight_zeros = {0};
};

int64_t places(const int64_t* sizes) {
  return sizes[0] * sizes[1] * sizes[2];
}

// By the definition, channels innermost.
Ints expected_sums(const Case& k, const std::vector<uint8_t>& input, const std::vector<int8_t>& weight) {
  const Convolution& c = k.c;
  const int64_t ig = c.in_channels / c.groups, og = c.out_channels / c.groups;
  Ints sums;
  for (int64_t place = 0; place < c.batch * places(c.output); ++place) {
    for (int64_t o = 0; o < c.out_channels; ++o) {
      const int32_t zero = k.weight_zeros[k.weight_zeros.size() == 1 ? 0 : static_cast<size_t>(o)];
      int64_t sum = 0;
      for (int64_t w = 0; w < places(c.kernel); ++w) {
        const int64_t window[3] = {w / (c.kernel[2] * c.kernel[1]), w / c.kernel[2] % c.kernel[1], w % c.kernel[2]},
                      out[3] = {place / (c.output[2] * c.output[1]) % c.output[0], place / c.output[2] % c.output[1],
                                place % c.output[2]};
        int64_t from = place / places(c.output);
        bool inside = true;
        for (int d = 0; d < 3; ++d) {
          const int64_t at = out[d] * c.stride[d] - c.padding[d] + window[d] * c.dilation[d];
          inside = inside && at >= 0 && at % k.spread[d] == 0 && at / k.spread[d] < c.input[d];
          from = from * c.input[d] + at / k.spread[d];
        }
        for (int64_t i = 0; inside && i < ig; ++i) {
          sum += (input[static_cast<size_t>(from * c.in_channels + o / og * ig + i)] - k.input_zero) *
                 (weight[static_cast<size_t>((o * ig + i) * places(c.kernel) + w)] - zero);
        }
      }
      sums.push_back(static_cast<int32_t>(sum));
    }
  }
  return sums;
}

std::shared_ptr<const int8_t> shared(const std::vector<int8_t>& values) {
  return {values.data(), [](const int8_t*) {}};
}

// Bytes, a third of them extreme: pairs of their products do not fit 16 bits.
template <class T>
std::vector<T> bytes(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<T> result(static_cast<size_t>(count));
  for (T& x : result) {
    const uint32_t r = random();
    x = r % 3 == 0 ? (sizeof(T) == 1 && T(-1) > 0 ? T(255) : T(r & 4 ? 127 : -128)) : static_cast<T>(r >> 8);
  }
  return result;
}

void check(const Case& k, const std::string& what) {
  const Convolution& c = k.c;
  const auto input = bytes<uint8_t>(c.batch * places(c.input) * c.in_channels, 1);
  const auto weight = bytes<int8_t>(c.out_channels * (c.in_channels / c.groups) * places(c.kernel), 2);
  const Ints expected = expected_sums(k, input, weight);
  const IntegerWeights weights(c, shared(weight), k.weight_zeros);
  Ints sums(expected.size(), -1);
  IntegerResult result;
  result.data = sums.data();
  weights.convolve(c, input.data(), k.input_zero, result, k.spread);
  EXPECT_EQ(sums, expected) << what;

  const auto channels = static_cast<size_t>(c.out_channels);
  std::vector<float> before(channels), factor(channels), after(channels), numbers(sums.size());
  for (size_t i = 0; i < channels; ++i) {
    before[i] = 0.25f * static_cast<float>(i), factor[i] = 0.001f / static_cast<float>(i + 1),
    after[i] = 1.5f - static_cast<float>(i % 5);
  }
  result = {IntegerResult::To::kNumbers, numbers.data(), before.data(), factor.data(), after.data()};
  weights.convolve(c, input.data(), k.input_zero, result, k.spread);
  for (size_t i = 0; i < sums.size(); ++i) {
    const float exact = std::fma(static_cast<float>(expected[i]), factor[i % channels], after[i % channels]);
    ASSERT_NEAR(numbers[i], exact, 1e-6f * (1 + std::abs(exact))) << what << ' ' << i;
  }
  std::vector<uint8_t> integers(sums.size());
  result.to = IntegerResult::To::kIntegers;
  result.data = integers.data();
  result.scale = 0.7f, result.inverse = 3.3f, result.shift = 2, result.zero_point = 5, result.least = 5;
  weights.convolve(c, input.data(), k.input_zero, result, k.spread);
  for (size_t i = 0; i < sums.size(); ++i) {
    volatile float x = static_cast<float>(expected[i]) + before[i % channels];
    x = x * 0.7f;
    x = x * factor[i % channels];
    x = x + after[i % channels];
    x = x * 3.3f;
    x = x + 2;
    const float q = std::nearbyint(std::clamp<float>(static_cast<float>(x), 0, 250)) + 5;
    ASSERT_EQ(integers[i], q) << what << ' ' << i;
  }
}

// As many threads as there were before.
struct KeepThreads {
  ~KeepThreads() { at::set_num_threads(count); }
  int count = at::get_num_threads();
};

// Every way to compute, with one thread and with more.
template <class F>
void everywhere(const F& f) {
  const KeepThreads keep;
  for (const at::cpu::Isa best : {at::cpu::Isa::kAvx512, at::cpu::Isa::kAvx2, at::cpu::Isa::kBaseline}) {
    at::cpu::limit_isa(best);
    for (const int threads : {1, 2, 3}) {
      at::set_num_threads(threads);
      f("isa " + std::to_string(static_cast<int>(best)) + " threads " + std::to_string(threads));
    }
  }
  at::cpu::limit_isa(at::cpu::Isa::kAvx512);
}

TEST(Integer, Products) {
  for (const std::array<int64_t, 3> mnk :
       {std::array<int64_t, 3>{1, 1, 1}, {3, 5, 7}, {1, 70, 130}, {65, 33, 64}, {300, 520, 96}, {4, 3, 0}, {0, 3, 4}}) {
    Case k;
    k.c.dims = 1;
    k.c.batch = mnk[0], k.c.out_channels = mnk[1], k.c.in_channels = mnk[2];
    everywhere([&](const std::string& where) {
      for (const int32_t zero : {0, 131}) {
        k.input_zero = zero;
        for (const Ints& zeros : {Ints{0}, Ints{-3}}) {
          k.weight_zeros = zeros;
          check(k, where + " m " + std::to_string(mnk[0]) + " zero " + std::to_string(zero));
        }
      }
    });
  }
}

Case convolution(int dims, int64_t batch, int64_t groups, int64_t in, int64_t out, int64_t size, int64_t kernel,
                 int64_t stride, int64_t dilation, int64_t padding, int64_t spread = 1) {
  Case k;
  k.c.dims = dims, k.c.batch = batch, k.c.groups = groups, k.c.in_channels = in, k.c.out_channels = out;
  for (int i = 0; i < dims; ++i) {
    const int d = 3 - dims + i;
    k.c.input[d] = size + i, k.c.kernel[d] = kernel, k.c.stride[d] = stride, k.c.dilation[d] = dilation,
    k.c.padding[d] = padding, k.spread[d] = spread;
    k.c.output[d] = ((size + i - 1) * spread + 2 * padding - (kernel - 1) * dilation) / stride + 1;
  }
  k.input_zero = 77;
  return k;
}

TEST(Integer, Convolutions) {
  std::vector<Case> cases;
  for (int dims = 1; dims <= 3; ++dims) {
    cases.push_back(convolution(dims, 2, 1, 3, 5, 6, 3, 1, 1, 1));
    cases.push_back(convolution(dims, 2, 2, 4, 6, 7, 2, 2, 1, 0));
    cases.push_back(convolution(dims, 1, 1, 16, 17, 8, 2, 1, 2, 3));
    cases.push_back(convolution(dims, 2, 6, 6, 6, 5, 3, 2, 1, 2));
    cases.push_back(convolution(dims, 2, 1, 5, 4, 4, 3, 1, 1, 2, 2));
    cases.push_back(convolution(dims, 1, 1, 5, 4, 6, 2, 1, 1, -1, 3));
  }
  cases.push_back(convolution(2, 3, 1, 8, 9, 6, 1, 1, 1, 0));
  cases.push_back(convolution(2, 0, 1, 8, 9, 6, 1, 1, 1, 0));
  cases.push_back(convolution(1, 1, 1, 32, 64, 1600, 3, 1, 1, 1));  // strips
  cases.push_back(convolution(2, 1, 1, 32, 64, 50, 3, 1, 1, 1));
  cases.push_back(convolution(3, 1, 1, 8, 16, 14, 3, 1, 1, 1));
  cases.push_back(convolution(2, 5, 1, 32, 64, 12, 3, 1, 1, 0));  // several images to a unit
  cases.back().c.input[1] += 3;                                   // that no window reaches
  cases.push_back(convolution(2, 2, 1, 4, 3, 6, 3, 1, 1, 1));
  cases.back().weight_zeros = {4, -7, 0};
  everywhere([&](const std::string& where) {
    for (size_t i = 0; i < cases.size(); ++i) check(cases[i], where + " case " + std::to_string(i));
  });
}

TEST(Integer, WeightsServeSeveralThreads) {
  const KeepThreads keep;
  at::set_num_threads(2);
  const Case k = convolution(2, 2, 1, 8, 16, 9, 3, 1, 1, 1);
  const auto input = bytes<uint8_t>(2 * places(k.c.input) * 8, 1);
  const auto weight = bytes<int8_t>(16 * 8 * 9, 2);
  const Ints expected = expected_sums(k, input, weight);
  const IntegerWeights weights(k.c, shared(weight), {0});
  std::vector<Ints> sums(4, Ints(expected.size()));
  std::vector<std::thread> threads;
  for (Ints& own : sums) {
    threads.emplace_back([&] {
      IntegerResult result;
      result.data = own.data();
      weights.convolve(k.c, input.data(), k.input_zero, result);
    });
  }
  for (std::thread& t : threads) t.join();
  for (const Ints& own : sums) EXPECT_EQ(own, expected);
}

}  // namespace
