// Views of tensors that are quantized per channel: their channels' scales and zero points go along, or they are
// refused.
#include <vector>

#include "aten/aten.h"
#include "aten/testing/testing.h"
#include "gtest/gtest.h"

namespace {

using at::Tensor;
using at::testing::expect_error;
using at::testing::tensor_of;
using Numbers = std::vector<double>;

// Channel c has scale 2^c / 4 and zero point c; halves of floats as zero points where `halves`.
Tensor channels(at::IntArrayRef sizes, int64_t axis, bool halves = false) {
  Numbers scales, zeros;
  for (int64_t c = 0; c < sizes[static_cast<size_t>(axis)]; ++c) {
    scales.push_back(0.25 * static_cast<double>(1 << c));
    zeros.push_back(static_cast<double>(c) + (halves ? 0.5 : 0));
  }
  int64_t numel = 1;
  for (const int64_t size : sizes) numel *= size;
  const int64_t count = sizes[static_cast<size_t>(axis)];
  const Tensor integers = at::arange(numel, at::kLong).to(at::kByte).reshape(sizes);
  return at::_make_per_channel_quantized_tensor(integers, tensor_of(scales, {count}, at::kDouble),
                                                tensor_of(zeros, {count}, halves ? at::kFloat : at::kLong), axis);
}

// A view has the numbers that the same view of the numbers has.
template <class F>
void expect_numbers_of(const Tensor& t, const F& view) {
  const Tensor expected = view(t.dequantize()), got = view(t);
  ASSERT_TRUE(got.is_quantized());
  EXPECT_TRUE(got.is_alias_of(t));
  EXPECT_EQ(got.sizes(), expected.sizes());
  EXPECT_EQ(at::testing::values(got.dequantize()), at::testing::values(expected));
}

TEST(ViewsOfChannels, PiecesHaveTheirOwnChannels) {
  for (const int64_t axis : {0, 1, 2}) {
    const Tensor t = channels({4, 5, 3}, axis), turned = t.unsqueeze(0).select(0, 0);
    for (const Tensor& x : {t, turned}) {
      for (const int64_t dim : {0, 1, 2, -1, -2}) {
        for (const int64_t piece : {0, 1}) {
          const auto at = static_cast<size_t>(piece);
          expect_numbers_of(x, [&](const Tensor& v) { return v.split(2, dim)[at]; });
          expect_numbers_of(x, [&](const Tensor& v) { return v.chunk(2, dim)[at]; });
          expect_numbers_of(x, [&](const Tensor& v) { return v.tensor_split(3, dim)[at]; });
          expect_numbers_of(x, [&](const Tensor& v) { return v.tensor_split({1, 2}, dim)[at]; });
          expect_numbers_of(x, [&](const Tensor& v) { return v.split_with_sizes({1, v.size(dim) - 1}, dim)[at]; });
          expect_numbers_of(x, [&](const Tensor& v) { return v.unbind(dim)[at]; });
        }
        expect_numbers_of(x, [&](const Tensor& v) { return v.narrow(dim, 1, 2); });
        expect_numbers_of(x, [&](const Tensor& v) { return v.slice(dim, 0, 9, 2); });
        expect_numbers_of(x, [&](const Tensor& v) { return v.select(dim, -1); });
        expect_numbers_of(x, [&](const Tensor& v) { return v.unsqueeze(dim); });
      }
      expect_numbers_of(x, [](const Tensor& v) { return v.hsplit(std::vector<int64_t>{1})[1]; });
      expect_numbers_of(x, [](const Tensor& v) { return v.vsplit(2)[1]; });
      expect_numbers_of(x, [](const Tensor& v) { return v.dsplit(3)[2]; });
      expect_numbers_of(x, [](const Tensor& v) { return v.unsqueeze(1).squeeze(1); });
      expect_numbers_of(x, [](const Tensor& v) { return v.unsqueeze(0).unsqueeze(2).squeeze({0, 2}); });
      expect_numbers_of(x, [](const Tensor& v) { return v.unsqueeze(0).unsqueeze(2).squeeze(); });
    }
  }
  EXPECT_EQ(at::testing::values(at::unsafe_split(channels({4, 2}, 0), 3, 0)[1].dequantize()), (Numbers{6, 8}));
  // A single channel is quantized as a whole.
  const std::vector<Tensor> parts = channels({3, 2}, 0).split_with_sizes({1, 2}, 0);
  EXPECT_EQ(parts[0].qscheme(), c10::kPerTensorAffine);
  EXPECT_EQ(at::testing::values(parts[1].q_per_channel_scales()), (Numbers{0.5, 1}));
  EXPECT_EQ(at::testing::values(parts[1].q_per_channel_zero_points()), (Numbers{1, 2}));
  // Float zero points stay floats, where they are integers a channel has one.
  const Tensor halves = channels({4, 2}, 0, true);
  EXPECT_EQ(at::testing::values(halves.split(2)[1].q_per_channel_zero_points()), (Numbers{2.5, 3.5}));
  expect_numbers_of(halves, [](const Tensor& v) { return v.split(3)[1]; });
  expect_error<c10::Error>([&] { halves.select(0, 1); }, "no integer");
  EXPECT_EQ(channels({3, 2}, 0).narrow(0, 1, 0).dequantize().sizes(), at::IntArrayRef({0, 2}));
}

TEST(ViewsOfChannels, ReshapedOnesKeepTheirChannelsWhereADimensionHasThem) {
  const Tensor t = channels({2, 4, 3}, 1);
  for (const at::DimVector& sizes :
       std::vector<at::DimVector>{{2, 4, 3, 1}, {1, 2, 4, 3}, {2, 1, 4, 1, 3}, {1, 1, 2, 4, 3}}) {
    expect_numbers_of(t, [&](const Tensor& v) { return v.view(sizes); });
    expect_numbers_of(t, [&](const Tensor& v) { return v.reshape(sizes); });
  }
  const Tensor first = channels({4, 2, 3}, 0), last = channels({2, 3, 4}, 2);
  expect_numbers_of(first, [](const Tensor& v) { return v.flatten(1); });
  expect_numbers_of(first, [](const Tensor& v) { return v.view({4, 3, 2}); });
  expect_numbers_of(last, [](const Tensor& v) { return v.flatten(0, 1); });
  expect_numbers_of(last, [](const Tensor& v) { return v.view({3, 2, 4}); });
  expect_numbers_of(channels({1, 4}, 0), [](const Tensor& v) { return v.flatten(); });
  EXPECT_EQ(channels({1, 4}, 0).flatten().qscheme(), c10::kPerTensorAffine);
  // As PyTorch's, a shape without the channels keeps the quantizer, and its numbers are refused.
  const Tensor flat = first.flatten();
  EXPECT_EQ(flat.q_per_channel_axis(), 0);
  EXPECT_EQ(flat.q_per_channel_scales().numel(), 4);
  expect_error<c10::Error>([&] { flat.dequantize(); }, "length of scales");
  expect_error<c10::Error>([&] { flat.slice(0, 0, 8); }, "length of scales");
  expect_error<c10::Error>([&] { flat.split(2); }, "length of scales");
  expect_error<c10::IndexError>([&] { flat.select(0, 5); }, "out of range");
}

TEST(ViewsOfChannels, AreRefusedWhereChannelsWouldBeTorn) {
  const Tensor t = channels({4, 3}, 0);
  const auto refuse = [](const auto& view) {
    expect_error<c10::Error>([&] { view(); }, "only on uniformly quantized tensor");
  };
  refuse([&] { t.transpose(0, 1); });
  refuse([&] { t.t(); });
  refuse([&] { t.permute({1, 0}); });
  refuse([&] { t.movedim(0, 1); });
  refuse([&] { t.swapaxes(0, 1); });
  refuse([&] { t.unfold(0, 2, 1); });
  refuse([&] { t.unfold(1, 2, 1); });
  refuse([&] { t.diagonal(); });
  refuse([&] { t.expand({2, 4, 3}); });
  refuse([&] { t.as_strided({2}, {1}); });
  refuse([&] { t.clone().as_strided_({2}, {1}); });
  for (const int64_t axis : {0, 1}) {
    const Tensor single = axis == 0 ? channels({1, 4}, 0) : channels({4, 1}, 1);
    const std::string message = "only possible on non-axis dimension";
    expect_error<c10::Error>([&] { single.squeeze(); }, message);
    expect_error<c10::Error>([&] { single.squeeze(axis); }, message);
    expect_error<c10::Error>([&] { single.squeeze({0, 1}); }, message);
    expect_error<c10::Error>([&] { single.clone().squeeze_(); }, message);
    expect_error<c10::Error>([&] { single.clone().squeeze_(axis); }, message);
    expect_error<c10::Error>([&] { single.clone().squeeze_({0, 1}); }, message);
    EXPECT_EQ(single.squeeze(1 - axis).sizes(), single.sizes());
  }
  Tensor own = t.clone();
  expect_error<c10::Error>([&] { own.resize_({2, 3}); }, "per-tensor schemes");
  expect_error<c10::Error>([&] { own.resize_as_(at::zeros({2, 3})); }, "per-tensor schemes");
  expect_error<c10::Error>([&] { own.set_(channels({2, 3}, 0)); }, "set_: length of scales");
  expect_error<c10::Error>([&] { own.set_(); }, "set_: length of scales");
  expect_error<c10::Error>([&] { own.set_(t.storage(), 0, {12}, {1}); }, "set_: length of scales");
  EXPECT_EQ(at::testing::values(own.dequantize()), at::testing::values(t.dequantize()));
  expect_error<c10::Error>([&] { own.copy_(channels({1, 3}, 0)); }, "copy_: length of scales");
  expect_error<c10::Error>([&] { at::empty_quantized({3}, t); }, "empty_quantized: length of scales");
  expect_error<c10::Error>([&] { t.view(at::kQInt8); }, "cannot be viewed as QInt8");
  EXPECT_EQ(at::testing::values(t.view(at::kByte)), at::testing::values(t.int_repr()));
}

TEST(ViewsOfChannels, InPlaceMoveTheChannels) {
  const auto check = [](const Tensor& t, const auto& change) {
    Tensor own = t.clone(), numbers = t.dequantize();
    change(own);
    change(numbers);
    EXPECT_EQ(own.sizes(), numbers.sizes());
    EXPECT_EQ(at::testing::values(own.dequantize()), at::testing::values(numbers));
    EXPECT_GT(own._version(), 0);
  };
  for (const int64_t axis : {0, 1, 2}) {
    const Tensor t = channels({2, 3, 4}, axis);
    check(t, [](Tensor& v) { v.transpose_(0, 2); });
    check(t, [](Tensor& v) { v.transpose_(-2, 2); });
    check(t, [](Tensor& v) { v.unsqueeze_(1).squeeze_(1); });
    check(t, [](Tensor& v) { v.unsqueeze_(0).unsqueeze_(0).squeeze_({0, 1}); });
    check(t, [](Tensor& v) { v.unsqueeze_(-1).squeeze_(); });
  }
  check(channels({2, 3}, 0), [](Tensor& v) { v.t_(); });
  check(channels({2, 3}, 1), [](Tensor& v) { v.t_(); });
  check(channels({3}, 0), [](Tensor& v) { v.t_(); });
}

TEST(ViewsOfOneScale, AreAllViews) {
  const Tensor t = at::_make_per_tensor_quantized_tensor(at::arange(24).to(at::kByte).reshape({2, 3, 4}), 0.5, 3);
  expect_numbers_of(t, [](const Tensor& v) { return v.unfold(2, 2, 1); });
  expect_numbers_of(t, [](const Tensor& v) { return v.diagonal(1, 0, 2); });
  expect_numbers_of(t, [](const Tensor& v) { return v.movedim(0, 2); });
  expect_numbers_of(t, [](const Tensor& v) { return v.split(2, 1)[1]; });
  expect_numbers_of(t, [](const Tensor& v) { return v.unsqueeze(0).squeeze({0}); });
  Tensor own = t.clone();
  own.resize_({3});
  EXPECT_EQ(at::testing::values(own.dequantize()), (Numbers{-1.5, -1, -0.5}));
  own.set_(t.storage(), 1, {2}, {1});
  EXPECT_EQ(at::testing::values(own.dequantize()), (Numbers{-1, -0.5}));
  own.as_strided_({2}, {2}, 0);
  EXPECT_EQ(at::testing::values(own.dequantize()), (Numbers{-1.5, -0.5}));
}

}  // namespace
