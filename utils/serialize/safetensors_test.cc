#include "utils/serialize/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <numeric>

#include "aten/core/empty.h"
#include "aten/core/view.h"
#include "c10/testing/files.h"

namespace torch::safetensors {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using c10::testing::fresh_folder;
using c10::ScalarType;

// A contiguous tensor whose bytes are 0, 1, 0, 1 ...: valid for every dtype.
at::Tensor pattern(c10::IntArrayRef sizes, ScalarType dtype) {
  at::Tensor t = at::empty_contiguous(sizes, dtype);
  auto* p = static_cast<unsigned char*>(t.data_ptr());
  for (size_t i = 0; i < t.nbytes(); ++i) p[i] = static_cast<unsigned char>(i % 2);
  return t;
}

bool same(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.is_contiguous() && b.is_contiguous() &&
         (a.nbytes() == 0 || std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0);
}

constexpr ScalarType kAll[] = {ScalarType::Bool,
                               ScalarType::Byte,
                               ScalarType::Char,
                               ScalarType::Short,
                               ScalarType::Int,
                               ScalarType::Long,
                               ScalarType::Half,
                               ScalarType::BFloat16,
                               ScalarType::Float,
                               ScalarType::Double,
                               ScalarType::ComplexFloat,
                               ScalarType::ComplexDouble,
                               ScalarType::UInt16,
                               ScalarType::UInt32,
                               ScalarType::UInt64,
                               ScalarType::Float8_e5m2,
                               ScalarType::Float8_e4m3fn,
                               ScalarType::Float8_e5m2fnuz,
                               ScalarType::Float8_e4m3fnuz,
                               ScalarType::Float8_e8m0fnu};

TEST(Safetensors, RoundTripsEveryDtypeAndShape) {
  NamedTensors tensors;
  const std::vector<std::vector<int64_t>> shapes = {{}, {3}, {2, 3}, {0}, {4, 0, 2}, {1, 2, 1, 2}};
  for (const ScalarType dtype : kAll) {
    for (const auto& shape : shapes) {
      tensors.emplace_back(c10::str(c10::toString(dtype), c10::IntArrayRef(shape)), pattern(shape, dtype));
    }
  }
  const std::string path = fresh_folder() + "/all.safetensors";
  save_file(tensors, path, {{"note", "x"}});
  const NamedTensors loaded = load_file(path);
  ASSERT_EQ(loaded.size(), tensors.size());
  const File file(path);
  for (const auto& [name, tensor] : tensors) {
    EXPECT_TRUE(same(file.get(name), tensor)) << name;
    EXPECT_EQ(file.dtype(name), tensor.scalar_type());
    EXPECT_EQ(c10::IntArrayRef(file.sizes(name)), tensor.sizes());
  }
  EXPECT_EQ(file.metadata().front(), std::make_pair(std::string("note"), std::string("x")));
}

TEST(Safetensors, NothingIsCopiedAndTheFileIsNotChanged) {
  const std::string path = fresh_folder() + "/zero_copy.safetensors";
  save_file({{"a", pattern({1000}, ScalarType::Float)}, {"b", pattern({8}, ScalarType::Byte)}}, path);
  at::Tensor a, b;
  {
    const File file(path);
    a = file.get("a");
    b = file.get("b");
    EXPECT_EQ(file.get("a").data_ptr(), a.data_ptr());
  }
  // One mapping: b's data follows a's directly.
  EXPECT_EQ(static_cast<char*>(a.data_ptr()) + a.nbytes(), b.data_ptr());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data_ptr()) % 64, 0u);
  const float before = a.data_ptr<float>()[5];
  a.data_ptr<float>()[5] = 7;
  EXPECT_EQ(File(path).get("a").data_ptr<float>()[5], before);
  save_file({{"c", pattern({1}, ScalarType::Byte)}}, path);
  EXPECT_EQ(a.data_ptr<float>()[5], 7) << "the tensor outlives the file's replacement";
}

TEST(Safetensors, MisalignedTensorsAreCopied) {
  std::string header =
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  bytes += header + "\x01";
  const float values[] = {1.5f, -2};
  bytes.append(reinterpret_cast<const char*>(values), 8);
  const File file = File::from_bytes(bytes);
  const at::Tensor b = file.get("b");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b.data_ptr()) % alignof(float), 0u);
  EXPECT_EQ(b.data_ptr<float>()[0], 1.5f);
  EXPECT_EQ(b.data_ptr<float>()[1], -2.0f);
}

TEST(Safetensors, StridedTensorsAreWrittenInOrder) {
  const at::Tensor t = at::empty_contiguous({2, 3}, ScalarType::Int);
  std::iota(t.data_ptr<int>(), t.data_ptr<int>() + 6, 0);
  const at::Tensor transposed = at::make_view(t, {3, 2}, {1, 3}, 0);
  const at::Tensor expanded = at::make_view(t, {2, 3}, {0, 1}, 3);
  const std::string path = fresh_folder() + "/strided.safetensors";
  save_file({{"t", transposed}, {"e", expanded}}, path);
  const File file(path);
  const int* p = file.get("t").data_ptr<int>();
  EXPECT_THAT(std::vector<int>(p, p + 6), ElementsAre(0, 3, 1, 4, 2, 5));
  p = file.get("e").data_ptr<int>();
  EXPECT_THAT(std::vector<int>(p, p + 6), ElementsAre(3, 4, 5, 3, 4, 5));
}

TEST(Safetensors, TheChecksumSeesEveryDamage) {
  const std::string path = fresh_folder() + "/sealed.safetensors";
  // "00000000" also stands elsewhere, to be left alone.
  save_file({{"crc32c", pattern({3, 3}, ScalarType::Float)}, {"e", pattern({0}, ScalarType::Byte)}}, path,
            {{"00000000", "00000000"}}, true);
  File(path).verify_checksum();
  const std::string bytes = serialize::read_file(path);
  File::from_bytes(bytes).verify_checksum();
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    std::string damaged = bytes;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ 1 << i % 8);
    EXPECT_THROW(File::from_bytes(damaged).verify_checksum(), FormatError) << "bit " << i;
  }
  save_file({}, path);
  EXPECT_THROW(File(path).verify_checksum(), FormatError);
}

TEST(Safetensors, Errors) {
  const std::string path = fresh_folder() + "/errors.safetensors";
  save_file({{"a", pattern({1}, ScalarType::Float)}}, path);
  EXPECT_THROW(save_file({{"a", at::Tensor()}}, path), c10::ValueError);
  EXPECT_THROW(save_file({{"a", pattern({1}, ScalarType::Byte)}, {"a", pattern({1}, ScalarType::Byte)}}, path),
               c10::ValueError);
  EXPECT_THROW(save_file({}, "/no/such/folder/x"), serialize::IoError);
  const File file(path);
  EXPECT_THAT(file.keys(), ElementsAre("a")) << "a failed save leaves the old file";
  try {
    file.get("b");
    FAIL();
  } catch (const c10::IndexError& e) {
    EXPECT_THAT(e.msg(), HasSubstr("errors.safetensors has no tensor \"b\""));
  }
  EXPECT_THROW(File("/no/such/file"), serialize::IoError);
  EXPECT_THROW(File::from_bytes("12345678"), FormatError);
}

File with_dtype(const std::string& dtype, char byte) {
  std::string header = "{\"a\":{\"dtype\":\"" + dtype + "\",\"shape\":[1],\"data_offsets\":[0," +
                       (dtype[0] == 'B' || dtype[0] == 'F' ? "1" : "2") + "]}}";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  return File::from_bytes(bytes + header + std::string(dtype[0] == 'U' ? 2 : 1, byte));
}

TEST(Safetensors, ValuesThatNoTensorMayHold) {
  EXPECT_EQ(with_dtype("BOOL", 1).get("a").data_ptr<bool>()[0], true);
  EXPECT_THROW(with_dtype("BOOL", 2).get("a"), FormatError);
  EXPECT_EQ(with_dtype("F8_E4M3", 1).get("a").scalar_type(), ScalarType::Float8_e4m3fn);
  EXPECT_EQ(with_dtype("F8_E8M0", 1).get("a").scalar_type(), ScalarType::Float8_e8m0fnu);
  EXPECT_EQ(with_dtype("U16", 1).get("a").data_ptr<uint16_t>()[0], 0x0101);
  EXPECT_THROW(with_dtype("F6_E2M3", 1), FormatError);
}

TEST(Safetensors, DtypesWithoutANameInTheFormat) {
  for (const ScalarType type :
       {ScalarType::Bits8, ScalarType::UInt4, ScalarType::ComplexHalf, ScalarType::Float4_e2m1fn_x2}) {
    EXPECT_THROW(save_file({{"a", pattern({2}, type)}}, fresh_folder() + "/unnamed.safetensors"), c10::TypeError)
        << type;
  }
}

}  // namespace
}  // namespace torch::safetensors
