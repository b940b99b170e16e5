// Python's torch.export.load reads what save_exported() writes, and the programs give there what they should.
// KINDLING_PYTHON names an interpreter that has torch; without it there is nothing to try.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include "aten/aten.h"
#include "c10/core/grad_mode.h"
#include "export/capture/decompositions.h"
#include "export/capture/test_models.h"
#include "export/pt2/pt2.h"
#include "export/pt2/test_programs.h"
#include "gtest/gtest.h"
#include "tests/fixtures/fixture.h"
#include "utils/pickle/file.h"

namespace torch::pt2 {
namespace {

using c10::IValue;
using nlohmann::json;
namespace fs = std::filesystem;

IValue tuple(std::vector<IValue> values) {
  return c10::ivalue::Tuple::create(std::move(values));
}
IValue list(const std::vector<IValue>& values) {
  const c10::impl::GenericList all(c10::AnyType::get());
  for (const IValue& v : values) all.push_back(v.isTensor() ? IValue(v.toTensor().detach().clone()) : v);
  return all;
}

// Runs the script over a folder; its output, and whether it ended well.
std::pair<std::string, bool> run_python(const std::string& python, const std::string& folder) {
  const std::string command = python + " export/pt2/load_with_torch.py '" + folder + "' 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  if (pipe == nullptr) return {"cannot be started", false};
  char piece[4096];
  while (const size_t n = std::fread(piece, 1, sizeof piece, pipe)) output.append(piece, n);
  return {output, pclose(pipe) == 0};
}

std::string fresh_folder(const std::string& name) {
  const fs::path folder = fs::path(::testing::TempDir()) / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder.string();
}

const char* python() {
  return std::getenv("KINDLING_PYTHON");
}

TEST(Torch, RunsProgramsOfNodes) {
  if (python() == nullptr) GTEST_SKIP() << "KINDLING_PYTHON names no interpreter that has torch";
  const std::string folder = fresh_folder("nodes");
  const c10::NoGradGuard no_grad;
  std::vector<TestProgram> all = test_programs();
  for (unsigned seed = 0; seed < 20; ++seed) all.push_back(random_program(seed, 8));
  for (const TestProgram& test : all) {
    const std::string path = folder + "/" + test.name + ".pt2";
    save_exported(*test.program, path);
    std::vector<IValue> calls;
    for (const std::vector<IValue>& inputs : test.inputs) {
      const IValue before = list(inputs);
      std::vector<IValue> given;
      for (const IValue& v : before.toListRef()) given.emplace_back(v.toTensor().clone());
      const IValue results = list(test.program->run(given));
      std::vector<IValue> after;
      for (size_t i = 0; i < given.size(); ++i) after.push_back(tuple({static_cast<int64_t>(i), given[i]}));
      calls.push_back(tuple({"model", IValue(), before, results, list(after), 1e-5, 1e-6}));
    }
    pickle::save(list(calls), path + ".calls");
  }
  const auto [output, good] = run_python(python(), folder);
  EXPECT_TRUE(good) << output;
  std::cout << output;
}

// Modules and functions of C++: as they are captured, without calls that write, and of core operators.
TEST(Torch, RunsExportedModules) {
  if (python() == nullptr) GTEST_SKIP() << "KINDLING_PYTHON names no interpreter that has torch";
  const std::string folder = fresh_folder("modules");
  const c10::NoGradGuard no_grad;
  for (const torch::testing::ExportedModel& model : torch::testing::exported_models()) {
    for (const char* level : {"training", "functional", "core"}) {
      ExportOptions options;
      options.functional = std::string(level) == "functional";
      ExportedProgram program = model.program(options);
      if (std::string(level) == "core") program = run_decompositions(program);
      const std::string path = folder + "/" + model.name + "." + level + ".pt2";
      save_exported(program, path);
      std::vector<IValue> calls;
      // One call after the other: buffers go on from where they were.
      for (const std::vector<IValue>& inputs : model.inputs) {
        const IValue before = list(inputs);
        std::vector<IValue> given;
        for (const IValue& v : before.toListRef()) given.push_back(v.isTensor() ? IValue(v.toTensor().clone()) : v);
        const IValue results = list(program.run(given));
        std::vector<IValue> after;
        for (size_t i = 0; i < given.size(); ++i) {
          // The script counts arguments, of which one may hold several tensors.
          const bool flat = program.in_spec.children[0].children.size() == given.size();
          if (flat && given[i].isTensor()) after.push_back(tuple({static_cast<int64_t>(i), given[i]}));
        }
        calls.push_back(tuple({"model", IValue(), before, results, list(after), 1e-4, 1e-5}));
      }
      pickle::save(list(calls), path + ".calls");
    }
  }
  const auto [output, good] = run_python(python(), folder);
  EXPECT_TRUE(good) << output;
  std::cout << output;
}

TEST(Torch, RunsProgramsOfFiles) {
  if (python() == nullptr) GTEST_SKIP() << "KINDLING_PYTHON names no interpreter that has torch";
  const std::string from = fixtures::folder("export", "export/pt2/testdata"), folder = fresh_folder("files");
  for (const auto& entry : fs::directory_iterator(from)) {
    if (entry.path().extension() != ".json") continue;
    const fixtures::Fixture fixture(entry.path().string());
    const json& about = fixture.description();
    for (const json& file : about["files"]) {
      const std::string name = file.get<std::string>(), path = (fs::path(from) / name).string();
      if (!fs::exists(path) || about.value("not_loaded_by_2.15", json::object()).contains(name)) continue;
      SCOPED_TRACE(name);
      std::vector<ExportedProgram> programs;
      NamedPrograms named;
      const std::vector<std::string> names = exported_names(path);
      programs.reserve(names.size());
      std::vector<IValue> calls;
      for (const std::string& one : names) {
        programs.push_back(load_exported(path, one));
        const ExportedProgram& program = programs.back();
        named.emplace_back(one, &program);
        const json& described = about.contains("programs") ? about["programs"][one] : about["calls"];
        for (const json& call : described.is_array() ? described : described["calls"]) {
          std::vector<IValue> args;
          for (const json& v : call.value("args", json::array())) args.push_back(fixture.value(v));
          const c10::impl::GenericDict kwargs(c10::AnyType::get(), c10::AnyType::get());
          const json named_args = call.value("kwargs", json::object()),
                     changed = call.value("args_after", json::object());
          for (const auto& [key, v] : named_args.items()) {
            kwargs.insert_or_assign(key, fixture.value(v));
          }
          std::vector<IValue> after;
          for (const auto& [i, v] : changed.items()) {
            after.push_back(tuple({static_cast<int64_t>(std::stoll(i)), fixture.value(v)}));
          }
          const IValue seed = call.contains("manual_seed") ? IValue(call["manual_seed"].get<int64_t>()) : IValue();
          calls.push_back(tuple({one, seed, list(program.in_spec.flatten(tuple({tuple(args), kwargs}), "arguments")),
                                 list(program.out_spec.flatten(fixture.value(call["result"]), "results")), list(after),
                                 about.value("rtol", 1e-5), about.value("atol", 1e-6)}));
        }
      }
      save_exported(named, folder + "/" + name);
      pickle::save(list(calls), folder + "/" + name + ".calls");
    }
  }
  const auto [output, good] = run_python(python(), folder);
  EXPECT_TRUE(good) << output;
  std::cout << output;
}

}  // namespace
}  // namespace torch::pt2
