#include "utils/serialize/safetensors_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "c10/testing/files.h"
#include "utils/serialize/file_io.h"

namespace torch::safetensors {
namespace {

using ::testing::HasSubstr;
using c10::testing::fresh_folder;

std::string file_of(std::string_view header, size_t data_bytes) {
  std::string out(8, '\0');
  for (size_t i = 0, n = header.size(); i < 8; ++i, n >>= 8) out[i] = static_cast<char>(n & 0xff);
  out += header;
  out.append(data_bytes, '\1');
  return out;
}

std::string error_of(const std::string& file, const Limits& limits = {}) {
  try {
    Header::parse(file, limits);
  } catch (const FormatError& e) {
    return e.msg();
  }
  return "accepted";
}

std::string error_of(std::string_view header, size_t data_bytes, const Limits& limits = {}) {
  return error_of(file_of(header, data_bytes), limits);
}

TEST(SafetensorsHeader, ReadsTensorsAndMetadata) {
  const std::string file = file_of(
      R"({"__metadata__":{"format":"pt","\u00e9":"a\"b"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
      R"( "b\n\ud83d\ude00" : { "data_offsets" : [ 24 , 25 ] , "shape" : [ ] , "dtype" : "BOOL" } }   )",
      25);
  const Header header = Header::parse(file);
  ASSERT_EQ(header.size(), 2u);
  EXPECT_EQ(header.tensor(0).name, "a");
  EXPECT_EQ(header.tensor(0).dtype, Dtype::F32);
  EXPECT_EQ(header.tensor(0).shape, c10::IntArrayRef({2, 3}));
  EXPECT_EQ(header.tensor(0).bytes, 24u);
  EXPECT_EQ(header.tensor(1).name, "b\n\xf0\x9f\x98\x80");
  EXPECT_EQ(header.tensor(1).shape.size(), 0u);
  EXPECT_EQ(header.tensor(1).begin, 24u);
  EXPECT_EQ(header.find("a"), 0);
  EXPECT_EQ(header.find("b\n\xf0\x9f\x98\x80"), 1);
  EXPECT_EQ(header.find("c"), -1);
  EXPECT_EQ(header.data_offset(), file.size() - 25);
  ASSERT_EQ(header.metadata_size(), 2u);
  EXPECT_EQ(header.metadata(1).first, "\xc3\xa9");
  EXPECT_EQ(header.metadata(1).second, "a\"b");
  std::string_view value;
  EXPECT_TRUE(header.find_metadata("format", &value));
  EXPECT_EQ(value, "pt");
  EXPECT_FALSE(header.find_metadata("none", &value));
  EXPECT_THROW(header.tensor(2), c10::IndexError);
  EXPECT_THROW(header.metadata(2), c10::IndexError);
}

TEST(SafetensorsHeader, ViewsSurviveAMove) {
  const std::string file = file_of(R"({"\u0061":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})", 1);
  Header first = Header::parse(file);
  const Header second = std::move(first);
  EXPECT_EQ(second.tensor(0).name, "a");
}

TEST(SafetensorsHeader, AcceptsNothingAtAll) {
  EXPECT_EQ(error_of("{}", 0), "accepted");
  EXPECT_EQ(error_of(R"({"__metadata__":{}})", 0), "accepted");
  EXPECT_EQ(error_of(R"({"a":{"dtype":"F64","shape":[3,0],"data_offsets":[0,0]}})", 0), "accepted");
}

TEST(SafetensorsHeader, LengthIsChecked) {
  EXPECT_THAT(error_of(std::string("\0\0\0", 3)), HasSubstr("the file has 3 bytes"));
  EXPECT_THAT(error_of(std::string(8, '\0')), HasSubstr("the header is empty"));
  EXPECT_THAT(error_of(std::string(8, '\xff')), HasSubstr("over the limit of 100000000"));
  std::string cut = file_of("{}", 0);
  cut.pop_back();
  EXPECT_THAT(error_of(cut), HasSubstr("does not fit into a file of 9"));
  Limits limits;
  limits.header_bytes = 4;
  EXPECT_THAT(error_of("{}   ", 0, limits), HasSubstr("over the limit of 4"));
}

struct BadHeader {
  const char* header;
  size_t data;
  const char* message;
};

class BadHeaders : public ::testing::TestWithParam<BadHeader> {};

TEST_P(BadHeaders, AreRejected) {
  EXPECT_THAT(error_of(GetParam().header, GetParam().data), HasSubstr(GetParam().message));
}

#define U8_AT(b, e) "{\"dtype\":\"U8\",\"shape\":[" #e "],\"data_offsets\":[" #b "," #e "]}"

INSTANTIATE_TEST_SUITE_P(
    Rules, BadHeaders,
    ::testing::Values(
        BadHeader{" {}", 0, "does not begin with '{'"}, BadHeader{"[]", 0, "does not begin with '{'"},
        BadHeader{"{} x", 0, "only spaces"}, BadHeader{"{}\n", 0, "only spaces"}, BadHeader{"{}{}", 0, "only spaces"},
        BadHeader{"{,}", 0, "expected a string"}, BadHeader{"{\"a\"}", 0, "expected ':'"},
        BadHeader{"{\"a\":1}", 0, "not an object"}, BadHeader{"{\"a\":{}}", 0, "expected a string"},
        BadHeader{"{\"a\":" U8_AT(0, 1) ",}", 1, "expected a string"},
        BadHeader{"{\"a\":" U8_AT(0, 1), 1, "expected ',' or '}'"},
        BadHeader{"{\"a\":" U8_AT(0, 1) ",\"a\":" U8_AT(0, 1) "}", 1, "comes twice"},
        BadHeader{"{\"a\":" U8_AT(0, 1) ",\"\\u0061\":" U8_AT(0, 1) "}", 1, "comes twice"},
        BadHeader{"{\"__metadata__\":{},\"\\u005f_metadata__\":{}}", 0, "comes twice"},
        BadHeader{"{\"__metadata__\":{\"k\":\"1\",\"\\u006b\":\"2\"}}", 0, "metadata key \"k\" comes twice"},
        BadHeader{"{\"__metadata__\":{\"k\":1}}", 0, "not a string"},
        BadHeader{"{\"__metadata__\":{\"k\":{\"k\":{}}}}", 0, "not a string"},
        BadHeader{"{\"__metadata__\":[]}", 0, "not an object"}, BadHeader{"{\"__metadata__\":null}", 0, "not an object"},
        BadHeader{"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", 1, "\"dtype\" comes twice"},
        BadHeader{"{\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1],\"x\":0}}", 1, "unknown field \"x\""},
        BadHeader{"{\"a\":{\"dtype\":\"U8\",\"shape\":[]}}", 1, "has no data_offsets"},
        BadHeader{"{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, "has no shape"},
        BadHeader{"{\"a\":{\"shape\":[],\"data_offsets\":[0,1]}}", 1, "has no dtype"},
        BadHeader{"{\"a\":{\"dtype\":\"F31\",\"shape\":[],\"data_offsets\":[0,1]}}", 1, "unknown dtype \"F31\""},
        BadHeader{"{\"a\":{\"dtype\":8,\"shape\":[],\"data_offsets\":[0,1]}}", 1, "expected a string"},
        BadHeader{"{\"a\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,1]}}", 1, "non-negative integer"},
        BadHeader{"{\"a\":{\"dtype\":\"U8\",\"shape\":[01],\"data_offsets\":[0,1]}}", 1, "leading zero"},
        BadHeader{"{\"a\":{\"dtype\":\"U8\",\"shape\":[1.0],\"data_offsets\":[0,1]}}", 1, "expected ',' or ']'"},
        BadHeader{"{\"a\":{\"dtype\":\"U8\",\"shape\":[1e0],\"data_offsets\":[0,1]}}", 1, "expected ',' or ']'"},
        BadHeader{"{\"a\":{\"dtype\":\"U8\",\"shape\":[18446744073709551616],\"data_offsets\":[0,1]}}", 1, "too large"},
        BadHeader{"{\"a\":{\"dtype\":\"U8\",\"shape\":[9223372036854775808],\"data_offsets\":[0,1]}}", 1, "overflows"},
        BadHeader{"{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0, "overflows"},
        BadHeader{"{\"a\":{\"dtype\":\"F64\",\"shape\":[2305843009213693952],\"data_offsets\":[0,0]}}", 0, "overflows"},
        BadHeader{"{\"a\":{\"dtype\":\"U8\",\"shape\":[0,4294967296,4294967296],\"data_offsets\":[0,0]}}", 0, "overflows"},
        BadHeader{"{\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0]}}", 1, "not two numbers"},
        BadHeader{"{\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1,2]}}", 1, "not two numbers"},
        BadHeader{"{\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[1,0]}}", 1, "do not lie within"},
        BadHeader{"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 1, "do not lie within the 1 bytes"},
        BadHeader{"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,3]}}", 3, "need 4 bytes"},
        BadHeader{"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}", 2, "leaves a hole"},
        BadHeader{"{\"a\":" U8_AT(0, 1) ",\"b\":" U8_AT(0, 1) "}", 1, "overlaps"},
        BadHeader{"{\"a\":" U8_AT(0, 1) "}", 2, "cover 1 bytes, but the file holds 2"},
        BadHeader{"{}", 1, "cover 0 bytes, but the file holds 1"},
        BadHeader{"{\"a\xff\":" U8_AT(0, 1) "}", 1, "not UTF-8"}, BadHeader{"{\"\xc0\x80\":" U8_AT(0, 1) "}", 1, "not UTF-8"},
        BadHeader{"{\"\xed\xa0\x80\":" U8_AT(0, 1) "}", 1, "not UTF-8"},
        BadHeader{"{\"\xf4\x90\x80\x80\":" U8_AT(0, 1) "}", 1, "not UTF-8"},
        BadHeader{"{\"\\ud800\":" U8_AT(0, 1) "}", 1, "lone surrogate"},
        BadHeader{"{\"\\udc00\":" U8_AT(0, 1) "}", 1, "lone surrogate"},
        BadHeader{"{\"\\ud800\\u0041\":" U8_AT(0, 1) "}", 1, "lone surrogate"},
        BadHeader{"{\"\\x\":" U8_AT(0, 1) "}", 1, "unknown escape"}, BadHeader{"{\"\\u00g0\":" U8_AT(0, 1) "}", 1, "hexadecimal"},
        BadHeader{"{\"a\n\":" U8_AT(0, 1) "}", 1, "control character"}, BadHeader{"{\"a", 0, "does not end"},
        BadHeader{"{\"\\u00", 0, "cut off"}));

TEST(SafetensorsHeader, CountsAreBounded) {
  Limits limits;
  limits.tensors = 2;
  std::string header = "{";
  for (char c : {'a', 'b', 'c'}) {
    header += std::string(header.size() > 1 ? "," : "") + "\"" + c + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  header += "}";
  EXPECT_EQ(error_of(header, 0), "accepted");
  EXPECT_THAT(error_of(header, 0, limits), HasSubstr("more than 2 tensors"));
  limits.metadata_entries = 1;
  EXPECT_THAT(error_of(R"({"__metadata__":{"a":"","b":""}})", 0, limits), HasSubstr("more than 1 metadata entries"));
  std::string deep = R"({"a":{"dtype":"U8","shape":[1)";
  for (int i = 1; i < 64; ++i) deep += ",1";
  EXPECT_EQ(error_of(deep + R"(],"data_offsets":[0,1]}})", 1), "accepted");
  EXPECT_THAT(error_of(deep + R"(,1],"data_offsets":[0,1]}})", 1), HasSubstr("more than 64 dimensions"));
}

TEST(SafetensorsHeader, MessagesAreShortAndPrintable) {
  const std::string name(10000, '\x7f');
  const std::string message = error_of("{\"" + name + "\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,9]}}", 1);
  EXPECT_LT(message.size(), 300u);
  EXPECT_THAT(message, HasSubstr("???..."));
}

TEST(SafetensorsWrite, RoundTripsEveryDtype) {
  std::vector<TensorData> tensors;
  std::vector<std::string> bytes;
  for (int i = 0; i < kDtypes; ++i) {
    const Dtype dtype = static_cast<Dtype>(i);
    bytes.push_back(std::string(static_cast<size_t>(element_size(dtype) * 6), static_cast<char>(i)));
    Dtype back;
    ASSERT_TRUE(dtype_from_name(dtype_name(dtype), &back));
    EXPECT_EQ(back, dtype);
  }
  for (int i = 0; i < kDtypes; ++i) {
    tensors.push_back({{"t" + std::to_string(i) + "\"\\\x01\xc3\xa9", static_cast<Dtype>(i), {2, 3}}, bytes[static_cast<size_t>(i)].data()});
  }
  const std::string path = fresh_folder() + "/every_dtype.safetensors";
  write(path, tensors, {{"format", "pt"}, {"line", "a\nb"}});
  serialize::MappedFile file(path);
  const Header header = Header::parse(file.bytes());
  EXPECT_EQ(header.data_offset() % 64, 0u);
  ASSERT_EQ(header.size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const int64_t at = header.find(tensors[i].layout.name);
    ASSERT_GE(at, 0);
    const TensorInfo info = header.tensor(static_cast<size_t>(at));
    EXPECT_EQ(info.dtype, tensors[i].layout.dtype);
    EXPECT_EQ(info.shape, c10::IntArrayRef({2, 3}));
    EXPECT_EQ(info.begin % static_cast<uint64_t>(element_size(info.dtype)), 0u) << "not aligned";
    EXPECT_EQ(file.bytes().substr(header.data_offset() + info.begin, info.bytes), bytes[i]);
  }
  std::string_view value;
  EXPECT_TRUE(header.find_metadata("line", &value));
  EXPECT_EQ(value, "a\nb");
}

TEST(SafetensorsWrite, RejectsWhatItCouldNotRead) {
  const TensorLayout good{"a", Dtype::U8, {1}};
  EXPECT_THROW(plan({good, good}), c10::ValueError);
  EXPECT_THROW(plan({{"__metadata__", Dtype::U8, {1}}}), c10::ValueError);
  EXPECT_THROW(plan({{"\xff", Dtype::U8, {1}}}), c10::ValueError);
  EXPECT_THROW(plan({{"a", Dtype::U8, {-1}}}), c10::ValueError);
  EXPECT_THROW(plan({{"a", Dtype::U8, {INT64_MAX, 2}}}), c10::ValueError);
  EXPECT_THROW(plan({{"a", Dtype::U8, {INT64_MAX}}, {"b", Dtype::U8, {INT64_MAX}}, {"c", Dtype::U8, {2}}}), c10::ValueError);
  EXPECT_THROW(plan({{"a", Dtype::U8, std::vector<int64_t>(65, 1)}}), c10::ValueError);
  EXPECT_THROW(plan({good}, {{"k", "1"}, {"k", "2"}}), c10::ValueError);
  EXPECT_THROW(plan({good}, {{"k", "\xff"}}), c10::ValueError);
}

}  // namespace
}  // namespace torch::safetensors
