// What our zip files look like to others, and zip files that libzip alone would take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <zip.h>

#include <cstring>

#include "utils/pickle/file.h"
#include "utils/pickle/testing.h"
#include "utils/pickle/zip.h"

namespace torch::pickle {
namespace {

using testing::StringSink;

std::shared_ptr<FileBytes> bytes_of(std::string text) {
  return std::make_shared<FileBytes>(std::move(text), "t.zip");
}

std::string zip_of(const std::vector<std::pair<std::string, std::string>>& records) {
  StringSink sink;
  ZipWriter zip(sink, "archive");
  for (const auto& [name, data] : records) zip.add_copy(name, data);
  zip.finish();
  return std::move(sink.text);
}

TEST(Zip, RecordsAreStoredAndAligned) {
  const std::vector<std::pair<std::string, std::string>> records = {
      {"data.pkl", "pickle"}, {"data/0", std::string(200000, 'x')}, {"data/1", ""}, {"version", "3\n"}};
  const std::string file = zip_of(records);
  EXPECT_EQ(file, zip_of(records));
  const ZipReader zip(bytes_of(file));
  ASSERT_EQ(zip.records().size(), 5u);
  for (size_t i = 0; i < records.size(); ++i) {
    const ZipRecord& record = zip.records()[i];
    EXPECT_EQ(record.name, records[i].first);
    EXPECT_FALSE(record.deflated);
    EXPECT_EQ(record.offset % 64, 0u);
    EXPECT_EQ(zip.read(record, 1 << 20), records[i].second);
  }
  // The padding's field: "FB", its length, that many Z.
  const uint64_t first = zip.records()[0].offset;
  EXPECT_EQ(first, 64u);
  EXPECT_EQ(file.substr(30, 16), "archive/data.pkl");
  EXPECT_EQ(file.substr(46, 4), std::string("FB\x0e\0", 4));
  EXPECT_EQ(file.substr(50, 14), std::string(14, 'Z'));
  const std::string id = zip.read(*zip.find(".data/serialization_id"), 100);
  EXPECT_EQ(id.size(), 40u);
  EXPECT_THAT(id, ::testing::Each(::testing::AllOf(::testing::Ge('0'), ::testing::Le('9'))));
  const ZipReader other(bytes_of(zip_of({{"data.pkl", "other"}})));
  EXPECT_NE(id, other.read(*other.find(".data/serialization_id"), 100));
}

std::string deflated_zip_of(const std::vector<std::pair<std::string, std::string>>& records) {
  zip_error_t error;
  zip_source_t* const target = zip_source_buffer_create(nullptr, 0, 0, &error);
  zip_source_keep(target);
  zip_t* const archive = zip_open_from_source(target, ZIP_TRUNCATE, &error);
  for (const auto& [name, data] : records) {
    zip_source_t* const source = zip_source_buffer(archive, data.data(), data.size(), 0);
    const zip_int64_t index = zip_file_add(archive, ("archive/" + name).c_str(), source, 0);
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), ZIP_CM_DEFLATE, 9);
  }
  EXPECT_EQ(zip_close(archive), 0);
  zip_source_open(target);
  std::string file(1 << 20, '\0');
  file.resize(static_cast<size_t>(zip_source_read(target, file.data(), file.size())));
  zip_source_close(target);
  zip_source_free(target);
  return file;
}

// A byte of a pickle may be a value of 64 bytes, and a thousand of them a byte of the file.
TEST(Zip, UnpackedPicklesHaveNoMoreValuesThanTheirFilesBear) {
  const auto file_of = [](size_t lists) {
    return bytes_of(deflated_zip_of({{"data.pkl", "\x80\x02](" + std::string(lists, ']') + "e."}, {"version", "3\n"}}));
  };
  EXPECT_EQ(load(file_of(1000)).toListRef().size(), 1000u);
  const auto large = file_of(3'000'000);
  EXPECT_LT(large->view().size(), 10'000u);
  EXPECT_THROW(load(large), serialize::FormatError);
  EXPECT_THROW(inspect(large), serialize::FormatError);
}

// libtorch's pickle_save calls functions for lists of one type.
TEST(Pickle, TypedListsOfLibtorch) {
  std::string pickle = "\x80\x02(ctorch.jit._pickle\nbuild_intlist\n](K\x01K\x02";
  pickle += "e\x85Rctorch.jit._pickle\nrestore_type_tag\n]X\x05";
  pickle += std::string(3, '\0') + "List]\x86Rt.";
  const c10::IValue value = load(bytes_of(zip_of({{"data.pkl", pickle}, {"version", "3\n"}})));
  EXPECT_EQ(value.toTupleRef().elementsArrayRef()[0].toIntVector(), (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(value.toTupleRef().elementsArrayRef()[1].isList());
}

TEST(Zip, ARecordMayHoldAZipFile) {
  const std::string inner = zip_of({{"data.pkl", "inner"}});
  const ZipReader zip(bytes_of(zip_of({{"data.pkl", "outer"}, {"data/0", inner}, {"data/1", inner + inner}})));
  EXPECT_EQ(zip.read(*zip.find("data.pkl"), 100), "outer");
  EXPECT_EQ(zip.read(*zip.find("data/1"), 1 << 20), inner + inner);
}

void expect_refused(const std::string& file, const char* why) {
  try {
    ZipReader zip(bytes_of(file));
    FAIL() << why;
  } catch (const serialize::FormatError& e) {
    EXPECT_THAT(e.msg(), ::testing::AllOf(::testing::HasSubstr("t.zip at byte"), ::testing::HasSubstr(why)));
  }
}

template <class T>
T at(const std::string& file, size_t offset) {
  T value;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

// The second entry's header becomes the first record's, whose data then lies in both.
TEST(Zip, OverlapsAreRefused) {
  std::string file = zip_of({{"d", "same"}, {"e", "same"}});
  const size_t first = file.find("PK\1\2"), second = file.find("PK\1\2", first + 1);
  ASSERT_NE(second, std::string::npos);
  const auto header = at<uint32_t>(file, second + 42);
  EXPECT_EQ(file.substr(header, 4), "PK\3\4");
  // libzip compares names, so the inner header is a copy with its own name, in the first record's data.
  std::string outer = zip_of({{"d", file.substr(header, 68)}, {"e", "same"}});
  const size_t inner = ZipReader(bytes_of(outer)).find("d")->offset;
  const size_t entry = outer.find("PK\1\2", outer.find("PK\1\2", 0) + 1);
  std::memcpy(outer.data() + entry + 42, &inner, 4);
  expect_refused(outer, "records overlap");
}

TEST(Zip, SizesThatNothingUnpacksToAreRefused) {
  std::string file = zip_of({{"d", "same"}});
  const size_t entry = file.find("PK\1\2");
  const uint16_t deflated = 8;
  const uint32_t size = 1 << 30;
  for (const auto& [header, size_at] : {std::pair<size_t, size_t>{0, 22}, {entry, 24}}) {
    std::memcpy(file.data() + header + (header == 0 ? 8 : 10), &deflated, sizeof deflated);
    std::memcpy(file.data() + header + size_at, &size, sizeof size);
  }
  expect_refused(file, "cannot unpack to");
}

TEST(Zip, ManyEndsAreRefused) {
  std::string file = zip_of({{"d", "same"}});
  for (int i = 0; i < 200; ++i) file += "PK\5\6";
  expect_refused(file, "too many ends");
}

}  // namespace
}  // namespace torch::pickle
