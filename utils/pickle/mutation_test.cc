// Damaged files, made by a seeded generator: each is read or refused with a typed error that names file and byte, and
// memory stays bounded. KINDLING_PICKLE_MUTATIONS sets how many (20,000).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "utils/pickle/file.h"
#include "utils/pickle/testing.h"
#include "utils/pickle/zip.h"
#include "utils/serialize/archive.h"
#include "utils/serialize/counting_allocator.h"

namespace torch::pickle {
namespace {

using c10::IValue;
namespace fs = std::filesystem;

using testing::StringSink;

std::vector<std::string> seeds() {
  std::vector<std::string> paths, out;
  for (const auto& entry : fs::directory_iterator("utils/pickle/testdata/save")) {
    if (entry.path().extension() == ".pt") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) out.push_back(serialize::read_file(path));
  return out;
}

std::string mutate(std::string file, std::mt19937& random) {
  constexpr std::string_view kOpcodes =
      "\x80.(N\x88\x89KMJ\x8aGX)\x85\x86\x87t]ae}sucR\x81\x62Qqrhj\x8c\x94\x93\x8f\x90\x91\x95"
      "01";
  const unsigned changes = random() % 2 == 0 ? 1 : 1 + random() % 4;
  for (unsigned i = 0; i < changes && !file.empty(); ++i) {
    const size_t at = random() % file.size();
    switch (random() % 8) {
      case 0: file[at] = kOpcodes[random() % kOpcodes.size()]; break;
      case 1: file[at] = static_cast<char>(file[at] ^ 1 << random() % 8); break;
      case 2: file.insert(at, 1, kOpcodes[random() % kOpcodes.size()]); break;
      case 3: file.erase(at, 1 + random() % 16); break;
      case 4: file.resize(at); break;
      case 5: file.insert(at, file.substr(random() % file.size(), 1 + random() % 80)); break;
      case 6:
        for (size_t k = at; k < std::min(at + 8, file.size()); ++k) file[k] = random() % 2 == 0 ? '\xff' : '\x7f';
        break;
      case 7: file[at] = static_cast<char>(random()); break;
    }
  }
  return file;
}

// The file with another pickle, and all checksums right.
std::string with_mutated_pickle(const std::string& file, std::mt19937& random) {
  const ZipReader zip(std::make_shared<FileBytes>(file, "seed"));
  StringSink sink;
  ZipWriter out(sink, "archive");
  for (const ZipRecord& record : zip.records()) {
    if (record.name == ".data/serialization_id") continue;
    std::string data = zip.read(record, 1 << 20);
    if (record.name == "data.pkl" || random() % 16 == 0) data = mutate(std::move(data), random);
    out.add_copy(record.name, std::move(data));
  }
  out.finish();
  return std::move(sink.text);
}

TEST(PickleMutation, EveryFileIsReadOrRefused) {
  const std::vector<std::string> start = seeds();
  ASSERT_GT(start.size(), 50u);
  const char* given = std::getenv("KINDLING_PICKLE_MUTATIONS");
  const int inputs = given != nullptr ? std::atoi(given) : 20000;
  std::mt19937 random(20240301);
  int accepted = 0, refused = 0;
  for (int i = 0; i < inputs; ++i) {
    const std::string& seed = start[random() % start.size()];
    const std::string file =
        is_zip(seed) && random() % 4 != 0 ? with_mutated_pickle(seed, random) : mutate(seed, random);
    const size_t before = serialize::testing::reset_allocation_counts();
    bool ok = false;
    try {
      LoadOptions options;
      options.map_location = c10::Device(c10::kCPU);
      testing::take_apart(load(std::make_shared<FileBytes>(file, "damaged.pt"), options));
      ok = true;
    } catch (const serialize::FormatError& e) {
      ASSERT_THAT(e.msg(), ::testing::AllOf(::testing::HasSubstr("damaged.pt"), ::testing::HasSubstr("at byte")))
          << "input " << i;
    } catch (const c10::NotImplementedError& e) {
      ASSERT_THAT(e.msg(), ::testing::AllOf(::testing::HasSubstr("damaged.pt"), ::testing::HasSubstr("at byte")))
          << "input " << i;
    }
    const auto counts = serialize::testing::allocation_counts();
    // One request: four times the file, and a table's first block. All together: objects of a file's opcodes, a few
    // bytes each.
    ASSERT_LE(counts.largest, 4 * file.size() + 65536) << "input " << i;
    ASSERT_LE(counts.peak - before, 64 * file.size() + 65536) << "input " << i;
    ++(ok ? accepted : refused);
  }
  std::printf("%d read, %d refused\n", accepted, refused);
  EXPECT_GT(accepted, inputs / 50);
  EXPECT_GT(refused, inputs / 2);
}

TEST(PickleMutation, EveryTruncationIsRefused) {
  for (const char* name : {"utils/pickle/testdata/hostile/good.pt", "utils/pickle/testdata/hostile/legacy_good.pt"}) {
    const std::string file = serialize::read_file(name);
    for (size_t n = 0; n < file.size(); ++n) {
      EXPECT_THROW(load(std::make_shared<FileBytes>(file.substr(0, n), "short")), serialize::FormatError) << n;
    }
    load(std::make_shared<FileBytes>(file, "whole"));
  }
}

// libtorch's and TorchScript's archives: a module's attributes, no code.
TEST(TorchScriptArchives, GiveTheirParameters) {
  for (const char* version : {"2.15.0", "1.13.1"}) {
    serialize::InputArchive archive;
    archive.load_from(c10::str("utils/pickle/testdata/mlp.script@", version, ".pt"));
    size_t parameters = 0;
    for (const std::string& name : archive.tensor_names()) {
      at::Tensor tensor;
      archive.read(name, tensor);
      parameters += tensor.numel() > 0;
    }
    EXPECT_GE(parameters, 4u);
    bool training = false;
    EXPECT_TRUE(archive.try_read("training", training));
  }
}

TEST(Pickle, IsShownWithoutBeingDone) {
  const std::string shown = inspect("utils/pickle/testdata/hostile/pickle_os_system.pt");
  EXPECT_THAT(shown, ::testing::HasSubstr("os.system("));
}

TEST(Pickle, IsMappedWhereItIsAligned) {
  const IValue value = load("utils/pickle/testdata/hostile/good.pt");
  std::vector<IValue> left = {value};
  size_t tensors = 0;
  while (!left.empty()) {
    const IValue v = left.back();
    left.pop_back();
    if (v.isGenericDict()) {
      for (const auto& entry : v.toGenericDict()) left.push_back(entry.value());
    } else if (v.isTensor()) {
      // A view of the file: its storage owns no memory of the allocator's.
      EXPECT_NE(v.toTensor().storage().data_ptr().get_context(), nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(v.toTensor().data_ptr()) % 64, 0u);
      ++tensors;
    }
  }
  EXPECT_GE(tensors, 1u);
}

}  // namespace
}  // namespace torch::pickle
