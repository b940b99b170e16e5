// Loads modules that two versions of PyTorch saved and compares what they do with their descriptions.
// KINDLING_FIXTURES names a folder with more of them; where KINDLING_SAVED names one, it gets each file as this saves
// it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "c10/core/grad_mode.h"
#include "export/torchscript/load.h"
#include "export/torchscript/save.h"
#include "gtest/gtest.h"
#include "jit/api/jit_exception.h"
#include "jit/api/typed_value.h"
#include "tests/fixtures/fixture.h"

namespace torch::jit {
namespace {

using c10::IValue;
using nlohmann::json;
namespace fs = std::filesystem;

std::string folder() {
  return fixtures::folder("torchscript", "export/torchscript/testdata");
}

// The arguments as a program that has lists of tensors would give them.
IValue called(Module& module, const std::string& method, std::vector<IValue> arguments) {
  const std::vector<c10::Argument>& declared = module.get_method(method).function().getSchema().arguments();
  for (size_t i = 0; i < arguments.size() && i + 1 < declared.size(); ++i)
    arguments[i] = Retyping(1000000)(arguments[i], declared[i + 1].type());
  return method == "forward" ? module(std::move(arguments)) : module.get_method(method)(std::move(arguments));
}

// Empty where all calls give what they should.
std::string replayed(const fixtures::Fixture& fixture, Module& module, bool script) {
  const c10::AutoGradMode no_grad(false);
  const json& calls = fixture.description()["calls"];
  for (size_t i = 0; i < calls.size(); ++i) {
    const json& call = calls[i];
    if (call.value("only", "") == "script" && !script) continue;
    std::vector<IValue> arguments;
    for (const json& one : call.value("args", json::array())) arguments.push_back(fixture.value(one));
    const std::string place = "call " + std::to_string(i), method = call.value("method", "forward");
    if (!script && method != "forward") continue;
    try {
      const IValue result = called(module, method, arguments);
      if (call.contains("error")) return place + ": expected an error, " + call["error"].dump();
      const std::string found = fixture.difference(call["result"], result, place);
      if (!found.empty()) return found;
    } catch (const std::exception& error) {
      if (!call.contains("error")) return place + ": " + error.what();
    }
  }
  if (fixture.description().contains("buffers_after") && script) {
    for (const NameTensor& buffer : module.named_buffers()) {
      if (!fixture.description()["buffers_after"].contains(buffer.name)) continue;
      const std::string found = fixture.difference(fixture.description()["buffers_after"][buffer.name], buffer.value,
                                                   "buffer " + buffer.name);
      if (!found.empty()) return found;
    }
  }
  return "";
}

// The sum of the squares of all floating-point tensors in a value.
void add_squares(const IValue& value, at::Tensor& sum) {
  if (value.isTensor() && value.toTensor().is_floating_point()) sum = sum + value.toTensor().square().sum();
  if (value.isTuple()) {
    for (const IValue& part : value.toTupleRef().elements()) add_squares(part, sum);
  }
  if (value.isList()) {
    for (const IValue& part : value.toListRef()) add_squares(part, sum);
  }
}
std::string gradients_differ(const fixtures::Fixture& fixture, Module& module) {
  const json& wanted = fixture.description()["grads_of_sum_of_squares_of_first_call"];
  std::vector<IValue> arguments;
  for (const json& one : fixture.description()["calls"][0]["args"]) arguments.push_back(fixture.value(one));
  at::Tensor sum = at::zeros({});
  add_squares(called(module, "forward", arguments), sum);
  sum.backward();
  size_t compared = 0;
  for (const NameTensor& parameter : module.named_parameters()) {
    if (!wanted.contains(parameter.name)) continue;
    ++compared;
    const std::string found =
        fixture.difference(wanted[parameter.name], IValue(parameter.value.grad()), "gradient of " + parameter.name);
    if (!found.empty()) return found;
  }
  return compared == wanted.size() ? "" : "parameters without their names";
}

// The module as it comes back from a file of our own.
Module saved_and_loaded(const Module& module, const std::string& name) {
  if (const char* to = std::getenv("KINDLING_SAVED")) save(module, (fs::path(to) / name).string());
  std::stringstream file;
  save(module, file, {{"a/note.txt", "kept"}});
  ExtraFilesMap extra{{"a/note.txt", ""}, {"absent", "as before"}};
  Module loaded = load(file, std::nullopt, extra);
  EXPECT_EQ(extra["a/note.txt"], "kept");
  EXPECT_EQ(extra["absent"], "as before");
  return loaded;
}

TEST(TorchScriptFiles, DoWhatTheirDescriptionsSay) {
  int modules = 0;
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (entry.path().extension() != ".json") continue;
    const fixtures::Fixture fixture(entry.path().string());
    for (const json& file : fixture.description()["files"]) {
      const std::string name = file.get<std::string>(), path = (fs::path(folder()) / name).string();
      if (!fs::exists(path)) continue;
      SCOPED_TRACE(name);
      try {
        const bool script = name.find(".script") != std::string::npos;
        ExtraFilesMap extra;
        const json extra_files = fixture.description().value("extra_files", json::object());
        for (const auto& [file_name, content] : extra_files.items()) extra[file_name] = "";
        Module module = load(path, std::nullopt, extra);
        for (const auto& [file_name, content] : extra_files.items())
          EXPECT_EQ(extra[file_name], content.get<std::string>());
        // Calls may change it.
        Module again = saved_and_loaded(module, name);
        EXPECT_EQ(replayed(fixture, module, script), "");
        EXPECT_EQ(replayed(fixture, again, script), "") << "saved and loaded";
        if (fixture.description().contains("grads_of_sum_of_squares_of_first_call") &&
            name.find(".frozen") == std::string::npos) {
          Module fresh = load(path);
          EXPECT_EQ(gradients_differ(fixture, fresh), "");
        }
        ++modules;
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
  EXPECT_GT(modules, 3);
}

// Files that are damaged or mean harm: those that must be refused are, when they are read or when they run.
TEST(TorchScriptFiles, HostileOnes) {
  const std::string hostile = fixtures::folder("hostile", "export/torchscript/testdata/hostile");
  std::ifstream stream(hostile + "/manifest.json");
  const json manifest = json::parse(stream);
  int refused = 0;
  for (const json& entry : manifest) {
    const std::string name = entry["file"].get<std::string>(), expect = entry["expect"].get<std::string>();
    if (name.compare(0, 3, "ts_") != 0 || !fs::exists(hostile + "/" + name)) continue;
    SCOPED_TRACE(name + ": " + entry["why"].get<std::string>());
    std::string error;
    try {
      Module module = load(hostile + "/" + name);
      module.forward({at::ones({5, 4})});
    } catch (const std::exception& e) {
      error = e.what();
      ++refused;
    }
    if (expect == "refuse") EXPECT_NE(error, "");
    if (expect == "accept") EXPECT_EQ(error, "");
    EXPECT_FALSE(fs::exists("/tmp/kindling_owned"));
  }
  EXPECT_GT(refused, 30);
}

}  // namespace
}  // namespace torch::jit
