// Fake quantization, the choice of scales, and products of integers and 8-bit floats.
#include <cmath>
#include <limits>

#include "aten/ops/copy/ops.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"

namespace {

using at::Tensor;
using at::testing::blank;
using at::testing::device;
using at::testing::expect_close;
using at::testing::expect_error;
using at::testing::layouts;
using at::testing::sample;
using at::testing::tensor_of;
using at::testing::values;
using Numbers = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor one(double value, at::ScalarType dtype = at::kFloat) {
  return tensor_of({value}, {1}, dtype);
}

TEST(FakeQuantize, MovesNumbersToTheNearestOnesOfTheRange) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    // Halves go to the even integer, before the zero point is added.
    const Tensor x = tensor_of({-1, 0.25, 0.75, 1.25, 9, kInf, -kInf, 0.2}, {2, 4}, dtype);
    const auto [y, mask] = at::fake_quantize_per_tensor_affine_cachemask(x, 0.5, 1, 0, 15);
    EXPECT_EQ(y.scalar_type(), dtype);
    expect_close(y, Numbers{-0.5, 0, 1, 1, 7, 7, -0.5, 0}, 1e-6);
    EXPECT_EQ(values(mask), (Numbers{0, 1, 1, 1, 0, 0, 0, 1}));
    EXPECT_EQ(mask.scalar_type(), at::kBool);
  }
  for (const Tensor& x : layouts(sample({2, 3, 4, 2}))) {
    const Tensor dense = at::testing::on_cpu(x).contiguous();
    Numbers expected;
    for (const double v : values(dense))
      expected.push_back(std::min(std::max(std::nearbyint(v * 10.0), -8.0), 7.0) / 10);
    expect_close(at::fake_quantize_per_tensor_affine(x, 0.1, 0, -8, 7), expected, 1e-5);
    expect_close(at::fake_quantize_per_tensor_affine(x, one(0.1), one(0, at::kInt), -8, 7), expected, 1e-5);
  }
  EXPECT_EQ(at::fake_quantize_per_tensor_affine(blank({0, 3}), 0.1, 0, 0, 15).sizes(), at::IntArrayRef({0, 3}));
  const Tensor x = tensor_of({3, 0.26}, {2});
  const auto off = at::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(x, one(0.5), one(1, at::kInt),
                                                                                 one(0, at::kLong), 0, 3);
  EXPECT_EQ(values(std::get<0>(off)), values(x));
  EXPECT_EQ(values(std::get<1>(off)), (Numbers{1, 1}));
}

// Long enough for whole vectors and for what is left over.
TEST(FakeQuantize, TreatsAllElementsOfARowAlike) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    Numbers x, scales, zeros, expected, mask;
    for (int64_t i = 0; i < 63; ++i) x.push_back(static_cast<double>(i * 37 % 63 - 31) * 0.125);
    for (int64_t c = 0; c < 9; ++c) scales.push_back(c % 2 == 0 ? 0.25 : 0.5), zeros.push_back(static_cast<double>(c));
    for (size_t i = 0; i < 63; ++i) {
      const double q = std::nearbyint(x[i] / scales[i % 9]) + zeros[i % 9];
      expected.push_back((std::min(std::max(q, 0.0), 12.0) - zeros[i % 9]) * scales[i % 9]);
      mask.push_back(q >= 0 && q <= 12 ? 1 : 0);
    }
    const auto [y, inside] = at::fake_quantize_per_channel_affine_cachemask(
        tensor_of(x, {7, 9}, dtype), tensor_of(scales, {9}), tensor_of(zeros, {9}, at::kInt), 1, 0, 12);
    EXPECT_EQ(values(y), expected);
    EXPECT_EQ(values(inside), mask);
  }
}

TEST(FakeQuantize, TakesAScaleAndAZeroPointAChannel) {
  const Tensor x = tensor_of({0.3, 0.3, -0.3, 9, 0.3, 0.3}, {2, 3, 1});
  const Tensor scale = tensor_of({0.5, 0.25, 0.1}, {3}), zero = tensor_of({0, 1, 2}, {3}, at::kInt);
  const auto [y, mask] = at::fake_quantize_per_channel_affine_cachemask(x, scale, zero, 1, 0, 15);
  expect_close(y, Numbers{0.5, 0.25, -0.2, 7.5, 0.25, 0.3}, 1e-6);
  EXPECT_EQ(values(mask), (Numbers{1, 1, 0, 0, 1, 1}));
  expect_close(at::fake_quantize_per_channel_affine_cachemask_backward(y, mask), Numbers{0.5, 0.25, 0, 0, 0.25, 0.3},
               1e-6);
}

TEST(FakeQuantize, RoundsWithZeroPointsThatAreNotWhole) {
  const Tensor scale = tensor_of({2}, {1});
  const auto run = [&](double zero_point, at::ScalarType dtype) {
    const auto [y, mask] = at::fake_quantize_per_channel_affine_cachemask(
        tensor_of({-5, -3, -1, 1, 3, 5}, {1, 6}), scale, tensor_of({zero_point}, {1}, dtype), 0, 0, 4);
    return std::pair(values(y), values(mask));
  };
  // Whole numbers are added to what was rounded.
  EXPECT_EQ(run(1, at::kInt).first, (Numbers{-2, -2, 0, 0, 4, 4}));
  EXPECT_EQ(run(1, at::kFloat).first, (Numbers{-2, -2, -2, 2, 2, 6}));
  EXPECT_EQ(run(1.5, at::kFloat), std::pair(Numbers{-3, -3, -1, 1, 3, 5}, Numbers{0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(run(1.5, at::kHalf).first, (Numbers{-3, -3, -1, 1, 3, 5}));
}

TEST(FakeQuantize, LearnsScalesAndZeroPoints) {
  const Tensor x = tensor_of({-0.18, 1.29, 0.2, -3}, {2, 2}), grad = tensor_of({1, 2, 3, 4}, {2, 2});
  const Tensor scale = one(0.1), zero = one(1.2);
  expect_close(at::_fake_quantize_learnable_per_tensor_affine(x, scale, zero, -8, 7), Numbers{-0.2, 0.6, 0.2, -0.9},
               1e-6);
  // Inside: (y - x) / scale; outside: the distance of the end from the zero point. The zero point moves those outside.
  const auto [dx, ds, dz] = at::_fake_quantize_learnable_per_tensor_affine_backward(grad, x, scale, zero, -8, 7, 0.5);
  expect_close(dx, Numbers{1, 0, 3, 0}, 1e-6);
  expect_close(ds, Numbers{0.5 * (-0.2 + 2 * 6 + 0 + 4 * -9)}, 1e-4, 1e-5);
  expect_close(dz, Numbers{-0.5 * 0.1 * (2 + 4)}, 1e-5);

  const Tensor scales = tensor_of({0.1, 0.5}, {2}), zeros = tensor_of({1, 0}, {2});
  expect_close(at::_fake_quantize_learnable_per_channel_affine(x, scales, zeros, 0, -8, 7), Numbers{-0.2, 0.6, 0, -3},
               1e-6);
  const auto [gx, gs, gz] =
      at::_fake_quantize_learnable_per_channel_affine_backward(grad, x, scales, zeros, 0, -8, 7, 1);
  expect_close(gx, Numbers{1, 0, 3, 4}, 1e-6);
  expect_close(gs, Numbers{-0.2 + 12, 3 * -0.4}, 1e-4, 1e-5);
  expect_close(gz, Numbers{-0.2, 0}, 1e-5);
}

TEST(FakeQuantize, WatchesRunningExtremes) {
  Tensor least = one(-1), most = one(1), scale = one(1), zero = one(0, at::kInt);
  const Tensor on = one(1, at::kLong), off = one(0, at::kLong), x = tensor_of({-2, 3}, {2});
  const Tensor y = at::fused_moving_avg_obs_fake_quant(x, on, on, least, most, scale, zero, 0.5, 0, 255, 0);
  EXPECT_EQ(values(least), (Numbers{-1.5}));
  EXPECT_EQ(values(most), (Numbers{2}));
  expect_close(scale, Numbers{3.5 / 255}, 1e-6);
  EXPECT_EQ(values(zero), (Numbers{109}));
  expect_close(y, Numbers{-109 * 3.5 / 255, 146 * 3.5 / 255}, 1e-5);
  // Without observing and quantizing nothing changes; infinite extremes have seen nothing yet.
  EXPECT_EQ(values(at::fused_moving_avg_obs_fake_quant(x, off, off, least, most, scale, zero, 0.5, 0, 255, 0)),
            values(x));
  EXPECT_EQ(values(least), (Numbers{-1.5}));
  Tensor lows = tensor_of({kInf, kInf}, {2}), highs = tensor_of({-kInf, -kInf}, {2}), scales = tensor_of({1, 1}, {2}),
         zeros = tensor_of({0, 0}, {2}, at::kInt);
  at::fused_moving_avg_obs_fake_quant(tensor_of({-1, 1, -2, 1}, {2, 2}), on, on, lows, highs, scales, zeros, 0.5, 0,
                                      255, 0, true, true);
  EXPECT_EQ(values(lows), (Numbers{-1, -2}));
  EXPECT_EQ(values(highs), (Numbers{1, 1}));
  EXPECT_EQ(values(zeros), (Numbers{128, 128}));
  Tensor low = blank({0}), high = blank({0}), steps = blank({0}), middle = blank({0}, at::kInt);
  at::fused_moving_avg_obs_fake_quant(tensor_of({-1, 1, -2, 1}, {2, 2}), on, on, low, high, steps, middle, 0.5, 0, 255,
                                      0, true);
  EXPECT_EQ(values(low), (Numbers{-1, -2}));
  EXPECT_EQ(values(middle), (Numbers{127, 170}));
}

TEST(FakeQuantize, FormsThatLeaveOrWriteTheRunningExtremes) {
  const Tensor on = one(1, at::kLong), x = tensor_of({-2, 3}, {2});
  Tensor least = one(-1), most = one(1), scale = one(1), zero = one(0, at::kInt);
  const auto [y, mask, low, high, step, middle] =
      at::_fused_moving_avg_obs_fq_helper_functional(x, on, on, least, most, scale, zero, 0.5, 0, 255, 0);
  EXPECT_EQ(values(low), (Numbers{-1.5}));
  EXPECT_EQ(values(high), (Numbers{2}));
  expect_close(step, Numbers{3.5 / 255}, 1e-6);
  EXPECT_EQ(values(middle), (Numbers{109}));
  expect_close(y, Numbers{-109 * 3.5 / 255, 146 * 3.5 / 255}, 1e-5);
  EXPECT_EQ(values(mask), (Numbers{0, 0}));
  for (const Tensor& untouched : {most, scale}) EXPECT_EQ(values(untouched), (Numbers{1}));
  EXPECT_EQ(values(least), (Numbers{-1}));
  // Nothing is written where an output does not fit.
  Tensor out = blank({0}), kept = blank({2}, at::kBool), integers = blank({2}, at::kLong);
  expect_error<c10::Error>(
      [&] {
        at::_fused_moving_avg_obs_fq_helper_out(integers, kept, x, on, on, least, most, scale, zero, 0.5, 0, 255, 0);
      },
      "can't be cast to the desired output type Long");
  EXPECT_EQ(values(least), (Numbers{-1}));
  at::_fused_moving_avg_obs_fq_helper_out(out, kept, x, on, on, least, most, scale, zero, 0.5, 0, 255, 0);
  expect_close(out, y);
  EXPECT_EQ(values(kept), values(mask));
  EXPECT_EQ(values(least), (Numbers{-1.5}));
  EXPECT_EQ(values(zero), (Numbers{109}));
  // Where nothing was seen, there is one of each for a channel.
  Tensor none = blank({0}), nothing = blank({0}), steps = blank({0}), middles = blank({0}, at::kInt), z = blank({0});
  at::_fused_moving_avg_obs_fq_helper_out(z, kept, tensor_of({-1, 1, -2, 1}, {2, 2}), on, on, none, nothing, steps,
                                          middles, 0.5, 0, 255, 0, true);
  EXPECT_EQ(values(none), (Numbers{-1, -2}));
  EXPECT_EQ(values(middles), (Numbers{127, 170}));
}

TEST(QuantizationParameters, AreChosenForARange) {
  const auto [scale, zero] = at::_choose_qparams_per_tensor(tensor_of({-1, 1.55}, {2}));
  EXPECT_NEAR(scale, 0.01, 1e-8);
  EXPECT_EQ(zero, 100);
  EXPECT_NEAR(std::get<0>(at::_choose_qparams_per_tensor(tensor_of({-1, 1.54}, {2}), true)), 0.02, 1e-8);
  // Numbers that are all 0, none at all, and some too small for a step.
  EXPECT_EQ(std::get<0>(at::_choose_qparams_per_tensor(tensor_of({0}, {3}))), 0.1);
  EXPECT_EQ(std::get<0>(at::_choose_qparams_per_tensor(blank({0}))), 0.1);
  EXPECT_EQ(std::get<0>(at::_choose_qparams_per_tensor(tensor_of({1e-9}, {1}))), 6.1e-5);
  // The least number is given up where that brings the others nearer.
  const Tensor many = tensor_of({-1.190056, -1.599739, 1.768274, 0.01161, 0.732952, 0.496667, 1.29601, 1.966082,
                                 -0.789714, 1.41058, 1.586973, -0.809447, 1.035488, 0.546669, -1.07354, 1.1987},
                                {16});
  const auto [most, least] = at::choose_qparams_optimized(many, 16, 200, 0.16, 4);
  expect_close(most, Numbers{1.966082}, 1e-6);
  expect_close(least, Numbers{-1.58191}, 1e-5);
  Tensor weight = tensor_of({1e6, -1e6, 3}, {3});
  at::_saturate_weight_to_fp16(weight);
  EXPECT_EQ(values(weight), (Numbers{65504, -65504, 3}));
}

TEST(IntegerProducts, AreExact) {
  const Tensor a = tensor_of({1, -2, 3, 127, -128, 4}, {2, 3}, at::kChar),
               b = tensor_of({5, 6, -7, 8, 9, -128}, {3, 2}, at::kChar);
  const Tensor c = at::_int_mm(a, b);
  EXPECT_EQ(c.scalar_type(), at::kInt);
  EXPECT_EQ(values(c), (Numbers{46, -394, 1567, -774}));
  // Beyond what float32 holds.
  const Tensor wide = tensor_of({-128}, {1, 5000}, at::kChar);
  EXPECT_EQ(values(at::_int_mm(wide, tensor_of({-127}, {5000, 1}, at::kChar))), (Numbers{128. * 127 * 5000}));
  EXPECT_EQ(values(at::_int_mm(blank({2, 0}, at::kChar), blank({0, 2}, at::kChar))), (Numbers{0, 0, 0, 0}));
  Tensor out = blank({2, 2}, at::kInt);
  at::_int_mm_out(out, a.t().contiguous().t(), b);
  EXPECT_EQ(values(out), values(c));
  // Sizes of whole vectors and not, both factors by rows and by columns; every sum is of 70 terms of up to 2^14.
  constexpr int64_t kRows = 33, kDepth = 70, kColumns = 50;
  Numbers left, right, sums;
  for (int64_t i = 0; i < kRows * kDepth; ++i)
    left.push_back(i % 7 == 0 ? -128 : static_cast<double>(i * 89 % 256 - 128));
  for (int64_t i = 0; i < kDepth * kColumns; ++i)
    right.push_back(i % 5 == 0 ? -128 : static_cast<double>(i * 57 % 256 - 128));
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < kDepth; ++k)
        sum += left[static_cast<size_t>(i * kDepth + k)] * right[static_cast<size_t>(k * kColumns + j)];
      sums.push_back(sum);
    }
  }
  const Tensor first = tensor_of(left, {kRows, kDepth}, at::kChar),
               second = tensor_of(right, {kDepth, kColumns}, at::kChar);
  for (const Tensor& l : {first, first.t().contiguous().t()}) {
    for (const Tensor& r : {second, second.t().contiguous().t()}) EXPECT_EQ(values(at::_int_mm(l, r)), sums);
  }
  Numbers apart;
  for (const double v : left) apart.insert(apart.end(), {v, 9});
  EXPECT_EQ(values(at::_int_mm(tensor_of(apart, {kRows, kDepth, 2}, at::kChar).select(2, 0), second)), sums);

  const Tensor x = tensor_of({1, 2, -1, 0.5}, {2, 2});
  expect_close(
      at::_weight_int8pack_mm(x, tensor_of({3, 4, 5, -6, 1, 1}, {3, 2}, at::kChar), tensor_of({0.5, 1, 2}, {3})),
      Numbers{5.5, -7, 6, -0.5, -8, -1}, 1e-6);
  // Several rows, more than a few of them at a time.
  const Tensor rows = at::to(first, at::kFloat);
  expect_close(at::_weight_int8pack_mm(rows, second.t(), tensor_of({1}, {kColumns})), sums, 1e-6);
  const Tensor q = tensor_of({0, 15, 8, 7}, {2, 32}, at::kInt), parameters = tensor_of({0.5, 1, 2, -1}, {1, 2, 2});
  const Tensor ones = tensor_of({1}, {1, 32});
  expect_close(at::_weight_int4pack_mm_for_cpu(ones, at::_convert_weight_to_int4pack_for_cpu(q, 1), 32, parameters),
               Numbers{8 * 0.5 * (-8 + 7 + 0 - 1) + 32, 8 * 2 * (-8 + 7 + 0 - 1) - 32.}, 1e-6);
}

// More rows than are multiplied at a time.
TEST(WeightOnlyProducts, TakeAnyNumberOfRows) {
  constexpr int64_t kRows = 150, kDepth = 32;
  Numbers x, weight, columns, scales, parameters, by_bytes, by_halves;
  for (int64_t k = 0; k < kDepth; ++k) x.push_back(static_cast<double>(k % 5 - 2));
  for (int64_t n = 0; n < kRows; ++n) {
    scales.push_back(static_cast<double>(n % 3 + 1) / 2);
    parameters.insert(parameters.end(), {scales.back(), 3});
    double bytes = 0, halves = 0;
    for (int64_t k = 0; k < kDepth; ++k) {
      const double w = static_cast<double>((n * 7 + k * 3) % 16), xk = x[static_cast<size_t>(k)];
      columns.push_back(w);
      weight.push_back(w - 8);
      bytes += xk * (w - 8);
      halves += xk * ((w - 8) * scales.back() + 3);
    }
    by_bytes.push_back(bytes * scales.back());
    by_halves.push_back(halves);
  }
  const Tensor a = tensor_of(x, {1, kDepth}), w = tensor_of(weight, {kRows, kDepth}, at::kChar);
  expect_close(at::_weight_int8pack_mm(a, w, tensor_of(scales, {kRows})), by_bytes, 1e-6);
  EXPECT_EQ(at::_weight_int8pack_mm(tensor_of({}, {0, kDepth}), w, tensor_of(scales, {kRows})).sizes(),
            at::IntArrayRef({0, kRows}));
  const Tensor packed = at::_convert_weight_to_int4pack_for_cpu(tensor_of(columns, {kRows, kDepth}, at::kInt), 1);
  expect_close(at::_weight_int4pack_mm_for_cpu(a, packed, 32, tensor_of(parameters, {1, kRows, 2})), by_halves, 1e-6);
}

TEST(Float8Products, AreScaled) {
  const Tensor a = tensor_of({1, 2, 3, 4}, {2, 2}, at::kFloat8_e4m3fn),
               b = tensor_of({1, 0.5, -1, 2}, {2, 2}, at::kFloat8_e4m3fn);
  expect_close(at::_scaled_mm(a, b, one(0.5), one(2), {}, {}, at::kFloat), Numbers{-1, 4.5, -1, 9.5}, 1e-6);
  expect_close(at::_scaled_mm(a, b, tensor_of({1, 2}, {2, 1}), tensor_of({1, 10}, {1, 2}), tensor_of({1, 1}, {2}), {},
                              at::kFloat),
               Numbers{0, 46, -1, 191}, 1e-6);
  EXPECT_EQ(at::_scaled_mm(a, b, one(0.5), one(2)).scalar_type(), at::kFloat8_e4m3fn);
  const std::vector<Tensor> half{one(0.5)}, two{one(2)};
  expect_close(at::_scaled_mm_v2(a, b, half, {0}, {0}, two, {0}, {0}, {}, at::kBFloat16), Numbers{-1, 4.5, -1, 9.5},
               1e-2);
}

TEST(GroupedProducts, TakeRowsColumnsOrDepths) {
  const Tensor a = tensor_of({1, 2, 3, 4, 5, 6}, {3, 2}), b = tensor_of({1, 0, 0, 1, 2, 0, 0, 2}, {2, 2, 2});
  const Tensor ends = tensor_of({1, 3}, {2}, at::kInt);
  EXPECT_EQ(values(at::_grouped_mm(a, b, ends)), (Numbers{1, 2, 6, 8, 10, 12}));
  EXPECT_EQ(values(at::_grouped_mm(b, a.t(), ends)), (Numbers{1, 6, 10, 2, 8, 12}));
  const Tensor depths = at::_grouped_mm(a.t(), a, ends);
  EXPECT_EQ(depths.sizes(), at::IntArrayRef({2, 2, 2}));
  EXPECT_EQ(values(depths), (Numbers{1, 2, 2, 4, 34, 42, 42, 52}));
  EXPECT_EQ(values(at::_grouped_mm(b, b)), (Numbers{1, 0, 0, 1, 4, 0, 0, 4}));
}

TEST(FakeQuantize, RefusesBadArguments) {
  const Tensor x = sample({2, 3});
  expect_error<c10::Error>([&] { at::fake_quantize_per_tensor_affine(x, 0.1, 0, 5, 4); },
                           "`quant_min` should be less than");
  expect_error<c10::Error>([&] { at::fake_quantize_per_tensor_affine(x, 0.1, 9, 0, 4); },
                           "`zero_point` must be between");
  expect_error<c10::NotImplementedError>(
      [&] { at::fake_quantize_per_tensor_affine(sample({2}, at::kLong), 0.1, 0, 0, 4); }, "not implemented for 'Long'");
  const Tensor scale = tensor_of({1, 1}, {2}), zero = tensor_of({0, 0}, {2}, at::kInt);
  expect_error<c10::Error>([&] { at::fake_quantize_per_channel_affine(x, scale, zero, 1, 0, 4); }, "not consistent");
  expect_error<c10::Error>([&] { at::fake_quantize_per_channel_affine(x, scale, zero, 2, 0, 4); },
                           "`axis` must be between");
  expect_error<c10::Error>([&] { at::fake_quantize_per_channel_affine_cachemask_backward(x, x); }, "Mask must be bool");
  expect_error<c10::Error>([&] { at::_int_mm(x, x); }, "size(1)");
  expect_error<c10::Error>([&] { at::_int_mm(x, x.t()); }, "int8");
  expect_error<c10::Error>([&] { at::_weight_int8pack_mm(x, x, x); }, "expect B to be int8");
  expect_error<c10::Error>([&] { at::_scaled_mm(x, x.t(), one(1), one(1)); }, "Float8");
  expect_error<c10::Error>([&] { at::_grouped_mm(x, x.t()); }, "offsets");
  expect_error<c10::Error>([&] { at::_grouped_mm(x, at::unsqueeze(x.t(), 0), tensor_of({3}, {1}, at::kInt)); },
                           "lie within");
  expect_error<c10::Error>([&] { at::choose_qparams_optimized(x, 7, 200, 0.16, 8); }, "numel");
}

}  // namespace
