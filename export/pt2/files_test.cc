// Reads programs that three versions of PyTorch wrote and compares what they do with their descriptions.
// KINDLING_FIXTURES names a folder with more of them.
#include <cstring>
#include <filesystem>
#include <fstream>

#include "aten/aten.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "export/pt2/pt2.h"
#include "graph/ir/text.h"
#include "gtest/gtest.h"
#include "tests/fixtures/fixture.h"
#include "utils/pickle/testing.h"

namespace torch {
namespace {

using c10::IValue;
using nlohmann::json;
namespace fs = std::filesystem;

std::string folder() {
  return fixtures::folder("export", "export/pt2/testdata");
}

// Empty where all calls give what they should.
std::string replayed(const fixtures::Fixture& fixture, const json& calls, const ExportedProgram& program) {
  for (size_t i = 0; i < calls.size(); ++i) {
    const json& call = calls[i];
    std::vector<IValue> args;
    for (const json& one : call.value("args", json::array())) args.push_back(fixture.value(one));
    std::vector<std::pair<std::string, IValue>> kwargs;
    if (call.contains("kwargs")) {
      for (const auto& [name, one] : call["kwargs"].items()) kwargs.emplace_back(name, fixture.value(one));
    }
    if (call.contains("manual_seed")) at::manual_seed(call["manual_seed"].get<uint64_t>());
    const IValue result = program(args, kwargs);
    const std::string place = "call " + std::to_string(i);
    std::string found = fixture.difference(call["result"], result, place);
    if (found.empty() && call.contains("args_after")) {
      for (const auto& [k, after] : call["args_after"].items()) {
        if (found.empty())
          found = fixture.difference(after, args[std::stoul(k)], place + ", argument " + k + " after it");
      }
    }
    if (!found.empty()) return found;
  }
  return "";
}

json calls_of(const json& program) {
  if (program.is_array()) return program;
  return program.contains("calls") ? program["calls"] : json::array({program});
}

TEST(Pt2Files, DoWhatTheirDescriptionsSay) {
  int programs = 0;
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (entry.path().extension() != ".json") continue;
    const fixtures::Fixture fixture(entry.path().string());
    for (const json& file : fixture.description()["files"]) {
      const std::string name = file.get<std::string>(), path = (fs::path(folder()) / name).string();
      if (!fs::exists(path)) continue;
      SCOPED_TRACE(name);
      const json& refused = fixture.description().value("not_loaded_by_2.15", json::object());
      try {
        if (fixture.description().contains("programs")) {
          for (const auto& [program, calls] : fixture.description()["programs"].items()) {
            EXPECT_EQ(replayed(fixture, calls_of(calls), load_exported(path, program)), "");
            ++programs;
          }
          continue;
        }
        const ExportedProgram program = load_exported(path);
        EXPECT_FALSE(refused.contains(name)) << "a file that PyTorch refuses";
        EXPECT_EQ(replayed(fixture, fixture.description()["calls"], program), "");
        ++programs;
      } catch (const c10::Error& error) {
        EXPECT_TRUE(refused.contains(name)) << error.what();
      }
    }
  }
  EXPECT_GT(programs, 3);
}

std::string saved(const NamedPrograms& programs) {
  pickle::testing::StringSink sink;
  save_exported(programs, sink);
  return std::move(sink.text);
}
ExportedProgram loaded(const std::string& bytes, const std::string& name) {
  return load_exported(std::make_shared<serialize::FileBytes>(bytes, "written"), name);
}
void expect_equal(const std::map<std::string, at::Tensor>& a, const std::map<std::string, at::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) {
    SCOPED_TRACE(name);
    ASSERT_EQ(b.count(name), 1u);
    const at::Tensor& other = b.at(name);
    EXPECT_EQ(tensor.scalar_type(), other.scalar_type());
    EXPECT_EQ(tensor.sizes(), other.sizes());
    EXPECT_EQ(tensor.strides(), other.strides());
    EXPECT_EQ(tensor.storage_offset(), other.storage_offset());
    EXPECT_EQ(tensor.requires_grad(), other.requires_grad());
    ASSERT_EQ(tensor.storage().nbytes(), other.storage().nbytes());
    EXPECT_EQ(std::memcmp(tensor.storage().data(), other.storage().data(), tensor.storage().nbytes()), 0);
    for (const auto& [second, second_tensor] : a) {
      EXPECT_EQ(tensor.is_alias_of(second_tensor), other.is_alias_of(b.at(second))) << second;
    }
  }
}

// Every program is the same after it was written and read, and written again it is the same file.
TEST(Pt2Files, AreWrittenAsTheyWereRead) {
  int programs = 0;
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (entry.path().extension() != ".json") continue;
    const fixtures::Fixture fixture(entry.path().string());
    for (const json& file : fixture.description()["files"]) {
      const std::string name = file.get<std::string>(), path = (fs::path(folder()) / name).string();
      if (!fs::exists(path) || fixture.description().value("not_loaded_by_2.15", json::object()).contains(name))
        continue;
      SCOPED_TRACE(name);
      std::vector<ExportedProgram> read;
      NamedPrograms named;
      const std::vector<std::string> names = exported_names(path);
      read.reserve(names.size());
      for (const std::string& one : names) {
        read.push_back(load_exported(path, one));
        named.emplace_back(one, &read.back());
      }
      std::string bytes;
      ASSERT_NO_THROW(bytes = saved(named));
      std::vector<ExportedProgram> again;
      NamedPrograms named_again;
      again.reserve(names.size());
      for (size_t i = 0; i < names.size(); ++i) {
        again.push_back(loaded(bytes, names[i]));
        named_again.emplace_back(names[i], &again.back());
        const ExportedProgram &a = read[i], &b = again[i];
        EXPECT_EQ(graph::print(*a.graph), graph::print(*b.graph));
        expect_equal(a.state_dict, b.state_dict);
        expect_equal(a.constants, b.constants);
        EXPECT_EQ(a.argument_names, b.argument_names);
        EXPECT_EQ(a.guards, b.guards);
        EXPECT_EQ(a.modules, b.modules);
        EXPECT_EQ(a.functional, b.functional);
        const json& description = fixture.description();
        const json& calls = description.contains("programs") ? description["programs"][names[i]] : description["calls"];
        EXPECT_EQ(replayed(fixture, calls_of(calls), b), "");
        ++programs;
      }
      // Buffers have changed by now.
      EXPECT_EQ(saved(named_again).size(), bytes.size());
    }
  }
  EXPECT_GT(programs, 3);
}

// Files that are damaged or mean harm: those that must be refused are, when they are read or when they run.
TEST(Pt2Files, HostileOnes) {
  const std::string hostile = fixtures::folder("hostile", "export/pt2/testdata/hostile");
  std::ifstream stream(hostile + "/manifest.json");
  const json manifest = json::parse(stream);
  int refused = 0;
  for (const json& entry : manifest) {
    const std::string name = entry["file"].get<std::string>(), expect = entry["expect"].get<std::string>();
    if (name.compare(0, 3, "ex_") != 0 || !fs::exists(hostile + "/" + name)) continue;
    SCOPED_TRACE(name + ": " + entry["why"].get<std::string>());
    std::string error;
    try {
      const ExportedProgram program = load_exported(hostile + "/" + name);
      if (name == "ex_guards_evil.pt2") {
        EXPECT_THROW(saved({{"model", &program}}), c10::ValueError);
      } else {
        loaded(saved({{"model", &program}}), "model");
      }
      program({at::ones({5, 4})});
    } catch (const c10::Error& e) {
      error = e.msg();
      ++refused;
    }
    if (expect == "refuse") EXPECT_NE(error, "");
    if (expect == "accept") EXPECT_EQ(error, "");
    EXPECT_FALSE(fs::exists("/tmp/kindling_owned"));
  }
  EXPECT_GT(refused, 40);
}

}  // namespace
}  // namespace torch
