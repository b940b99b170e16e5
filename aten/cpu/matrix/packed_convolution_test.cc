// Convolutions with weights that are laid out once, in all their forms.
#include "aten/cpu/matrix/packed_convolution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "aten/cpu/isa.h"
#include "aten/cpu/matrix/packed_depthwise.h"
#include "aten/cpu/matrix/packed_winograd.h"
#include "c10/parallel/parallel.h"
#include "gtest/gtest.h"

namespace at::matrix {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Case {
  Convolution c;
  std::vector<float> input, weight, bias, add, expected;
  float low = -kInfinity, high = kInfinity;
};

std::vector<float> random_values(std::mt19937& bits, int64_t n) {
  std::vector<float> values(static_cast<size_t>(n));
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& v : values) v = uniform(bits);
  return values;
}

// The definition, of what lies channels last.
void compute(Case& k, bool biased, bool added) {
  const Convolution& c = k.c;
  const int64_t inner = c.in_channels / c.groups, outer = c.out_channels / c.groups;
  k.expected.clear();
  for (int64_t n = 0; n < c.batch; ++n) {
    for (int64_t y = 0; y < c.output[1]; ++y) {
      for (int64_t x = 0; x < c.output[2]; ++x) {
        for (int64_t o = 0; o < c.out_channels; ++o) {
          double sum = biased ? k.bias[static_cast<size_t>(o)] : 0;
          for (int64_t ky = 0; ky < c.kernel[1]; ++ky) {
            for (int64_t kx = 0; kx < c.kernel[2]; ++kx) {
              const int64_t row = y * c.stride[1] - c.padding[1] + ky * c.dilation[1];
              const int64_t column = x * c.stride[2] - c.padding[2] + kx * c.dilation[2];
              if (row < 0 || row >= c.input[1] || column < 0 || column >= c.input[2]) continue;
              for (int64_t i = 0; i < inner; ++i) {
                const int64_t channel = o / outer * inner + i;
                sum += static_cast<double>(k.input[static_cast<size_t>(
                           ((n * c.input[1] + row) * c.input[2] + column) * c.in_channels + channel)]) *
                       k.weight[static_cast<size_t>(((o * inner + i) * c.kernel[1] + ky) * c.kernel[2] + kx)];
              }
            }
          }
          if (added) sum += k.add[k.expected.size()];
          sum = sum < k.low ? k.low : sum;
          k.expected.push_back(static_cast<float>(sum > k.high ? k.high : sum));
        }
      }
    }
  }
}

// By the form that takes it.
enum class Form { kWindows, kDepthwise, kWinograd };
struct Layer {
  explicit Layer(const Case& k, bool biased, Form which) : form(which) {
    const float* const bias = biased ? k.bias.data() : nullptr;
    if (form == Form::kWindows) windows.emplace(k.c, k.weight.data(), bias);
    if (form == Form::kDepthwise) depthwise.emplace(k.c, k.weight.data(), bias);
    if (form == Form::kWinograd) winograd.emplace(k.c, k.weight.data(), bias);
  }
  // Into memory behind which nothing may be written.
  void run(const Case& k, const float* add, std::vector<float>& output) const {
    const int64_t floats = form == Form::kWindows    ? PackedConvolution::scratch_floats(k.c)
                           : form == Form::kWinograd ? PackedWinograd::scratch_floats(k.c)
                                                     : 0;
    std::vector<float> scratch(static_cast<size_t>(floats) + 16, 77.0f);
    const float* const input = k.input.data();
    if (windows) windows->run(k.c, input, add, k.low, k.high, output.data(), scratch.data());
    if (depthwise) depthwise->run(k.c, input, add, k.low, k.high, output.data());
    if (winograd) winograd->run(k.c, input, add, k.low, k.high, output.data(), scratch.data());
    for (size_t i = static_cast<size_t>(floats); i < scratch.size(); ++i) ASSERT_EQ(scratch[i], 77.0f);
  }
  Form form;
  std::optional<PackedConvolution> windows;
  std::optional<PackedDepthwise> depthwise;
  std::optional<PackedWinograd> winograd;
};

constexpr cpu::Isa kIsas[] = {cpu::Isa::kAvx512, cpu::Isa::kAvx2, cpu::Isa::kSse4, cpu::Isa::kBaseline};

Case random_case(unsigned seed, Form form) {
  std::mt19937 bits(seed);
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(bits() % static_cast<uint32_t>(high - low + 1));
  };
  Case k;
  Convolution& c = k.c;
  c.channels_last = true;
  c.dims = static_cast<int>(pick(1, 2));
  c.batch = pick(1, 3);
  c.in_channels = pick(0, 3) == 0 ? 64 : pick(1, 70);
  c.out_channels = pick(0, 3) == 0 ? 128 : pick(1, 140);
  if (form == Form::kDepthwise) c.groups = c.out_channels = c.in_channels;
  if (form == Form::kWinograd) {
    c.dims = 2;
    c.in_channels = 16 * pick(1, 5), c.out_channels = 16 * pick(1, 7);
    for (int d = 1; d < 3; ++d) {
      c.kernel[d] = 3, c.padding[d] = pick(0, 3);
      c.input[d] = std::max<int64_t>(pick(1, 20), 3 - 2 * c.padding[d]);
      c.output[d] = c.input[d] + 2 * c.padding[d] - 2;
    }
  }
  for (int d = c.dims == 1 ? 2 : 1; d < 3 && form != Form::kWinograd; ++d) {
    c.kernel[d] = pick(1, 5);
    c.stride[d] = pick(1, 3);
    c.dilation[d] = pick(1, 2);
    c.padding[d] = pick(0, 4);
    const int64_t reach = (c.kernel[d] - 1) * c.dilation[d] + 1;
    c.input[d] = std::max<int64_t>(pick(1, 20), reach - 2 * c.padding[d]);
    c.output[d] = (c.input[d] + 2 * c.padding[d] - reach) / c.stride[d] + 1;
  }
  k.input = random_values(bits, c.batch * c.input[1] * c.input[2] * c.in_channels);
  k.weight = random_values(bits, c.out_channels * c.in_channels / c.groups * c.kernel[1] * c.kernel[2]);
  k.bias = random_values(bits, c.out_channels);
  k.add = random_values(bits, c.batch * c.output[1] * c.output[2] * c.out_channels);
  if (pick(0, 1) == 0) k.low = 0;
  if (pick(0, 2) == 0) k.high = 2;
  return k;
}

void expect_near(const std::vector<float>& got, const std::vector<float>& want, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], tolerance) << what << " at " << i;
}

class Packed : public testing::TestWithParam<Form> {
 protected:
  ~Packed() override { cpu::limit_isa(cpu::Isa::kAvx512); }
};
const char* name_of(const testing::TestParamInfo<Form>& info) {
  constexpr const char* kNames[] = {"Windows", "Depthwise", "Winograd"};
  return kNames[static_cast<int>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Forms, Packed, testing::Values(Form::kWindows, Form::kDepthwise, Form::kWinograd), name_of);

TEST_P(Packed, IsTheDefinition) {
  for (const cpu::Isa isa : kIsas) {
    cpu::limit_isa(isa);
    for (unsigned seed = 0; seed < 60; ++seed) {
      Case k = random_case(seed, GetParam());
      const bool biased = seed % 2 == 0, added = seed % 3 == 0;
      compute(k, biased, added);
      const Layer packed(k, biased, GetParam());
      // The result may be what is added.
      std::vector<float> output = k.add;
      packed.run(k, added ? output.data() : nullptr, output);
      const double terms = static_cast<double>(k.weight.size()) / static_cast<double>(k.c.out_channels);
      const double more = GetParam() == Form::kWinograd ? 5 : 1;
      expect_near(output, k.expected, more * (3e-7 * terms + 1e-6), "seed " + std::to_string(seed));
    }
  }
}

TEST_P(Packed, GivesTheSameBitsOnAnyNumberOfThreads) {
  const int threads = at::get_num_threads();
  for (unsigned seed = 0; seed < 20; ++seed) {
    Case k = random_case(seed, GetParam());
    k.c.batch = 8;
    std::mt19937 bits(seed);
    k.input = random_values(bits, k.c.batch * k.c.input[1] * k.c.input[2] * k.c.in_channels);
    const Layer packed(k, true, GetParam());
    std::vector<float> one(static_cast<size_t>(k.c.batch * k.c.output[1] * k.c.output[2] * k.c.out_channels));
    std::vector<float> several(one.size());
    at::set_num_threads(1);
    packed.run(k, nullptr, one);
    at::set_num_threads(4);
    packed.run(k, nullptr, several);
    EXPECT_EQ(one, several);
  }
  at::set_num_threads(threads);
}

TEST_P(Packed, KeepsNan) {
  Case k = random_case(3, GetParam());
  k.bias[0] = std::nanf("");
  const Layer packed(k, true, GetParam());
  std::vector<float> output(k.add.size());
  k.low = 0, k.high = 6;
  packed.run(k, nullptr, output);
  EXPECT_TRUE(std::isnan(output[0]));
}

TEST_P(Packed, TakesOtherBatchesAndSizes) {
  Case k = random_case(7, GetParam());
  const Layer packed(k, true, GetParam());
  k.c.batch = 2;
  for (int d = 1; d < 3; ++d) {
    k.c.input[d] += 5;
    k.c.output[d] = (k.c.input[d] + 2 * k.c.padding[d] - (k.c.kernel[d] - 1) * k.c.dilation[d] - 1) / k.c.stride[d] + 1;
  }
  std::mt19937 bits(1);
  k.input = random_values(bits, k.c.batch * k.c.input[1] * k.c.input[2] * k.c.in_channels);
  compute(k, true, false);
  std::vector<float> output(k.expected.size());
  packed.run(k, nullptr, output);
  expect_near(output, k.expected, 1e-3, "other sizes");
}

TEST(PackedConvolution, SaysWhatItDoesNotTake) {
  Convolution c;
  c.in_channels = c.out_channels = 8;
  EXPECT_STREQ(PackedConvolution::refusal(c), "only channels that lie side by side");
  c.channels_last = true;
  EXPECT_EQ(PackedConvolution::refusal(c), nullptr);
  EXPECT_STREQ(PackedDepthwise::refusal(c), "only groups of one channel");
  EXPECT_STREQ(PackedWinograd::refusal(c), "only windows of 3 x 3 side by side");
  c.kernel[1] = c.kernel[2] = 3;
  EXPECT_STREQ(PackedWinograd::refusal(c), "channels that are no multiple of 16");
  c.groups = 8;
  EXPECT_EQ(PackedDepthwise::refusal(c), nullptr);
  EXPECT_STREQ(PackedConvolution::refusal(c), "only one group");
  c.groups = 1, c.dims = 3;
  EXPECT_STREQ(PackedConvolution::refusal(c), "only one or two dimensions");
  c.dims = 2, c.type = Type::kFloat64;
  EXPECT_STREQ(PackedConvolution::refusal(c), "only float32");
}

}  // namespace
}  // namespace at::matrix
