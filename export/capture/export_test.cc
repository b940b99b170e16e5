#include "export/capture/export.h"

#include <torch/torch.h>

#include "c10/testing/message_of.h"
#include "export/capture/decompositions.h"
#include "export/capture/module.h"
#include "export/capture/test_models.h"
#include "gmock/gmock.h"
#include "graph/ir/text.h"
#include "graph/passes/core_operators.h"
#include "graph/passes/effects.h"
#include "gtest/gtest.h"

namespace torch {
namespace {

using c10::IValue;
using c10::testing::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Values = std::vector<IValue>;

Values copied(const Values& values) {
  Values all;
  for (const IValue& v : values) all.push_back(v.isTensor() ? IValue(v.toTensor().clone()) : v);
  return all;
}
// Whether both are the same; `exactly` bit for bit.
void expect_same(const Values& got, const Values& want, bool exactly) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE("value " + std::to_string(i));
    ASSERT_EQ(got[i].isTensor(), want[i].isTensor());
    if (!got[i].isTensor()) {
      EXPECT_EQ(got[i].tagKind(), want[i].tagKind());
      if (got[i].isInt()) EXPECT_EQ(got[i].toInt(), want[i].toInt());
      continue;
    }
    const Tensor a = got[i].toTensor(), b = want[i].toTensor();
    ASSERT_EQ(a.scalar_type(), b.scalar_type());
    ASSERT_EQ(a.sizes(), b.sizes());
    EXPECT_TRUE(exactly ? torch::equal(a, b) : torch::allclose(a, b, 1e-4, 1e-5)) << a << "\n" << b;
  }
}
Values state_of(const testing::ExportedModel& model) {
  Values all;
  if (model.module == nullptr) return all;
  for (const auto& item : model.module->named_buffers()) all.emplace_back(item.value().clone());
  return all;
}
void set_state(const testing::ExportedModel& model, const Values& state) {
  if (model.module == nullptr) return;
  size_t next = 0;
  for (auto& item : model.module->named_buffers()) item.value().copy_(state.at(next++).toTensor());
}

// Results, inputs and buffers of each call.
void expect_runs_as_the_module(const testing::ExportedModel& model, const ExportedProgram& program, bool exactly) {
  const NoGradGuard no_grad;
  const Values before = state_of(model);
  for (const Values& inputs : model.inputs) {
    Values ours = copied(inputs), theirs = copied(inputs);
    set_state(model, before);
    const Values want = model.call(theirs), changed = state_of(model);
    set_state(model, before);
    const Values got = program.run(ours);
    expect_same(got, want, exactly);
    expect_same(state_of(model), changed, exactly);
    expect_same(ours, theirs, exactly);
  }
  set_state(model, before);
}

TEST(Export, ProgramsDoWhatModulesDo) {
  for (const testing::ExportedModel& model : testing::exported_models()) {
    for (const bool functional : {false, true}) {
      SCOPED_TRACE(model.name + (functional ? ", functional" : ""));
      const Values before = state_of(model);
      ExportOptions options;
      options.functional = functional;
      torch::manual_seed(5);
      const ExportedProgram program = model.program(options);
      // What exporting did is undone.
      expect_same(state_of(model), before, true);
      const Tensor drawn = torch::rand({3});
      torch::manual_seed(5);
      EXPECT_TRUE(torch::equal(drawn, torch::rand({3})));

      verify(*program.graph);
      EXPECT_EQ(program.functional, functional);
      EXPECT_EQ(program.signature.inputs.size(), program.graph->block().input_count());
      bool writes = false;
      program.graph->for_nodes([&](const graph::Node* node) {
        writes = writes || !graph::written_operands(*node).empty();
        for (size_t i = 0; i < node->result_count(); ++i) {
          const graph::Value* v = node->result(i);
          EXPECT_TRUE(v->info() != nullptr || v->type()->kind() != c10::TypeKind::TensorType)
              << graph::print_node(*node);
        }
      });
      EXPECT_FALSE(functional && writes) << graph::print(*program.graph);
      expect_runs_as_the_module(model, program, /*exactly=*/true);
    }
  }
}

TEST(Export, DecompositionsLeaveCoreOperators) {
  for (const testing::ExportedModel& model : testing::exported_models()) {
    SCOPED_TRACE(model.name);
    const ExportedProgram core = run_decompositions(model.program({}));
    verify(*core.graph);
    EXPECT_TRUE(core.functional);
    expect_runs_as_the_module(model, core, /*exactly=*/false);
    core.graph->for_nodes([&](const graph::Node* node) {
      if (node->kind() != graph::Node::Kind::kCall || node->callable().handle() == nullptr) return;
      // Whose decomposition has a factor that is a quotient of sizes; PyTorch has it among core operators, too.
      if (node->calls("aten::_native_batch_norm_legit_functional")) return;
      const bool left = graph::is_decomposed_to_core(*node->callable().handle());
      EXPECT_FALSE(left) << graph::print_node(*node);
      EXPECT_TRUE(graph::written_operands(*node).empty()) << graph::print_node(*node);
    });
  }
}

std::vector<std::string> inputs_of(const ExportedProgram& program) {
  std::vector<std::string> all;
  for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
    const InputSpec& spec = program.signature.inputs[i];
    constexpr const char* kKinds[] = {"user", "parameter", "buffer", "tensor", "constant", "token"};
    all.push_back(std::string(kKinds[static_cast<size_t>(spec.kind)]) + " " + spec.target + " " +
                  program.graph->block().input(i)->name() + (spec.persistent ? "" : " not saved"));
  }
  return all;
}
std::vector<std::string> outputs_of(const ExportedProgram& program) {
  std::vector<std::string> all;
  for (const OutputSpec& spec : program.signature.outputs) {
    constexpr const char* kKinds[] = {"user", "loss", "buffer", "parameter", "input"};
    all.push_back(std::string(kKinds[static_cast<size_t>(spec.kind)]) + " " + spec.target);
  }
  return all;
}
ExportedProgram program_named(const std::string& name, ExportOptions options = {}) {
  for (const testing::ExportedModel& model : testing::exported_models()) {
    if (model.name == name) return model.program(std::move(options));
  }
  ADD_FAILURE() << name;
  return ExportedProgram();
}

TEST(Export, Signatures) {
  ExportOptions options;
  options.functional = true;
  options.argument_names = {"ids"};
  const ExportedProgram shared = program_named("shared", options);
  EXPECT_THAT(inputs_of(shared),
              ElementsAre("parameter unused p_unused", "parameter embedding.weight p_embedding_weight",
                          "parameter decoder.weight p_decoder_weight", "buffer calls b_calls",
                          "buffer scale b_scale not saved", "tensor lifted_tensor_0 c_lifted_tensor_0", "user  ids"));
  EXPECT_THAT(outputs_of(shared), ElementsAre("buffer calls", "user "));
  EXPECT_EQ(shared.state_dict.size(), 4u);
  EXPECT_EQ(shared.constants.size(), 2u);
  EXPECT_EQ(shared.argument_names, options.argument_names);
  EXPECT_THAT(shared.modules, ElementsAre("embedding", "decoder"));

  options.argument_names = {};
  const ExportedProgram conv = program_named("conv_net_training", options);
  EXPECT_THAT(outputs_of(conv), ElementsAre("buffer bn1.running_mean", "buffer bn1.running_var",
                                            "buffer bn1.num_batches_tracked", "buffer bn2.running_mean",
                                            "buffer bn2.running_var", "buffer bn2.num_batches_tracked", "user "));
  const ExportedProgram sizes = program_named("sizes", options);
  EXPECT_THAT(outputs_of(sizes), ElementsAre("input args_0", "user "));

  const ExportedProgram nested = program_named("nested");
  EXPECT_THAT(inputs_of(nested),
              ElementsAre("user  args_0", "user  args_1_0", "user  args_1_1", "constant  args_2", "constant  args_3"));
  EXPECT_EQ(nested.signature.inputs[3].value.toInt(), 4);
  const Tensor x = torch::ones({3}), one = torch::ones({1});
  const IValue result = nested({x, IValue(std::vector<Tensor>{x, one}), 4, IValue()});
  EXPECT_EQ(result.toTupleRef().elements()[2].toInt(), 4);
  EXPECT_TRUE(result.toTupleRef().elements()[1].isList());
  EXPECT_THAT(message_of<c10::ValueError>([&] {
                nested({x, IValue(std::vector<Tensor>{x, one}), 5, IValue()});
              }),
              HasSubstr("was a constant"));
}

TEST(Export, SizesAreExpressions) {
  const ExportedProgram program = program_named("sizes");
  const auto* info = program.graph->block().input(1)->info();
  EXPECT_EQ(info->sizes[0].str(), "2*half + 1");
  EXPECT_EQ(program.graph->symbols().at("half"), (graph::IntRange{2, 40}));
  const std::string text = graph::print(*program.graph);
  EXPECT_THAT(text, HasSubstr("half"));
  const auto run = [&](int64_t n, int64_t m) {
    return message_of<c10::ValueError>([&] { program({torch::ones({n, 3}), torch::ones({m, 2})}); });
  };
  EXPECT_EQ(run(2, 5), "no error");
  EXPECT_EQ(run(40, 81), "no error");
  EXPECT_THAT(run(41, 83), HasSubstr("expected a size of 2 to 40 in dimension 0"));
  EXPECT_THAT(run(1, 3), HasSubstr("expected a size of 2 to 40 in dimension 0"));
  EXPECT_THAT(run(4, 10), HasSubstr("expected size 9 (2*half + 1)"));
}

// Whether a size may be 1 where nothing is said is tried.
TEST(Export, SizesOfOne) {
  const auto least = [](const auto& f, const Tensor& example) {
    ExportOptions options;
    options.dynamic_shapes = {{{0, Dim("n")}}};
    return export_(f, example, options).graph->symbols().at("n").min;
  };
  const auto same = [](const Tensor& x) { return x * 2; };
  const auto squeezes = [](const Tensor& x) { return x.squeeze().sum(0); };
  EXPECT_EQ(least(same, torch::ones({4, 2})), 1);
  EXPECT_EQ(least(same, torch::ones({1, 2})), 1);
  EXPECT_EQ(least(squeezes, torch::ones({4, 2})), 1);  // the graph squeezes, too
  const auto decides = [](const Tensor& x) { return x.size(0) == 1 ? x * 3 : x * 2; };
  EXPECT_EQ(least(decides, torch::ones({4, 2})), 2);
  EXPECT_THAT(message_of<c10::ValueError>([&] {
                least(decides, torch::ones({1, 2}));
              }),
              HasSubstr("n is 1 in the example, but what the program is for other sizes is something else there"));
}

TEST(Export, RefusesWhatIsNotOneGraph) {
  const auto with = [](const auto& f, const Tensor& example, std::map<int64_t, Dim> dims, ExportOptions options = {}) {
    options.dynamic_shapes = {std::move(dims)};
    return message_of([&] { export_(f, example, options); });
  };
  const Dim n("n", 1, 100);
  const Tensor x = torch::ones({6, 2});
  EXPECT_THAT(with([](const Tensor& t) { return t.size(0) > 5 ? t.sin() : t.cos(); }, x, {{0, n}}),
              HasSubstr("one program gave other graphs at other sizes"));
  const auto squares = [](const Tensor& t) {
    int64_t bits = 0;
    for (int64_t i = t.size(0); i > 0; i /= 2) ++bits;
    return t.sum() + torch::ones({bits});
  };
  EXPECT_THAT(with(squares, x, {{0, n}}), HasSubstr("integers that no expression of the sizes gives, [1, 2, 3"));
  // A size that its operators do not allow.
  EXPECT_THAT(with([](const Tensor& t) { return t + torch::ones({6, 2}); }, x, {{0, n}}), HasSubstr("size"));
  // One that the sample sizes do not show.
  EXPECT_THAT(with([](const Tensor& t) { return t.size(0) == 100 ? t * 2 : t * 3; }, x, {{0, n}}),
              HasSubstr("does not do what the function does where n = 100: result 0: other elements"));
  int calls = 0;
  EXPECT_THAT(with([&](const Tensor& t) { return t * ++calls; }, x, {}),
              HasSubstr("does not do what the function does: result 0: other elements"));
  ExportOptions unchecked;
  unchecked.max_check_bytes = 0;
  EXPECT_EQ(with([&](const Tensor& t) { return t * ++calls; }, x, {}, unchecked), "no error");

  ExportOptions strict;
  strict.strict = true;
  EXPECT_THAT(with([](const Tensor& t) { return t * t.sum().item<float>(); }, x, {}, strict),
              HasSubstr("the program went on with the value that it had"));
  const Tensor large = torch::ones({100}), kept = torch::zeros({6, 2});
  ExportOptions small;
  small.max_constant_bytes = 100;
  EXPECT_THAT(with([&](const Tensor& t) { return t.sum() + large; }, x, {}, small), HasSubstr("400 bytes"));
  EXPECT_THAT(with([&](const Tensor& t) { return kept.add_(t); }, x, {}), HasSubstr("would be written"));

  // The module that it is in.
  struct PaddedImpl : nn::Module {
    Tensor forward(const Tensor& t) { return t.size(0) > 9 ? t + 1 : t; }
  };
  nn::Sequential net(nn::Linear(2, 2), std::make_shared<PaddedImpl>(), nn::ReLU());
  EXPECT_THAT(with(net, x, {{0, n}}), HasSubstr("in module 1, a "));
}

TEST(Export, ChecksDims) {
  const auto f = [](const Tensor& x, const Tensor& y) { return x.sum() + y.sum(); };
  const auto with = [&](std::vector<std::map<int64_t, Dim>> dims) {
    ExportOptions options;
    options.dynamic_shapes = std::move(dims);
    return message_of<c10::ValueError>([&] { export_(f, std::tuple(torch::ones({4, 2}), torch::ones({8})), options); });
  };
  const Dim n("n", 2, 9);
  EXPECT_EQ(with({{{0, n}}, {{0, 2 * n}}}), "no error");
  EXPECT_EQ(with({{{-2, n}}, {{-1, n * 2}}}), "no error");
  EXPECT_THAT(with({{{0, n}}, {{0, n}}}), HasSubstr("so that n is 8, but another input says 4"));
  EXPECT_THAT(with({{{0, n}}, {{0, 3 * n}}}), HasSubstr("has size 8 in dimension 0, which is no 3*n"));
  EXPECT_THAT(with({{{2, n}}}), HasSubstr("dimension 2 of input 0"));
  EXPECT_THAT(with({{}, {}, {{0, n}}}), HasSubstr("dynamic_shapes are of 3 inputs"));
  EXPECT_THAT(with({{{0, Dim("n", 5)}}}), HasSubstr("out of its range of 5"));
  EXPECT_THAT(with({{{0, n}}, {{0, Dim("n", 2, 99)}}}), HasSubstr("other bounds"));
  EXPECT_THAT(message_of<c10::ValueError>([] { Dim("1n"); }), HasSubstr("'1n'"));
  EXPECT_THAT(message_of<c10::ValueError>([] { Dim("n", 4, 3); }), HasSubstr("max is 3"));
  EXPECT_THAT(message_of<c10::ValueError>([] { Dim("n", -1); }), HasSubstr("min is -1"));
  EXPECT_THAT(message_of<c10::ValueError>([&] { 0 * n; }), HasSubstr("factor"));
  EXPECT_THAT(message_of<c10::ValueError>([&] { Dim::DYNAMIC + 1; }), HasSubstr("DYNAMIC"));
  ExportOptions options;
  options.argument_names = {"a"};
  EXPECT_THAT(message_of<c10::ValueError>([&] { export_(f, std::tuple(torch::ones({4}), torch::ones({8})), options); }),
              HasSubstr("1 argument names for 2 arguments"));
}

TEST(Export, ModulesOfPrograms) {
  nn::Sequential net(nn::Linear(4, 3), nn::Tanh(), nn::Linear(3, 2));
  const Tensor x = torch::randn({5, 4});
  ExportedModule module(export_(net, x));
  EXPECT_THAT(module->named_parameters().keys(), ElementsAre("0.weight", "0.bias", "2.weight", "2.bias"));
  EXPECT_TRUE(torch::equal(module->forward({x}).toTensor(), net->forward(x)));
  // Gradients reach the module's own parameters, which are the program's.
  module->forward({x}).toTensor().sum().backward();
  const Tensor got = module->named_parameters()["0.weight"].grad().clone();
  net->zero_grad();
  net->forward(x).sum().backward();
  EXPECT_TRUE(torch::equal(got, net->named_parameters()["0.weight"].grad()));
  {
    const NoGradGuard no_grad;
    net->named_parameters()["2.bias"].add_(1);
  }
  EXPECT_TRUE(torch::equal(module->forward({x}).toTensor(), net->forward(x)));
}

}  // namespace
}  // namespace torch
