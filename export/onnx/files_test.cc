// Runs models that PyTorch's exporters and others wrote, and compares what they give with what they should.
// KINDLING_FIXTURES names a folder with all of them, KINDLING_ONNX_NODES the unpacked tests of single nodes.
#include "gtest/gtest.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "aten/aten.h"
#include "export/onnx/onnx.h"
#include "export/onnx/tensors.h"
#include "tests/fixtures/fixture.h"
#include "third_party/onnx/onnx.pb.h"
#include "utils/serialize/file_io.h"

namespace torch::onnx {
namespace {

using c10::IValue;
using nlohmann::json;
namespace fs = std::filesystem;

std::string folder() {
  return fixtures::folder("onnx", "export/onnx/testdata");
}

// Empty where the model gives what it should.
std::string replayed(const fixtures::Fixture& fixture, const json& call, const ExportedProgram& program,
                     const std::string& place) {
  std::vector<IValue> inputs;
  for (const json& one : call["inputs"]) inputs.push_back(fixture.value(one));
  for (IValue& one : inputs) {
    // The exporters make tensors of numbers.
    if (!one.isTensor())
      one = at::scalar_tensor(one.toScalar(), one.isDouble() ? at::kFloat : one.isBool() ? at::kBool : at::kLong);
  }
  const std::vector<IValue> outputs = program.run(std::move(inputs));
  if (outputs.size() != call["outputs"].size()) return place + ": " + std::to_string(outputs.size()) + " outputs";
  for (size_t i = 0; i < outputs.size(); ++i) {
    const json& want = call["outputs"][i];
    const IValue& got = outputs[i];
    std::string found = fixture.difference(want, got, place + ", output " + std::to_string(i));
    if (!found.empty()) return found;
  }
  return "";
}

TEST(OnnxFiles, GiveWhatTheirDescriptionsSay) {
  int models = 0;
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (entry.path().extension() != ".json") continue;
    const fixtures::Fixture fixture(entry.path().string());
    for (const auto& [name, about] : fixture.description()["files"].items()) {
      const std::string path = (fs::path(folder()) / name).string();
      if (!fs::exists(path)) continue;
      SCOPED_TRACE(name);
      try {
        const ExportedProgram program = load(path);
        const json& calls = fixture.description()["calls"];
        const size_t count = about.value("only_first_call", false) ? 1 : calls.size();
        for (size_t i = 0; i < count; ++i) {
          EXPECT_EQ(replayed(fixture, calls[i], program, "call " + std::to_string(i)), "");
        }
        ++models;
      } catch (const c10::Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
  RecordProperty("models", models);
  EXPECT_GT(models, 10);
}

TEST(OnnxFiles, OfOneOperatorEach) {
  const std::string ops = folder() + "/ops";
  const fixtures::Fixture fixture(ops + "/ops.json");
  int models = 0;
  for (const auto& [name, about] : fixture.description()["cases"].items()) {
    const std::string path = ops + "/" + name + ".onnx";
    if (!fs::exists(path)) continue;
    SCOPED_TRACE(name);
    try {
      EXPECT_EQ(replayed(fixture, about, load(path), "run"), "");
      ++models;
    } catch (const c10::Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
  RecordProperty("models", models);
  EXPECT_GT(models, 10);
}

at::Tensor tensor_in(const fs::path& path) {
  const std::string bytes = serialize::read_file(path.string());
  ::onnx::TensorProto proto;
  if (!proto.ParseFromString(bytes)) serialize::throw_format_error("no tensor");
  return tensor_of(proto, {});
}
std::string difference(const at::Tensor& want, const at::Tensor& got) {
  if (want.scalar_type() != got.scalar_type())
    return c10::str("dtype ", got.scalar_type(), " for ", want.scalar_type());
  if (want.sizes() != got.sizes()) return c10::str("sizes ", got.sizes(), " for ", want.sizes());
  const at::Tensor a = at::to(got, at::kDouble), b = at::to(want, at::kDouble);
  // A unit in the last place of bfloat16 is 2^-7.
  const double rtol = want.scalar_type() == at::kBFloat16 ? 1e-2 : want.scalar_type() == at::kHalf ? 2e-3 : 1e-3;
  const double atol = want.scalar_type() == at::kBFloat16 ? 1e-2 : want.scalar_type() == at::kHalf ? 1e-3 : 1e-5;
  if (at::allclose(a, b, rtol, atol, true)) return "";
  return c10::str("differs by ", at::max(at::abs(at::sub(a, b))).item<double>());
}
std::string node_difference(const fs::path& test) {
  try {
    const ExportedProgram program = load((test / "model.onnx").string());
    std::vector<IValue> inputs;
    for (int k = 0; fs::exists(test / ("input_" + std::to_string(k) + ".pb")); ++k) {
      inputs.emplace_back(tensor_in(test / ("input_" + std::to_string(k) + ".pb")));
    }
    const std::vector<IValue> outputs = program.run(inputs);
    for (size_t k = 0; k < outputs.size(); ++k) {
      const std::string found =
          difference(tensor_in(test / ("output_" + std::to_string(k) + ".pb")), outputs[k].toTensor());
      if (!found.empty()) return "output " + std::to_string(k) + ": " + found;
    }
  } catch (const std::exception& error) {
    return std::string(error.what()).substr(0, 300);
  }
  return "";
}

// Those that are left out are listed, with the reason.
TEST(OnnxFiles, OfSingleNodes) {
  const char* nodes = std::getenv("KINDLING_ONNX_NODES");
  if (nodes == nullptr) GTEST_SKIP() << "KINDLING_ONNX_NODES names no folder";
  std::vector<std::regex> left_out;
  std::ifstream list("export/onnx/testdata/nodes_left_out.txt");
  for (std::string line; std::getline(list, line);) {
    if (!line.empty() && line[0] != '#') left_out.emplace_back(line);
  }
  std::set<fs::path> tests;
  for (const auto& entry : fs::directory_iterator(nodes)) tests.insert(entry.path());
  for (const fs::path& test : tests) {
    const std::string name = test.filename().string(), found = node_difference(test);
    const bool listed = std::any_of(left_out.begin(), left_out.end(),
                                    [&](const std::regex& pattern) { return std::regex_match(name, pattern); });
    EXPECT_EQ(found.empty(), !listed) << name << ": " << found;
  }
}

// Files that are damaged or mean harm: those that must be refused are, when they are read or when they run.
TEST(OnnxFiles, HostileOnes) {
  const std::string hostile = fixtures::folder("hostile", "export/onnx/testdata/hostile");
  std::ifstream stream(hostile + "/manifest.json");
  const json manifest = json::parse(stream);
  int refused = 0;
  for (const json& entry : manifest) {
    const std::string name = entry["file"].get<std::string>(), expect = entry["expect"].get<std::string>();
    if (name.compare(0, 3, "ox_") != 0 || !fs::exists(hostile + "/" + name)) continue;
    SCOPED_TRACE(name + ": " + entry["why"].get<std::string>());
    std::string error;
    bool loaded = false;
    try {
      const ExportedProgram program = load(hostile + "/" + name);
      loaded = true;
      program({at::ones({5, 4})});
    } catch (const c10::Error& e) {
      error = e.msg();
      ++refused;
    }
    if (expect == "refuse") {
      EXPECT_NE(error, "");
      EXPECT_TRUE(!loaded || entry["when"] == "run") << error;
    }
    if (expect == "accept") EXPECT_EQ(error, "");
    EXPECT_FALSE(fs::exists("/tmp/kindling_owned"));
  }
  EXPECT_GT(refused, 40);
}

}  // namespace
}  // namespace torch::onnx
