#include "aten/cpu/matrix/convolution.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "aten/cpu/isa.h"
#include "c10/memory/cpu_allocator.h"
#include "c10/parallel/parallel.h"
#include "c10/util/bfloat16.h"
#include "c10/util/half.h"
#include "gtest/gtest.h"

namespace at::matrix {
namespace {

std::mt19937 random_bits(5);

template <class T>
constexpr Type kType = std::is_same_v<T, double>          ? Type::kFloat64
                       : std::is_same_v<T, float>         ? Type::kFloat32
                       : std::is_same_v<T, c10::Half>     ? Type::kFloat16
                       : std::is_same_v<T, c10::BFloat16> ? Type::kBFloat16
                                                          : Type::kInt64;

template <class T>
constexpr bool is_floating = !std::is_integral_v<T>;

template <class T>
std::vector<T> random_values(int64_t n) {
  std::vector<T> v(static_cast<size_t>(n) + 1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (T& x : v) {
    if constexpr (std::is_integral_v<T>)
      x = static_cast<T>(random_bits() % 9) - 4;
    else
      x = static_cast<T>(static_cast<float>(uniform(random_bits)));
  }
  return v;
}

// Output sizes of an ordinary convolution.
Convolution sized(Convolution c) {
  for (int d = 0; d < 3; ++d)
    c.output[d] = (c.input[d] + 2 * c.padding[d] - (c.kernel[d] - 1) * c.dilation[d] - 1) / c.stride[d] + 1;
  return c;
}

int64_t volume(const int64_t* s) {
  return s[0] * s[1] * s[2];
}

// Calls f(output index, input index, weight index) for every term.
template <class F>
void for_each_term(const Convolution& c, const F& f) {
  const int64_t in_group = c.in_channels / c.groups, out_group = c.out_channels / c.groups;
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t o = 0; o < c.out_channels; ++o)
      for (int64_t z = 0; z < c.output[0]; ++z)
        for (int64_t y = 0; y < c.output[1]; ++y)
          for (int64_t x = 0; x < c.output[2]; ++x)
            for (int64_t i = 0; i < in_group; ++i)
              for (int64_t kz = 0; kz < c.kernel[0]; ++kz)
                for (int64_t ky = 0; ky < c.kernel[1]; ++ky)
                  for (int64_t kx = 0; kx < c.kernel[2]; ++kx) {
                    const int64_t iz = z * c.stride[0] - c.padding[0] + kz * c.dilation[0];
                    const int64_t iy = y * c.stride[1] - c.padding[1] + ky * c.dilation[1];
                    const int64_t ix = x * c.stride[2] - c.padding[2] + kx * c.dilation[2];
                    if (iz < 0 || iy < 0 || ix < 0 || iz >= c.input[0] || iy >= c.input[1] || ix >= c.input[2])
                      continue;
                    const int64_t channel = o / out_group * in_group + i;
                    f((((n * c.out_channels + o) * c.output[0] + z) * c.output[1] + y) * c.output[2] + x,
                      (((n * c.in_channels + channel) * c.input[0] + iz) * c.input[1] + iy) * c.input[2] + ix,
                      (((o * in_group + i) * c.kernel[0] + kz) * c.kernel[1] + ky) * c.kernel[2] + kx);
                  }
}

template <class T>
bool same(const std::vector<T>& got, const std::vector<double>& want, const std::vector<double>& size, bool plain_sums,
          const std::string& what) {
  // Winograd's tiles of 4 x 4 amplify rounding.
  const double tolerance = std::is_same_v<T, double>      ? 1e-12
                           : std::is_same_v<T, float>     ? (plain_sums ? 5e-7 : 1e-6)
                           : std::is_same_v<T, c10::Half> ? 2e-3
                                                          : 1.6e-2;
  // Winograd's algorithm rounds sums of whole tiles: a border's few terms bear the error of its neighbours' many.
  double largest = 0;
  if (std::is_same_v<T, float> && !plain_sums)
    for (const double s : size) largest = std::max(largest, s);
  for (size_t i = 0; i < want.size(); ++i) {
    if (!(std::abs(static_cast<double>(got[i]) - want[i]) <= tolerance * (std::max(size[i], largest) + 0.01))) {
      ADD_FAILURE() << what << " at " << i << ": got " << static_cast<double>(got[i]) << ", expected " << want[i];
      return false;
    }
  }
  return true;
}

// [batch][rows][columns] as [batch][columns][rows], and what stands behind it.
template <class T>
std::vector<T> turned(const std::vector<T>& v, int64_t batch, int64_t rows, int64_t columns) {
  std::vector<T> result = v;
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t k = 0; k < columns; ++k) result[(n * columns + k) * rows + r] = v[(n * rows + r) * columns + k];
  return result;
}

template <class T>
void check(Convolution c, const std::string& name) {
  c.type = kType<T>;
  const int64_t in_count = c.batch * c.in_channels * volume(c.input),
                out_count = c.batch * c.out_channels * volume(c.output);
  const int64_t weight_count = c.out_channels * (c.in_channels / c.groups) * volume(c.kernel);
  std::vector<T> input = random_values<T>(in_count), grad = random_values<T>(out_count);
  const std::vector<T> weight = random_values<T>(weight_count), bias = random_values<T>(c.out_channels);
  std::vector<double> out(out_count), out_size(out_count), gi(in_count), gi_size(in_count), gw(weight_count),
      gw_size(weight_count);
  for_each_term(c, [&](int64_t o, int64_t i, int64_t w) {
    const double x = static_cast<double>(input[i]), y = static_cast<double>(weight[w]),
                 g = static_cast<double>(grad[o]);
    out[o] += x * y, out_size[o] += std::abs(x * y);
    gi[i] += g * y, gi_size[i] += std::abs(g * y);
    gw[w] += g * x, gw_size[w] += std::abs(g * x);
  });
  std::vector<double> biased = out, biased_size = out_size;
  for (int64_t i = 0; i < out_count; ++i) {
    const double b = static_cast<double>(bias[i / volume(c.output) % c.out_channels]);
    biased[i] += b, biased_size[i] += std::abs(b);
  }
  const auto in_order = [&](auto* values, int64_t channels, const int64_t* places) {
    if (c.channels_last) *values = turned(*values, c.batch, channels, volume(places));
  };
  in_order(&input, c.in_channels, c.input);
  in_order(&grad, c.out_channels, c.output);
  for (auto* v : {&out, &out_size, &biased, &biased_size}) in_order(v, c.out_channels, c.output);
  for (auto* v : {&gi, &gi_size}) in_order(v, c.in_channels, c.input);
  std::vector<T> added = random_values<T>(out_count);
  for (int i = -1; i < convolution_candidate_count(); ++i) {
    const ConvolutionCandidate* k = i < 0 ? nullptr : convolution_candidate(i);
    if (k != nullptr && (in_count * out_count * weight_count == 0 || (c.channels_last && !k->takes_channels_last)))
      continue;
    const std::string what = name + " by " + (k == nullptr ? "the engine" : k->name);
    std::vector<T> got(out_count + 1, static_cast<T>(55)), got_input(in_count + 1, static_cast<T>(55)),
        got_weight(weight_count + 1, static_cast<T>(55));
    const auto takes = [&](ConvolutionPart part) { return k == nullptr || k->refusal(c, part) == nullptr; };
    const auto forward = [&](const T* b) {
      if (k != nullptr) return k->forward(c, input.data(), weight.data(), b, got.data());
      convolution_forward(c, input.data(), weight.data(), b, got.data());
      return true;
    };
    const auto grad_input = [&] {
      if (k != nullptr) return k->backward_input(c, grad.data(), weight.data(), got_input.data());
      convolution_backward_input(c, grad.data(), weight.data(), got_input.data());
      return true;
    };
    const auto grad_weight = [&] {
      if (k != nullptr) return k->backward_weight(c, grad.data(), input.data(), got_weight.data());
      convolution_backward_weight(c, grad.data(), input.data(), got_weight.data());
      return true;
    };
    if (takes(ConvolutionPart::kForward) && forward(nullptr)) {
      if (!same(got, out, out_size, c.plain_sums, what + " forward")) return;
      ASSERT_TRUE(forward(bias.data())) << what;
      if (!same(got, biased, biased_size, c.plain_sums, what + " forward with bias")) return;
    }
    if (takes(ConvolutionPart::kForward) && is_floating<T> && (k == nullptr || k->takes_relu)) {
      const Convolution plain = c;
      c.relu = true;
      for (const bool with_sum : {false, true}) {
        c.add = with_sum ? added.data() : nullptr;
        c.alpha = -0.5;
        if (!forward(bias.data())) break;
        std::vector<double> finished = biased, finished_size = biased_size;
        for (int64_t o = 0; o < out_count; ++o) {
          if (with_sum) finished[o] += -0.5 * static_cast<double>(added[o]), finished_size[o] += 1;
          finished[o] = std::max(finished[o], 0.0);
        }
        const bool right = same(got, finished, finished_size, c.plain_sums,
                                what + (with_sum ? " forward with sum and relu" : " forward with relu"));
        if (!right) return;
      }
      c = plain;
    }
    if (takes(ConvolutionPart::kGradInput) && grad_input())
      if (!same(got_input, gi, gi_size, c.plain_sums, what + " backward input")) return;
    if (takes(ConvolutionPart::kGradWeight) && grad_weight())
      if (!same(got_weight, gw, gw_size, c.plain_sums, what + " backward weight")) return;
    EXPECT_EQ(static_cast<double>(got[out_count]), 55.0) << what << " wrote outside";
    EXPECT_EQ(static_cast<double>(got_input[in_count]), 55.0) << what << " wrote outside";
    EXPECT_EQ(static_cast<double>(got_weight[weight_count]), 55.0) << what << " wrote outside";
  }
}

struct Named {
  const char* name;
  Convolution c;
};

std::vector<Named> cases() {
  return {
      {"3x3", sized({.batch = 2, .in_channels = 3, .out_channels = 5, .input = {1, 9, 11}, .kernel = {1, 3, 3}})},
      {"3x3 padded", sized({.batch = 2,
                            .in_channels = 16,
                            .out_channels = 32,
                            .input = {1, 8, 8},
                            .kernel = {1, 3, 3},
                            .padding = {0, 1, 1}})},
      {"stride and dilation", sized({.batch = 1,
                                     .in_channels = 2,
                                     .out_channels = 3,
                                     .input = {1, 12, 13},
                                     .kernel = {1, 3, 2},
                                     .stride = {1, 2, 3},
                                     .dilation = {1, 2, 1},
                                     .padding = {0, 2, 1}})},
      {"windows short of the end", sized({.batch = 1,
                                          .in_channels = 2,
                                          .out_channels = 2,
                                          .input = {1, 8, 8},
                                          .kernel = {1, 3, 3},
                                          .stride = {1, 2, 2}})},
      {"1x1", sized({.batch = 3, .in_channels = 7, .out_channels = 9, .input = {1, 5, 5}})},
      {"1x1 of few channels", sized({.batch = 2, .in_channels = 3, .out_channels = 4, .input = {1, 20, 21}})},
      {"1x1 strided",
       sized({.batch = 1, .in_channels = 4, .out_channels = 4, .input = {1, 5, 5}, .stride = {1, 2, 2}})},
      {"groups", sized({.batch = 2,
                        .groups = 2,
                        .in_channels = 4,
                        .out_channels = 6,
                        .input = {1, 7, 7},
                        .kernel = {1, 3, 3},
                        .padding = {0, 1, 1}})},
      {"depthwise", sized({.batch = 2,
                           .groups = 8,
                           .in_channels = 8,
                           .out_channels = 8,
                           .input = {1, 7, 7},
                           .kernel = {1, 3, 3},
                           .padding = {0, 1, 1}})},
      {"depthwise with two outputs a channel",
       sized({.batch = 1, .groups = 3, .in_channels = 3, .out_channels = 6, .input = {1, 7, 7}, .kernel = {1, 3, 3}})},
      {"1d", sized({.dims = 1,
                    .batch = 2,
                    .in_channels = 3,
                    .out_channels = 4,
                    .input = {1, 1, 20},
                    .kernel = {1, 1, 5},
                    .stride = {1, 1, 2},
                    .padding = {0, 0, 2}})},
      {"3d", sized({.dims = 3,
                    .batch = 1,
                    .in_channels = 2,
                    .out_channels = 3,
                    .input = {5, 6, 7},
                    .kernel = {2, 3, 3},
                    .stride = {1, 2, 1},
                    .padding = {1, 1, 0}})},
      {"3d dilated groups", sized({.dims = 3,
                                   .batch = 2,
                                   .groups = 2,
                                   .in_channels = 2,
                                   .out_channels = 4,
                                   .input = {5, 6, 7},
                                   .kernel = {2, 2, 2},
                                   .dilation = {2, 1, 3}})},
      {"padding wider than the window", sized({.batch = 1,
                                               .in_channels = 2,
                                               .out_channels = 2,
                                               .input = {1, 3, 3},
                                               .kernel = {1, 2, 2},
                                               .padding = {0, 3, 3}})},
      {"more than a piece", sized({.batch = 1,
                                   .in_channels = 40,
                                   .out_channels = 2,
                                   .input = {1, 30, 40},
                                   .kernel = {1, 5, 5},
                                   .padding = {0, 2, 2}})},
      {"few places", sized({.batch = 1,
                            .in_channels = 24,
                            .out_channels = 45,
                            .input = {1, 7, 7},
                            .kernel = {1, 3, 3},
                            .padding = {0, 1, 1}})},
      {"few places of two images, strided", sized({.batch = 2,
                                                   .in_channels = 20,
                                                   .out_channels = 29,
                                                   .input = {1, 17, 19},
                                                   .kernel = {1, 3, 2},
                                                   .stride = {1, 2, 3},
                                                   .padding = {0, 1, 0}})},
      {"few places, windows dilated over the stride", sized({.batch = 1,
                                                             .in_channels = 16,
                                                             .out_channels = 20,
                                                             .input = {1, 21, 26},
                                                             .kernel = {1, 3, 3},
                                                             .stride = {1, 2, 2},
                                                             .dilation = {1, 3, 2},
                                                             .padding = {0, 4, 1}})},
      {"few places, 1x1 strided",
       sized({.batch = 1, .in_channels = 70, .out_channels = 16, .input = {1, 13, 12}, .stride = {1, 2, 2}})},
      {"few places, 1d", sized({.dims = 1,
                                .batch = 2,
                                .in_channels = 33,
                                .out_channels = 10,
                                .input = {1, 1, 40},
                                .kernel = {1, 1, 3},
                                .padding = {0, 0, 1}})},
      {"few channels", sized({.batch = 2,
                              .in_channels = 3,
                              .out_channels = 18,
                              .input = {1, 70, 75},
                              .kernel = {1, 7, 7},
                              .stride = {1, 2, 2},
                              .padding = {0, 3, 3}})},
      {"tiles of 4 x 4", sized({.batch = 1,
                                .in_channels = 32,
                                .out_channels = 32,
                                .input = {1, 30, 31},
                                .kernel = {1, 3, 3},
                                .padding = {0, 1, 1}})},
      {"tiles of 4 x 4, padded at one side", sized({.batch = 3,
                                                    .in_channels = 48,
                                                    .out_channels = 32,
                                                    .input = {1, 20, 22},
                                                    .kernel = {1, 3, 3},
                                                    .padding = {0, 1, 0}})},
      {"tiles of 4 x 4 over several images, channels past panels", sized({.batch = 5,
                                                                          .in_channels = 37,
                                                                          .out_channels = 43,
                                                                          .input = {1, 13, 10},
                                                                          .kernel = {1, 3, 3},
                                                                          .padding = {0, 2, 1}})},
      {"tiles of 4 x 4 without padding",
       sized({.batch = 2, .in_channels = 65, .out_channels = 25, .input = {1, 22, 19}, .kernel = {1, 3, 3}})},
      {"many groups",
       sized({.batch = 1, .groups = 7, .in_channels = 14, .out_channels = 77, .input = {1, 6, 7}, .kernel = {1, 3, 3}})},
      {"many groups, lines past vectors, padded", sized({.batch = 1,
                                                         .groups = 5,
                                                         .in_channels = 5,
                                                         .out_channels = 15,
                                                         .input = {1, 9, 37},
                                                         .kernel = {1, 2, 5},
                                                         .padding = {0, 3, 2}})},
      {"many groups, strided and dilated", sized({.batch = 1,
                                                  .groups = 6,
                                                  .in_channels = 18,
                                                  .out_channels = 24,
                                                  .input = {1, 17, 19},
                                                  .kernel = {1, 3, 2},
                                                  .stride = {1, 3, 2},
                                                  .dilation = {1, 2, 3},
                                                  .padding = {0, 2, 1}})},
      {"many groups, strided in one dimension, dilated in the other", sized({.batch = 1,
                                                                             .groups = 3,
                                                                             .in_channels = 6,
                                                                             .out_channels = 9,
                                                                             .input = {1, 14, 30},
                                                                             .kernel = {1, 3, 3},
                                                                             .stride = {1, 2, 1},
                                                                             .dilation = {1, 1, 4},
                                                                             .padding = {0, 1, 3}})},
      {"many groups, one place", sized({.batch = 1,
                                        .groups = 9,
                                        .in_channels = 72,
                                        .out_channels = 144,
                                        .input = {1, 3, 3},
                                        .kernel = {1, 3, 3}})},
      {"many groups, several pieces", sized({.batch = 1,
                                             .groups = 2,
                                             .in_channels = 20,
                                             .out_channels = 6,
                                             .input = {1, 9, 33},
                                             .kernel = {1, 5, 9},
                                             .padding = {0, 2, 0}})},
      {"many groups, 1d", sized({.dims = 1,
                                 .batch = 1,
                                 .groups = 4,
                                 .in_channels = 8,
                                 .out_channels = 12,
                                 .input = {1, 1, 23},
                                 .kernel = {1, 1, 4},
                                 .padding = {0, 0, 3}})},
      {"empty batch",
       sized({.batch = 0, .in_channels = 2, .out_channels = 2, .input = {1, 3, 3}, .kernel = {1, 2, 2}})},
      {"no input channels",
       sized({.batch = 2, .in_channels = 0, .out_channels = 2, .input = {1, 3, 3}, .kernel = {1, 2, 2}})},
      {"no input but padding", sized({.batch = 2,
                                      .in_channels = 2,
                                      .out_channels = 2,
                                      .input = {1, 0, 3},
                                      .kernel = {1, 2, 2},
                                      .padding = {0, 2, 2}})},
      {"no output channels",
       sized({.batch = 2, .in_channels = 2, .out_channels = 0, .input = {1, 3, 3}, .kernel = {1, 2, 2}})},
  };
}

template <class T>
void check_cases(bool plain_sums = false, std::initializer_list<bool> orders = {false, true}) {
  for (Named n : cases()) {
    for (const bool channels_last : orders) {
      n.c.plain_sums = plain_sums;
      n.c.channels_last = channels_last;
      check<T>(n.c,
               std::string(n.name) + (plain_sums ? " in plain sums" : "") + (channels_last ? ", channels last" : ""));
    }
  }
}

TEST(Convolution, Float32) {
  check_cases<float>();
}
TEST(Convolution, Float32InPlainSums) {
  check_cases<float>(true, {false});
}
TEST(Convolution, Float64) {
  check_cases<double>();
}
TEST(Convolution, Float16) {
  check_cases<c10::Half>();
}
TEST(Convolution, BFloat16) {
  check_cases<c10::BFloat16>();
}
TEST(Convolution, Int64) {
  check_cases<int64_t>();
}

const ConvolutionCandidate* candidate(const std::string& name) {
  for (int i = 0; i < convolution_candidate_count(); ++i)
    if (convolution_candidate(i)->name == name) return convolution_candidate(i);
  return nullptr;
}

TEST(Convolution, BlocksOfTilesAreOneResult) {
  const ConvolutionCandidate *winograd = candidate("winograd"), *plain = candidate("unfolding");
  if (winograd == nullptr) GTEST_SKIP() << "minimal builds leave Winograd's algorithm out, to be small";
  Convolution c = sized({.batch = 12,
                         .in_channels = 33,
                         .out_channels = 35,
                         .input = {1, 60, 49},
                         .kernel = {1, 3, 3},
                         .padding = {0, 1, 1}});
  const int64_t inputs = c.batch * c.in_channels * volume(c.input),
                outputs = c.batch * c.out_channels * volume(c.output);
  const int64_t weights = c.in_channels * c.out_channels * 9;
  const auto input = random_values<float>(inputs), weight = random_values<float>(weights),
             grad = random_values<float>(outputs);
  const auto compare = [&](int64_t count, float tolerance, const auto& run) {
    std::vector<float> got(static_cast<size_t>(count), 55), want(static_cast<size_t>(count));
    ASSERT_TRUE(run(*winograd, got.data()));
    ASSERT_TRUE(run(*plain, want.data()));
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], tolerance) << i;
  };
  compare(outputs, 1e-4f,
          [&](const auto& k, float* to) { return k.forward(c, input.data(), weight.data(), nullptr, to); });
  compare(inputs, 1e-4f, [&](const auto& k, float* to) { return k.backward_input(c, grad.data(), weight.data(), to); });
  compare(weights, 5e-3f,
          [&](const auto& k, float* to) { return k.backward_weight(c, grad.data(), input.data(), to); });
}

TEST(Convolution, WinogradTakesWhatItIsFor) {
  const ConvolutionCandidate* winograd = candidate("winograd");
  if (winograd == nullptr) GTEST_SKIP() << "minimal builds leave Winograd's algorithm out, to be small";
  Convolution c = sized({.batch = 1,
                         .in_channels = 64,
                         .out_channels = 64,
                         .input = {1, 56, 56},
                         .kernel = {1, 3, 3},
                         .padding = {0, 1, 1}});
  for (const ConvolutionPart part :
       {ConvolutionPart::kForward, ConvolutionPart::kGradInput, ConvolutionPart::kGradWeight}) {
    EXPECT_EQ(winograd->refusal(c, part), nullptr);
    Convolution few = c;
    few.in_channels = 8;
    EXPECT_STREQ(winograd->refusal(few, part), "more transformations than it saves products");
    Convolution plain = c;
    plain.plain_sums = true;
    EXPECT_STREQ(winograd->refusal(plain, part), "only plain sums are asked for");
    Convolution strided = sized([&] {
      Convolution s = c;
      s.stride[1] = 2;
      return s;
    }());
    EXPECT_NE(winograd->refusal(strided, part), nullptr);
  }
}

TEST(Convolution, NeedsLittleMemoryWhereLittleIsLeft) {
  const Convolution c =
      sized({.batch = 1, .in_channels = 3, .out_channels = 2, .input = {1, 300, 300}, .kernel = {1, 3, 3}});
  const int64_t inputs = c.in_channels * volume(c.input), weights = c.in_channels * c.out_channels * 9;
  const int64_t outputs = c.out_channels * volume(c.output);
  const auto input = random_values<float>(inputs), weight = random_values<float>(weights),
             grad = random_values<float>(outputs);
  struct Results {
    std::vector<float> output, grad_input, grad_weight;
  };
  const auto compute = [&] {
    Results r{std::vector<float>(static_cast<size_t>(outputs)), std::vector<float>(static_cast<size_t>(inputs)),
              std::vector<float>(static_cast<size_t>(weights))};
    convolution_forward(c, input.data(), weight.data(), nullptr, r.output.data());
    convolution_backward_input(c, grad.data(), weight.data(), r.grad_input.data());
    convolution_backward_weight(c, grad.data(), input.data(), r.grad_weight.data());
    return r;
  };
  const Results expected = compute();
  c10::empty_cpu_cache();
  // Layouts with the channels filled up to 16 would take 5.7 MB.
  c10::set_cpu_memory_limit(c10::cpu_memory_stats().reserved_bytes + (int64_t{5} << 20));
  const Results got = compute();
  c10::set_cpu_memory_limit(0);
  const auto expect_near = [](const std::vector<float>& a, const std::vector<float>& b, float scale, const char* what) {
    float worst = 0;
    for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
    EXPECT_LE(worst, scale * 1e-5f) << what;
  };
  expect_near(got.output, expected.output, 10, "output");
  expect_near(got.grad_input, expected.grad_input, 10, "gradient of the input");
  expect_near(got.grad_weight, expected.grad_weight, 1000, "gradient of the weight");
}

TEST(Convolution, NarrowerVectorsDoNotChangeTheResult) {
  for (at::cpu::Isa isa : {at::cpu::Isa::kAvx2, at::cpu::Isa::kSse4, at::cpu::Isa::kBaseline}) {
    at::cpu::limit_isa(isa);
    check_cases<float>(false, {false});
  }
  at::cpu::limit_isa(at::cpu::Isa::kAvx512);
}

TEST(Convolution, ThreadsDoNotChangeTheResult) {
  at::set_num_threads(3);
  check_cases<float>();
  check_cases<double>(false, {false});
  at::set_num_threads(2);
}

}  // namespace
}  // namespace at::matrix
