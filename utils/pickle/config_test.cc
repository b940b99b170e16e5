// The settings of saving and loading.
#include "utils/serialize/config.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "aten/core/empty.h"
#include "utils/pickle/file.h"
#include "utils/pickle/testing.h"
#include "utils/pickle/zip.h"
#include "utils/serialize/archive.h"

namespace torch::pickle {
namespace {

using c10::IValue;
using serialization::LoadEndianness;
namespace config = torch::utils::serialization::config;

// The settings as they were, afterwards.
class Settings : public ::testing::Test {
 protected:
  void TearDown() override {
    config::load = load_;
    config::save = save_;
  }
  std::string path(const char* name) const {
    const char* folder = std::getenv("TEST_TMPDIR");
    return std::string(folder != nullptr ? folder : "/tmp") + "/" + name;
  }

 private:
  const config::Load load_ = config::load;
  const config::Save save_ = config::save;
};

at::Tensor count(int64_t n) {
  at::Tensor t = at::empty_contiguous({n}, at::kFloat);
  for (int64_t i = 0; i < n; ++i) t.data_ptr<float>()[i] = static_cast<float>(i);
  return t;
}

std::shared_ptr<FileBytes> saved(const IValue& value) {
  testing::StringSink sink;
  save(value, sink);
  return std::make_shared<FileBytes>(std::move(sink.text), "saved");
}

float at_end(const at::Tensor& t) { return t.const_data_ptr<float>()[t.numel() - 1]; }

TEST_F(Settings, ChecksumsMayBeLeftOut) {
  EXPECT_TRUE(serialization::get_crc32_options());
  const IValue value = std::vector<at::Tensor>{count(100000), count(0)};
  EXPECT_NE(ZipReader(saved(value)).find("data/0")->crc, 0u);
  const size_t size = saved(value)->view().size();
  serialization::set_crc32_options(false);
  const auto bytes = saved(value);
  EXPECT_EQ(bytes->view().size(), size);
  const ZipReader zip(bytes);
  ASSERT_EQ(zip.records().size(), 8u);
  for (const ZipRecord& record : zip.records()) {
    EXPECT_EQ(record.crc, 0u) << record.name;
    EXPECT_FALSE(record.deflated) << record.name;
    EXPECT_EQ(record.offset % 64, 0u) << record.name;
  }
  LoadOptions all;
  all.verify = true;
  EXPECT_EQ(at_end(load(bytes, all).toTensorVector()[0]), 99999);
  // Damage is not noticed.
  std::string damaged(bytes->view());
  damaged[zip.find("data/0")->offset + 3] ^= 64;
  EXPECT_NO_THROW(load(std::make_shared<FileBytes>(damaged, "damaged"), all));
}

TEST_F(Settings, StoragesAreAligned) {
  for (const uint64_t alignment : {1, 3, 16, 4096, 32768}) {
    config::save.storage_alignment = alignment;
    const auto bytes = saved(std::vector<at::Tensor>{count(7), count(9)});
    const ZipReader zip(bytes);
    EXPECT_EQ(zip.read(*zip.find(".storage_alignment"), 100), std::to_string(alignment));
    for (const ZipRecord& record : zip.records()) EXPECT_EQ(record.offset % alignment, 0u) << record.name;
    EXPECT_EQ(at_end(load(bytes).toTensorVector()[1]), 8);
  }
  for (const uint64_t alignment : {uint64_t{0}, uint64_t{32769}, ~uint64_t{0}}) {
    config::save.storage_alignment = alignment;
    EXPECT_THROW(saved(count(7)), c10::ValueError) << alignment;
  }
}

TEST_F(Settings, FilesAreMappedOrRead) {
  const std::string file = path("mapped.pt");
  serialization::set_crc32_options(false);
  torch::save(count(5), file);
  // Private: what is written stays here.
  at::Tensor own;
  torch::load(own, file);
  own.data_ptr<float>()[4] = 40;
  EXPECT_EQ(at_end(load(file).toTensor()), 4);
  serialization::set_default_mmap_options(MAP_SHARED);
  EXPECT_EQ(serialization::get_default_mmap_options(), MAP_SHARED);
  at::Tensor shared;
  torch::load(shared, file);
  shared.data_ptr<float>()[4] = 41;
  serialization::set_default_mmap_options(MAP_PRIVATE);
  EXPECT_EQ(at_end(load(file).toTensor()), 41);
  try {
    serialization::set_default_mmap_options(MAP_PRIVATE | MAP_SHARED);
    FAIL();
  } catch (const c10::ValueError& e) {
    EXPECT_EQ(e.msg(), "set_default_mmap_options: expected flags MAP_PRIVATE or MAP_SHARED, got 3");
  }
  config::load.mmap_flags = 0;
  EXPECT_THROW(load(file), c10::ValueError);
  // Read: another mapping's writes do not show.
  config::load = {};
  config::load.mmap = false;
  const at::Tensor read = load(file).toTensor();
  shared.data_ptr<float>()[4] = 42;
  EXPECT_EQ(at_end(read), 41);
  EXPECT_EQ(at_end(load(file).toTensor()), 42);
}

// A file of before 2.1: no record byteorder.
TEST_F(Settings, ByteOrderOfFilesThatNameNone) {
  const auto without = [](const IValue& value) {
    const ZipReader zip(saved(value));
    testing::StringSink sink;
    ZipWriter writer(sink, "archive");
    for (const ZipRecord& record : zip.records()) {
      if (record.name != "byteorder" && record.name[0] != '.') {
        writer.add_copy(record.name, zip.read(record, 1 << 20));
      }
    }
    writer.finish();
    return std::make_shared<FileBytes>(std::move(sink.text), "old");
  };
  EXPECT_FALSE(serialization::get_default_load_endianness().has_value());
  const auto old = without(count(3));
  const auto second = [&] { return load(old).toTensor().const_data_ptr<float>()[1]; };
  EXPECT_EQ(second(), 1);
  serialization::set_default_load_endianness(LoadEndianness::BIG);
  EXPECT_EQ(serialization::get_default_load_endianness(), LoadEndianness::BIG);
  const uint32_t bits = 0x0000803f;  // of 1, backwards
  float swapped;
  std::memcpy(&swapped, &bits, sizeof swapped);
  EXPECT_EQ(second(), swapped);
  EXPECT_EQ(at_end(load(saved(count(3))).toTensor()), 2) << "that file names its order";
  for (const auto order : {LoadEndianness::LITTLE, LoadEndianness::NATIVE}) {
    serialization::set_default_load_endianness(order);
    EXPECT_EQ(second(), 1);
  }
}

TEST_F(Settings, DataMayBeSkipped) {
  at::Tensor flags = at::empty_contiguous({3}, at::kBool);
  std::memset(flags.data_ptr<bool>(), 1, 3);
  const IValue value = std::vector<at::Tensor>{count(100000), flags};
  const auto whole = saved(value);
  std::shared_ptr<FileBytes> bytes;
  {
    const serialization::skip_data skip;
    bytes = saved(value);
    const std::vector<at::Tensor> tensors = load(whole).toTensorVector();
    EXPECT_EQ(tensors[0].numel(), 100000);
    EXPECT_FALSE(tensors[1].const_data_ptr<bool>()[2]);
    // Not even the checksum is computed.
    std::string damaged(whole->view());
    damaged[ZipReader(whole).find("data/0")->offset] ^= 1;
    EXPECT_NO_THROW(load(std::make_shared<FileBytes>(damaged, "damaged")));
  }
  EXPECT_FALSE(serialization::skip_data::is_on());
  EXPECT_EQ(bytes->view().size(), whole->view().size());
  const ZipReader zip(bytes);
  EXPECT_EQ(zip.find("data/0")->offset, ZipReader(whole).find("data/0")->offset);
  EXPECT_EQ(zip.find("data/0")->crc, 0u);
  EXPECT_NE(zip.find("data.pkl")->crc, 0u);
  EXPECT_EQ(at_end(load(bytes).toTensorVector()[0]), 0);
  // The other pass.
  std::string filled(bytes->view());
  std::memcpy(filled.data() + zip.find("data/0")->offset, count(100000).const_data_ptr<float>(), 400000);
  EXPECT_EQ(at_end(load(std::make_shared<FileBytes>(filled, "filled")).toTensorVector()[0]), 99999);
}

TEST_F(Settings, NamesThatAreRefused) {
  const std::string file = path("classes.pt");
  testing::StringSink sink;
  ZipWriter zip(sink, "archive");
  zip.add_copy("data.pkl", "\x80\x02(c__main__\nConfig\nctorch\nfloat32\ncos\nsystem\nc__main__\nConfig\nt.");
  zip.add_copy("version", "3\n");
  zip.finish();
  serialize::write_file(file, sink.text);
  EXPECT_EQ(serialization::get_unsafe_globals_in_checkpoint(file),
            (std::vector<std::string>{"__main__.Config", "os.system"}));
  torch::save(count(5), file);
  EXPECT_TRUE(serialization::get_unsafe_globals_in_checkpoint(file).empty());
}

}  // namespace
}  // namespace torch::pickle
