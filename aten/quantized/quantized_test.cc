// Quantized tensors.
#include <cmath>
#include <sstream>
#include <vector>

#include "aten/aten.h"
#include "aten/core/printing.h"
#include "aten/testing/testing.h"
#include "c10/parallel/parallel.h"
#include "gtest/gtest.h"

namespace {

using at::Tensor;
using at::testing::expect_close;
using at::testing::expect_error;
using at::testing::tensor_of;
using Numbers = std::vector<double>;

const std::vector<at::ScalarType> kDtypes{at::kQUInt8, at::kQInt8, at::kQInt32};

Numbers integers(const Tensor& t) {
  return at::testing::values(t.int_repr());
}
Tensor per_tensor(const Numbers& q, at::IntArrayRef sizes, double scale = 0.5, int64_t zero_point = 3,
                  at::ScalarType dtype = at::kByte) {
  return at::_make_per_tensor_quantized_tensor(tensor_of(q, sizes, dtype), scale, zero_point);
}
Tensor per_channel(int64_t axis = 0) {
  return at::quantize_per_channel(tensor_of({1, -2, 3, 4}, {2, 2}), tensor_of({0.5, 0.25}, {2}),
                                  tensor_of({1, 0}, {2}, at::kLong), axis, at::kQInt8);
}

// Long enough for whole vectors and for what is left over; by the rule itself.
TEST(Quantize, TreatsAllElementsOfARowAlike) {
  Numbers x;
  for (int i = 0; i < 77; ++i) x.push_back((i - 38) * 0.25 * (i % 5 + 1));
  x[70] = NAN, x[71] = INFINITY, x[72] = -INFINITY;
  const auto round_one = [](double v, double scale, double zero, double least, double most) {
    const double q = std::nearbyint(v / scale) + zero;
    return std::isnan(q) ? least : std::min(std::max(q, least), most);
  };
  for (const at::ScalarType dtype : {at::kQUInt8, at::kQInt8}) {
    const double least = dtype == at::kQUInt8 ? 0 : -128, most = least + 255;
    for (const double zero : {3.0, -1000.0, 20000000.0, -9223372036854775808.0}) {
      Numbers expected, numbers;
      for (const double v : x) {
        expected.push_back(round_one(v, 0.5, zero, least, most));
        numbers.push_back(static_cast<float>(expected.back() - zero) * 0.5);
      }
      const Tensor none = at::zeros({77}, dtype == at::kQUInt8 ? at::kByte : at::kChar);
      Tensor q = at::_make_per_tensor_quantized_tensor(none, 0.5, static_cast<int64_t>(zero));
      q.copy_(tensor_of(x, {77}));
      EXPECT_EQ(integers(q), expected);
      EXPECT_EQ(at::testing::values(q.dequantize()), numbers);
    }
    // A channel each of seven, side by side, and of eleven.
    for (const int64_t axis : {int64_t{0}, int64_t{1}}) {
      const int64_t channels = axis == 0 ? 11 : 7;
      Numbers scales, zeros, expected;
      for (int64_t c = 0; c < channels; ++c) {
        scales.push_back(0.25 * static_cast<double>(1 << c % 3));
        zeros.push_back(static_cast<double>(c));
      }
      for (int64_t i = 0; i < 77; ++i) {
        const auto c = static_cast<size_t>(axis == 0 ? i / 7 : i % 7);
        expected.push_back(round_one(x[static_cast<size_t>(i)], scales[c], zeros[c], least, most));
      }
      const Tensor q = at::quantize_per_channel(tensor_of(x, {11, 7}), tensor_of(scales, {channels}),
                                                tensor_of(zeros, {channels}, at::kLong), axis, dtype);
      EXPECT_EQ(integers(q), expected);
    }
  }
  // Differences of 32-bit integers from their zero point are exact before they are floats.
  const Tensor far = per_tensor({16777217, -2147483648.0, 5}, {3}, 1, 16777216, at::kInt);
  EXPECT_EQ(at::testing::values(far.dequantize()), (Numbers{1, -2164260864.0, -16777211}));
}

// Channels far apart and side by side, few and many, in the parts of several threads.
TEST(Quantize, ChannelsLieInAnyWay) {
  const int before = at::get_num_threads();
  at::set_num_threads(3);
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{1, 4000, 9}, {20, 2000, 1}, {20000, 3, 1}, {50, 30, 31}, {2, 800, 33}}) {
    const int64_t channels = sizes[1];
    const Tensor index = at::arange(channels), scales = at::pow(2, at::remainder(index, 3)).to(at::kFloat) / 4,
                 zeros = at::remainder(index, 11), x = at::remainder(at::arange(sizes[0] * channels * sizes[2]), 41)
                                                           .to(at::kFloat)
                                                           .reshape(sizes);
    const std::vector<int64_t> along{1, channels, 1};
    const Tensor expected = at::round(x / scales.reshape(along)) + zeros.reshape(along);
    const Tensor q = at::quantize_per_channel(x, scales, zeros, 1, at::kQUInt8);
    EXPECT_TRUE(at::equal(q.int_repr(), expected.to(at::kByte))) << x.sizes();
    const Tensor numbers = (expected - zeros.reshape(along)) * scales.reshape(along);
    EXPECT_TRUE(at::equal(q.dequantize(), numbers)) << x.sizes();
  }
  at::set_num_threads(before);
}

// Of many integers a function is called once for each of 256; of few for each element.
TEST(Quantize, FunctionsOfManyElementsAreThoseOfFew) {
  Numbers x;
  for (int i = 0; i < 1500; ++i) x.push_back((i % 300 - 150) * 0.05);
  for (const at::ScalarType dtype : {at::kQUInt8, at::kQInt8}) {
    const Tensor q = at::quantize_per_tensor(tensor_of(x, {30, 50}), 0.05, 5, dtype);
    const auto check = [&](const auto& f) {
      const Tensor whole = f(q), turned = f(q.t());
      EXPECT_EQ(integers(turned.t()), integers(whole));
      Numbers rows;
      for (int64_t r = 0; r < 30; ++r) {
        for (const double v : integers(f(q.slice(0, r, r + 1)))) rows.push_back(v);
      }
      EXPECT_EQ(integers(whole), rows);
    };
    check([](const Tensor& t) { return at::sigmoid(t); });
    check([](const Tensor& t) { return at::tanh(t); });
    check([](const Tensor& t) { return at::hardsigmoid(t); });
    check([](const Tensor& t) { return at::leaky_relu(t, 0.3); });
    check([](const Tensor& t) { return at::gelu(t); });
    check([](const Tensor& t) { return at::threshold(t, 0.5, 2); });
    check([](const Tensor& t) { return at::hardtanh(t, -1, 2); });
    // Sums are exact; strided ones are taken as numbers.
    double sum = 0, row_sum = 0;
    for (const double v : integers(q)) sum += v;
    for (const double v : integers(q.select(0, 29))) row_sum += v;
    EXPECT_EQ(integers(q.mean()), Numbers{std::nearbyint(sum / 1500)});
    const Tensor means = q.mean({1}, true);
    EXPECT_EQ(means.sizes(), at::IntArrayRef({30, 1}));
    EXPECT_EQ(integers(means)[29], std::nearbyint(row_sum / 50));
    // Channels first, last, and with gaps.
    const Tensor image = q.reshape({2, 3, 10, 25}), wide = at::cat({image, image}, 3);
    const Tensor w = tensor_of({1, -2, 0.5}, {3}), b = tensor_of({0.5, 0, -1}, {3}), v = tensor_of({1, 4, 2}, {3});
    const auto norm = [&](const Tensor& t) { return at::quantized_batch_norm(t, w, b, b, v, 1e-5, 0.07, 9); };
    const Tensor expected = norm(wide.slice(3, 0, 25));
    EXPECT_EQ(integers(norm(image)), integers(expected));
    EXPECT_EQ(integers(norm(image.contiguous(at::MemoryFormat::ChannelsLast)).contiguous()), integers(expected));
    const Tensor larger = at::upsample_nearest2d(image, {20, 50});
    EXPECT_EQ(integers(larger.slice(2, 0, 20, 2).slice(3, 1, 50, 2)), integers(image));
  }
}

TEST(Quantize, RoundsToTheNearestIntegerWithinTheRange) {
  const Tensor x = tensor_of({-1000, -0.25, 0.25, 0.75, 0.3, 1000, NAN}, {7});
  const Numbers expected[] = {
      {0, 3, 3, 5, 4, 255, 0}, {-128, 3, 3, 5, 4, 127, -128}, {-1997, 3, 3, 5, 4, 2003, -2147483648.}};
  for (size_t i = 0; i < kDtypes.size(); ++i) {
    const Tensor q = at::quantize_per_tensor(x, 0.5, 3, kDtypes[i]);
    EXPECT_EQ(q.scalar_type(), kDtypes[i]);
    EXPECT_TRUE(q.is_quantized());
    EXPECT_EQ(integers(q), expected[i]);
    EXPECT_EQ(q.q_scale(), 0.5);
    EXPECT_EQ(q.q_zero_point(), 3);
    EXPECT_EQ(q.qscheme(), c10::kPerTensorAffine);
  }
  EXPECT_EQ(at::testing::values(at::quantize_per_tensor(x, 0.5, 3, at::kQInt8).dequantize().slice(0, 1, 6)),
            (Numbers{0, 0, 1, 0.5, 62}));
  const Tensor c = per_channel();
  EXPECT_EQ(integers(c), (Numbers{3, -3, 12, 16}));
  EXPECT_EQ(at::testing::values(c.dequantize()), (Numbers{1, -2, 3, 4}));
  EXPECT_EQ(c.q_per_channel_axis(), 0);
  EXPECT_EQ(at::testing::values(c.q_per_channel_scales()), (Numbers{0.5, 0.25}));
  EXPECT_EQ(integers(per_channel(1)), (Numbers{3, -8, 7, 16}));
  // Strided numbers, none, and lists.
  EXPECT_EQ(integers(at::quantize_per_tensor(tensor_of({1, 2, 3, 4}, {2, 2}).t(), 1, 0, at::kQUInt8)),
            (Numbers{1, 3, 2, 4}));
  EXPECT_EQ(at::quantize_per_tensor(at::empty({0, 2}), 1, 0, at::kQUInt8).dequantize().sizes(),
            at::IntArrayRef({0, 2}));
  const auto both =
      at::quantize_per_tensor({x, x}, tensor_of({0.5, 1}, {2}), tensor_of({3, 0}, {2}, at::kLong), at::kQUInt8);
  EXPECT_EQ(both[1].q_scale(), 1);
  EXPECT_EQ(at::testing::values(at::dequantize(both)[1]), at::testing::values(both[1].dequantize()));
  const Tensor dynamic = at::quantize_per_tensor_dynamic(tensor_of({-1, 1.55}, {2}), at::kQInt8, false);
  EXPECT_EQ(integers(dynamic), (Numbers{-128, 127}));
  EXPECT_EQ(dynamic.q_zero_point(), -28);
}

TEST(QuantizedTensors, HaveViewsWithTheirQuantizer) {
  const Tensor t = per_tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  for (const Tensor& v : {t.view({6}), t.reshape({3, 2}), t.t(), t.permute({1, 0}), t.transpose(0, 1), t[0],
                          t.select(1, 2), t.slice(1, 1), t.unsqueeze(0), t.squeeze(), t.expand({2, 2, 3}), t.flatten(),
                          t.unbind()[1], t.chunk(2)[0], t.detach(), t.alias()}) {
    EXPECT_TRUE(v.is_quantized());
    EXPECT_TRUE(v.is_alias_of(t));
    EXPECT_EQ(v.q_scale(), 0.5);
    EXPECT_EQ(v.q_zero_point(), 3);
  }
  EXPECT_EQ(integers(t.t()), (Numbers{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(at::testing::values(t.t().dequantize()), (Numbers{-1, 0.5, -0.5, 1, 0, 1.5}));
  EXPECT_EQ(integers(t.repeat({1, 2})), (Numbers{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
  Tensor written = t.clone();
  written[0].fill_(1.0);
  EXPECT_EQ(integers(written), (Numbers{5, 5, 5, 4, 5, 6}));
  EXPECT_GT(written._version(), 0);
  EXPECT_EQ(t._version(), 0);
  written.unsqueeze_(0);
  EXPECT_EQ(written.squeeze_().sizes(), t.sizes());

  const Tensor c = per_channel();
  EXPECT_EQ(c[1].q_scale(), 0.25);
  EXPECT_EQ(at::testing::values(c[1].dequantize()), (Numbers{3, 4}));
  EXPECT_EQ(at::testing::values(c.slice(0, 1).dequantize()), (Numbers{3, 4}));
  EXPECT_EQ(c.slice(0, 1).qscheme(), c10::kPerTensorAffine);
  EXPECT_EQ(at::testing::values(c.unsqueeze(0).dequantize()), (Numbers{1, -2, 3, 4}));
  EXPECT_EQ(c.unsqueeze(0).q_per_channel_axis(), 1);
  EXPECT_EQ(c.unsqueeze(0).squeeze().q_per_channel_axis(), 0);
  expect_error<c10::Error>([&] { c.t(); }, "uniformly quantized");
  // A view may have more channels than scales.
  expect_error<c10::IndexError>([&] { c.view({4}).select(0, 3); }, "out of range");
}

TEST(QuantizedTensors, AreResampledWithinTheirEdges) {
  const Tensor image = per_tensor({1, 2, 3, 4}, {1, 1, 2, 2});
  // Scales that lead far beyond the last element, as those of a larger image.
  for (const double scale : {1e-6, 1e-30}) {
    const Tensor large = at::upsample_bilinear2d(image, {3, 3}, false, scale, scale);
    EXPECT_EQ(integers(large), (Numbers{4, 4, 4, 4, 4, 4, 4, 4, 4})) << scale;
  }
}

TEST(QuantizedTensors, KeepTheirQuantizerWhereAnAssignmentFails) {
  Tensor wide = per_tensor({1, 2}, {2, 1}).expand({2, 3});
  EXPECT_THROW(at::hardsigmoid_(wide), c10::Error);
  EXPECT_EQ(wide.q_scale(), 0.5);
}

TEST(QuantizedTensors, AreCopiedAndCompared) {
  const Tensor t = per_tensor({1, 2, 3, 4}, {2, 2});
  EXPECT_TRUE(at::equal(t, t.clone()));
  EXPECT_FALSE(at::equal(t, per_tensor({1, 2, 3, 4}, {2, 2}, 0.25)));
  EXPECT_FALSE(at::equal(t, t.dequantize()));
  EXPECT_TRUE(at::equal(per_channel(), per_channel().clone()));
  Tensor copy = at::empty_like(t);
  EXPECT_EQ(copy.q_zero_point(), 3);
  copy.copy_(tensor_of({0, 1, 2, 3}, {2, 2}));
  EXPECT_EQ(integers(copy), (Numbers{3, 5, 7, 9}));
  copy.copy_(per_tensor({9, 8, 7, 6}, {2, 2}, 2, 1));
  EXPECT_EQ(copy.q_scale(), 2);
  EXPECT_EQ(integers(copy), (Numbers{9, 8, 7, 6}));
  EXPECT_EQ(at::testing::values(t.lt(per_tensor({9, 9, 9, 9}, {2, 2}, 0.01, 5))), (Numbers{1, 1, 1, 0}));
  EXPECT_EQ(at::testing::values(t.ge(0.0)), (Numbers{0, 0, 1, 1}));
  EXPECT_EQ(t[1][1].item<float>(), 0.5f);
  EXPECT_EQ(integers(at::empty_quantized({2}, t).fill_(0.25)), (Numbers{3, 3}));
  EXPECT_EQ(at::_empty_affine_quantized({2}, at::TensorOptions().dtype(at::kQInt32), 0.1, 7).q_zero_point(), 7);
}

TEST(QuantizedTensors, ComputeInTheirIntegers) {
  for (const at::ScalarType dtype : {at::kByte, at::kChar, at::kInt}) {
    const Tensor t = per_tensor({1, 5, 3, 20}, {2, 2}, 0.5, 3, dtype);
    EXPECT_EQ(integers(at::relu(t)), (Numbers{3, 5, 3, 20}));
    EXPECT_EQ(integers(at::relu6(t)), (Numbers{3, 5, 3, 15}));
    EXPECT_EQ(integers(at::hardtanh(t)), (Numbers{1, 5, 3, 5}));
    EXPECT_EQ(integers(t.clamp(-0.5, 2)), (Numbers{2, 5, 3, 7}));
    EXPECT_EQ(integers(at::leaky_relu(t, 0.5)), (Numbers{2, 5, 3, 20}));
    EXPECT_EQ(integers(at::threshold(t, 0.9, 0)), (Numbers{3, 5, 3, 20}));
    EXPECT_EQ(integers(t.max()), (Numbers{20}));
    EXPECT_EQ(integers(t.min()), (Numbers{1}));
    EXPECT_EQ(integers(t.mean()), (Numbers{7}));
    EXPECT_EQ(integers(t.mean(1)), (Numbers{3, 12}));
    EXPECT_EQ(integers(t.mean(0)), (Numbers{2, 13}));
    EXPECT_EQ(integers(std::get<0>(t.sort(1, true))), (Numbers{5, 1, 20, 3}));
    EXPECT_EQ(at::testing::values(t.argsort()), (Numbers{0, 1, 0, 1}));
    EXPECT_EQ(integers(std::get<0>(t.topk(1))), (Numbers{5, 20}));
    EXPECT_EQ(integers(t.flip({0})), (Numbers{3, 20, 1, 5}));
    EXPECT_EQ(integers(t.index_select(0, tensor_of({1}, {1}, at::kLong))), (Numbers{3, 20}));
    EXPECT_EQ(integers(t.masked_fill(t.gt(0), 0.5)), (Numbers{1, 4, 3, 4}));
    EXPECT_EQ(integers(at::cat({t, per_tensor({2, 4}, {1, 2}, 0.25, 2, dtype)})), (Numbers{1, 5, 3, 20, 3, 4}));
    EXPECT_EQ(integers(at::stack({t, t})).size(), 8u);
    EXPECT_EQ(integers(at::constant_pad_nd(t, {1, 0}, 1)), (Numbers{5, 1, 5, 5, 3, 20}));
    const Tensor image = t.reshape({1, 1, 2, 2});
    EXPECT_EQ(integers(at::avg_pool2d(image, {2, 2})), (Numbers{7}));
    EXPECT_EQ(integers(at::adaptive_avg_pool2d(image, {1, 1})), (Numbers{7}));
    EXPECT_EQ(integers(at::max_pool2d(image, {2, 1})), (Numbers{3, 20}));
    EXPECT_EQ(integers(at::upsample_nearest2d(image, {2, 4})), (Numbers{1, 1, 5, 5, 3, 3, 20, 20}));
    EXPECT_EQ(integers(at::upsample_bilinear2d(image, {2, 3}, true)), (Numbers{1, 3, 5, 3, 11, 20}));
    EXPECT_EQ(integers(at::reflection_pad1d(t.reshape({1, 4}), {1, 1})), (Numbers{5, 1, 5, 3, 20, 3}));
  }
  Tensor t = per_tensor({3, 5}, {2});
  EXPECT_EQ(integers(at::sigmoid(t)), (Numbers{128, 187}));
  EXPECT_EQ(at::tanh(t).q_zero_point(), 128);
  at::hardsigmoid_(t);
  EXPECT_EQ(t.q_scale(), 1.0 / 256);
  EXPECT_EQ(integers(t), (Numbers{128, 171}));
}

TEST(QuantizedTensors, PrintTheirNumbers) {
  std::ostringstream text;
  text << at::quantize_per_tensor(tensor_of({0, 1, 2.5}, {3}), 0.5, 10, at::kQUInt8);
  EXPECT_EQ(text.str(),
            " 0.0000\n 1.0000\n 2.5000\n[ QuantizedCPUQUInt8Type{3}, qscheme: per_tensor_affine, scale: 0.5, "
            "zero_point: 10 ]");
}

TEST(QuantizedTensors, RefuseWhatTheyCannot) {
  const Tensor t = per_tensor({1, 2}, {2}), x = tensor_of({1, 2}, {2});
  expect_error<c10::Error>([&] { at::quantize_per_tensor(x, 0.1, 256, at::kQUInt8); },
                           "quantize_tensor_per_tensor_affine zero_point 256 is above upper bound.");
  expect_error<c10::Error>([&] { at::quantize_per_tensor(x.to(at::kDouble), 0.1, 0, at::kQUInt8); }, "Float Tensor");
  expect_error<c10::Error>([&] { at::quantize_per_tensor(x, 0.1, 0, at::kInt); }, "expected a quantized dtype");
  expect_error<c10::Error>([&] { at::quantize_per_channel(x, x, x.to(at::kLong), 1, at::kQInt8); },
                           "axis out of range");
  const Tensor unknown = tensor_of({NAN, 1}, {2});
  expect_error<c10::Error>([&] { at::quantize_per_tensor_dynamic(unknown, at::kQUInt8, false); },
                           "min should be less than or equal to max");
  expect_error<c10::Error>([&] { at::_choose_qparams_per_tensor(unknown); }, "min should be less than or equal to max");
  expect_error<c10::Error>([&] { t.q_per_channel_axis(); }, "kPerChannelAffine");
  expect_error<c10::Error>([&] { per_channel().q_scale(); }, "kPerTensorAffine");
  expect_error<c10::NotImplementedError>([&] { x.q_scale(); }, "Could not run 'q_scale'");
  expect_error<c10::NotImplementedError>([&] { t.exp(); }, "'QuantizedCPU' backend");
  expect_error<c10::Error>([&] { t.to(at::kFloat); }, "requires quantized dtype");
  expect_error<c10::Error>([&] { Tensor(x).copy_(t); }, "please use dequantize");
  expect_error<c10::Error>([&] { Tensor(t).copy_(x.to(at::kDouble)); }, "kFloat as source");
  expect_error<c10::Error>([&] { at::cat({t, x}); }, "expected quantized tensors of the same dtype");
}

}  // namespace
