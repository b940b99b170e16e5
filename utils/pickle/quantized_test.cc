// Quantized tensors in files, as they come back and as they are refused. Files that Python wrote are in files_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include "aten/core/empty.h"
#include "aten/quantized/quantized_tensor_impl.h"
#include "utils/pickle/file.h"
#include "utils/pickle/testing.h"
#include "utils/pickle/zip.h"

namespace torch::pickle {
namespace {

using at::Tensor;
using c10::IValue;
using testing::StringSink;

template <class T>
Tensor tensor_of(const std::vector<T>& values, c10::IntArrayRef sizes, c10::ScalarType dtype) {
  Tensor t = at::empty_contiguous(sizes, dtype);
  std::memcpy(t.data_ptr(), values.data(), values.size() * sizeof(T));
  return t;
}

at::QuantizerPtr by_channels(c10::QScheme scheme, const Tensor& scales, const Tensor& zero_points, int64_t axis) {
  auto quantizer = std::make_shared<at::Quantizer>();
  quantizer->scheme = scheme;
  quantizer->scales = scales;
  quantizer->zero_points = zero_points;
  quantizer->axis = axis;
  return quantizer;
}

const at::Quantizer& quantizer_of(const Tensor& t) {
  return at::quantized::impl_of("test", t).quantizer();
}

std::string bytes_of(const Tensor& t) {
  return {static_cast<const char*>(t.data_ptr()), static_cast<size_t>(t.nbytes())};
}

IValue load_text(std::string file) {
  return load(std::make_shared<FileBytes>(std::move(file), "quantized.pt"));
}

TEST(QuantizedFiles, ComeBackAsTheyWere) {
  auto uniform = std::make_shared<at::Quantizer>();
  uniform->scale = 0.1;
  uniform->zero_point = -7;
  const Tensor bytes =
      at::quantized::make_quantized(tensor_of<int8_t>({1, -2, 3, -4, 127, -128}, {2, 3}, c10::kChar), uniform);
  const Tensor turned(c10::make_intrusive<at::QTensorImpl>(bytes.unsafeGetTensorImpl()->storage(), c10::kQInt8,
                                                           c10::Device(c10::kCPU), c10::IntArrayRef{2, 2},
                                                           c10::IntArrayRef{1, 3}, 1, uniform));
  const Tensor wide = at::quantized::make_quantized(tensor_of<int32_t>({1 << 30, -5}, {2, 1}, c10::kInt),
                                                    std::make_shared<at::Quantizer>());
  const Tensor channels = at::quantized::make_quantized(
      tensor_of<uint8_t>({1, 2, 3, 4, 5, 255}, {2, 3}, c10::kByte),
      by_channels(c10::kPerChannelAffine, tensor_of<double>({0.5, 0.25, 0.1}, {3}, c10::kDouble),
                  tensor_of<int64_t>({1, 0, 255}, {3}, c10::kLong), 1));
  const Tensor table = at::quantized::make_quantized(
      tensor_of<uint8_t>({9, 8}, {2, 1}, c10::kByte),
      by_channels(c10::kPerChannelAffineFloatQParams, tensor_of<float>({0.5f, 0.25f}, {2}, c10::kFloat),
                  tensor_of<float>({1.5f, -2}, {2}, c10::kFloat), 0));
  std::vector<Tensor> saved = {bytes, turned, wide, channels, table, channels};
  // What no kernel makes, but anybody may.
  for (const double scale : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    for (const int64_t zero_point : {int64_t{1000}, INT64_MIN}) {
      auto strange = std::make_shared<at::Quantizer>();
      strange->scale = scale;
      strange->zero_point = zero_point;
      saved.push_back(at::quantized::make_quantized(tensor_of<int8_t>({5}, {1}, c10::kChar), strange));
      saved.push_back(at::quantized::make_quantized(
          tensor_of<uint8_t>({5, 6}, {2}, c10::kByte),
          by_channels(c10::kPerChannelAffine, tensor_of<double>({scale, 1}, {2}, c10::kDouble),
                      tensor_of<int64_t>({0, zero_point}, {2}, c10::kLong), 0)));
    }
  }
  StringSink sink;
  save(IValue(saved), sink, false);
  const std::vector<Tensor> back = load_text(sink.text).toTensorVector();
  ASSERT_EQ(back.size(), saved.size());
  for (size_t i = 0; i < saved.size(); ++i) {
    const at::Quantizer &want = quantizer_of(saved[i]), &got = quantizer_of(back[i]);
    EXPECT_EQ(back[i].scalar_type(), saved[i].scalar_type()) << i;
    EXPECT_EQ(back[i].sizes(), saved[i].sizes()) << i;
    EXPECT_EQ(back[i].strides(), saved[i].strides()) << i;
    EXPECT_EQ(back[i].storage_offset(), saved[i].storage_offset()) << i;
    EXPECT_EQ(std::memcmp(back[i].storage().data(), saved[i].storage().data(), saved[i].storage().nbytes()), 0) << i;
    EXPECT_EQ(got.scheme, want.scheme) << i;
    if (want.per_tensor()) {
      EXPECT_EQ(std::bit_cast<uint64_t>(got.scale), std::bit_cast<uint64_t>(want.scale)) << i;
      EXPECT_EQ(got.zero_point, want.zero_point) << i;
    } else {
      EXPECT_EQ(got.axis, want.axis) << i;
      EXPECT_EQ(got.scales.scalar_type(), want.scales.scalar_type()) << i;
      EXPECT_EQ(got.zero_points.scalar_type(), want.zero_points.scalar_type()) << i;
      EXPECT_EQ(bytes_of(got.scales), bytes_of(want.scales)) << i;
      EXPECT_EQ(bytes_of(got.zero_points), bytes_of(want.zero_points)) << i;
    }
  }
  EXPECT_EQ(back[0].storage().data(), back[1].storage().data());
  EXPECT_EQ(back[3].unsafeGetTensorImpl(), back[5].unsafeGetTensorImpl());
}

// PyTorch names the scheme of integer zero points for float ones, too. Its list holds a quint4x2 tensor of (3, 5)
// numbers and a quint8 one of (2, 2).
TEST(QuantizedFiles, OfPythonHaveFloatZeroPoints) {
  std::ifstream file("utils/pickle/testdata/float_zero_points@2.15.0.pt", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::vector<Tensor> read = load_text(text).toTensorVector();
  ASSERT_EQ(read.size(), 2u);
  StringSink sink;
  save(IValue(read), sink, false);
  for (const std::vector<Tensor>& tensors : {read, load_text(sink.text).toTensorVector()}) {
    const Tensor &four = tensors[0], &bytes = tensors[1];
    EXPECT_EQ(four.scalar_type(), c10::kQUInt4x2);
    EXPECT_EQ(four.sizes(), (c10::IntArrayRef{3, 5}));
    EXPECT_EQ(quantizer_of(four).scheme, c10::kPerChannelAffineFloatQParams);
    EXPECT_EQ(bytes_of(quantizer_of(four).zero_points), bytes_of(tensor_of<float>({0, 1, 2.5}, {3}, c10::kFloat)));
    EXPECT_EQ(four.storage().nbytes(), 9u);
    const uint8_t packed[] = {16, 50, 68, 68, 101, 85, 102, 6};
    EXPECT_EQ(std::memcmp(four.storage().data(), packed, sizeof packed), 0);
    EXPECT_EQ(bytes.scalar_type(), c10::kQUInt8);
    EXPECT_EQ(quantizer_of(bytes).scheme, c10::kPerChannelAffineFloatQParams);
    EXPECT_EQ(bytes_of(quantizer_of(bytes).zero_points), bytes_of(tensor_of<float>({0.5, 1}, {2}, c10::kFloat)));
    EXPECT_EQ(bytes_of(bytes), std::string("\0\2\2\2", 4));
  }
}

// --- pickles made by hand ---
std::string text(const std::string& s) {
  return std::string("X") + static_cast<char>(s.size()) + std::string(3, '\0') + s;
}
std::string number(int64_t value) {
  std::string out = "\x8a\x08";
  return out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
std::string real(double value) {
  const uint64_t bits = __builtin_bswap64(std::bit_cast<uint64_t>(value));
  return std::string("G").append(reinterpret_cast<const char*>(&bits), sizeof bits);
}
std::string tuple(const std::string& items) {
  return "(" + items + "t";
}
std::string list(const std::string& items) {
  return "](" + items + "e";
}
std::string torch(const std::string& name) {
  return "ctorch\n" + name + "\n";
}

// A tensor of sizes (2, 3) over six integers, where nothing else is said.
struct Parts {
  std::string storage = "QInt8Storage";
  std::string sizes = tuple(number(2) + number(3)), strides = tuple(number(3) + number(1));
  std::string quantizer, grad = "\x89";
};
IValue load_parts(const Parts& p) {
  const std::string id =
      tuple(text("storage") + torch(p.storage) + text("0") + text("cpu") + number(p.storage == "FloatStorage" ? 3 : 6));
  const std::string pickle =
      "\x80\x02"
      "ctorch._utils\n_rebuild_qtensor\n" +
      tuple(id + "Q" + number(0) + p.sizes + p.strides + p.quantizer + p.grad + "ccollections\nOrderedDict\n)R") + "R.";
  StringSink sink;
  ZipWriter zip(sink, "archive");
  zip.add_copy("data.pkl", pickle);
  zip.add_copy("data/0", p.storage == "FloatStorage" ? std::string(12, '\0') : "123456");
  zip.add_copy("version", "3\n");
  zip.finish();
  return load_text(sink.text);
}
std::string uniform(const std::string& scale, const std::string& zero_point) {
  return tuple(torch("per_tensor_affine") + scale + zero_point);
}
std::string channels(const std::string& scales, const std::string& zero_points, const std::string& axis) {
  return tuple(torch("per_channel_affine") + scales + zero_points + axis);
}

void expect_refused(const Parts& p, const std::string& why) {
  try {
    load_parts(p);
    ADD_FAILURE() << "read: " << why;
  } catch (const serialize::FormatError& e) {
    EXPECT_THAT(e.msg(), ::testing::AllOf(::testing::HasSubstr("quantized.pt"), ::testing::HasSubstr("at byte"),
                                          ::testing::HasSubstr(why)));
  }
}

TEST(QuantizedFiles, AreRefusedByNameAndByte) {
  const std::string good = uniform(real(0.5), number(1)), two = list(real(1) + real(2)),
                    zeros = list(number(0) + number(0));
  EXPECT_EQ(load_parts({.quantizer = good}).toTensor().scalar_type(), c10::kQInt8);
  EXPECT_EQ(quantizer_of(load_parts({.quantizer = channels(two, zeros, number(0))}).toTensor()).scales.numel(), 2);
  expect_refused({.quantizer = number(1)}, "no tuple");
  expect_refused({.quantizer = ")"}, "no tuple");
  expect_refused({.quantizer = tuple(torch("per_tensor_symmetric") + real(1) + number(0))}, "unknown scheme");
  expect_refused({.quantizer = tuple(text("per_tensor_affine") + real(1) + number(0))}, "unknown scheme");
  expect_refused({.quantizer = tuple(torch("per_tensor_affine") + real(1))}, "1 parameters");
  expect_refused({.quantizer = uniform(number(1), number(0))}, "no float");
  expect_refused({.quantizer = uniform(real(1), real(0))}, "no integer");
  expect_refused({.quantizer = channels(two, zeros, number(-1))}, "along -1");
  expect_refused({.quantizer = channels(two, zeros, number(2))}, "along 2");
  expect_refused({.quantizer = channels(two, zeros, number(1))}, "2 scales and 2 zero points for 3 channels");
  expect_refused({.quantizer = channels(two, list(number(0) + number(0) + number(0)), number(0))}, "3 zero points");
  expect_refused({.quantizer = channels(two, two, number(0))}, "zero points is no integer");
  expect_refused({.quantizer = channels(text("scales"), zeros, number(0))}, "scales that are no tensor");
  expect_refused({.storage = "FloatStorage", .quantizer = good}, "storage of dtype float32");
  expect_refused({.quantizer = good, .grad = "\x88"}, "cannot require gradients");
  expect_refused({.sizes = tuple(number(2) + number(4)), .quantizer = good}, "reaches to byte 7");
  expect_refused({.sizes = tuple(number(INT64_MAX) + number(3)), .quantizer = good}, "overflow");
  // Six bytes hold twelve numbers.
  const std::string few = "QUInt4x2Storage", three = tuple(number(4) + number(3));
  EXPECT_EQ(load_parts({.storage = few, .sizes = three, .quantizer = good}).toTensor().sizes(),
            (c10::IntArrayRef{4, 3}));
  expect_refused({.storage = few, .sizes = tuple(number(5) + number(3)), .quantizer = good}, "reaches to byte 8");
  EXPECT_THROW(load_parts({.storage = few, .strides = tuple(number(1) + number(2)), .quantizer = good}),
               c10::NotImplementedError);
  expect_refused({.sizes = tuple(number(-2) + number(3)), .quantizer = good}, "negative size");
}

}  // namespace
}  // namespace torch::pickle
