// Embedding tables of torch.ops.quantized: bytes as PyTorch 2.15 packs them, and lookups by the numbers that they stand
// for.
#include <string>
#include <vector>

#include "aten/aten.h"
#include "aten/core/custom_class.h"
#include "aten/testing/testing.h"
#include "c10/dispatch/registry.h"
#include "gtest/gtest.h"

namespace {

using at::Tensor;
using at::testing::expect_close;
using at::testing::expect_error;
using at::testing::sample;
using at::testing::tensor_of;
using c10::IValue;
using Numbers = std::vector<double>;

template <class... A>
IValue call(const std::string& name, A... arguments) {
  c10::Stack stack{IValue(arguments)...};
  c10::Dispatcher::singleton().findSchemaOrThrow(("quantized::" + name).c_str(), "").callBoxed(stack);
  return stack[0];
}
template <class... A>
Tensor tensor(const std::string& name, A... arguments) {
  return call(name, arguments...).toTensor();
}
Tensor indices(const Numbers& values) {
  return tensor_of(values, {static_cast<int64_t>(values.size())}, at::kLong);
}

TEST(RowTables, ArePackedAsRecorded) {
  const Tensor w = tensor_of({0.1, -0.5, 0.3, 0.7, 2.0, 1.0, 0.2, -0.7, 0.0, 0.25, 3, 3, 3, 3, 3}, {3, 5}),
               even = w.slice(1, 0, 4);
  const Tensor bytes = tensor("embedding_bag_byte_prepack", w);
  EXPECT_EQ(at::testing::values(bytes),
            (Numbers{61,  0,  82, 122, 255, 161, 160, 32, 60, 0, 0, 0, 191, 255, 135, 0, 105, 142, 14, 116,
                     218, 59, 51, 51,  51,  191, 0,   0,  0,  0, 0, 0, 0,   0,   0,   0, 0,   64,  64}));
  expect_close(tensor("embedding_bag_byte_unpack", bytes), w, 0, 0.006);
  EXPECT_EQ(at::testing::values(tensor("embedding_bag_byte_prepack", tensor_of({1e-9, 2e-9}, {1, 2}))),
            (Numbers{0, 23, 89, 250, 137, 44, 95, 112, 137, 48}));
  EXPECT_EQ(tensor("embedding_bag_byte_prepack", w.reshape({1, 3, 5})).sizes(), (at::IntArrayRef{1, 3, 13}));
  EXPECT_EQ(tensor("embedding_bag_byte_prepack", at::empty({0, 3})).sizes(), (at::IntArrayRef{0, 11}));
  const Tensor four = tensor("embedding_bag_4bit_prepack", even, false, 200, 0.16);
  EXPECT_EQ(at::testing::values(four),
            (Numbers{7, 250, 31, 45, 0, 184, 143, 96, 65, 47, 154, 185, 0, 0, 0, 60, 0, 66}));
  EXPECT_EQ(at::testing::values(tensor("embedding_bag_4bit_unpack", four)),
            (Numbers{0.06011962890625, -0.5, 0.3001708984375, 0.70025634765625, 0.99993896484375, 0.20654296875,
                     -0.7001953125, -0.0201416015625, 3, 3, 3, 3}));
  EXPECT_EQ(at::testing::values(tensor("embedding_bag_4bit_prepack", even.slice(0, 1), true, 200, 0.16)),
            (Numbers{143, 96, 55, 47, 136, 185, 0, 0, 0, 60, 0, 66}));
  EXPECT_EQ(
      at::testing::values(tensor("embedding_bag_4bit_prepack", tensor_of({65504, -65504, 0, 0}, {1, 4}), false, 200, 0.16)),
      (Numbers{15, 119, 68, 112, 255, 251}));
  const Tensor two = tensor("embedding_bag_2bit_prepack", even, false, 200, 0.16);
  EXPECT_EQ(at::testing::values(two), (Numbers{226, 102, 54, 0, 184, 75, 137, 56, 154, 185, 0, 0, 60, 0, 66}));
  EXPECT_EQ(at::testing::values(tensor("embedding_bag_2bit_prepack", even.to(at::kHalf), false, 200, 0.16)),
            (Numbers{225, 103, 54, 0, 184, 75, 137, 56, 154, 185, 0, 0, 60, 0, 66}));
  // Given ranges; what lies outside is at their ends.
  const Tensor ranges = tensor_of({-1, 1, 0, 2, -3, 3}, {3, 2});
  const Tensor ranged = tensor("embedding_bag_byte_prepack_with_rowwise_min_max", w, ranges);
  EXPECT_EQ(at::testing::values(ranged[0]), (Numbers{140, 64, 166, 217, 255, 129, 128, 0, 60, 0, 0, 128, 191}));
  EXPECT_EQ(at::testing::values(tensor("embedding_bag_4bit_prepack_with_rowwise_min_max", even, ranges, false, 200, 0.16)),
            (Numbers{72, 218, 68, 48, 0, 188, 40, 0, 68, 48, 0, 0, 255, 255, 102, 54, 0, 194}));
  EXPECT_EQ(at::testing::values(tensor("embedding_bag_2bit_prepack_with_rowwise_min_max", even, ranges, false, 200, 0.16)),
            (Numbers{230, 85, 57, 0, 188, 2, 85, 57, 0, 0, 255, 0, 64, 0, 194}));
  expect_error<c10::Error>([&] { call("embedding_bag_byte_prepack", w.to(at::kDouble)); }, "Float or Half");
  expect_error<c10::Error>([&] { call("embedding_bag_4bit_prepack", w, false, 200, 0.16); }, "a multiple of 2");
  expect_error<c10::Error>([&] { call("embedding_bag_2bit_prepack", w, false, 200, 0.16); }, "a multiple of 4");
  expect_error<c10::Error>([&] { call("embedding_bag_byte_prepack_with_rowwise_min_max", w, ranges[0]); },
                           "[num_rows(weight), 2]");
  expect_error<c10::Error>([&] { call("embedding_bag_byte_unpack", w); }, "dtype Byte");
  expect_error<c10::Error>([&] { call("embedding_bag_byte_unpack", bytes.slice(1, 0, 7)); }, "have no place");
}

TEST(RowTables, AreSummedInBags) {
  const Tensor w = sample({6, 8}), index = indices({0, 3, 5, 1, 1, 2}), offsets = indices({0, 2, 2, 5});
  for (const std::string bits : {"byte", "4bit", "2bit"}) {
    const std::string name = "embedding_bag_" + bits;
    const Tensor table = bits == "byte" ? tensor(name + "_prepack", w) : tensor(name + "_prepack", w, false, 200, 0.16),
                 numbers = tensor(name + "_unpack", table);
    const auto look_up = [&](const Tensor& i, const IValue& o, bool pruned, const IValue& weights,
                             const IValue& mapping, bool last) {
      return tensor(name + "_rowwise_offsets", table, i, o, false, 0, pruned, weights, mapping, last);
    };
    const auto sums = [](const Tensor& of, const Tensor& i, const Tensor& o, const std::optional<Tensor>& weights,
                         bool last) {
      return std::get<0>(at::embedding_bag(of, i, o, false, 0, false, weights, last));
    };
    const Tensor plain = sums(numbers, index, offsets, {}, false), weights = tensor_of({.5, 2, 1, -1, .25, 3}, {6});
    expect_close(look_up(index, offsets, false, IValue(), IValue(), false), plain, 1e-5, 1e-5);
    expect_close(look_up(index.to(at::kInt), offsets.to(at::kInt), false, IValue(), IValue(), false), plain, 1e-5,
                 1e-5);
    expect_close(look_up(index, offsets, false, weights, IValue(), false),
                 sums(numbers, index, offsets, weights, false), 1e-5, 1e-5);
    const Tensor ends = indices({0, 2, 2, 5, 6});
    expect_close(look_up(index, ends, false, IValue(), IValue(), true), plain, 1e-5, 1e-5);
    expect_close(look_up(index.reshape({2, 3}), IValue(), false, IValue(), IValue(), false),
                 sums(numbers, index, indices({0, 3}), {}, false), 1e-5, 1e-5);
    EXPECT_EQ(at::testing::values(look_up(indices({}), indices({0, 0}), false, IValue(), IValue(), false)), Numbers(16, 0));
    // Of a table without the rows 1 and 3 of six.
    const Tensor mapping = tensor_of({0, -1, 1, -1, 2, 3}, {6}, at::kInt);
    Tensor spread = at::zeros({6, 8});
    spread.index_copy_(0, indices({0, 2, 4, 5}), numbers.slice(0, 0, 4));
    expect_close(look_up(index, offsets, true, weights, mapping, false), sums(spread, index, offsets, weights, false),
                 1e-5, 1e-5);
    expect_close(look_up(index, offsets, false, IValue(), mapping, false), plain, 1e-5, 1e-5);
    expect_close(look_up(index, offsets, true, IValue(), tensor_of({0}, {1}, at::kInt), false), plain, 1e-5, 1e-5);

    const auto refuse = [&](const Tensor& i, const IValue& o, const std::string& message) {
      expect_error<c10::Error>([&] { look_up(i, o, false, IValue(), IValue(), false); }, name);
      expect_error<c10::Error>([&] { look_up(i, o, false, IValue(), IValue(), false); }, message);
    };
    refuse(index, IValue(), "expects offsets to be set");
    refuse(index.reshape({2, 3}), offsets, "offsets has to be None");
    refuse(indices({6}), indices({0}), "Index 0 is out of bounds: 6, range 0 to 6");
    refuse(indices({0, -1}), indices({0}), "Index 1 is out of bounds: -1");
    refuse(index, indices({0, 7}), "offsets must begin with 0");
    refuse(index, indices({0, 3, 2}), "offsets must begin with 0");
    refuse(index, indices({1, 3}), "offsets must begin with 0");
    refuse(index.to(at::kFloat), offsets, "32 or 64 bit indices");
    refuse(index, offsets.to(at::kFloat), "32 or 64 bit offsets");
    expect_error<c10::Error>([&] { look_up(index, offsets, true, IValue(), IValue(), false); }, "need a compressed");
    expect_error<c10::Error>([&] { look_up(index, offsets, true, IValue(), mapping.to(at::kLong), false); },
                             "dtype Int");
    expect_error<c10::Error>([&] { look_up(index, offsets, false, at::ones({5}), IValue(), false); },
                             "as many elements as indices");
    expect_error<c10::NotImplementedError>(
        [&] { call(name + "_rowwise_offsets", table, index, offsets, false, 1, false, IValue(), IValue(), false); },
        "only sums");
  }
}

TEST(RowTables, OfQuantizedWeightsKnowThem) {
  const Tensor w = tensor_of({0.1, -0.5, 0.3, 0.7, 1.0, 0.2, -0.7, 0.0, 3, 3, 3, 3}, {3, 4}),
               scales = tensor_of({0.1, 0.2, 0.3}, {3}), zeros = tensor_of({5, 3.5, 0}, {3}),
               index = indices({2, 0, 1});
  for (const at::ScalarType dtype : {at::kQUInt8, at::kQUInt4x2}) {
    const std::string bits = dtype == at::kQUInt8 ? "byte" : "4bit", other = dtype == at::kQUInt8 ? "4bit" : "byte";
    const Tensor weight = at::quantize_per_channel(w, scales, zeros, 0, dtype), numbers = weight.dequantize();
    const IValue packed = call("embedding_bag_prepack", weight);
    EXPECT_TRUE(at::equal(tensor("embedding_bag_unpack", packed), weight));
    EXPECT_EQ(packed.toObject()->type()->getMethod("bit_rate")({packed}).toInt(), dtype == at::kQUInt8 ? 8 : 4);
    expect_close(tensor("embedding_" + bits, packed, index, false), numbers.index_select(0, index), 2e-3, 1e-3);
    EXPECT_EQ(tensor("embedding_" + bits, packed, index.reshape({1, 3}), false).sizes(), (at::IntArrayRef{1, 3, 4}));
    expect_close(tensor("embedding_bag_" + bits, packed, index, indices({0, 2}), false, 0, false,
                        tensor_of({1, 2, 3}, {3}), IValue(), false),
                 at::stack({numbers[2] + numbers[0] * 2, numbers[1] * 3}), 2e-3, 2e-3);
    expect_error<c10::Error>([&] { call("embedding_" + other, packed, index, false); }, "expected a weight of");
    expect_error<c10::Error>([&] { call("embedding_" + bits, packed, indices({3}), false); }, "out of bounds");
  }
  expect_error<c10::Error>([&] { call("embedding_bag_prepack", at::quantize_per_tensor(w, 0.1, 5, at::kQUInt8)); },
                           "float zero points");
  expect_error<c10::Error>(
      [&] {
        call("embedding_bag_prepack", at::quantize_per_channel(w, at::ones({4}), at::zeros({4}), 1, at::kQUInt8));
      },
      "along dimension 0");
}

}  // namespace
