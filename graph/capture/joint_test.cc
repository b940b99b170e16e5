#include "graph/capture/joint.h"

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"
#include "autograd/function/custom_function.h"
#include "c10/testing/message_of.h"
#include "gmock/gmock.h"
#include "graph/capture/control_flow.h"
#include "graph/interpreter/interpreter.h"
#include "graph/ir/text.h"
#include "graph/passes/functionalize.h"
#include "graph/passes/testing/programs.h"
#include "gtest/gtest.h"

namespace torch::graph {
namespace {

using at::Tensor;
using c10::IValue;
using c10::Stack;
using c10::testing::message_of;
using ::testing::HasSubstr;
using Tensors = std::vector<Tensor>;
using Program = std::function<Tensors(const Tensors&)>;

Stack stack_of(const Tensors& all) {
  return Stack(all.begin(), all.end());
}
JointCapture captured(const Program& f, const Tensors& inputs, const JointOptions& options = {}) {
  return capture_joint(
      [&](const Stack& in) {
        Tensors tensors;
        for (const IValue& v : in) tensors.push_back(v.toTensor());
        return stack_of(f(tensors));
      },
      stack_of(inputs), options);
}
Tensor leaf(at::IntArrayRef sizes) {
  return torch::randn(sizes).set_requires_grad(true);
}
Tensors fresh(const Tensors& like) {
  Tensors all;
  for (const Tensor& t : like) {
    const bool number = at::isFloatingType(t.scalar_type());
    all.push_back(number ? at::randn_like(t.detach()).set_requires_grad(t.requires_grad()) : t);
  }
  return all;
}

// For other inputs than those of the capture: outputs, and gradients for some gradient of the outputs, bit for bit.
void expect_same(const Program& f, const Tensors& inputs) {
  const JointCapture joint = captured(f, fresh(inputs));
  verify(*joint.graph);
  const Interpreter run(*joint.graph);
  for (int call = 0; call < 2; ++call) {
    const Tensors given = fresh(inputs);
    const Tensors outputs = f(given);
    ASSERT_EQ(joint.outputs, outputs.size());
    Tensors from, gradients, to;
    for (const size_t i : joint.differentiated) {
      from.push_back(outputs[i]);
      gradients.push_back(at::randn_like(outputs[i].detach()));
    }
    for (const size_t i : joint.gradients) to.push_back(given.at(i));
    Stack want = stack_of(outputs);
    for (const Tensor& t : torch::autograd::grad(from, to, gradients)) want.emplace_back(t);
    // Nothing is recorded by the replay: gradients are in the graph.
    Tensors own;
    for (const Tensor& t : given) own.push_back(t.detach());
    Stack got = stack_of(own);
    for (const Tensor& t : gradients) got.emplace_back(t);
    ASSERT_EQ(got.size(), joint.graph->block().input_count());
    run(got);
    EXPECT_EQ(testing::difference(got, want), "") << print(*joint.graph);
  }
}

TEST(Joint, ForwardAndGradients) {
  const Tensor x = torch::randn({4, 3}), w = leaf({3, 2});
  const JointCapture joint = captured([](const Tensors& in) { return Tensors{at::mm(in[0], in[1]).tanh()}; }, {x, w});
  EXPECT_EQ(joint.outputs, 1u);
  EXPECT_EQ(joint.differentiated, std::vector<size_t>{0});
  EXPECT_EQ(joint.gradients, std::vector<size_t>{1});
  EXPECT_EQ(joint.graph->block().input_count(), 3u);
  EXPECT_EQ(joint.graph->block().input(2)->name(), "gradient_0");
  const std::string text = print(*joint.graph);
  EXPECT_THAT(text, HasSubstr("aten::tanh_backward"));
  EXPECT_FALSE(w.grad().defined());
}

TEST(Joint, Programs) {
  const auto linear = [](const Tensors& in) {
    const Tensor h = at::relu(at::linear(in[0], in[1], in[2]));
    return Tensors{at::linear(h, in[3]).sum(1), h.detach()};
  };
  expect_same(linear, {torch::randn({5, 4}), leaf({6, 4}), leaf({6}), leaf({3, 6})});
  // Composed operators, several outputs, one input used twice.
  expect_same(
      [](const Tensors& in) {
        const Tensor y = at::layer_norm(in[0] + in[0] * in[1], {4}, in[2]);
        return Tensors{at::gelu(y), at::softmax(y, -1) * y.std(1, true, true), at::log_softmax(in[1], 0)};
      },
      {leaf({3, 4}), leaf({3, 4}), leaf({4})});
  expect_same(
      [](const Tensors& in) {
        const Tensor y = at::max_pool2d(at::conv2d(in[0], in[1], in[2], 1, 1), 2);
        return Tensors{at::cross_entropy_loss(y.flatten(1), in[3])};
      },
      {leaf({2, 3, 6, 6}), leaf({2, 3, 3, 3}), leaf({2}), torch::tensor({3, 17})});
  expect_same(
      [](const Tensors& in) {
        return Tensors{at::scaled_dot_product_attention(in[0], in[1], in[2], {}, 0.0, /*is_causal=*/true)};
      },
      {leaf({2, 2, 5, 4}), leaf({2, 2, 5, 4}), leaf({2, 2, 5, 4})});
  expect_same(
      [](const Tensors& in) {
        return Tensors{at::embedding(in[1], in[0]).mean({0, 1}), at::cat({in[1].slice(0, 0, 2), in[1]}).prod(1)};
      },
      {torch::tensor({{1, 0}, {1, 2}}), leaf({5, 3})});
  // Views, writes, indices.
  expect_same(
      [](const Tensors& in) {
        Tensor y = in[0] * 2;
        y.select(0, 1).mul_(in[1]);
        y.relu_();
        return Tensors{at::index(y.t(), {torch::tensor({0, 2, 0})}), y.view({-1}).cumsum(0)};
      },
      {leaf({3, 4}), leaf({4})});
}

TEST(Joint, BatchNormThatTrains) {
  const Program f = [](const Tensors& in) {
    return Tensors{at::batch_norm(in[0], in[1], in[2], in[3], in[4], /*training=*/true, 0.1, 1e-5, false)};
  };
  const Tensors inputs{leaf({4, 3}), leaf({3}), leaf({3}), torch::zeros({3}), torch::ones({3})};
  JointOptions options;
  options.infos = true;
  const JointCapture joint = captured(f, inputs, options);
  verify(*joint.graph);
  EXPECT_EQ(joint.gradients, (std::vector<size_t>{0, 1, 2}));
  const Functionalized functional = functionalize(*joint.graph);
  EXPECT_EQ(functional.written_inputs, (std::vector<size_t>{3, 4}));
  const Tensor x = torch::randn({4, 3}), gradient = torch::randn({4, 3});
  Stack got{x, inputs[1].detach(), inputs[2].detach(), torch::zeros({3}), torch::ones({3}), gradient};
  Interpreter (*functional.graph)(got);
  const Tensors own{x.clone().set_requires_grad(true), inputs[1], inputs[2], torch::zeros({3}), torch::ones({3})};
  const Tensors want = f(own);
  Tensors gradients = torch::autograd::grad(want, {own[0], own[1], own[2]}, {gradient});
  gradients.insert(gradients.begin(), {own[3], own[4], want[0]});
  ASSERT_EQ(got.size(), gradients.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(at::allclose(got[i].toTensor(), gradients[i], 1e-5, 1e-6)) << i;
}

TEST(Joint, OneStepOfTraining) {
  const Tensor w = leaf({3, 2}), unused = leaf({2});
  JointOptions options;
  options.state = {{"w", w}, {"unused", unused}};
  options.unit_gradients = true;
  const Tensor x = torch::randn({4, 3}), y = torch::randn({4, 2});
  const JointCapture joint =
      captured([&](const Tensors& in) { return Tensors{at::mse_loss(at::mm(in[0], w), in[1])}; }, {x, y}, options);
  EXPECT_EQ(joint.state, std::vector<std::string>{"w"});
  EXPECT_EQ(joint.gradients, std::vector<size_t>{0});
  Stack got{w.detach(), x, y};
  Interpreter (*joint.graph)(got);
  const Tensor loss = at::mse_loss(at::mm(x, w), y);
  EXPECT_EQ(testing::difference(got, {loss, torch::autograd::grad({loss}, {w})[0]}), "");
}

struct Square : torch::autograd::Function<Square> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x) {
    context->save_for_backward({x});
    return x * x;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    return {gradients[0] * context->get_saved_variables()[0] * 3};  // not the derivative, to be told apart
  }
};
TEST(Joint, FunctionsOfUsers) {
  expect_same([](const Tensors& in) { return Tensors{Square::apply(in[0]).sin()}; }, {leaf({3})});
}

TEST(Joint, SaysWhatIsWrong) {
  const Tensor x = torch::ones({2}), w = leaf({2});
  const auto with = [&](const Program& f, const Tensors& inputs, const JointOptions& options = {}) {
    return message_of([&] { captured(f, inputs, options); });
  };
  const auto product = [](const Tensors& in) { return Tensors{in[0] * in[1], in[0] + 1}; };
  EXPECT_THAT(with(product, {x, x}), HasSubstr("no input of the program requires a gradient"));
  EXPECT_THAT(with([](const Tensors& in) { return Tensors{in[0] + 1}; }, {x, w}),
              HasSubstr("none of the program's 1 outputs requires a gradient"));
  JointOptions second;
  second.outputs = {1};
  EXPECT_THAT(with(product, {x, w}, second), HasSubstr("output 1 of the program is not a tensor that requires"));
  second.outputs = {2};
  EXPECT_THAT(with(product, {x, w}, second), HasSubstr("output 2 of a program with 2"));
  JointOptions unit;
  unit.unit_gradients = true;
  EXPECT_THAT(with(product, {x, w}, unit), HasSubstr("only the gradient of one element can be left out"));
  EXPECT_THAT(with(
                  [](const Tensors& in) {
                    return Tensors{torch::cond(
                        in[0].sum() > 0, [&](const Tensor& t) { return t.exp() * in[0]; },
                        [](const Tensor& t) { return t; }, in[1])};
                  },
                  {x, w}),
              HasSubstr("control flow"));
}

}  // namespace
}  // namespace torch::graph
