// Operators of quantized tensors: indexing, reductions, resampling, results that are given, and several integers in a
// byte.
#include <cmath>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "aten/testing/testing.h"
#include "gtest/gtest.h"

namespace {

using at::Tensor;
using at::testing::expect_close;
using at::testing::expect_error;
using at::testing::tensor_of;
using Numbers = std::vector<double>;

Numbers integers(const Tensor& t) {
  return at::testing::values(t.int_repr());
}
Tensor per_tensor(const Numbers& q, at::IntArrayRef sizes, double scale = 0.5, int64_t zero_point = 3,
                  at::ScalarType dtype = at::kByte) {
  return at::_make_per_tensor_quantized_tensor(tensor_of(q, sizes, dtype), scale, zero_point);
}
Tensor indices(const Numbers& values) {
  return tensor_of(values, {static_cast<int64_t>(values.size())}, at::kLong);
}
Tensor per_channel() {
  return at::quantize_per_channel(tensor_of({1, -2, 3, 4}, {2, 2}), tensor_of({0.5, 0.25}, {2}),
                                  tensor_of({1, 0}, {2}, at::kLong), 0, at::kQInt8);
}
Tensor zeros_like(at::IntArrayRef sizes, at::ScalarType dtype = at::kByte) {
  return at::_make_per_tensor_quantized_tensor(at::zeros(sizes, dtype), 1, 0);
}

const std::vector<at::ScalarType> kIntegers{at::kByte, at::kChar, at::kInt};

TEST(QuantizedIndexing, TakesAndPutsIntegers) {
  for (const at::ScalarType dtype : kIntegers) {
    const Tensor t = per_tensor({1, 5, 3, 20}, {2, 2}, 0.5, 3, dtype),
                 mask = tensor_of({1, 0, 1, 1}, {2, 2}, at::kBool);
    EXPECT_EQ(integers(at::index(t, {indices({1, 0})})), (Numbers{3, 20, 1, 5}));
    EXPECT_EQ(at::index(t, {indices({1, 0})}).q_zero_point(), 3);
    EXPECT_EQ(integers(at::index(t, {mask})), (Numbers{1, 3, 20}));
    EXPECT_EQ(integers(at::_unsafe_index(t, {std::nullopt, indices({1})})), (Numbers{5, 20}));
    const Tensor numbers = tensor_of({1, 2}, {2});
    EXPECT_EQ(integers(at::index_put(t, {indices({1})}, numbers)), (Numbers{1, 5, 5, 7}));
    EXPECT_EQ(integers(t), (Numbers{1, 5, 3, 20}));
    Tensor own = t.clone();
    own.index_put_({mask}, tensor_of({1.2}, {}));
    EXPECT_EQ(integers(own), (Numbers{5, 5, 5, 5}));
    EXPECT_EQ(own._version(), 1);
    own.index_put_({indices({1})}, tensor_of({1, 2}, {2}, at::kDouble));
    EXPECT_EQ(integers(own), (Numbers{5, 5, 5, 7}));
    at::_index_put_impl_(own, {indices({0})}, numbers);
    EXPECT_EQ(integers(own), (Numbers{5, 7, 5, 7}));
    expect_error<c10::Error>([&] { own.index_put_({indices({1})}, t[0]); }, "should not be quantized");
    expect_error<c10::Error>([&] { own.index_put_({indices({1})}, numbers, true); }, "accumulate=False");
    expect_error<c10::IndexError>([&] { own.index_put_({indices({2})}, numbers); }, "out of bounds");
  }
  expect_error<c10::Error>([&] { at::index(per_channel(), {indices({0})}); }, "per-Tensor");
  expect_error<c10::Error>([&] { at::index_put(per_channel(), {indices({0})}, at::ones({2})); }, "per tensor");
}

TEST(QuantizedReductions, OfADimension) {
  for (const at::ScalarType dtype : kIntegers) {
    const Tensor t = per_tensor({1, 5, 3, 20}, {2, 2}, 0.5, 3, dtype);
    EXPECT_EQ(integers(std::get<0>(t.max(1))), (Numbers{5, 20}));
    EXPECT_EQ(at::testing::values(std::get<1>(t.max(0, true))), (Numbers{1, 1}));
    EXPECT_EQ(std::get<0>(t.max(0, true)).sizes(), at::IntArrayRef({1, 2}));
    EXPECT_EQ(integers(std::get<0>(t.min(1))), (Numbers{1, 3}));
    EXPECT_EQ(std::get<0>(t.min(1)).q_scale(), 0.5);
    // Of -1, 1, 0 and 8.5.
    EXPECT_EQ(integers(t.std()), (Numbers{12}));
    EXPECT_EQ(integers(t.std(1)), (Numbers{6, 15}));
    EXPECT_EQ(integers(t.std(at::IntArrayRef{1}, false)), (Numbers{5, 11}));
    EXPECT_EQ(integers(at::std(t, at::IntArrayRef{0, 1}, at::Scalar(0), true)), (Numbers{10}));
  }
  expect_error<c10::Error>([&] { per_channel().max(1); }, "per tensor");
  expect_error<c10::Error>([&] { per_channel().std(); }, "per tensor");
}

TEST(QuantizedOperators, TakeAWeightOfTheirOwnDtype) {
  for (const at::ScalarType dtype : kIntegers) {
    const Tensor t = per_tensor({1, 5, 3, 20}, {2, 2}, 0.5, 3, dtype), weight = per_tensor({4}, {1}, 0.5, 3, dtype);
    EXPECT_EQ(integers(at::prelu(t, weight)), (Numbers{2, 5, 3, 20}));
    EXPECT_EQ(integers(at::_prelu_kernel(t, weight)), (Numbers{2, 5, 3, 20}));
    // -4 steps times -13 / 8 are 6.5 steps, halves to even.
    EXPECT_EQ(integers(at::prelu(per_tensor({2}, {1}, 0.1, 6, dtype), per_tensor({1}, {1}, 0.125, 14, dtype))),
              (Numbers{12}));
    expect_error<c10::Error>([&] { at::prelu(t, at::ones({1})); }, "Type promoting not supported");
  }
}

TEST(QuantizedImages, ArePooledAndResampled) {
  for (const at::ScalarType dtype : kIntegers) {
    const Tensor t = per_tensor({1, 5, 3, 20}, {1, 1, 1, 2, 2}, 0.5, 3, dtype);
    EXPECT_EQ(integers(at::_upsample_nearest_exact3d(t, {1, 3, 3})), (Numbers{1, 5, 5, 3, 20, 20, 3, 20, 20}));
    EXPECT_EQ(integers(at::max_pool3d(t, {1, 2, 1})), (Numbers{3, 20}));
    EXPECT_EQ(integers(at::max_pool1d(t.view({2, 2}), {2})), (Numbers{5, 20}));
    EXPECT_EQ(integers(at::channel_shuffle(t.view({1, 4, 1, 1}), 2)), (Numbers{1, 3, 5, 20}));
  }
  const Tensor image = per_tensor({1, 5, 3, 20}, {1, 1, 2, 2}),
               grid = tensor_of({-1, -1, 0.3, 0.4, 1, 1, 0.5, -2}, {1, 2, 2, 2});
  EXPECT_EQ(integers(at::grid_sampler(image, grid, 0, 0, false)), (Numbers{2, 15, 7, 3}));
  EXPECT_EQ(integers(at::grid_sampler(image, grid, 0, 0, true)), (Numbers{1, 11, 20, 4}));
  EXPECT_EQ(integers(at::grid_sampler(image, grid, 0, 1, false)), (Numbers{1, 15, 20, 5}));
  EXPECT_EQ(integers(at::grid_sampler(image, grid, 0, 2, false)), (Numbers{1, 15, 20, 12}));
  expect_error<c10::Error>([&] { at::grid_sampler_2d(image, grid, 1, 0, false); }, "only bilinear");
  expect_error<c10::NotImplementedError>(
      [&] {
        at::grid_sampler_2d(per_tensor({1, 5, 3, 20}, {1, 1, 2, 2}, 0.5, 3, at::kChar), grid, 0, 0, false);
      },
      "not implemented for 'QInt8'");
}

TEST(QuantizedResults, AreGiven) {
  const Tensor x = tensor_of({-1, 0.3, 2, 40}, {2, 2}), t = per_tensor({1, 5, 3, 20}, {2, 2});
  Tensor out = zeros_like({0});
  at::quantize_per_tensor_out(out, x, 0.5, 3, at::kQUInt8);
  EXPECT_EQ(integers(out), (Numbers{1, 4, 7, 83}));
  EXPECT_EQ(out.q_zero_point(), 3);
  EXPECT_EQ(out.sizes(), x.sizes());
  expect_error<c10::Error>([&] { at::quantize_per_tensor_out(out, x, 0.5, 3, at::kQInt8); },
                           "Expected out tensor to have dtype QInt8, but got QUInt8");
  Tensor dense = at::empty({2, 2});
  EXPECT_THROW(at::quantize_per_tensor_out(dense, x, 0.5, 3, at::kQInt8), c10::Error);
  at::quantize_per_tensor_out(out, x, tensor_of({0.25}, {}), tensor_of({2}, {}, at::kLong), at::kQUInt8);
  EXPECT_EQ(integers(out), (Numbers{0, 3, 10, 162}));
  std::vector<Tensor> outs{zeros_like({2, 2}), zeros_like({1})};
  at::quantize_per_tensor_out(outs, {x, x}, tensor_of({0.5, 1}, {2}), tensor_of({3, 0}, {2}, at::kLong), at::kQUInt8);
  EXPECT_EQ(integers(outs[1]), (Numbers{0, 0, 2, 40}));
  outs[1] = dense;
  const Numbers before = integers(outs[0]);
  EXPECT_THROW(at::quantize_per_tensor_out(outs, {t.dequantize(), x}, tensor_of({0.5, 1}, {2}),
                                           tensor_of({3, 0}, {2}, at::kLong), at::kQUInt8),
               c10::Error);
  EXPECT_EQ(integers(outs[0]), before);
  at::quantize_per_tensor_dynamic_out(out, x, at::kQUInt8, false);
  EXPECT_EQ(integers(out), (Numbers{0, 8, 18, 255}));
  at::quantize_per_channel_out(out, x, tensor_of({0.5, 1}, {2}), tensor_of({3, 0}, {2}, at::kLong), 0, at::kQUInt8);
  EXPECT_EQ(integers(out), (Numbers{1, 4, 2, 40}));
  EXPECT_EQ(out.q_per_channel_axis(), 0);
  at::_make_per_tensor_quantized_tensor_out(out, t.int_repr(), 0.5, 3);
  EXPECT_TRUE(at::equal(out, t));
  at::_make_per_channel_quantized_tensor_out(out, t.int_repr(), tensor_of({0.5, 1}, {2}),
                                             tensor_of({3, 0}, {2}, at::kLong), 1);
  EXPECT_EQ(at::testing::values(out.dequantize()), (Numbers{-1, 5, 0, 20}));
  at::_empty_affine_quantized_out(out, {3}, 2.0, 7);
  EXPECT_EQ(out.q_scale(), 2);
  at::_empty_per_channel_affine_quantized_out(out, {2}, tensor_of({0.5, 1}, {2}), tensor_of({3, 0}, {2}, at::kLong), 0);
  EXPECT_EQ(at::testing::values(out.q_per_channel_scales()), (Numbers{0.5, 1}));
  at::empty_quantized_out(out, {2, 1}, t);
  EXPECT_EQ(out.sizes(), at::IntArrayRef({2, 1}));
  EXPECT_EQ(out.q_scale(), 0.5);

  at::dequantize_out(dense, t);
  EXPECT_EQ(at::testing::values(dense), (Numbers{-1, 1, 0, 8.5}));
  Tensor bytes = at::empty({0}, at::kByte), doubles = at::empty({0}, at::kDouble), longs = at::empty({0}, at::kLong);
  EXPECT_EQ(at::testing::values(at::int_repr_out(bytes, t)), (Numbers{1, 5, 3, 20}));
  expect_error<c10::Error>([&] { at::int_repr_out(doubles, t); }, "Expected out tensor to have dtype Byte");
  EXPECT_EQ(at::testing::values(at::q_per_channel_scales_out(doubles, per_channel())), (Numbers{0.5, 0.25}));
  EXPECT_EQ(at::testing::values(at::q_per_channel_zero_points_out(longs, per_channel())), (Numbers{1, 0}));

  const Tensor image = t.view({1, 1, 2, 2});
  EXPECT_EQ(integers(at::quantized_max_pool1d_out(out, t, {2})), (Numbers{5, 20}));
  EXPECT_EQ(integers(at::quantized_max_pool2d_out(out, image, {2, 1})), (Numbers{3, 20}));
  EXPECT_EQ(integers(at::quantized_max_pool3d_out(out, image.unsqueeze(0), {1, 2, 1})), (Numbers{3, 20}));
  at::quantized_batch_norm_out(out, image, {}, {}, at::zeros({1}), at::ones({1}), 0, 0.25, 1);
  EXPECT_EQ(integers(out), (Numbers{0, 5, 1, 35}));
}

TEST(QuantizedResults, OfFunctionsAreGiven) {
  for (const at::ScalarType dtype : kIntegers) {
    const Tensor t = per_tensor({1, 5, 3, 20}, {2, 2}, 0.5, 3, dtype);
    Tensor out = zeros_like({2, 2}, dtype);
    EXPECT_EQ(integers(at::leaky_relu_out(out, t)), (Numbers{0, 1, 0, 8}));  // in its own steps
    EXPECT_EQ(out.q_scale(), 1);
    EXPECT_EQ(integers(at::hardtanh_out(out, t)), (Numbers{1, 5, 3, 5}));
    EXPECT_EQ(out.q_scale(), 0.5);
    EXPECT_TRUE(at::equal(at::hardsigmoid_out(out, t), at::hardsigmoid(t)));
    EXPECT_EQ(integers(at::max_out(out, t)), (Numbers{20}));
    EXPECT_EQ(out.dim(), 0);
    EXPECT_EQ(integers(at::min_out(out, t)), (Numbers{1}));
    EXPECT_EQ(integers(at::mean_out(out, t, at::IntArrayRef{1})), (Numbers{3, 12}));
    EXPECT_EQ(integers(at::std_out(out, t, at::IntArrayRef{1}, at::Scalar(1))), (Numbers{6, 15}));
    EXPECT_EQ(integers(at::reflection_pad1d_out(out, t, {1, 1})), (Numbers{5, 1, 5, 1, 20, 3, 20, 3}));
    EXPECT_EQ(integers(at::reflection_pad2d_out(out, t.unsqueeze(0), {1, 1, 0, 0})),
              (Numbers{5, 1, 5, 1, 20, 3, 20, 3}));
    EXPECT_EQ(integers(at::adaptive_avg_pool3d_out(out, t.view({1, 1, 1, 2, 2}), {1, 1, 1})), (Numbers{7}));
    EXPECT_EQ(integers(at::index_select_out(out, t, 0, indices({1}))), (Numbers{3, 20}));
    EXPECT_EQ(out.q_scale(), 0.5);
    Tensor joined = at::_make_per_tensor_quantized_tensor(at::zeros({0}, dtype), 1, 1);
    EXPECT_EQ(integers(at::cat_out(joined, {t, t})), (Numbers{0, 2, 1, 9, 0, 2, 1, 9}));
    EXPECT_EQ(joined.q_zero_point(), 1);
  }
}

TEST(QuantizedResults, OfNumbersAreGiven) {
  const Tensor x = tensor_of({-1, 0.27, 9}, {3}), scale = tensor_of({0.5}, {1}), zero = tensor_of({1}, {1}, at::kInt),
               on = tensor_of({1}, {1}, at::kLong);
  Tensor numbers = at::empty({0}), mask = at::empty({0}, at::kBool);
  const auto check = [&] {
    EXPECT_EQ(at::testing::values(numbers), (Numbers{-0.5, 0.5, 7}));
    EXPECT_EQ(at::testing::values(mask), (Numbers{0, 1, 0}));
    numbers.zero_();
    mask.zero_();
  };
  at::fake_quantize_per_tensor_affine_cachemask_out(numbers, mask, x, 0.5, 1, 0, 15);
  check();
  at::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams_out(numbers, mask, x, scale, zero, on, 0, 15);
  check();
  at::fake_quantize_per_channel_affine_cachemask_out(numbers, mask, x.reshape({1, 3}), scale, zero, 0, 0, 15);
  check();
  at::_fake_quantize_learnable_per_tensor_affine_out(numbers, x, scale, tensor_of({1}, {1}), 0, 15);
  EXPECT_EQ(at::testing::values(numbers), (Numbers{-0.5, 0.5, 7}));
  at::_fake_quantize_learnable_per_channel_affine_out(numbers, x.reshape({1, 3}), scale, tensor_of({1}, {1}), 0, 0, 15);
  EXPECT_EQ(at::testing::values(numbers), (Numbers{-0.5, 0.5, 7}));
  std::vector<Tensor> outs{at::empty({0}), at::empty({2, 2})};
  const Tensor t = per_tensor({1, 5, 3, 20}, {2, 2});
  at::dequantize_out(outs, {t, t});
  for (const Tensor& out : outs) EXPECT_EQ(at::testing::values(out), (Numbers{-1, 1, 0, 8.5}));
}

TEST(IntegersOfFewBits, ShareBytes) {
  const Tensor x = tensor_of({0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7}, {3, 5}),
               scales = tensor_of({0.5, 1, 2}, {3}), zeros = tensor_of({0, 1, 2}, {3});
  const Tensor four = at::quantize_per_channel(x, scales, zeros, 0, at::kQUInt4x2);
  EXPECT_EQ(four.scalar_type(), at::kQUInt4x2);
  EXPECT_EQ(four.storage().nbytes(), 9u);
  EXPECT_EQ(integers(four), (Numbers{16, 50, 68, 68, 101, 84, 85, 6}));
  EXPECT_EQ(at::testing::values(four.dequantize()), (Numbers{0, 0.5, 1, 1.5, 2, 3, 3, 3, 4, 5, 4, 6, 6, 6, 8}));
  EXPECT_EQ(at::testing::values(four[1].dequantize()), (Numbers{3, 3, 3, 4, 5}));
  EXPECT_EQ(at::testing::values(four.view({3, 5, 1}).dequantize()), at::testing::values(four.dequantize()));
  EXPECT_TRUE(at::equal(four, four.clone()));
  EXPECT_FALSE(at::equal(four, at::quantize_per_channel(x + 1, scales, zeros, 0, at::kQUInt4x2)));
  const Tensor two = at::quantize_per_channel(x, scales, zeros, 0, at::kQUInt2x4);
  EXPECT_EQ(integers(two), (Numbers{228, 255, 255, 63}));
  EXPECT_EQ(at::testing::values(two.dequantize().slice(0, 0, 1)), (Numbers{0, 0.5, 1, 1.5, 1.5}));
  EXPECT_EQ(integers(at::quantize_per_tensor(x.slice(1, 0, 4), 1, 0, at::kQUInt4x2)),
            (Numbers{0, 33, 50, 68, 101, 102}));
  EXPECT_EQ(integers(at::quantize_per_tensor(tensor_of({NAN, 99, -3}, {3}), 1, 2, at::kQUInt4x2)), (Numbers{240, 0}));
  EXPECT_EQ(at::_empty_affine_quantized({3, 5}, at::TensorOptions().dtype(at::kQUInt2x4), 1, 0).storage().nbytes(), 6u);
  expect_error<c10::Error>([&] { at::quantize_per_tensor(x, 1, 16, at::kQUInt4x2); }, "above upper bound");
  // Nothing else reads several integers as one.
  expect_error<c10::Error>([&] { four.view(at::kByte); }, "share a byte");
  expect_error<c10::Error>([&] { at::relu(at::quantize_per_tensor(x, 1, 0, at::kQUInt4x2)); }, "QUInt4x2");
  expect_error<c10::Error>([&] { at::quantize_per_tensor(x, 1, 0, at::kQUInt4x2).t().dequantize(); },
                           "must be contiguous");
}

TEST(FbgemmWeights, AreBytesOrHalves) {
  const Tensor w = tensor_of({0.1, -0.5, 0.3, 1.0, 0.2, -0.7, 0.05, 0.6, 0.9, -1.2, 0.4, 0.0}, {4, 3}),
               x = tensor_of({0.2, -0.9, 1.5, 0.4, 0.1, -0.3}, {2, 3}), bias = tensor_of({0.1, 0.2, 0.3, 0.4}, {4});
  const auto [q, offsets, scale, zero_point] = at::fbgemm_linear_quantize_weight(w);
  EXPECT_EQ(at::testing::values(q), (Numbers{23, -47, 46, 127, 34, -70, 17, 81, 115, -128, 57, 11}));
  EXPECT_EQ(at::testing::values(offsets), (Numbers{-11, 58, 180, -93}));
  EXPECT_NEAR(scale, 0.00862745102494955, 1e-12);
  EXPECT_EQ(zero_point, 11);
  const Tensor packed = at::fbgemm_pack_quantized_matrix(q);
  const Tensor expected =
      tensor_of({1.0244567394256592, -0.8272553086280823, 1.107285737991333, -0.1955985724925995,
                 -0.0008498199749737978, 0.836035966873169, 0.11324108392000198, -0.04424264654517174},
                {2, 4});
  expect_close(at::fbgemm_linear_int8_weight(x, q, packed, offsets, scale, zero_point, bias), expected, 1e-6, 1e-6);
  expect_close(at::fbgemm_linear_int8_weight_fp32_activation(x, q, at::fbgemm_pack_quantized_matrix(q, 3, 4), offsets,
                                                             scale, zero_point, bias),
               expected, 1e-6, 1e-6);
  expect_error<c10::Error>([&] { at::fbgemm_linear_int8_weight(x, q, packed, offsets, scale, 128, bias); },
                           "weight_zero_point within");
  expect_error<c10::Error>([&] { at::fbgemm_linear_int8_weight(x.t(), q, packed, offsets, scale, zero_point, bias); },
                           "expected an input [..., 3]");
  expect_error<c10::Error>([&] { at::fbgemm_linear_int8_weight(x, q, q, offsets, scale, zero_point, bias); },
                           "expected a packed weight");
  expect_error<c10::Error>([&] { at::fbgemm_pack_quantized_matrix(q, 3, 5); }, "3 x 5");
  expect_error<c10::Error>([&] { at::fbgemm_pack_quantized_matrix(q, int64_t{1} << 62, 4); }, "overflow");
  expect_error<c10::Error>([&] { at::fbgemm_linear_quantize_weight(q); }, "dtype Float");

  const Tensor halves = at::fbgemm_pack_gemm_matrix_fp16(w), rounded = w.to(at::kHalf).to(at::kFloat);
  expect_close(at::fbgemm_linear_fp16_weight(x, halves, bias), at::matmul(x, rounded.t()) + bias, 1e-6, 1e-6);
  expect_close(at::fbgemm_linear_fp16_weight_fp32_activation(x, halves, {}), at::matmul(x, rounded.t()), 1e-6, 1e-6);
  const Tensor far = at::fbgemm_pack_gemm_matrix_fp16(tensor_of({1e6, -1e6}, {2, 1}));
  EXPECT_EQ(at::testing::values(at::fbgemm_linear_fp16_weight_fp32_activation(at::ones({1, 1}), far, {})),
            (Numbers{65504, -65504}));
  expect_error<c10::Error>([&] { at::fbgemm_linear_fp16_weight(x, w, bias); }, "packed weight");
  expect_error<c10::Error>([&] { at::fbgemm_linear_fp16_weight(x, halves, at::ones({3})); }, "a bias");
}

// The cells, of weights that 8 bits hold, are those of numbers.
TEST(FbgemmWeights, MakeCells) {
  const auto weight = [](int64_t rows, int64_t columns, int64_t step) {
    return (at::remainder(at::arange(rows * columns) * step, 17) - 8).to(at::kFloat).reshape({rows, columns}) / 16;
  };
  const Tensor x = weight(2, 3, 5), h = weight(2, 2, 7), c = weight(2, 2, 3);
  const auto check = [&](int64_t gates, const auto& quantized, const auto& plain) {
    const Tensor wi = weight(2 * gates, 3, 3), wh = weight(2 * gates, 2, 5), bi = weight(1, 2 * gates, 2)[0],
                 bh = weight(1, 2 * gates, 4)[0];
    const auto [qi, oi, si, zi] = at::fbgemm_linear_quantize_weight(wi);
    const auto [qh, oh, sh, zh] = at::fbgemm_linear_quantize_weight(wh);
    expect_close(quantized(qi, qh, bi, bh, at::fbgemm_pack_quantized_matrix(qi), at::fbgemm_pack_quantized_matrix(qh),
                           oi, oh, si, sh, zi, zh),
                 plain(wi, wh, bi, bh), 0.02, 0.02);
  };
  for (const int part : {0, 1}) {
    const auto take = [part](const std::tuple<Tensor, Tensor>& both) {
      return part == 0 ? std::get<0>(both) : std::get<1>(both);
    };
    check(
        4,
        [&](const auto&... w) {
          return take(at::quantized_lstm_cell(x, {h, c}, w...));
        },
        [&](const auto&... w) {
          return take(at::lstm_cell(x, {h, c}, w...));
        });
  }
  check(
      3, [&](const auto&... w) { return at::quantized_gru_cell(x, h, w...); },
      [&](const auto&... w) { return at::gru_cell(x, h, w...); });
  check(
      1, [&](const auto&... w) { return at::quantized_rnn_relu_cell(x, h, w...); },
      [&](const auto&... w) { return at::rnn_relu_cell(x, h, w...); });
  check(
      1, [&](const auto&... w) { return at::quantized_rnn_tanh_cell(x, h, w...); },
      [&](const auto&... w) { return at::rnn_tanh_cell(x, h, w...); });
}

}  // namespace
