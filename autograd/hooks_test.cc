// Hooks: on tensors, on nodes, after accumulation, on several gradients, and on what is saved. The orders are PyTorch's.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "aten/aten.h"
#include "aten/core/thread_local_state.h"
#include "autograd/autograd.h"
#include "autograd/engine/accumulate_grad.h"
#include "autograd/graph.h"
#include "autograd/test_support.h"

namespace torch::autograd {
namespace {

using at::Tensor;
using test::leaf_of;
using test::List;
using test::Log;
using test::message_of;
using test::numbers;
using Lines = std::vector<std::string>;

TEST(PostAccumulateHooks, RunWhenGradIsUpdated) {
  Log log;
  Tensor x = leaf_of({1, 2});
  x.register_post_accumulate_grad_hook([&](const Tensor& p) { log("after accumulation", p.grad()); });
  x.register_hook([&](const Tensor& g) { log("tensor hook", g); });
  at::sum(at::mul(x, 2)).backward();
  at::sum(at::mul(x, 3)).backward();
  EXPECT_EQ(
      log.lines,
      (Lines{
          "tensor hook [2, 2]", "after accumulation [2, 2]", "tensor hook [3, 3]", "after accumulation [5, 5]"}));
  EXPECT_EQ(
      message_of([&] { at::mul(x, 2).register_post_accumulate_grad_hook([](const Tensor&) {}); }),
      "post accumulate grad hooks cannot be registered on non-leaf tensors");
  EXPECT_EQ(
      message_of([&] { at::ones({2}).register_post_accumulate_grad_hook([](const Tensor&) {}); }),
      "cannot register a hook on a tensor that doesn't require gradient");
  // Nothing accumulates in grad().
  grad({at::sum(at::mul(x, 2))}, {x});
  EXPECT_EQ(log.lines.size(), 5u);
}

TEST(PostAccumulateHooks, MayStepAndDropTheGradient) {
  Tensor w = leaf_of({1, 2});
  w.register_post_accumulate_grad_hook([](const Tensor& p) {
    NoGradGuard no_grad;
    Tensor parameter = p;
    at::sub_(parameter, p.grad(), 0.5);
    p.mutable_grad().reset();
  });
  at::sum(at::mul(w, 2)).backward();
  EXPECT_EQ(numbers(w), (List{0, 1}));
  EXPECT_FALSE(w.grad().defined());
}

TEST(PostAccumulateHooks, HandlesRemoveAndDataMayChange) {
  int first = 0, second = 0;
  Tensor x = leaf_of({1, 2});
  auto handle = x.register_post_accumulate_grad_hook([&](const Tensor&) { ++first; });
  utils::hooks::RemovableHandle self;
  self = x.register_post_accumulate_grad_hook([&](const Tensor&) {
    ++second;
    self.remove();
  });
  at::sum(x).backward();
  handle.remove();
  handle.remove();
  at::sum(x).backward();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
  // Hooks stay with the leaf when its data becomes another kind.
  int tensor_hook = 0;
  const unsigned position = x.register_hook([&](const Tensor&) { ++tensor_hook; });
  auto last = x.register_post_accumulate_grad_hook([&](const Tensor&) { ++first; });
  x.mutable_grad().reset();
  x.set_data(at::ones({3}, at::kDouble));
  at::sum(x).backward();
  EXPECT_EQ(first, 2);
  EXPECT_EQ(tensor_hook, 1);
  last.remove();
  x.remove_hook(position);
  at::sum(x).backward();
  EXPECT_EQ(first, 2);
  EXPECT_EQ(tensor_hook, 1);
  // A handle may outlive the leaf.
  std::optional<Tensor> short_lived = leaf_of({1});
  auto late = short_lived->register_post_accumulate_grad_hook([](const Tensor&) {});
  short_lived.reset();
  late.remove();
}

TEST(NodeHooks, Order) {
  Log log;
  Tensor x = leaf_of({1, 2});
  Tensor y = at::mul(x, 2);
  auto pre = graph::register_prehook(y.grad_fn(), [&](const variable_list& go) {
    log("node prehook", go[0]);
    return variable_list();
  });
  y.register_hook([&](const Tensor& g) { log("tensor prehook", g); });
  auto post = graph::register_hook(y.grad_fn(), [&](const variable_list& gi, const variable_list& go) {
    log("node posthook: in", gi[0], "out", go[0]);
    return variable_list();
  });
  at::sum(y).backward({}, true);
  const Lines want{"tensor prehook [1, 1]", "node prehook [1, 1]", "node posthook: in [2, 2] out [1, 1]"};
  EXPECT_EQ(log.lines, want);
  pre.remove();
  post.remove();
  at::sum(y).backward();
  EXPECT_EQ(log.lines.size(), 4u);
  y.reset();
  pre.remove();
}

TEST(NodeHooks, ReplaceGradients) {
  Tensor x = leaf_of({1, 2});
  Tensor y = at::mul(x, 2);
  graph::register_prehook(y.grad_fn(), [](const variable_list& go) { return variable_list{at::mul(go[0], 10)}; });
  graph::register_hook(y.grad_fn(), [](const variable_list& gi, const variable_list&) {
    variable_list replaced = gi;
    replaced[0] = at::add(gi[0], 1);
    return replaced;
  });
  at::sum(y).backward();
  EXPECT_EQ(numbers(x.grad()), (List{21, 21}));
}

struct Doubling final : FunctionPreHook {
  variable_list operator()(const variable_list& grads) override { return {at::mul(grads[0], 2)}; }
};

TEST(NodeHooks, OwnedByTheNodeAndOnLeaves) {
  Tensor x = leaf_of({1, 2});
  const NodePtr node = grad_accumulator(x);
  const uintptr_t key = node->add_pre_hook(std::make_unique<Doubling>());
  at::sum(x).backward();
  EXPECT_EQ(numbers(x.grad()), (List{2, 2}));
  EXPECT_TRUE(node->del_pre_hook(key));
  EXPECT_FALSE(node->del_pre_hook(key));
  at::sum(x).backward();
  EXPECT_EQ(numbers(x.grad()), (List{3, 3}));
  EXPECT_TRUE(x.grad_fn() == nullptr);
  EXPECT_TRUE(at::mul(x, 2).grad_fn() != nullptr);
}

TEST(RetainGrad, FollowsTheTensorThroughInPlaceChanges) {
  Tensor x = leaf_of({1, 2});
  Tensor y = at::mul(x, 2);
  y.retain_grad();
  y.retain_grad();
  y.mul_(5);
  at::sum(at::mul(y, 3)).backward();
  EXPECT_EQ(numbers(y.grad()), (List{3, 3}));
  // A view whose base is written.
  Tensor base = at::mul(x, 1);
  Tensor view = at::narrow(base, 0, 0, 1);
  view.retain_grad();
  base.mul_(2);
  at::sum(at::mul(view, 7)).backward();
  EXPECT_EQ(numbers(view.grad()), (List{7}));
  // After the hooks on the tensor.
  Tensor z = at::mul(x, 2);
  z.retain_grad();
  z.register_hook([](const Tensor& g) { return at::mul(g, 100); });
  at::sum(z).backward();
  EXPECT_EQ(numbers(z.grad()), (List{100, 100}));
}

TEST(MultiGradHooks, AllAndAny) {
  Log log;
  Tensor a = leaf_of({1}), b = leaf_of({2}), c = leaf_of({3});
  auto all = graph::register_multi_grad_hook(
      {a, b, c}, [&](const variable_list& gs) { log("all:", gs[0], gs[1], gs[2]); });
  auto any = graph::register_multi_grad_hook({a, b, c}, [&](const Tensor& g) { log("any:", g); }, "any");
  const auto loss = [&] { return at::sum(at::add(at::mul(a, 2), at::mul(b, 3))); };
  loss().backward();
  EXPECT_EQ(log.lines, (Lines{"any: [3]", "all: [2] [3] None"}));
  // What the pass is not asked for is not waited for.
  log.lines.clear();
  loss().backward({}, {}, false, std::vector<Tensor>{a});
  EXPECT_EQ(log.lines, (Lines{"all: [2] None None", "any: [2]"}));
  log.lines.clear();
  grad({loss()}, {b});
  EXPECT_EQ(log.lines.size(), 2u);
  all.remove();
  any.remove();
  loss().backward();
  EXPECT_EQ(log.lines.size(), 2u);
  EXPECT_THROW(graph::register_multi_grad_hook({a}, [](const Tensor&) {}, "some"), c10::ValueError);
  EXPECT_THROW(graph::register_multi_grad_hook({a}, [](const Tensor&) {}, "all"), c10::ValueError);
  EXPECT_THROW(graph::register_multi_grad_hook({at::ones({1})}, [](const variable_list&) {}), c10::Error);
}

TEST(MultiGradHooks, EachPassForItself) {
  Tensor a = leaf_of({1}), b = leaf_of({2});
  int calls = 0;
  auto handle = graph::register_multi_grad_hook({a, b}, [&](const variable_list&) { ++calls; });
  // A pass that fails between the two gradients leaves nothing behind.
  const unsigned failing = a.register_hook([](const Tensor&) -> Tensor { throw std::runtime_error("no"); });
  EXPECT_THROW(at::sum(at::mul(a, b)).backward(), std::runtime_error);
  a.remove_hook(failing);
  at::sum(at::mul(a, b)).backward();
  at::sum(at::mul(a, b)).backward();
  EXPECT_EQ(calls, 2);
}

TEST(MultiGradHooks, OnTensorsInsideTheGraph) {
  c10::weak_intrusive_ptr<Node> watched;
  int calls = 0;
  {
    Tensor x = leaf_of({1, 2});
    Tensor y = at::mul(x, 2), z = at::mul(y, 3);
    graph::register_multi_grad_hook({y, z}, [&](const variable_list& gs) { calls += gs[0].defined() && gs[1].defined(); });
    at::sum(z).backward();
    watched = c10::weak_intrusive_ptr<Node>(y.grad_fn());
  }
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(watched.expired()) << "the hook keeps the graph alive";
}

TEST(SavedTensorHooks, PackAndUnpack) {
  int packs = 0, unpacks = 0;
  Tensor x = leaf_of({1, 2}), w = leaf_of({3, 4});
  Tensor y;
  {
    const auto pack = [&](const Tensor& t) {
      ++packs;
      return at::mul(t, 1);
    };
    const auto unpack = [&](const Tensor& t) {
      ++unpacks;
      return t;
    };
    graph::saved_tensors_hooks hooks(pack, unpack);
    y = at::sum(at::exp(at::mul(x, w)));
  }
  EXPECT_EQ(packs, 3);
  EXPECT_EQ(unpacks, 0);
  y.backward();
  EXPECT_EQ(unpacks, 3);
  EXPECT_NEAR(numbers(x.grad())[0], 3 * std::exp(3.0), 1e-9);
  EXPECT_NEAR(numbers(w.grad())[1], 2 * std::exp(8.0), 1e-9);
}

TEST(SavedTensorHooks, ArgumentsComeByNameThenResults) {
  std::vector<List> packed;
  Tensor x = leaf_of({2}), y = leaf_of({3});
  graph::saved_tensors_hooks hooks(
      [&](const Tensor& t) {
        packed.push_back(numbers(t));
        return t;
      },
      [](const Tensor& t) { return t; });
  at::pow(x, y);  // (self, exponent)
  EXPECT_EQ(packed, (std::vector<List>{{3}, {2}, {8}}));
}

TEST(SavedTensorHooks, PackedAsAnything) {
  Tensor x = leaf_of({1, 2});
  Tensor y;
  {
    graph::saved_tensors_hooks hooks(
        [](const Tensor& t) { return numbers(t); }, [](const List& values) { return leaf_of(values).detach(); });
    y = at::sum(at::mul(x, x));
  }
  y.backward();
  EXPECT_EQ(numbers(x.grad()), (List{2, 4}));
}

TEST(SavedTensorHooks, Nested) {
  Log log;
  const auto named = [&](const std::string& name) {
    return graph::saved_tensors_hooks(
        [&log, name](const Tensor& t) {
          log("pack", name);
          return t;
        },
        [&log, name](const Tensor& t) {
          log("unpack", name);
          return t;
        });
  };
  Tensor x = leaf_of({1, 2});
  Tensor c;
  {
    const auto outer = named("outer");
    Tensor a = at::mul(x, x), b;
    {
      const auto inner = named("inner");
      b = at::mul(a, a);
    }
    c = at::exp(b);
  }
  at::sum(c).backward();
  EXPECT_EQ(
      log.lines,
      (Lines{
          "pack outer", "pack outer", "pack inner", "pack inner", "pack outer", "unpack outer", "unpack inner",
          "unpack inner", "unpack outer", "unpack outer"}));
}

TEST(SavedTensorHooks, Errors) {
  Tensor x = leaf_of({1, 2});
  const auto keep = [](const Tensor& t) { return t; };
  {
    graph::saved_tensors_hooks hooks([](Tensor t) { return t.mul_(2); }, keep);
    EXPECT_EQ(
        message_of([&] { at::exp(x); }).find("A saved tensor pack hook is modifying its input in place."), 0u);
  }
  {
    graph::disable_saved_tensors_hooks disabled("not here");
    EXPECT_EQ(message_of([&] { graph::saved_tensors_hooks hooks(keep, keep); }), "not here");
    {
      graph::disable_saved_tensors_hooks inner("nor here");
      EXPECT_EQ(SavedTensorDefaultHooks::get_disabled_error_message(), "nor here");
    }
    EXPECT_EQ(SavedTensorDefaultHooks::get_disabled_error_message(), "not here");
  }
  EXPECT_TRUE(SavedTensorDefaultHooks::is_enabled());
  {
    graph::saved_tensors_hooks hooks(keep, keep);
    EXPECT_EQ(message_of([&] { graph::disable_saved_tensors_hooks disabled("too late"); }), "too late");
    EXPECT_TRUE(SavedTensorDefaultHooks::is_enabled());
  }
}

struct Keeping final : SavedVariableHooks {
  void call_pack_hook(const Tensor& t) override { kept = t; }
  Tensor call_unpack_hook() override { return kept; }
  Tensor kept;
};

TEST(SavedTensorHooks, OnOneSavedVariable) {
  Tensor x = leaf_of({1, 2});
  SavedVariable saved(x, false);
  saved.register_hooks(std::make_unique<Keeping>());
  EXPECT_EQ(numbers(saved.unpack()), (List{1, 2}));
  EXPECT_TRUE(saved.unpack().requires_grad());
  EXPECT_EQ(
      message_of([&] { saved.register_hooks(std::make_unique<Keeping>()); }),
      "Calling register_hooks on a saved tensor whose hooks have already been set.");
  saved.reset_data();
  EXPECT_EQ(message_of([&] { saved.unpack(); }).find("Trying to backward through the graph a second time"), 0u);
  EXPECT_EQ(
      message_of([&] { saved.register_hooks(std::make_unique<Keeping>()); }),
      "Calling register_hooks on a saved tensor after it has been freed.");
  SavedVariable nothing(std::optional<Tensor>(), false);
  EXPECT_FALSE(nothing.unpack().defined());
  EXPECT_EQ(
      message_of([&] { nothing.register_hooks(std::make_unique<Keeping>()); }),
      "Calling register_hooks on a saved tensor with value None is forbidden");
  Tensor y = at::mul(x, 2);
  SavedVariable stale(std::optional<Tensor>(y), false, false);
  y.add_(1);
  EXPECT_THROW(stale.register_hooks(std::make_unique<Keeping>()), c10::Error);
}

TEST(SavedTensorHooks, SaveOnCpu) {
  Tensor x = leaf_of({1, 2});
  Tensor y;
  {
    graph::save_on_cpu hooks;
    y = at::sum(at::mul(at::exp(x), x));
  }
  y.backward();
  EXPECT_NEAR(numbers(x.grad())[0], 5.436563657, 1e-9);
  EXPECT_NEAR(numbers(x.grad())[1], 22.167168297, 1e-9);
}

TEST(ThreadLocalStates, CarryModesAndHooks) {
  int packs = 0;
  Tensor x = leaf_of({1, 2});
  const auto pack = [&](const Tensor& t) {
    ++packs;
    return t;
  };
  graph::saved_tensors_hooks hooks(pack, [](const Tensor& t) { return t; });
  bool recorded = false;
  std::thread([&] { at::mul(x, x); }).join();
  EXPECT_EQ(packs, 0);
  std::thread(at::wrapPropagateTLSState([&] { recorded = at::mul(x, x).requires_grad(); })).join();
  EXPECT_TRUE(recorded);
  EXPECT_EQ(packs, 2);
  {
    NoGradGuard no_grad;
    const at::ThreadLocalState state;
    std::thread([&] {
      {
        at::ThreadLocalStateGuard guard(state);
        recorded = at::mul(x, x).requires_grad();
      }
      EXPECT_TRUE(GradMode::is_enabled());
    }).join();
    EXPECT_FALSE(recorded);
  }
}

TEST(GradientEdges, StandForTensors) {
  Tensor x = leaf_of({1, 2});
  Tensor y = at::mul(x, x);
  const GradientEdge to = graph::get_gradient_edge(y), from_leaf = graph::get_gradient_edge(x);
  Tensor z = at::sum(at::mul(y, 3));
  const GradientEdge end = graph::get_gradient_edge(z);
  y.reset();
  z.reset();
  EXPECT_EQ(numbers(grad({end}, {to}, {}, true)[0]), (List{3, 3}));
  EXPECT_EQ(numbers(grad({end}, {from_leaf}, {}, true)[0]), (List{6, 12}));
  backward({end});
  EXPECT_EQ(numbers(x.grad()), (List{6, 12}));
  EXPECT_EQ(
      message_of([&] { graph::get_gradient_edge(at::ones({2})); }),
      "It is not possible to get the gradient edge of a Tensor that does not require gradients");
  EXPECT_THROW(grad({GradientEdge{}}, {from_leaf}), c10::Error);
}

TEST(Grad, BatchesOfGradients) {
  Tensor x = leaf_of({1, 2});
  Tensor y = at::mul(x, x);
  const Tensor eye = at::eye(2, at::kDouble);
  const Tensor rows = grad({y}, {x}, {eye}, true, true, false, /*is_grads_batched=*/true)[0];
  EXPECT_EQ(rows.sizes(), (at::IntArrayRef{2, 2}));
  EXPECT_EQ(numbers(rows), (List{2, 0, 0, 4}));
  EXPECT_EQ(numbers(grad({at::sum(rows)}, {x})[0]), (List{2, 2}));
  EXPECT_EQ(numbers(grad({y}, {x}, {eye}, {}, false, {}, true)[0]), (List{2, 0, 0, 4}));
  EXPECT_THROW(grad({y}, {x}, {eye}), c10::Error) << "the graph was freed by the last row";
  y = at::mul(x, x);
  EXPECT_THROW(grad({y}, {x}, {at::ones({2}, at::kDouble)}, {}, false, {}, true), c10::Error);
  EXPECT_THROW(grad({at::sum(y)}, {x}, {}, {}, false, {}, true), c10::Error);
  const Tensor none = grad({y}, {x}, {at::zeros({0, 2}, at::kDouble)}, true, false, {}, true)[0];
  EXPECT_EQ(none.sizes(), (at::IntArrayRef{0, 2}));
  const Tensor unused = leaf_of({1, 2, 3});
  EXPECT_FALSE(grad({y}, {unused}, {eye}, true, false, true, true)[0].defined());
}

TEST(Grad, UnusedInputs) {
  Tensor x = leaf_of({1, 2});
  const auto loss = [&] { return at::sum(at::mul(x, 2)); };
  const Tensor unused = leaf_of({1, 2});
  EXPECT_EQ(numbers(grad({loss()}, {unused}, {}, {}, false, {}, false, /*materialize_grads=*/true)[0]), (List{0, 0}));
  EXPECT_THROW(grad({loss()}, {unused}, {}, {}, false, false, false, true), c10::ValueError);
  EXPECT_EQ(
      message_of([&] { grad({loss()}, {x, unused}); }),
      "The differentiated Tensor at index 1 appears to not have been used in the graph. Set allow_unused=True if this is "
      "the desired behavior.");
}

struct Own final : Node {
  std::string name() const override { return "Own"; }
  variable_list apply(variable_list&& grads) override {
    EXPECT_EQ(get_current_node().get(), this);
    wanted = {task_should_compute_output(0), task_should_compute_output(1)};
    return {at::mul(grads[0], 2), at::mul(grads[0], 3)};
  }
  std::vector<bool> wanted;
};

TEST(Nodes, ResultsByOptionsAndWantedOutputs) {
  Tensor x = leaf_of({1, 2}), y = leaf_of({1, 2});
  const auto node = c10::make_intrusive<Own>();
  node->add_next_edge(gradient_edge(x));
  node->add_next_edge(gradient_edge(y));
  EXPECT_EQ(node->add_input_metadata(at::TensorOptions(at::kDouble), {2}), 0u);
  EXPECT_EQ(node->add_input_metadata(Node::undefined_input()), 1u);
  EXPECT_FALSE(node->device().has_value());
  const GradientEdge end{node, 0};
  EXPECT_EQ(
      numbers(grad({end}, {graph::get_gradient_edge(y)}, {at::ones({2}, at::kDouble)}, true)[0]), (List{3, 3}));
  EXPECT_EQ(node->wanted, (std::vector<bool>{false, true}));
  EXPECT_FALSE(get_current_node().defined());
}

}  // namespace
}  // namespace torch::autograd
