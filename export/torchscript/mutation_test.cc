// Archives that are changed at random are read, run or refused. KINDLING_TORCHSCRIPT_MUTATIONS sets how many.
#include <cstdlib>
#include <random>

#include "aten/aten.h"
#include "c10/util/exception.h"
#include "export/torchscript/load.h"
#include "gtest/gtest.h"
#include "jit/frontend/source_range.h"
#include "utils/pickle/testing.h"
#include "utils/pickle/zip.h"

namespace torch::jit {
namespace {

using pickle::testing::StringSink;
using Records = std::vector<std::pair<std::string, std::string>>;

Records records_of(const std::string& path) {
  const pickle::ZipReader zip(std::make_shared<serialize::FileBytes>(path));
  Records records;
  for (const pickle::ZipRecord& record : zip.records()) {
    const std::string_view name = record.name;
    if (name.ends_with(".debug_pkl") || name.starts_with(".data/")) continue;
    records.emplace_back(name, zip.read(record, uint64_t{1} << 30));
  }
  return records;
}

std::string written(const Records& records) {
  StringSink sink;
  pickle::ZipWriter zip(sink, "mutated");
  for (const auto& [name, bytes] : records) zip.add(name, bytes.data(), bytes.size());
  zip.finish();
  return std::move(sink.text);
}

TEST(TorchScriptMutations, AreReadOrRefused) {
  const char* given = std::getenv("KINDLING_TORCHSCRIPT_MUTATIONS");
  const int count = given == nullptr ? 20000 : std::atoi(given);
  std::vector<Records> archives;
  for (const char* name :
       {"control_flow", "script_class", "enum", "named_tuple", "hooks", "collections", "interface", "fork_wait"}) {
    archives.push_back(records_of("export/torchscript/testdata/" + std::string(name) + ".script@2.15.0.pt"));
    std::istringstream file(written(archives.back()));
    load(file);
  }
  std::mt19937 random(5);
  const char* const words[] = {"None",
                               "self",
                               "1",
                               "-1",
                               "9223372036854775807",
                               "\"x\"",
                               "annotate(List[int], [])",
                               "x",
                               "__torch__.modules_ts",
                               "if True:\n",
                               "while True:\n",
                               "return",
                               "torch.",
                               "ops.prim.",
                               "Tensor",
                               "int",
                               "List[",
                               "]",
                               "(",
                               ")",
                               ", ",
                               ":",
                               "\n  ",
                               "CONSTANTS.c0"};
  int read = 0, run = 0;
  for (int i = 0; i < count; ++i) {
    Records records = archives[random() % archives.size()];
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
      std::string* text = nullptr;
      // Code, for the most part.
      for (int tries = 0; tries < 8 && text == nullptr; ++tries) {
        auto& [name, bytes] = records[random() % records.size()];
        const bool code = name.compare(0, 5, "code/") == 0;
        if (!bytes.empty() && (code || name == "data.pkl" || name == "constants.pkl" || random() % 8 == 0))
          text = &bytes;
      }
      if (text == nullptr) continue;
      const size_t at = random() % text->size();
      switch (random() % 4) {
        case 0:
          (*text)[at] = static_cast<char>(random() % 128);
          break;
        case 1:
          text->erase(at, 1 + random() % 12);
          break;
        case 2:
          text->replace(at, random() % 6, words[random() % std::size(words)]);
          break;
        default:
          text->insert(at, text->substr(random() % text->size(), random() % 40));
          break;
      }
      if (text->empty()) *text = " ";
    }
    try {
      std::istringstream file(written(records));
      Module module = load(file);
      ++read;
      // Loops may be without end: only code that cannot have become one is run.
      bool loops = false;
      for (const auto& [name, bytes] : records)
        loops = loops || bytes.find("while") != std::string::npos || bytes.find("for ") != std::string::npos;
      if (loops) continue;
      module({at::ones({2, 3})});
      ++run;
    } catch (const c10::Error&) {
    } catch (const ErrorReport&) {
    } catch (const std::runtime_error&) {
    }
  }
  EXPECT_GT(read, count / 50);
  EXPECT_LT(read, count);
  if (given == nullptr) EXPECT_GT(run, 0);
}

}  // namespace
}  // namespace torch::jit
