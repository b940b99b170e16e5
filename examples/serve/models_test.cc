// Models from files, asked over the protocol: what they answer is what PyTorch recorded. KINDLING_FIXTURES names a
// folder with more of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "aten/aten.h"
#include "c10/testing/files.h"
#include "examples/serve/api.h"
#include "examples/serve/infer_request.h"
#include "examples/serve/load_models.h"
#include "tests/fixtures/fixture.h"

namespace serve {
namespace {

using c10::IValue;
using nlohmann::json;
using torch::fixtures::Fixture;
namespace fs = std::filesystem;

// The tensors and numbers in a description, as they stand in a row.
void leaves_of(const json& j, std::vector<json>& out) {
  if (j.is_array()) {
    for (const json& one : j) leaves_of(one, out);
  } else if (j.is_object() && j.contains("tuple")) {
    leaves_of(j["tuple"], out);
  } else if (j.is_object() && j.contains("namedtuple")) {
    leaves_of(j["values"], out);
  } else if (j.is_object() && j.contains("size") && !j.contains("dtype")) {
    leaves_of(j["size"], out);
  } else if (j.is_object() && (j.contains("dict") || j.contains("ordered_dict"))) {
    for (const json& pair : j.contains("dict") ? j["dict"] : j["ordered_dict"]) leaves_of(pair[1], out);
  } else if (!j.is_null()) {
    out.push_back(j);
  }
}
bool is_tensor(const json& j) {
  return j.is_object() && (j.contains("tensor") || j.contains("same_as"));
}

at::Tensor tensor_for(const TensorSpec& spec, const IValue& value) {
  if (value.isTensor()) return value.toTensor().contiguous();
  return at::scalar_tensor(value.toScalar(), spec.dtype.value_or(value.isDouble() ? at::kFloat
                                                                 : value.isBool() ? at::kBool
                                                                                  : at::kLong));
}

HttpRequest binary_request(const std::string& model, const std::vector<NamedTensor>& inputs) {
  json document = {{"inputs", json::array()}, {"parameters", {{"binary_data_output", true}}}};
  std::string bytes;
  for (const NamedTensor& input : inputs) {
    document["inputs"].push_back({{"name", input.name},
                                  {"datatype", datatype_of(input.tensor.scalar_type())},
                                  {"shape", input.tensor.sizes().vec()},
                                  {"parameters", {{"binary_data_size", input.tensor.nbytes()}}}});
    bytes.append(static_cast<const char*>(input.tensor.const_data_ptr()), input.tensor.nbytes());
  }
  HttpRequest request;
  request.method = "POST";
  request.path = "/v2/models/" + model + "/infer";
  request.body = document.dump();
  request.json_bytes = std::to_string(request.body.size());
  request.body += bytes;
  return request;
}

std::vector<NamedTensor> tensors_in(const HttpReply& reply) {
  size_t head = reply.body.size();
  for (const auto& [name, value] : reply.headers) {
    if (name == "Inference-Header-Content-Length") head = std::stoul(value);
  }
  const json document = json::parse(reply.body.substr(0, head));
  std::vector<NamedTensor> out;
  for (const json& output : document["outputs"]) {
    const at::Tensor t = at::empty(output["shape"].get<std::vector<int64_t>>(),
                                   at::dtype(*dtype_named(output["datatype"].get<std::string>())));
    std::memcpy(t.data_ptr(), reply.body.data() + head, t.nbytes());
    head += t.nbytes();
    out.push_back({output["name"], t});
  }
  EXPECT_EQ(head, reply.body.size());
  return out;
}

// Served by an Api of its own.
struct Served {
  explicit Served(std::vector<LoadedModel> loaded, BatchOptions options = {.most_rows = 8}) {
    std::vector<std::unique_ptr<ServedModel>> models;
    for (LoadedModel& one : loaded) {
      models.push_back(std::make_unique<ServedModel>(one.name, std::move(one.model), options));
      infos[models.back()->name] = &models.back()->model->info();
    }
    api = std::make_unique<Api>(std::move(models), std::chrono::seconds(60), http);
  }
  HttpMetrics http;
  std::map<std::string, const ModelInfo*> infos;
  std::unique_ptr<Api> api;
};

// Empty where the call gives what it should; "left out" where requests have no form for its arguments.
std::string replayed(const Fixture& fixture, const json& call, Served& served, const std::string& name) {
  const ModelInfo& info = *served.infos.at(name);
  std::vector<json> given;
  leaves_of(call.contains("inputs") ? call["inputs"] : call.value("args", json::array()), given);
  const json kwargs = call.value("kwargs", json::object());
  for (const auto& [key, value] : kwargs.items()) leaves_of(value, given);
  // Numbers are constants of an exported program, unless they are inputs.
  if (given.size() != info.signature.inputs.size()) {
    given.erase(std::remove_if(given.begin(), given.end(), [](const json& j) { return !is_tensor(j); }), given.end());
  }
  if (given.size() > info.signature.inputs.size()) return "left out";
  std::vector<NamedTensor> inputs;
  for (size_t i = 0; i < given.size(); ++i) {
    const IValue value = fixture.value(given[i]);
    if (!value.isTensor() && !value.isInt() && !value.isDouble() && !value.isBool()) return "left out";
    inputs.push_back({info.signature.inputs[i].name, tensor_for(info.signature.inputs[i], value)});
    if (datatype_of(inputs.back().tensor.scalar_type()).empty()) return "left out";
  }
  const json wanted = call.contains("outputs") ? call["outputs"] : call.value("result", json());
  std::vector<json> want;
  leaves_of(wanted, want);
  for (const json& one : want) {
    if (one.is_string()) return "left out";
    if (is_tensor(one) && datatype_of(fixture.value(one).toTensor().scalar_type()).empty()) return "left out";
  }
  const HttpReply reply = served.api->handle(binary_request(name, inputs));
  if (call.contains("error")) {
    return reply.status >= 400 && reply.status < 500 ? "" : "status " + std::to_string(reply.status) + " for an error";
  }
  if (reply.status != 200) return std::to_string(reply.status) + " " + reply.body;
  const std::vector<NamedTensor> got = tensors_in(reply);
  if (got.size() != want.size()) return std::to_string(got.size()) + " outputs";
  for (size_t i = 0; i < got.size(); ++i) {
    const std::string place = "output " + got[i].name;
    if (is_tensor(want[i])) {
      json description = want[i];
      description.erase("requires_grad");
      const std::string found = fixture.difference(description, got[i].tensor, place);
      if (!found.empty()) return found;
    } else {
      const double value = fixture.value(want[i]).toScalar().toDouble();
      if (got[i].tensor.item().toDouble() != value && !(value != value)) return place + ": another number";
    }
  }
  return "";
}

struct Tally {
  int models = 0, calls = 0, batched = 0;
  std::set<std::string> refused, left_out;
};

void replay_file(const Fixture& fixture, const std::string& path, const json& about, Tally& tally) {
  const json calls = fixture.description().value("calls", json::array());
  const std::string name = fs::path(path).filename().string();
  SCOPED_TRACE(name);
  std::vector<LoadedModel> loaded;
  try {
    loaded = load_models("net", path, nullptr);
  } catch (const c10::NotImplementedError& error) {
    tally.refused.insert(name + ": " + error.msg());
    return;
  } catch (const c10::Error& error) {
    if (!fixture.description().value("not_loaded_by_2.15", json::object()).contains(name))
      ADD_FAILURE() << error.what();
    return;
  }
  Served served(std::move(loaded));
  const auto replay = [&](const std::string& model, const json& list) {
    for (const json& call : list) {
      if (call.value("method", "forward") != "forward") continue;
      if (call.contains("manual_seed")) at::manual_seed(call["manual_seed"].get<uint64_t>());
      const std::string found = replayed(fixture, call, served, model);
      if (found == "left out") {
        tally.left_out.insert(name);
      } else {
        EXPECT_EQ(found, "");
        ++tally.calls;
      }
      if (about.value("only_first_call", false)) break;
    }
  };
  ++tally.models;
  for (const auto& [model, info] : served.infos) {
    tally.batched += info->not_batched.empty() ? 1 : 0;
    EXPECT_NE(info->graph_svg.find("<svg"), std::string::npos);
    HttpRequest about;
    about.method = "GET";
    about.path = "/v2/models/" + model;
    EXPECT_EQ(served.api->handle(about).status, 200);
    about.path = "/";
    EXPECT_EQ(served.api->handle(about).status, 200);
    if (served.infos.size() == 1) replay(model, calls);
  }
  const json programs = fixture.description().value("programs", json::object());
  for (const auto& [program, list] : programs.items()) {
    const json of_program = list.is_array() ? list : list.contains("calls") ? list["calls"] : json::array({list});
    if (served.infos.size() > 1) replay("net." + program, of_program);
  }
}

Tally replay_folder(const std::string& kind, const std::string& own) {
  Tally tally;
  const std::string folder = torch::fixtures::folder(kind, own);
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const Fixture fixture(entry.path().string());
    const json files = fixture.description().value("files", json::array());
    for (const auto& [key, value] : files.items()) {
      const std::string path = (fs::path(folder) / (value.is_string() ? value.get<std::string>() : key)).string();
      // A server runs modules in evaluation mode.
      const bool trains = path.find("training.script") != std::string::npos;
      if (fs::exists(path) && !trains) replay_file(fixture, path, value.is_object() ? value : json::object(), tally);
    }
  }
  std::cout << kind << ": " << tally.models << " models, " << tally.calls << " calls, " << tally.batched
            << " batched\n";
  for (const std::string& one : tally.refused) std::cout << "  refused: " << one << "\n";
  for (const std::string& one : tally.left_out) std::cout << "  arguments without a form: " << one << "\n";
  return tally;
}

TEST(Models, OfTorchExport) {
  const Tally tally = replay_folder("export", "export/pt2/testdata");
  EXPECT_GT(tally.models, 20);
  EXPECT_GT(tally.calls, 20);
  EXPECT_GT(tally.models, 5 * static_cast<int>(tally.refused.size()));
}

TEST(Models, OfOnnx) {
  const Tally tally = replay_folder("onnx", "export/onnx/testdata");
  EXPECT_GT(tally.models, 10);
  EXPECT_GT(tally.calls, 10);
  EXPECT_GT(tally.batched, 0);
}

TEST(Models, OfTorchScript) {
  const Tally tally = replay_folder("torchscript", "export/torchscript/testdata");
  EXPECT_GT(tally.models, 4);
  EXPECT_GT(tally.calls, 4);
}

const std::string kOnnx = "export/onnx/testdata/mlp_dynamic.dynamo@2.15.0.onnx";

TEST(Models, FormatsAreKnownByContent) {
  const std::string folder = c10::testing::fresh_folder();
  const auto copied = [&](const std::string& path, const std::string& name) {
    c10::testing::write_file(folder + "/" + name, c10::testing::read_file(path));
    return load_models("net", folder + "/" + name, nullptr).at(0).model->info().format;
  };
  EXPECT_EQ(copied(kOnnx, "a.pt2"), "ONNX");
  EXPECT_EQ(copied("export/pt2/testdata/mlp.export@2.15.0.pt2", "b.onnx"), "torch.export (.pt2)");
  EXPECT_EQ(copied("export/pt2/testdata/mlp.export@2.7.1.pt2", "c.pt"), "torch.export (.pt2)");
  EXPECT_EQ(copied("export/torchscript/testdata/hooks.script@2.15.0.pt", "d"), "TorchScript");

  const auto refused = [&](const std::string& bytes) {
    const std::string path = folder + "/bad";
    c10::testing::write_file(path, bytes);
    try {
      load_models("net", path, nullptr);
    } catch (const c10::Error& error) {
      return error.msg().substr(0, error.msg().find('\n')).substr(std::min(path.size() + 1, error.msg().size()));
    }
    return std::string("loaded");
  };
  EXPECT_EQ(refused(""), "is empty");
  EXPECT_EQ(refused(c10::testing::read_file("export/onnx/testdata/mlp.io.safetensors")),
            "is a safetensors file: tensors, not a model");
  EXPECT_EQ(refused("\x80\x02}q."), "is a pickle: tensors, not a model");
  EXPECT_NE(refused("hello, this is no model"), "loaded");
  EXPECT_THROW(load_models("net", folder + "/absent", nullptr), c10::Error);
  const Signature signature = parse_signature("x:FP32[-1,4]");
  EXPECT_THROW(load_models("net", kOnnx, &signature), c10::ValueError);
}

TEST(Models, BatchesAreTriedBeforeTheyAreMade) {
  const auto info_of = [](std::vector<LoadedModel> loaded) {
    return std::pair(loaded.at(0).model->info().not_batched, std::move(loaded.at(0).model));
  };
  EXPECT_EQ(info_of(load_models("net", kOnnx, nullptr)).first, "");
  // The example's batch is 5, and nothing else.
  EXPECT_EQ(info_of(load_models("net", "export/pt2/testdata/mlp.export@2.15.0.pt2", nullptr)).first,
            "dimension 0 of input 'x' is not dynamic");
  EXPECT_NE(info_of(load_models("net", "export/pt2/testdata/buffers_and_constants.export@2.15.0.pt2", nullptr)).first,
            "");
  EXPECT_EQ(info_of(load_models("net", "export/torchscript/testdata/hooks.script@2.15.0.pt", nullptr))
                .first.rfind("the sizes of input", 0),
            0u);
}

// The MLP of ONNX, joined with others' rows, answers as it does alone.
TEST(Models, JoinedRequestsAnswerAsSingleOnesDo) {
  Served alone(load_models("net", kOnnx, nullptr), {.most_rows = 1});
  Served joined(load_models("net", kOnnx, nullptr), {.most_rows = 8, .most_delay = std::chrono::milliseconds(20)});
  std::vector<at::Tensor> xs, wanted(8), got(8);
  at::manual_seed(3);
  for (int64_t i = 0; i < 8; ++i) xs.push_back(at::randn({1 + i % 3, 4}));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < xs.size(); ++i) {
    threads.emplace_back([&, i] {
      const HttpRequest request = binary_request("net", {{"x", xs[i]}});
      wanted[i] = tensors_in(alone.api->handle(request)).at(0).tensor;
      got[i] = tensors_in(joined.api->handle(request)).at(0).tensor;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < xs.size(); ++i) EXPECT_TRUE(at::allclose(got[i], wanted[i], 1e-5, 1e-6)) << i;
}

TEST(Models, WhatAnOperatorRefusesIsTheClients) {
  // Guards of the file that only a run sees: sizes that do not fit each other.
  std::vector<LoadedModel> loaded = load_models("net", "export/torchscript/testdata/hooks.script@2.15.0.pt", nullptr);
  const std::string name = loaded.at(0).model->info().signature.inputs.at(0).name;
  Served served(std::move(loaded));
  const HttpReply reply = served.api->handle(binary_request("net", {{name, at::zeros({1, 1, 1, 1, 77})}}));
  EXPECT_EQ(reply.status, 400) << reply.body;
  EXPECT_NE(reply.body.find("the model refuses the inputs"), std::string::npos) << reply.body;
}

}  // namespace
}  // namespace serve
