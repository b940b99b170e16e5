// Programs prepared, observed, converted and lowered.
#include <cmath>

#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/conv/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/quantized/prepacked_integers.h"
#include "aten/testing/testing.h"
#include "c10/core/cpu_generator.h"
#include "c10/testing/message_of.h"
#include "graph/ir/text.h"
#include "gtest/gtest.h"
#include "quantization/fx/quantize_fx.h"
#include "quantization/lowering/lowering.h"
#include "quantization/pt2e/pt2e.h"
#include "quantization/quantizers/x86_inductor_quantizer.h"
#include "quantization/quantizers/xnnpack_quantizer.h"
#include "quantization/testing/programs.h"

namespace torch::quantization {
namespace {

using at::Tensor;
using at::testing::sample;
using at::testing::tensor_of;
using c10::ScalarType;
using c10::testing::message_of;
using graph::Node;
using testing::count;
using testing::images;
using testing::program_of;
using testing::relative_error;
using testing::run;

std::string nodes_of(const ExportedProgram& program) {
  std::string text;
  program.graph->for_nodes([&](const Node* node) { text += graph::print_node(*node) + "\n"; });
  return text;
}

ExportedProgram mlp(int64_t in = 16, int64_t hidden = 32) {
  auto generator = at::detail::createCPUGenerator(3);
  testing::State state{{"fc1.weight", at::mul(at::randn({hidden, in}, generator), 0.3)},
                       {"fc1.bias", at::randn({hidden}, generator)},
                       {"fc2.weight", at::mul(at::randn({4, hidden}, generator), 0.3)},
                       {"fc2.bias", at::randn({4}, generator)}};
  return program_of(
      [](std::map<std::string, Tensor>& s, const std::vector<Tensor>& x) {
        const Tensor h = at::relu(at::linear(x[0], s.at("fc1.weight"), s.at("fc1.bias")));
        return at::linear(h, s.at("fc2.weight"), s.at("fc2.bias"));
      },
      state, {at::zeros({8, in})});
}

X86InductorQuantizer x86(bool is_qat = false, bool is_dynamic = false) {
  X86InductorQuantizer quantizer;
  quantizer.set_global(get_default_x86_inductor_quantization_config(is_qat, is_dynamic));
  return quantizer;
}
XNNPACKQuantizer xnnpack(bool per_channel = false, bool is_qat = false, bool is_dynamic = false) {
  XNNPACKQuantizer quantizer;
  quantizer.set_global(get_symmetric_quantization_config(per_channel, is_qat, is_dynamic));
  return quantizer;
}

ExportedProgram converted(ExportedProgram program, Quantizer& quantizer, const std::vector<Tensor>& calibration) {
  ExportedProgram prepared = prepare_pt2e(std::move(program), quantizer);
  for (const Tensor& x : calibration) run(prepared, {x});
  return convert_pt2e(std::move(prepared));
}

TEST(Pt2e, LinearLayersBecomeIntegers) {
  const auto batches = images(4, {8, 16}, 1);
  const Tensor want = run(mlp(), {batches[0]});
  auto quantizer = x86();
  ExportedProgram prepared = prepare_pt2e(mlp(), quantizer);
  EXPECT_EQ(observers_of(prepared).size(), 4u);
  EXPECT_EQ(count(prepared, "quantization::observe"), 4);
  EXPECT_TRUE(at::equal(run(prepared, {batches[0]}), want));
  for (const Tensor& x : batches) run(prepared, {x});
  ExportedProgram program = convert_pt2e(std::move(prepared));
  // Activations are quantized when it runs, weights are not: they are bytes.
  EXPECT_EQ(count(program, "quantized_decomposed::quantize_per_tensor"), 2);
  EXPECT_EQ(count(program, "quantized_decomposed::quantize_per_channel"), 0);
  EXPECT_EQ(count(program, "quantized_decomposed::dequantize_per_channel"), 2);
  EXPECT_EQ(program.state_dict.size(), 2u);
  EXPECT_LT(relative_error(run(program, {batches[0]}), want), 0.02);

  LoweringOptions all;
  all.use_cost_model = false;
  const Tensor reference = run(program, {batches[1]});
  EXPECT_EQ(lower_to_integers(program, all).changes, 2);
  EXPECT_EQ(count(program, "onednn::qlinear_pointwise"), 2);
  EXPECT_EQ(count(program, "quantized_decomposed::quantize_per_tensor"), 1);
  EXPECT_EQ(count(program, "quantized_decomposed::dequantize_per_tensor"), 0);
  EXPECT_LT(relative_error(run(program, {batches[1]}), reference), 0.01);
}

TEST(Pt2e, SmallLayersStayFloat) {
  const auto batches = images(2, {8, 16}, 1);
  auto quantizer = x86();
  const Tensor want = run(mlp(), {batches[0]});
  ExportedProgram program = converted(mlp(), quantizer, batches);
  const graph::PassResult result = lower_to_integers(program);
  EXPECT_EQ(result.changes, 0);
  EXPECT_EQ(result.notes.size(), 2u);
  EXPECT_EQ(count(program, "quantized_decomposed::quantize_per_tensor"), 0);
  EXPECT_EQ(count(program, "aten::linear"), 2);
  // Only the weights are rounded.
  EXPECT_LT(relative_error(run(program, {batches[0]}), want), 0.01);
  EXPECT_EQ(saved_nanoseconds({.rows = 3136, .depth = 576, .channels = 64}) > 0, at::quantized::multiplies_bytes());
  EXPECT_LT(saved_nanoseconds({.rows = 1, .depth = 16, .channels = 32, .quantized = 16}), 0);
}

TEST(Pt2e, DynamicLinearLayersChooseWhenTheyRun) {
  const auto batches = images(2, {8, 16}, 1);
  const Tensor want = run(mlp(), {batches[0]});
  auto quantizer = x86(false, true);
  ExportedProgram program = converted(mlp(), quantizer, {});
  EXPECT_EQ(count(program, "quantized_decomposed::choose_qparams.tensor"), 2);
  EXPECT_EQ(count(program, "quantized_decomposed::quantize_per_tensor.tensor"), 2);
  const Tensor reference = run(program, {batches[0]});
  EXPECT_LT(relative_error(reference, want), 0.02);
  LoweringOptions all;
  all.use_cost_model = false;
  EXPECT_EQ(lower_to_integers(program, all).changes, 2);
  EXPECT_EQ(count(program, "aten::linear"), 0);
  EXPECT_LT(relative_error(run(program, {batches[0]}), reference), 0.01);
}

// Batch norms are in the weights, results of blocks and what is added to them are bytes.
TEST(Pt2e, ResidualNetworks) {
  const int blocks = 2;
  const auto state = testing::small_resnet_state(blocks, 16, 10, 7);
  const auto batches = images(3, {2, 3, 24, 24}, 5);
  const auto make = [&] { return program_of(testing::small_resnet(blocks), state, {batches[0]}); };
  const Tensor want = run(make(), {batches[0]});
  auto quantizer = x86();
  ExportedProgram prepared = prepare_pt2e(make(), quantizer);
  EXPECT_EQ(count(prepared, "aten::batch_norm"), 0);
  EXPECT_TRUE(at::allclose(run(prepared, {batches[0]}), want, 1e-4, 1e-4));
  for (const Tensor& x : batches) run(prepared, {x});
  ExportedProgram program = convert_pt2e(std::move(prepared));
  const Tensor reference = run(program, {batches[0]});
  EXPECT_LT(relative_error(reference, want), 0.05);
  LoweringOptions all;
  all.use_cost_model = false;
  const graph::PassResult result = lower_to_integers(program, all);
  EXPECT_EQ(result.changes, 7);
  EXPECT_EQ(count(program, "onednn::qconv_pointwise.binary"), 2);
  EXPECT_EQ(count(program, "aten::conv2d"), 0);
  // Bytes from the first layer to the pooling before the last.
  EXPECT_EQ(count(program, "quantized_decomposed::dequantize_per_tensor"), 1) << nodes_of(program);
  EXPECT_LT(relative_error(run(program, {batches[0]}), reference), 0.03);
  EXPECT_LT(relative_error(run(program, {batches[0]}), want), 0.06);
}

// Signed activations and weights of one scale, outputs quantized.
TEST(Pt2e, SignedActivations) {
  const int blocks = 2;
  const auto state = testing::small_resnet_state(blocks, 8, 10, 9);
  const auto batches = images(3, {1, 3, 16, 16}, 6);
  for (const bool per_channel : {false, true}) {
    ExportedProgram program = program_of(testing::small_resnet(blocks), state, {batches[0]});
    const Tensor want = run(program, {batches[0]});
    auto quantizer = xnnpack(per_channel);
    program = converted(std::move(program), quantizer, batches);
    const Tensor reference = run(program, {batches[0]});
    EXPECT_LT(relative_error(reference, want), 0.15);
    LoweringOptions all;
    all.use_cost_model = false;
    EXPECT_EQ(lower_to_integers(program, all).changes, 7);
    EXPECT_LT(relative_error(run(program, {batches[0]}), reference), 0.08);
  }
}

// Whatever the layers are: converted programs, and what kernels make of them.
TEST(Pt2e, RandomNetworksAgreeWithTheirReference) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    auto generator = at::detail::createCPUGenerator(seed);
    const auto pick = [&](int64_t n) {
      return static_cast<int64_t>(at::testing::values(at::randint(0, n, {1}, generator))[0]);
    };
    testing::State state;
    std::vector<std::function<Tensor(std::map<std::string, Tensor>&, const Tensor&)>> layers;
    int64_t channels = 1 + pick(9);
    const int64_t first = channels;
    const int64_t depth = 2 + pick(3);
    for (int64_t i = 0; i < depth; ++i) {
      const std::string name = "l" + std::to_string(i);
      const int64_t groups = pick(3) == 0 ? channels : 1, out = groups * (1 + pick(groups > 1 ? 2 : 20)),
                    k = 1 + pick(3), stride = 1 + pick(2), padding = pick(k), clamp = pick(3);
      const bool biased = pick(2) == 0;
      state.emplace_back(name + ".weight", at::randn({out, channels / groups, k, k}, generator));
      if (biased) state.emplace_back(name + ".bias", at::randn({out}, generator));
      layers.emplace_back([=](std::map<std::string, Tensor>& s, const Tensor& x) {
        Tensor y = at::conv2d(x, s.at(name + ".weight"), biased ? s.at(name + ".bias") : Tensor(), {stride, stride},
                              {padding, padding}, {1, 1}, groups);
        if (clamp == 1) y = at::relu(y);
        if (clamp == 2) y = at::hardtanh(y, -2, 3);
        return y;
      });
      channels = out;
    }
    const auto batches = images(2, {1 + static_cast<int64_t>(seed % 3), first, 13, 17}, seed + 100);
    ExportedProgram program = program_of(
        [&](std::map<std::string, Tensor>& s, const std::vector<Tensor>& x) {
          Tensor y = x[0];
          for (const auto& layer : layers) y = layer(s, y);
          return y;
        },
        state, {batches[0]});
    auto unsigned_ones = x86();
    auto signed_ones = xnnpack(true);
    Quantizer& quantizer = seed % 2 == 0 ? static_cast<Quantizer&>(unsigned_ones) : signed_ones;
    const Tensor want = run(program, {batches[0]});
    program = converted(std::move(program), quantizer, batches);
    const Tensor reference = run(program, {batches[0]});
    LoweringOptions all;
    all.use_cost_model = false;
    EXPECT_EQ(lower_to_integers(program, all).changes, depth);
    const Tensor got = run(program, {batches[0]});
    ASSERT_EQ(got.sizes(), want.sizes());
    EXPECT_LT(relative_error(reference, want), 0.2);
    EXPECT_LT(relative_error(got, reference), 0.05);
  }
}

// --- quantizers of one's own ---
struct Custom : Quantizer {
  std::function<void(Node*, Annotations&)> each;
  explicit Custom(std::function<void(Node*, Annotations&)> f) : each(std::move(f)) {}
  void annotate(const ExportedProgram& program, Annotations& annotations) override {
    for (Node* node : program.graph->block()) each(node, annotations);
  }
};

QuantizationSpec bytes() {
  return {with_args<MinMaxObserver>(ObserverOptions().dtype(ScalarType::Byte).quant_min(0).quant_max(255))};
}
QuantizationSpec signed_bytes() {
  return {with_args<MinMaxObserver>(ObserverOptions().dtype(ScalarType::Char).qscheme(c10::kPerTensorSymmetric))};
}

ExportedProgram linear_program() {
  testing::State state{{"weight", sample({3, 4})}, {"bias", sample({3}, at::kFloat, 2)}};
  return program_of(
      [](std::map<std::string, Tensor>& s, const std::vector<Tensor>& x) {
        return at::sigmoid(at::linear(x[0], s.at("weight"), s.at("bias")));
      },
      state, {at::zeros({5, 4})});
}

TEST(Pt2e, SharedDerivedAndFixedSpecs) {
  Custom quantizer([](Node* node, Annotations& annotations) {
    if (node->calls("aten::linear")) {
      auto *x = node->operand(0).value(), *w = node->operand(1).value(), *b = node->operand(2).value();
      auto& annotation = annotations.of(node);
      annotation.input_qspec_map.emplace(x, bytes());
      annotation.input_qspec_map.emplace(w, signed_bytes());
      DerivedQuantizationSpec derived;
      derived.derived_from = {Edge{x, node}, Edge{w, node}};
      derived.derive_qparams_fn = [](const std::vector<std::shared_ptr<ObserverBase>>& from) {
        const Tensor scale =
            at::mul(std::get<0>(from.at(0)->calculate_qparams()), std::get<0>(from.at(1)->calculate_qparams()));
        return QParams(scale, at::zeros({1}, at::kInt));
      };
      derived.options = ObserverOptions().dtype(ScalarType::Int).qscheme(c10::kPerTensorSymmetric);
      annotation.input_qspec_map.emplace(b, derived);
    }
    if (node->calls("aten::sigmoid")) {
      annotations.of(node).output_qspec = FixedQParamsQuantizationSpec{ScalarType::Byte, 1.0 / 256, 0, 0, 255};
    }
  });
  const Tensor x = sample({5, 4});
  ExportedProgram prepared = prepare_pt2e(linear_program(), quantizer);
  const Tensor want = run(prepared, {x});
  ExportedProgram program = convert_pt2e(std::move(prepared));
  EXPECT_EQ(program.state_dict.size(), 0u);
  const Tensor got = run(program, {x});
  EXPECT_LT(at::testing::values(at::max(at::abs(at::sub(got, want))))[0], 0.03);
  // Multiples of 1 / 256.
  const Tensor steps = at::mul(got, 256);
  EXPECT_TRUE(at::equal(at::round(steps), steps));

  // One observer for an input and the output.
  Custom shared([](Node* node, Annotations& annotations) {
    if (!node->calls("aten::sigmoid")) return;
    auto& annotation = annotations.of(node);
    annotation.input_qspec_map.emplace(node->operand(0).value(), bytes());
    annotation.output_qspec = SharedQuantizationSpec{Edge{node->operand(0).value(), node}};
  });
  prepared = prepare_pt2e(linear_program(), shared);
  EXPECT_EQ(observers_of(prepared).size(), 1u);
  EXPECT_EQ(count(prepared, "quantization::observe"), 2);
}

TEST(Pt2e, RefusesBadAnnotations) {
  const auto refusal = [](std::function<void(Node*, Annotations&)> f) {
    Custom quantizer(std::move(f));
    return message_of<c10::ValueError>([&] { prepare_pt2e(linear_program(), quantizer); });
  };
  EXPECT_NE(refusal([](Node* node, Annotations& annotations) {
              if (!node->calls("aten::sigmoid")) return;
              annotations.of(node).input_qspec_map.emplace(node->result(), bytes());
            }).find("does not use"),
            std::string::npos);
  EXPECT_NE(refusal([](Node* node, Annotations& annotations) {
              if (!node->calls("aten::sigmoid")) return;
              annotations.of(node).output_qspec = SharedQuantizationSpec{node};
            }).find("circle"),
            std::string::npos);
  EXPECT_NE(refusal([](Node* node, Annotations& annotations) {
              if (!node->calls("aten::sigmoid")) return;
              annotations.of(node).output_qspec = SharedQuantizationSpec{Edge{node->operand(0).value(), node}};
            }).find("has none"),
            std::string::npos);
  EXPECT_NE(refusal([](Node* node, Annotations& annotations) {
              if (node->calls("aten::sigmoid")) annotations.of(node).output_qspec = QuantizationSpec{};
            }).find("expected an observer"),
            std::string::npos);
}

TEST(Pt2e, ModulesAndOperatorsCanStayFloat) {
  const auto batches = images(2, {8, 16}, 1);
  auto quantizer = x86();
  quantizer.set_module_name_qconfig("fc1", std::nullopt);
  ExportedProgram program = converted(mlp(), quantizer, batches);
  EXPECT_EQ(count(program, "quantized_decomposed::dequantize_per_channel"), 1);
  EXPECT_EQ(program.state_dict.count("fc1.weight"), 1u);
  EXPECT_EQ(program.state_dict.count("fc2.weight"), 0u);
  auto none = xnnpack();
  none.set_operator_type("aten::linear", std::nullopt);
  program = converted(mlp(), none, batches);
  EXPECT_EQ(count(program, "quantized_decomposed::quantize_per_tensor"), 0);
  auto first = xnnpack();
  first.set_module_name("fc2", std::nullopt);
  ComposableQuantizer both({std::make_shared<XNNPACKQuantizer>(first), std::make_shared<X86InductorQuantizer>(x86())});
  program = converted(mlp(), both, batches);
  EXPECT_EQ(count(program, "quantized_decomposed::dequantize_per_channel"), 1);
}

TEST(Pt2e, WeightsMayStayFloat) {
  auto quantizer = x86();
  ExportedProgram prepared = prepare_pt2e(mlp(), quantizer);
  const auto batches = images(1, {8, 16}, 1);
  run(prepared, {batches[0]});
  ConvertOptions options;
  options.fold_quantize = false;
  ExportedProgram program = convert_pt2e(std::move(prepared), options);
  EXPECT_EQ(count(program, "quantized_decomposed::quantize_per_channel"), 2);
  EXPECT_EQ(program.state_dict.size(), 4u);
}

TEST(Pt2e, EmbeddingsByRows) {
  testing::State state{{"table.weight", sample({10, 4})}};
  ExportedProgram program =
      program_of([](std::map<std::string, Tensor>& s,
                    const std::vector<Tensor>& x) { return at::embedding(s.at("table.weight"), x[0]); },
                 state, {at::zeros({3}, at::kLong)});
  const Tensor indices = tensor_of({1, 9, 4}, {3}, at::kLong), want = run(program, {indices});
  EmbeddingQuantizer quantizer;
  program = prepare_pt2e(std::move(program), quantizer);
  run(program, {indices});
  program = convert_pt2e(std::move(program));
  EXPECT_EQ(program.state_dict.size(), 0u);
  EXPECT_TRUE(at::allclose(run(program, {indices}), want, 0, 0.02));
}

TEST(Fx, MappingsSayWhatIsQuantized) {
  const auto state = testing::small_resnet_state(2, 8, 10, 9);
  const auto batches = images(3, {1, 3, 16, 16}, 6);
  for (const char* backend : {"x86", "onednn", "qnnpack"}) {
    SCOPED_TRACE(backend);
    ExportedProgram program = program_of(testing::small_resnet(2), state, {batches[0]});
    const Tensor want = run(program, {batches[0]});
    auto mapping = get_default_qconfig_mapping(backend);
    mapping.set_module_name("stem", std::nullopt);
    ExportedProgram prepared = prepare_fx(std::move(program), mapping);
    for (const Tensor& x : batches) run(prepared, {x});
    program = convert_to_reference_fx(std::move(prepared));
    EXPECT_EQ(program.state_dict.count("stem.weight"), 1u);
    EXPECT_EQ(program.state_dict.count("fc.weight"), 0u);
    const Tensor reference = run(program, {batches[0]});
    EXPECT_LT(relative_error(reference, want), 0.2);
    LoweringOptions all;
    all.use_cost_model = false;
    EXPECT_EQ(lower_to_integers(program, all).changes, 6);
    EXPECT_LT(relative_error(run(program, {batches[0]}), reference), 0.08);
  }
  // Fixed scales of functions whose results are known.
  ExportedProgram prepared = prepare_fx(linear_program(), get_default_qconfig_mapping("onednn"));
  run(prepared, {sample({5, 4})});
  const ExportedProgram program = convert_to_reference_fx(std::move(prepared));
  const Tensor steps = at::mul(run(program, {sample({5, 4})}), 256);
  EXPECT_TRUE(at::equal(at::round(steps), steps));
}

TEST(Fx, HalfPrecision) {
  QConfigMapping mapping;
  mapping.set_object_type("aten::linear", float16_static_qconfig());
  ExportedProgram prepared = prepare_fx(linear_program(), mapping);
  const Tensor want = run(prepared, {sample({5, 4})});
  const ExportedProgram program = convert_fx(std::move(prepared));
  EXPECT_GT(count(program, "quantized_decomposed::convert_element_type"), 1);
  EXPECT_TRUE(at::allclose(run(program, {sample({5, 4})}), want, 1e-2, 1e-3));
}

}  // namespace
}  // namespace torch::quantization
