#include "graph/capture/capture.h"

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"
#include "c10/testing/message_of.h"
#include "graph/interpreter/interpreter.h"
#include "graph/ir/text.h"
#include "graph/passes/testing/programs.h"
#include "gtest/gtest.h"

namespace torch::graph {
namespace {

using at::Tensor;
using c10::IValue;
using c10::Stack;
using c10::testing::message_of;
using testing::difference;

Captured captured(const std::function<Tensor(const Tensor&, const Tensor&)>& f, const Tensor& a, const Tensor& b,
                  const CaptureOptions& options = {}) {
  return capture([&](const Stack& in) { return Stack{f(in[0].toTensor(), in[1].toTensor())}; }, {a, b}, options);
}
// What the graph gives for other inputs than it was captured with, beside what the function gives.
void expect_same(const std::function<Tensor(const Tensor&, const Tensor&)>& f, const Tensor& a, const Tensor& b) {
  const Captured one = captured(f, at::clone(a), at::clone(b));
  verify(*one.graph);
  const Tensor x = at::mul(a, 0.5), y = at::add(b, 0.25);
  Stack got{at::clone(x), at::clone(y)};
  const Stack changed = got;
  Interpreter (*one.graph)(got);
  const Tensor p = at::clone(x), q = at::clone(y);
  const Tensor want = f(p, q);
  EXPECT_EQ(difference(got, {want}), "") << print(*one.graph);
  EXPECT_EQ(difference(changed, {p, q}), "") << print(*one.graph);
}

TEST(Capture, RecordsWhatIsCalled) {
  const Tensor x = torch::randn({2, 3}), w = torch::randn({4, 3});
  const Captured one = captured([](const Tensor& a, const Tensor& b) { return at::relu(at::linear(a, b)) * 2; }, x, w);
  EXPECT_EQ(print(*one.graph),
            R"(graph forward(%0: Tensor<Float, cpu, [2, 3], [3, 1]>, %1: Tensor<Float, cpu, [4, 3], [3, 1]>) {
  %2: Tensor = aten::linear(%0, %1, None)
  %3: Tensor = aten::relu(%2)
  %4: Tensor = aten::mul.Scalar(%3, 2)
  return %4
}
)");
  EXPECT_TRUE(one.state.empty());
  EXPECT_TRUE(one.notes.empty());
}

TEST(Capture, GraphsDoWhatFunctionsDo) {
  const Tensor x = torch::randn({4, 4}), y = torch::randn({4, 4});
  expect_same([](const Tensor& a, const Tensor& b) { return at::cat(at::split(a + b, 2), 1); }, x, y);
  expect_same(
      [](const Tensor& a, const Tensor& b) {
        Tensor sum = torch::zeros({4});
        for (int64_t i = 0; i < a.size(0); ++i) sum.add_(a[i] * b.t()[i]);
        return sum;
      },
      x, y);
  expect_same(
      [](const Tensor& a, const Tensor& b) {
        a.view({16}).slice(0, 2, 5).mul_(3);
        return a + std::get<0>(at::max(b, 1));
      },
      x, y);
  expect_same(
      [](const Tensor& a, const Tensor& b) {
        return at::index(a, {at::arange(2), at::argmax(b, 0).slice(0, 0, 2)});
      },
      x, y);
}

// Formulas of derivatives are operators, too.
TEST(Capture, Gradients) {
  const Tensor x = torch::randn({4, 4}).requires_grad_(true), y = torch::randn({4, 4});
  const auto f = [](const Tensor& a, const Tensor& b) {
    return torch::autograd::grad({at::tanh(at::mm(a, b)).sum()}, {a})[0];
  };
  const Captured one = captured(f, x, y);
  Stack got{x, y};
  Interpreter (*one.graph)(got);
  EXPECT_EQ(difference(got[0], f(x, y)), "");
  // Another input than the one that it was captured with.
  const Tensor z = torch::randn({4, 4}).requires_grad_(true);
  got = {z, y};
  Interpreter (*one.graph)(got);
  EXPECT_EQ(difference(got[0], f(z, y)), "");
}

TEST(Capture, ReplayIsDifferentiable) {
  const Tensor w = torch::randn({3, 3}).requires_grad_(true), x = torch::randn({2, 3});
  CaptureOptions options;
  options.state = {{"layer.weight", w}, {"unused", torch::ones({1})}};
  const Captured one = capture([&](const Stack& in) { return Stack{at::mm(in[0].toTensor(), w).sum()}; }, {x}, options);
  EXPECT_EQ(one.state, std::vector<std::string>{"layer.weight"});
  EXPECT_EQ(one.graph->block().input_count(), 2u);
  EXPECT_EQ(one.graph->block().input(0)->name(), "layer_weight");
  Stack got{w, x};
  Interpreter (*one.graph)(got);
  EXPECT_EQ(difference(torch::autograd::grad({got[0].toTensor()}, {w})[0],
                       torch::autograd::grad({at::mm(x, w).sum()}, {w})[0]),
            "");
}

TEST(Capture, NestedInputsAndOutputs) {
  const Tensor x = torch::randn({2}), y = torch::randn({2});
  const IValue list = std::vector<Tensor>{x, y};
  const Captured one = capture(
      [](const Stack& in) {
        const auto tensors = in[0].toTensorVector();
        return Stack{IValue(std::make_tuple(tensors[0] + 1, tensors[1])), IValue(7), tensors[1]};
      },
      {list});
  verify(*one.graph);
  EXPECT_EQ(one.graph->block().input_count(), 2u);
  Stack got{x, y};
  Interpreter (*one.graph)(got);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(difference(got[0].toTupleRef().elements()[0], x + 1), "");
  EXPECT_EQ(got[1].toInt(), 7);
}

TEST(Capture, NumbersAreThoseOfTheRun) {
  const Tensor x = torch::tensor({1.0f, 2.0f}), y = torch::tensor(3.0f);
  const Captured one = captured([](const Tensor& a, const Tensor& b) { return a * b.item<float>(); }, x, y);
  ASSERT_FALSE(one.notes.empty());
  EXPECT_NE(one.notes[0].find("item"), std::string::npos) << one.notes[0];
  Stack got{x, torch::tensor(5.0f)};
  Interpreter (*one.graph)(got);
  EXPECT_EQ(difference(got[0], x * 3.0f), "");
  // On meta nothing can be read.
  const Tensor meta = at::empty({2}, at::device(c10::DeviceType::Meta));
  const std::string message = message_of(
      [&] { captured([](const Tensor& a, const Tensor& b) { return a * b.sum().item<float>(); }, meta, meta); });
  EXPECT_NE(message, "");
}

TEST(Capture, RefusesWhatGraphsCannotKeep) {
  const Tensor x = torch::randn({2}), kept = torch::zeros({2}), large = torch::zeros({100});
  EXPECT_NE(message_of<c10::ValueError>([&] {
              captured([&](const Tensor& a, const Tensor&) { return kept.add_(a); }, x, x);
            }).find("argument 'self' would be written, but is neither an input, nor state, nor made by the program"),
            std::string::npos);
  EXPECT_NE(message_of<c10::ValueError>([&] {
              captured([&](const Tensor& a, const Tensor&) { return at::select(kept, 0, 1).add_(a[0]); }, x, x);
            }).find("would be written"),
            std::string::npos);
  CaptureOptions options;
  options.max_constant_bytes = 100;
  EXPECT_NE(message_of<c10::ValueError>([&] {
              captured([&](const Tensor& a, const Tensor&) { return a[0] + large; }, x, x, options);
            }).find("[100] has 400 bytes, more than the 100 of the largest constant"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              captured(
                  [&](const Tensor& a, const Tensor& b) {
                    captured([](const Tensor& p, const Tensor& q) { return p + q; }, a, b);
                    return a;
                  },
                  x, x);
            }).find("being recorded in this thread already"),
            std::string::npos);
  // After an error nothing is left.
  expect_same([](const Tensor& a, const Tensor& b) { return a + b; }, x, x);
}

TEST(Capture, RandomPrograms) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const testing::RandomProgram program = testing::random_program(seed);
    const Interpreter run(*program.graph);
    Stack inputs;
    for (const IValue& v : program.inputs) inputs.push_back(v.isTensor() ? IValue(at::clone(v.toTensor())) : v);
    const Captured one = capture(
        [&](const Stack& in) {
          Stack stack = in;
          run(stack);
          return stack;
        },
        inputs);
    verify(*one.graph);
    Stack tensors(program.inputs.begin(), program.inputs.begin() + 3);
    Stack want = testing::run(*program.graph, program.inputs);
    want.pop_back();  // the condition
    ASSERT_EQ(difference(testing::run(*one.graph, tensors), want), "") << print(*one.graph);
  }
}

}  // namespace
}  // namespace torch::graph
