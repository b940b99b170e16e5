// Programs that PyTorch exported, quantized as torchao quantizes them, and those that it quantized
// (testdata/record_pt2e.py).
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "aten/aten.h"
#include "aten/testing/testing.h"
#include "autograd/autograd.h"
#include "c10/testing/message_of.h"
#include "export/pt2/pt2.h"
#include "gtest/gtest.h"
#include "quantization/quantization.h"
#include "quantization/testing/programs.h"
#include "utils/serialize/file_io.h"
#include "utils/serialize/safetensors.h"

namespace torch::quantization {
namespace {

using at::Tensor;
using nlohmann::json;
using testing::run;
using testing::relative_error;

constexpr const char* kFolder = "quantization/testdata/";

double largest_difference(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes()) return INFINITY;
  return at::testing::values(at::max(at::abs(at::sub(at::to(a, at::kDouble), at::to(b, at::kDouble)))))[0];
}
double hex(const json& text) {
  return std::strtod(text.get<std::string>().c_str(), nullptr);
}

struct Recorded {
  json cases;
  safetensors::File tensors{std::string(kFolder) + "pt2e.safetensors"};
  Recorded() { std::ifstream(std::string(kFolder) + "pt2e.json") >> cases; }
  Tensor tensor(const json& name) const { return tensors.get(name.get<std::string>()); }
};

template <class F>
void with_quantizer(const json& one, bool is_qat, const F& f) {
  const bool dynamic = one.value("dynamic", false);
  if (one["backend"] == "x86") {
    X86InductorQuantizer quantizer;
    quantizer.set_global(get_default_x86_inductor_quantization_config(is_qat, dynamic));
    f(quantizer);
  } else {
    XNNPACKQuantizer quantizer;
    quantizer.set_global(get_symmetric_quantization_config(one.value("per_channel", true), is_qat, dynamic));
    f(quantizer);
  }
}

ExportedProgram converted(const Recorded& recorded, const json& one) {
  ExportedProgram program = load_exported(std::string(kFolder) + "pt2e_" + one["name"].get<std::string>() + ".pt2");
  with_quantizer(one, false, [&](Quantizer& quantizer) {
    ExportedProgram prepared = prepare_pt2e(std::move(program), quantizer);
    for (const json& batch : one["batches"]) run(prepared, {recorded.tensor(batch)});
    program = convert_pt2e(std::move(prepared));
  });
  return program;
}

std::string full_name(const c10::FunctionSchema& schema) {
  return schema.overload_name().empty() ? schema.name() : schema.name() + "." + schema.overload_name();
}

std::map<std::string, int64_t> operators(const ExportedProgram& program) {
  std::map<std::string, int64_t> counts;
  program.graph->for_nodes([&](const graph::Node* node) {
    if (node->kind() == graph::Node::Kind::kCall) ++counts[full_name(node->callable().schema())];
  });
  return counts;
}

void check_scales(const ExportedProgram& program, const json& want, double tolerance) {
  std::vector<std::pair<double, int64_t>> scales;
  program.graph->for_nodes([&](const graph::Node* node) {
    if (node->kind() != graph::Node::Kind::kCall ||
        full_name(node->callable().schema()) != "quantized_decomposed::quantize_per_tensor") {
      return;
    }
    scales.emplace_back(node->operand(1).constant().toDouble(), node->operand(2).constant().toInt());
  });
  ASSERT_EQ(scales.size(), want.size());
  for (size_t i = 0; i < scales.size(); ++i) {
    // Sums of convolutions have other last bits.
    const double scale = hex(want[i][0]);
    EXPECT_NEAR(scales[i].first, scale, tolerance * scale) << i;
    EXPECT_NEAR(static_cast<double>(scales[i].second), want[i][1].get<double>(), 1) << i;
  }
}

template <class F>
int for_cases(const Recorded& recorded, bool training, const F& f) {
  int count = 0;
  for (const json& one : recorded.cases) {
    if (one.contains("steps") != training) continue;
    SCOPED_TRACE(one["name"].get<std::string>() + " " + one["backend"].get<std::string>());
    f(one);
    ++count;
  }
  return count;
}

TEST(Torchao, ConvertedProgramsAreTheSame) {
  const Recorded recorded;
  const int count = for_cases(recorded, false, [&](const json& one) {
    const ExportedProgram program = converted(recorded, one);
    const auto want = one["operators"].get<std::map<std::string, int64_t>>();
    EXPECT_EQ(operators(program), want);
    check_scales(program, one["scales"], 1e-3);
    const Tensor x = recorded.tensor(one["batches"][0]), got = run(program, {x});
    EXPECT_LT(relative_error(got, recorded.tensor(one["result"])), 0.01);
    EXPECT_LT(relative_error(got, recorded.tensor(one["float"])), one["backend"] == "x86" ? 0.05 : 0.15);
  });
  EXPECT_EQ(count, 7);
}

TEST(Torchao, ConvertedProgramsAreWrittenAndRead) {
  const Recorded recorded;
  for_cases(recorded, false, [&](const json& one) {
    const ExportedProgram program = converted(recorded, one);
    const Tensor x = recorded.tensor(one["batches"][1]), want = run(program, {x});
    const std::string path = ::testing::TempDir() + "/converted.pt2";
    save_exported(program, path);
    const ExportedProgram again = load_exported(path);
    EXPECT_EQ(operators(again), operators(program));
    EXPECT_TRUE(at::equal(run(again, {x}), want));
  });
}

// Exported after torchao quantized them: they run as they are, and their layers become kernels of bytes.
TEST(Torchao, ItsConvertedProgramsRun) {
  const Recorded recorded;
  int count = 0;
  for_cases(recorded, false, [&](const json& one) {
    if (!one.contains("converted")) return;
    ++count;
    ExportedProgram program = load_exported(kFolder + one["converted"].get<std::string>());
    const Tensor x = recorded.tensor(one["batches"][0]), want = recorded.tensor(one["result"]);
    EXPECT_LT(relative_error(run(program, {x}), want), 1e-3);
    LoweringOptions all;
    all.use_cost_model = false;
    const int64_t layers = one["name"] == "residual" ? 4 : one["name"] == "mlp" ? 2 : 3;
    EXPECT_EQ(lower_to_integers(program, all).changes, layers);
    EXPECT_LT(relative_error(run(program, {x}), want), 0.01);
  });
  EXPECT_EQ(count, 3);
}

TEST(Torchao, TrainingIsTheSame) {
  const Recorded recorded;
  const int count = for_cases(recorded, true, [&](const json& one) {
    ExportedProgram program = load_exported(kFolder + one["program"].get<std::string>());
    for (auto& [name, t] : program.state_dict) {
      if (t.is_floating_point() && !name.ends_with("running_mean") && !name.ends_with("running_var")) {
        t.set_requires_grad(true);
      }
    }
    with_quantizer(one, true, [&](Quantizer& quantizer) { program = prepare_qat_pt2e(std::move(program), quantizer); });
    for (size_t step = 0; step < one["steps"].size(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      const json& want = one["steps"][step];
      Tensor loss = at::cross_entropy_loss(run(program, {recorded.tensor(one["batches"][step])}),
                                           recorded.tensor(one["targets"][step]));
      loss.backward();
      {
        const c10::NoGradGuard no_grad;
        for (auto& [name, t] : program.state_dict) {
          if (!t.requires_grad() || !t.grad().defined()) continue;
          t.sub_(at::mul(t.grad(), 0.02));
          t.grad().zero_();
        }
      }
      EXPECT_NEAR(at::testing::values(at::detach(loss))[0], hex(want["loss"]), 2e-3);
      for (const auto& [name, tensor] : want["weights"].items()) {
        ASSERT_TRUE(program.state_dict.contains(name)) << name;
        EXPECT_LE(largest_difference(program.state_dict.at(name), recorded.tensor(tensor)), 5e-3) << name;
      }
      // Fake quantizers stand in other orders: every scale of PyTorch's is one of ours.
      std::vector<Tensor> scales;
      for (const auto& observer : observers_of(program)) {
        scales.push_back(dynamic_cast<const FakeQuantizeBase&>(*observer).scale);
      }
      for (const json& seen : want["seen"]) {
        const Tensor scale = recorded.tensor(seen[0]);
        bool found = false;
        for (const Tensor& own : scales) {
          found = found || (own.numel() == scale.numel() &&
                            at::allclose(at::reshape(own, {-1}), at::reshape(scale, {-1}), 2e-2, 1e-6));
        }
        EXPECT_TRUE(found) << scale;
      }
    }
    move_exported_model_to_eval(program);
    const c10::NoGradGuard no_grad;
    program = convert_pt2e(std::move(program));
    EXPECT_EQ(operators(program), (one["operators"].get<std::map<std::string, int64_t>>()));
    check_scales(program, one["scales"], 2e-2);
    EXPECT_LT(relative_error(run(program, {recorded.tensor(one["batches"][0])}), recorded.tensor(one["result"])), 0.1);
  });
  EXPECT_EQ(count, 2);
}

}  // namespace
}  // namespace torch::quantization
