// Archives allocate at most four times their file, whatever it holds: read from memory or a stream, or written.
#include <gtest/gtest.h>

#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "c10/testing/files.h"
#include "utils/serialize/archive.h"
#include "utils/serialize/counting_allocator.h"
#include "utils/serialize/safetensors_format.h"

namespace torch::serialize {
namespace {

constexpr size_t kFixed = 64 * 1024;

// What `body` had allocated at its height beyond what was there before.
size_t peak_of(const std::function<void()>& body) {
  const size_t before = testing::reset_allocation_counts();
  body();
  return testing::allocation_counts().peak - before;
}

std::string file_of(const std::vector<safetensors::TensorLayout>& tensors, const safetensors::Metadata& metadata,
                    size_t data) {
  std::string file = safetensors::plan(tensors, metadata).header;
  file.append(data, '\0');
  return file;
}

// Files of one kind of thing each, in the shortest form that is valid.
std::vector<std::pair<const char*, std::string>> files() {
  std::vector<std::pair<const char*, std::string>> out;
  std::vector<safetensors::TensorLayout> scalars, ranks;
  safetensors::Metadata values, escapes;
  for (int i = 0; i < 30000; ++i) {
    const std::string name = std::to_string(i);
    scalars.push_back({name, safetensors::Dtype::U8, {}});
    if (i < 3000) ranks.push_back({name, safetensors::Dtype::U8, std::vector<int64_t>(64, 1)});
    values.emplace_back("value." + name, "i:1");
    escapes.emplace_back("value." + name, "s:\n\n");
  }
  out.emplace_back("tensors", file_of(scalars, {}, scalars.size()));
  out.emplace_back("many dimensions", file_of(ranks, {}, ranks.size()));
  out.emplace_back("numbers", file_of({}, values, 0));
  out.emplace_back("escapes", file_of({}, escapes, 0));
  out.emplace_back("one text", file_of({}, {{"value.text", "s:" + std::string(1000000, 'x')}}, 0));
  out.emplace_back("data", file_of({{"w", safetensors::Dtype::F32, {250000}}}, {}, 1000000));
  return out;
}

TEST(ArchiveMemory, ReadingAllocatesAtMostFourTimesTheFile) {
  const std::string path = c10::testing::fresh_folder() + "/archive";
  for (const auto& [what, file] : files()) {
    const size_t bound = 4 * file.size() + kFixed;
    EXPECT_LE(peak_of([&, &file = file] {
                InputArchive archive;
                archive.load_from(file.data(), file.size());
              }),
              bound)
        << what << " from memory";
    std::istringstream stream(file);
    EXPECT_LE(peak_of([&] {
                InputArchive archive;
                archive.load_from(stream);
              }),
              bound)
        << what << " from a stream";
    c10::testing::write_file(path, file);
    InputArchive archive;
    EXPECT_LE(peak_of([&] { archive.load_from(path); }), bound) << what << " from a file";
    EXPECT_LE(peak_of([&] { archive.keys(); }), bound) << what << ": keys";
    EXPECT_LE(peak_of([&] { archive.tensor_names(); }), bound) << what << ": names of tensors";
    // Short values take more room than their texts: what is handed back comes on top.
    const size_t values = archive.values().size();
    EXPECT_LE(peak_of([&] { archive.values(); }), bound + values * sizeof(std::pair<std::string, c10::IValue>))
        << what << ": values";
  }
}

TEST(ArchiveMemory, AListIsReadIntoExactlyItsRoom) {
  const std::vector<int64_t> list(200000, 1);
  OutputArchive out;
  out.use_format("safetensors").write("list", list);
  const std::string bytes = out.to_bytes();
  InputArchive in;
  in.load_from(bytes.data(), bytes.size());
  std::vector<int64_t> read;
  EXPECT_LE(peak_of([&] { in.read("list", read); }), list.size() * sizeof(int64_t) + kFixed);
  EXPECT_EQ(read, list);
}

TEST(ArchiveMemory, ListsAreWrittenWithinFourTimesTheFile) {
  const c10::IValue lists[] = {std::vector<int64_t>(200000, 1), std::vector<double>(200000, 1.5),
                               std::vector<bool>(200000, true)};
  for (const c10::IValue& list : lists) {
    OutputArchive out;
    out.use_format("safetensors").write("list", list);
    const size_t size = out.to_bytes().size();
    EXPECT_LE(peak_of([&] { out.to_bytes(); }), 4 * size + kFixed) << list.tag_name();
    const std::string bytes = out.to_bytes();
    InputArchive in;
    in.load_from(bytes.data(), bytes.size());
    // The list that is handed back takes more room than its text, and no more is taken beside it.
    c10::IValue read;
    EXPECT_LE(peak_of([&] { in.read("list", read); }), list.toListRef().size() * sizeof(c10::IValue) + kFixed)
        << list.tag_name();
    EXPECT_EQ(read.toListRef().size(), list.toListRef().size());
    EXPECT_EQ(read.tag_name(), list.tag_name());
  }
}

TEST(ArchiveMemory, WritingAllocatesAtMostFourTimesTheFile) {
  const std::string path = c10::testing::fresh_folder() + "/archive";
  for (const auto& [what, file] : files()) {
    InputArchive in;
    in.load_from(file.data(), file.size());
    OutputArchive out;
    out.use_format("safetensors");
    for (const std::string& name : in.tensor_names()) {
      at::Tensor tensor;
      in.read(name, tensor);
      out.write(name, tensor);
    }
    for (const auto& [name, value] : in.values()) out.write(name, value);
    const size_t size = out.to_bytes().size(), bound = 4 * size + kFixed;
    EXPECT_LE(peak_of([&] { out.to_bytes(); }), bound) << what << " to memory";
    EXPECT_LE(peak_of([&] { out.save_to(path); }), bound) << what << " to a file";
    EXPECT_LE(peak_of([&] { out.save_to([](const void*, size_t bytes) { return bytes; }); }), bound)
        << what << " to a function";
    EXPECT_EQ(c10::testing::read_file(path).size(), size) << what;
  }
}

}  // namespace
}  // namespace torch::serialize
