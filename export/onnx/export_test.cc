#include "export/onnx/export.h"

#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "c10/testing/message_of.h"
#include "export/capture/test_models.h"
#include "export/onnx/onnx.h"
#include "export/pt2/pt2.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fixtures/fixture.h"
#include "third_party/onnx/onnx.pb.h"
#include "utils/pickle/file.h"

namespace torch::onnx {
namespace {

using c10::IValue;
using c10::testing::message_of;
using nlohmann::json;
using ::testing::HasSubstr;
using Values = std::vector<IValue>;
namespace fs = std::filesystem;

std::string written(const ExportedProgram& program, const Options& options = {}) {
  std::ostringstream stream;
  export_(program, stream, options);
  return std::move(stream).str();
}
::onnx::ModelProto parsed(const std::string& bytes) {
  ::onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  return model;
}
Values tensors_of(const Values& values) {
  Values all;
  for (const IValue& v : values) {
    if (v.isTensor()) all.emplace_back(v.toTensor().detach().clone());
  }
  return all;
}
// What differs; empty where nothing does. Numbers that are results come as tensors.
std::string difference(const Values& got, const Values& want, double rtol, double atol) {
  if (got.size() != want.size()) return c10::str(got.size(), " and ", want.size(), " results");
  for (size_t i = 0; i < got.size(); ++i) {
    const Tensor a = got[i].toTensor();
    const Tensor b =
        want[i].isTensor() ? want[i].toTensor() : torch::scalar_tensor(want[i].toScalar()).to(a.scalar_type());
    if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) {
      return c10::str("result ", i, ": ", a.scalar_type(), a.sizes(), " and ", b.scalar_type(), b.sizes());
    }
    if (!torch::allclose(a, b, rtol, atol, /*equal_nan=*/true)) return c10::str("result ", i, " differs");
  }
  return "";
}

// Writes files and calls for the script, if there is one to run it.
class Scripted {
 public:
  explicit Scripted(const std::string& name) : folder_(fs::path(::testing::TempDir()) / name) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void add(const std::string& name, const std::string& bytes, const std::vector<std::pair<Values, Values>>& calls) {
    const std::string path = (folder_ / (name + ".onnx")).string();
    std::ofstream(path, std::ios::binary) << bytes;
    const c10::impl::GenericList all(c10::AnyType::get());
    for (const auto& [inputs, results] : calls) {
      all.push_back(
          c10::ivalue::Tuple::create(std::vector<IValue>{IValue(inputs), IValue(results), IValue(1e-3), IValue(1e-4)}));
    }
    pickle::save(all, path + ".calls");
  }
  void run() const {
    const char* python = std::getenv("KINDLING_PYTHON");
    if (python == nullptr) {
      std::cout << "KINDLING_PYTHON names no interpreter that has onnxruntime: not tried\n";
      return;
    }
    const std::string command =
        std::string(python) + " export/onnx/run_with_onnxruntime.py '" + folder_.string() + "' 2>&1";
    std::FILE* pipe = popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string output;
    char piece[4096];
    while (const size_t n = std::fread(piece, 1, sizeof piece, pipe)) output.append(piece, n);
    EXPECT_EQ(pclose(pipe), 0) << output;
    std::cout << output;
  }

 private:
  fs::path folder_;
};

TEST(OnnxExport, ModulesOfCpp) {
  const NoGradGuard no_grad;
  Scripted scripted("onnx_modules");
  int count = 0;
  for (const testing::ExportedModel& model : testing::exported_models()) {
    SCOPED_TRACE(model.name);
    const ExportedProgram program = model.program({});
    const bool changes = model.name == "conv_net_training" || model.name == "shared" || model.name == "sizes";
    if (changes) {
      EXPECT_THAT(message_of<c10::NotImplementedError>([&] { written(program); }), HasSubstr("changes nothing, but"));
      continue;
    }
    const std::string bytes = written(program);
    const ExportedProgram read = load_from_memory(bytes);
    std::vector<std::pair<Values, Values>> calls;
    for (const Values& inputs : model.inputs) {
      const Values want = model.call(inputs), given = tensors_of(inputs);
      EXPECT_EQ(difference(read.run(given), want, 1e-4, 1e-5), "");
      calls.emplace_back(given, want);
    }
    scripted.add(model.name, bytes, calls);
    ++count;
  }
  EXPECT_GE(count, 8);
  scripted.run();
}

// Programs of PyTorch, as far as they are for inference and have a form.
TEST(OnnxExport, ProgramsOfFiles) {
  const NoGradGuard no_grad;
  const fs::path folder = fixtures::folder("export", "export/pt2/testdata");
  Scripted scripted("onnx_files");
  int count = 0;
  std::vector<std::string> left_out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const fixtures::Fixture fixture(entry.path().string());
    const json& about = fixture.description();
    if (about.contains("programs")) continue;
    for (const json& file : about["files"]) {
      const std::string name = file.get<std::string>();
      if (!fs::exists(folder / name)) continue;
      SCOPED_TRACE(name);
      std::string bytes;
      std::optional<ExportedProgram> program;
      try {
        program = load_exported((folder / name).string());
        bytes = written(*program);
      } catch (const c10::Error& error) {
        std::string why = error.msg();
        std::replace(why.begin(), why.end(), '\n', ' ');
        left_out.push_back(name + ": " + why.substr(0, 300));
        continue;
      }
      ++count;
      const ExportedProgram read = load_from_memory(bytes);
      const json& described = about["calls"];
      std::vector<std::pair<Values, Values>> calls;
      for (const json& call : described.is_array() ? described : described["calls"]) {
        if (call.contains("manual_seed")) continue;
        Values args;
        for (const json& v : call.value("args", json::array())) args.push_back(fixture.value(v));
        const c10::impl::GenericDict kwargs(c10::AnyType::get(), c10::AnyType::get());
        const json named = call.value("kwargs", json::object());
        for (const auto& [key, v] : named.items()) kwargs.insert_or_assign(key, fixture.value(v));
        const IValue all =
            c10::ivalue::Tuple::create(std::vector<IValue>{c10::ivalue::Tuple::create(std::move(args)), kwargs});
        const Values given = tensors_of(program->in_spec.flatten(all, "arguments"));
        Values want = program->out_spec.flatten(fixture.value(call["result"]), "results");
        want.erase(std::remove_if(want.begin(), want.end(), [](const IValue& v) { return v.isNone(); }), want.end());
        std::string why;
        try {
          why = difference(read.run(given), want, 1e-3, 1e-4);
        } catch (const c10::Error& error) {
          why = error.what();
        }
        EXPECT_EQ(why, "");
        calls.emplace_back(given, want);
      }
      if (!calls.empty()) scripted.add(name, bytes, calls);
    }
  }
  std::cout << count << " programs written; left out:\n";
  for (const std::string& line : left_out) std::cout << "  " << line << "\n";
  EXPECT_GT(count, 12);
  scripted.run();
}

// Read back, and by onnxruntime.
TEST(OnnxExport, FormsOfOperators) {
  const NoGradGuard no_grad;
  const Tensor x = torch::randn({2, 3, 4}), i = torch::tensor({{0, 2, 2}, {1, 0, 1}}), s = torch::randn({2, 3});
  struct Case {
    const char* name;
    std::function<Tensor(const Tensor&)> f;
    Tensor input;
  };
  const Case cases[] = {
      {"own_statistics", [](const Tensor& t) { return at::batch_norm(t, {}, {}, {}, {}, true, 0.1, 1e-3, false); }, x},
      {"own_statistics_affine",
       [](const Tensor& t) {
         return at::batch_norm(t, torch::arange(1., 4., 1), torch::ones({3}), {}, {}, true, 0.1, 1e-5, false);
       },
       x},
      {"instance_norm", [](const Tensor& t) { return at::instance_norm(t, {}, {}, {}, {}, true, 0.1, 1e-5, false); },
       x},
      {"scatter_max", [&](const Tensor& t) { return at::scatter_reduce(t, 1, i, s, "amax"); }, torch::randn({2, 3})},
      {"scatter_product", [&](const Tensor& t) { return at::scatter_reduce(t, 1, i, s, "prod"); },
       torch::randn({2, 3})},
      {"one_hot", [](const Tensor& t) { return at::one_hot(t, 4); }, i},
  };
  Scripted scripted("onnx_forms");
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    const std::string bytes = written(torch::export_(one.f, one.input));
    const Values want{one.f(one.input)};
    EXPECT_EQ(difference(load_from_memory(bytes).run({one.input}), want, 1e-4, 1e-5), "");
    scripted.add(one.name, bytes, {{{one.input}, want}});
  }
  scripted.run();
  const auto mean = [&](const Tensor& t) { return at::scatter_reduce(t, 1, i, s, "mean"); };
  EXPECT_THAT(message_of<c10::NotImplementedError>([&] {
                written(torch::export_(mean, torch::randn({2, 3})));
              }),
              HasSubstr("it gives the mean"));
}

ExportedProgram linear_program() {
  ExportOptions options;
  options.dynamic_shapes = {{{0, Dim("batch", 1, 9)}}};
  options.argument_names = {"x"};
  nn::Sequential net(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 2));
  return torch::export_(net, torch::randn({3, 4}), options);
}

TEST(OnnxExport, NamesAndSizes) {
  const ExportedProgram program = linear_program();
  ::onnx::ModelProto model = parsed(written(program));
  EXPECT_EQ(model.opset_import(0).version(), 20);
  EXPECT_EQ(model.graph().input(0).name(), "x");
  EXPECT_EQ(model.graph().output(0).name(), "output_0");
  EXPECT_EQ(model.graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "batch");
  EXPECT_EQ(model.graph().output(0).type().tensor_type().shape().dim(0).dim_param(), "batch");
  EXPECT_EQ(model.graph().input(0).type().tensor_type().shape().dim(1).dim_value(), 4);
  std::vector<std::string> weights, operators;
  for (const auto& one : model.graph().initializer()) weights.push_back(one.name());
  for (const auto& one : model.graph().node()) operators.push_back(one.op_type());
  EXPECT_THAT(weights, ::testing::ElementsAre("0.weight", "0.bias", "2.weight", "2.bias"));
  EXPECT_THAT(operators, ::testing::ElementsAre("Shape", "Gemm", "Relu", "Gemm", "Identity"));

  Options options;
  options.input_names = {"image"};
  options.output_names = {"scores"};
  options.dynamic_axes = {{"image", {{0, "N"}}}};
  model = parsed(written(program, options));
  EXPECT_EQ(model.graph().input(0).name(), "image");
  EXPECT_EQ(model.graph().output(0).name(), "scores");
  EXPECT_EQ(model.graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "N");

  const auto refused = [&](const Options& wrong) {
    return message_of<c10::ValueError>([&] { written(program, wrong); });
  };
  options.dynamic_axes = {{"image", {{1, "N"}}}};
  EXPECT_THAT(refused(options), HasSubstr("dimension 1 of 'image', which is fixed"));
  options.dynamic_axes = {{"x", {{0, "N"}}}};
  EXPECT_THAT(refused(options), HasSubstr("'x', which is no input or output"));
  options.dynamic_axes = {};
  options.output_names = {"image"};
  EXPECT_THAT(refused(options), HasSubstr("the name 'image' is an input's or a weight's"));
  options.output_names = {"a", "b"};
  EXPECT_THAT(refused(options), HasSubstr("2 names for 1 outputs"));
  options.output_names = {};
  options.input_names = {"a", "b"};
  EXPECT_THAT(refused(options), HasSubstr("2 names for 1 inputs"));
  options.input_names = {""};
  EXPECT_THAT(refused(options), HasSubstr("input 0 cannot have the name ''"));
}

TEST(OnnxExport, WeightsBesideTheModel) {
  const fs::path folder = fs::path(::testing::TempDir()) / "onnx_beside";
  fs::create_directories(folder);
  nn::Sequential net(nn::Linear(64, 64), nn::Linear(64, 2));
  const Tensor x = torch::randn({3, 64});
  Options options;
  options.max_model_bytes = 0;
  const std::string path = (folder / "net.onnx").string();
  export_(net, x, path, options);
  EXPECT_TRUE(fs::exists(path + ".data"));
  EXPECT_LT(fs::file_size(path), 4096u);
  EXPECT_EQ(difference({load(path)({x})}, {net->forward(x)}, 1e-5, 1e-6), "");
  EXPECT_THAT(message_of<c10::ValueError>([&] { written(torch::export_(net, x), options); }),
              HasSubstr("a path takes its weights beside it"));
  options.max_model_bytes = -1;
  EXPECT_THAT(message_of<c10::ValueError>([&] { export_(net, x, path, options); }), HasSubstr("max_model_bytes is -1"));
}

// One error that names all.
TEST(OnnxExport, OperatorsWithoutAForm) {
  const auto f = [](const Tensor& x) {
    return at::igamma(x.abs(), x.abs() + 1) + at::lgamma(x.abs() + 1).sum() + at::i0(x) + at::relu(x);
  };
  const ExportedProgram program = torch::export_(f, torch::rand({3}));
  const std::string message = message_of<c10::NotImplementedError>([&] { written(program); });
  EXPECT_THAT(message, HasSubstr("aten::igamma"));
  EXPECT_THAT(message, HasSubstr("aten::lgamma"));
  EXPECT_THAT(message, HasSubstr("aten::i0"));
  EXPECT_THAT(message, ::testing::Not(HasSubstr("aten::relu")));
  EXPECT_THAT(message, ::testing::Not(HasSubstr("aten::abs")));
}

}  // namespace
}  // namespace torch::onnx
