// Programs that are changed at random are read or refused, and what is read is written or refused.
// KINDLING_PT2_MUTATIONS sets how many.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "aten/core/tensor.h"
#include "export/pt2/pt2.h"
#include "gtest/gtest.h"
#include "utils/pickle/testing.h"
#include "utils/pickle/zip.h"

namespace torch {
namespace {

using nlohmann::json;

using pickle::testing::StringSink;

// An archive's records, of which the program is one.
struct Archive {
  std::vector<std::pair<std::string, std::string>> records;
  std::string program;

  explicit Archive(const std::string& path) {
    const pickle::ZipReader zip(std::make_shared<serialize::FileBytes>(path));
    for (const pickle::ZipRecord& record : zip.records()) {
      std::string bytes = zip.read(record, uint64_t{1} << 30);
      if (record.name == "models/model.json") {
        json j = json::parse(bytes);
        strip(j);
        program = j.dump();
      } else if (record.name.substr(0, 6) != ".data/" && record.name.substr(0, 18) != "data/sample_inputs") {
        records.emplace_back(record.name, std::move(bytes));
      }
    }
  }
  // Traces of the stack are most of a program's size, and mean nothing.
  static void strip(json& j) {
    if (j.is_object()) {
      for (const char* name : {"metadata", "hint"}) {
        if (j.contains(name) && j[name].is_object()) j[name] = json::object();
      }
    }
    if (j.is_structured()) {
      for (json& part : j) strip(part);
    }
  }
  std::shared_ptr<serialize::FileBytes> with(const std::string& other) const {
    StringSink sink;
    pickle::ZipWriter zip(sink, "mutated");
    for (const auto& [name, bytes] : records) zip.add(name, bytes.data(), bytes.size());
    zip.add("models/model.json", other.data(), other.size());
    zip.finish();
    return std::make_shared<serialize::FileBytes>(std::move(sink.text), "mutated");
  }
};

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  // A value somewhere in the document becomes another one, or goes.
  void change(json& j) {
    json* at = &j;
    for (int depth = 0; depth < 12 && at->is_structured() && !at->empty(); ++depth) {
      const size_t i = random_() % at->size();
      json* next = at->is_array() ? &(*at)[i] : &std::next(at->begin(), static_cast<std::ptrdiff_t>(i)).value();
      if (!next->is_structured() || next->empty() || random_() % 6 == 0) {
        if (random_() % 8 == 0) {
          if (at->is_array()) {
            at->erase(i);
          } else {
            at->erase(std::next(at->begin(), static_cast<std::ptrdiff_t>(i)));
          }
          return;
        }
        *next = other(*next);
        return;
      }
      at = next;
    }
  }
  void change(std::string& text) {
    const size_t at = random_() % text.size();
    switch (random_() % 3) {
      case 0:
        text[at] = static_cast<char>(random_() % 128);
        break;
      case 1:
        text.erase(at, 1 + random_() % 20);
        break;
      default:
        text.insert(at, text.substr(random_() % text.size(), random_() % 40));
        break;
    }
  }
  unsigned operator()() { return static_cast<unsigned>(random_()); }

 private:
  json other(const json& was) {
    switch (random_() % 9) {
      case 0:
        return nullptr;
      case 1:
        return -1;
      case 2:
        return INT64_MAX;
      case 3:
        return "Symbol('s0')";
      case 4:
        return json::array({was, was});
      case 5:
        return json::object({{"as_int", was}});
      case 6:
        return was.is_number_integer() ? json(was.get<int64_t>() / 2 + 1) : json("x");
      case 7:
        return 1e300;
      default:
        return true;
    }
  }
  std::mt19937 random_;
};

TEST(Pt2Mutations, AreReadOrRefused) {
  const char* given = std::getenv("KINDLING_PT2_MUTATIONS");
  const int count = given == nullptr ? 20000 : std::atoi(given);
  std::vector<Archive> archives;
  for (const char* name : {"mlp.export", "cond.export", "dynamic_arithmetic.export", "trees.core", "while_loop.core",
                           "scan.core", "buffers_and_constants.core"}) {
    archives.emplace_back("export/pt2/testdata/" + std::string(name) + "@2.15.0.pt2");
    load_exported(archives.back().with(archives.back().program));
  }
  std::vector<json> programs;
  for (const Archive& archive : archives) programs.push_back(json::parse(archive.program));
  Mutator mutate(11);
  int read = 0, written = 0;
  for (int i = 0; i < count; ++i) {
    const size_t which = mutate() % archives.size();
    std::string text;
    if (mutate() % 4 == 0) {
      text = archives[which].program;
      mutate.change(text);
    } else {
      json program = programs[which];
      for (unsigned changes = 1 + mutate() % 3; changes > 0; --changes) mutate.change(program);
      text = program.dump(-1, ' ', false, json::error_handler_t::replace);
    }
    std::optional<ExportedProgram> program;
    try {
      program.emplace(load_exported(archives[which].with(text)));
      ++read;
    } catch (const c10::Error&) {
    }
    if (!program.has_value() || read % 4 != 0) continue;
    // What can be written can be read.
    StringSink sink;
    try {
      save_exported({{"model", &*program}}, sink);
      ++written;
    } catch (const c10::Error&) {
      continue;
    }
    load_exported(std::make_shared<serialize::FileBytes>(std::move(sink.text), "written"));
  }
  EXPECT_GT(read, count / 50);
  EXPECT_LT(read, count);
  EXPECT_GT(written, read / 8);
}

}  // namespace
}  // namespace torch
