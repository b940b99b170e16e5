#include "nn/module/module_hooks.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <stdexcept>
#include <thread>
#include <tuple>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "autograd/autograd.h"
#include "c10/testing/message_of.h"
#include "c10/util/warning.h"
#include "nn/module/any_module.h"
#include "nn/module/functional_module.h"
#include "nn/module/module_list.h"
#include "nn/module/sequential.h"

namespace torch::nn {

struct TimesImpl : Cloneable<TimesImpl> {
  explicit TimesImpl(double by = 1) : by(by) { reset(); }
  void reset() override { w = register_parameter("w", at::full({}, by)); }
  at::Tensor forward(const at::Tensor& x) { return at::mul(x, w); }
  double by;
  at::Tensor w;
};
TORCH_MODULE(Times);

struct SameImpl : Module {
  at::Tensor forward(at::Tensor x) { return x; }
};
TORCH_MODULE(Same);

namespace {

using c10::testing::message_of;
using Tensors = std::vector<at::Tensor>;

at::Tensor vector_of(std::initializer_list<double> values, bool requires_grad = false) {
  return at::testing::tensor_of(values, {static_cast<int64_t>(values.size())}).set_requires_grad(requires_grad);
}

std::vector<float> numbers(const at::Tensor& t) {
  return at::testing::elements<float>(t.detach());
}

template <class F>
std::string what_of(const F& f) {
  try {
    f();
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "no error";
}

using Numbers = std::vector<float>;
using Log = std::vector<std::string>;

TEST(ModuleHooks, RunInTheDocumentedOrder) {
  Times first(2), second(3);
  Sequential outer(first, second);
  Log log;
  const auto note = [&log](const char* text) { return [&log, text](auto&&...) { log.push_back(text); }; };
  outer->register_forward_pre_hook(note("outer forward pre"));
  outer->register_forward_hook(note("outer forward"));
  first->register_forward_pre_hook(note("first forward pre"));
  first->register_forward_hook(note("first forward 1"));
  first->register_forward_hook(note("first forward 2, prepended"), /*prepend=*/true);
  first->register_full_backward_hook(note("first backward"));
  second->register_full_backward_hook(note("second backward"));
  second->register_full_backward_pre_hook(note("second backward pre 1"));
  second->register_full_backward_pre_hook(note("second backward pre 2, prepended"), /*prepend=*/true);
  outer->register_full_backward_pre_hook(note("outer backward pre"));
  outer->register_full_backward_hook(note("outer backward"));
  at::sum(outer(vector_of({1, 2}, true))).backward();
  EXPECT_EQ(log, (Log{"outer forward pre", "first forward pre", "first forward 2, prepended", "first forward 1",
                      "outer forward", "outer backward pre", "second backward pre 2, prepended",
                      "second backward pre 1", "second backward", "first backward", "outer backward"}));
}

TEST(ModuleHooks, MayReplaceArgumentsAndResults) {
  Same m;
  m->register_forward_pre_hook([](Module&, const Tensors& in) { return Tensors{at::add(in[0], 1)}; });
  m->register_forward_pre_hook([](Module&, const Tensors& in) { return at::mul(in[0], 2); });
  m->register_forward_hook([](Module&, const Tensors&, const at::Tensor& out) { return at::mul(out, 10); });
  Numbers seen_in, seen_out;
  m->register_forward_hook([&](Module& self, const Tensors& in, const Tensors& out) {
    EXPECT_NE(dynamic_cast<SameImpl*>(&self), nullptr);
    seen_in = numbers(in[0]);
    seen_out = numbers(out[0]);
  });
  EXPECT_EQ(numbers(m(vector_of({1, 2}))), (Numbers{40, 60}));
  EXPECT_EQ(seen_in, (Numbers{4, 6}));
  EXPECT_EQ(seen_out, (Numbers{40, 60}));
}

TEST(ModuleHooks, ForwardItselfStaysDirect) {
  Same m;
  int calls = 0;
  m->register_forward_hook([&](Module&, const Tensors&, const Tensors&) { ++calls; });
  m->forward(vector_of({1}));
  EXPECT_EQ(calls, 0);
  m(vector_of({1}));
  call_module(*m, vector_of({1}));
  AnyModule any(m);
  any.forward(vector_of({1}));
  Sequential net(m, m->as<Same>() != nullptr ? m : Same());
  net->forward(vector_of({1}));
  EXPECT_EQ(calls, 5);
}

TEST(ModuleHooks, HandlesRemove) {
  RemovableHandle late;
  {
    Same m;
    Log log;
    RemovableHandle a = m->register_forward_hook([&](auto&&...) { log.push_back("a"); });
    RemovableHandle b;
    b = m->register_forward_hook([&](auto&&...) {
      log.push_back("b");
      b.remove();
    });
    late = m->register_forward_pre_hook([&](auto&&...) { log.push_back("pre"); });
    m(vector_of({1}));
    a.remove();
    a.remove();
    m(vector_of({1}));
    EXPECT_EQ(log, (Log{"pre", "a", "b", "pre"}));
    RemovableHandle().remove();
  }
  late.remove();
}

TEST(ModuleHooks, BackwardHooksSeeAndReplaceGradients) {
  Same m;
  m->register_full_backward_pre_hook([](Module&, const Tensors& out) { return std::make_tuple(at::mul(out[0], 2)); });
  m->register_full_backward_hook([](Module&, const Tensors& in, const Tensors& out) {
    EXPECT_EQ(numbers(out[0]), (Numbers{2, 2}));
    return std::optional<Tensors>(Tensors{at::add(in[0], 5)});
  });
  const at::Tensor x = vector_of({1, 2}, true);
  at::sum(m(x)).backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{7, 7}));
}

// Everything forward can take: positions of what is no tensor are undefined.
struct ManyImpl : Module {
  struct Own {
    at::Tensor t;
    int n;
    template <typename F>
    void for_each_tensor(const F& f) {
      f(t);
    }
  };
  using Result = std::tuple<at::Tensor, int, std::vector<at::Tensor>, std::map<std::string, at::Tensor>>;
  Result forward(const at::Tensor& x, double factor, std::optional<at::Tensor> none,
                 std::pair<at::Tensor, at::Tensor> pair, at::TensorList list, const std::array<at::Tensor, 1>& array,
                 Own own, std::unique_ptr<int> moved) {
    EXPECT_FALSE(none.has_value());
    EXPECT_EQ(*moved, 3);
    return {at::mul(x, factor), own.n, {pair.second, list[0], list[1], array[0]}, {{"own", own.t}}};
  }
};
TORCH_MODULE(Many);

TEST(ModuleHooks, AnySignature) {
  Many m;
  std::vector<bool> defined_in, defined_out, defined_grads;
  m->register_forward_pre_hook([&](Module&, const Tensors& in) {
    for (const at::Tensor& t : in) defined_in.push_back(t.defined());
    Tensors fresh = in;
    for (at::Tensor& t : fresh) t = t.defined() ? at::add(t, 100) : t;
    return fresh;
  });
  m->register_forward_hook([&](Module&, const Tensors& in, const Tensors& out) {
    EXPECT_EQ(in.size(), 10u);
    EXPECT_EQ(numbers(in[0]), Numbers{101});
    for (const at::Tensor& t : out) defined_out.push_back(t.defined());
    Tensors fresh = out;
    fresh[2] = at::mul(fresh[2], -1);
    return fresh;
  });
  m->register_full_backward_hook([&](Module&, const Tensors& in, const Tensors& out) {
    for (const at::Tensor& t : in) defined_grads.push_back(t.defined());
    EXPECT_EQ(out.size(), 7u);
  });
  const at::Tensor x = vector_of({1}, true);
  const Tensors list = {vector_of({4}), vector_of({5})};
  auto [y, n, tensors, map] =
      m(x, 2.0, std::nullopt, std::make_pair(vector_of({2}), vector_of({3})), at::TensorList(list),
        std::array<at::Tensor, 1>{vector_of({6})}, ManyImpl::Own{vector_of({7}), 8}, std::make_unique<int>(3));
  EXPECT_EQ(n, 8);
  EXPECT_EQ(numbers(y), Numbers{202});
  EXPECT_EQ(numbers(tensors[0]), Numbers{-103});
  EXPECT_EQ(numbers(tensors[2]), Numbers{105});
  EXPECT_EQ(numbers(map["own"]), Numbers{107});
  EXPECT_EQ(numbers(list[0]), Numbers{4}) << "the caller's tensors are not touched";
  y.backward();
  const std::vector<bool> in = {true, false, false, true, true, true, true, true, true, false};
  EXPECT_EQ(defined_in, in);
  EXPECT_EQ(defined_out, (std::vector<bool>{true, false, true, true, true, true, true}));
  EXPECT_EQ(defined_grads, (std::vector<bool>{true, false, false, false, false, false, false, false, false, false}));
  EXPECT_EQ(numbers(x.grad()), Numbers{2});
}

struct QuietImpl : Module {
  void forward(int n) { seen = n; }
  int seen = 0;
};
TORCH_MODULE(Quiet);
struct LenderImpl : Module {
  at::Tensor& forward(at::Tensor& x) {
    x = at::add(x, 1);
    last = x;
    return last;
  }
  at::Tensor last;
};
TORCH_MODULE(Lender);

TEST(ModuleHooks, NoTensorsAndReferences) {
  Quiet quiet;
  size_t in = 9, out = 9;
  quiet->register_forward_hook([&](Module&, const Tensors& i, const Tensors& o) {
    in = i.size();
    out = o.size();
  });
  quiet(5);
  EXPECT_EQ(quiet->seen, 5);
  EXPECT_EQ(in, 1u);
  EXPECT_EQ(out, 0u);
  quiet->register_forward_pre_hook([&](Module&, const Tensors&) { return Tensors{vector_of({1})}; });
  EXPECT_EQ(message_of([&] { quiet(5); }), "a module hook gave a tensor in place of entry 0, which is no tensor");

  Lender lender;
  lender->register_forward_hook([&](Module&, const Tensors&, const Tensors& o) { out = o.size(); });
  at::Tensor x = vector_of({1});
  at::Tensor& lent = lender(x);
  EXPECT_EQ(&lent, &lender->last);
  EXPECT_EQ(out, 1u);
  lender->register_forward_hook([&](Module&, const Tensors&, const Tensors&) { return vector_of({7}); });
  EXPECT_NE(message_of([&] { lender(x); }).find("cannot be replaced"), std::string::npos);
}

TEST(ModuleHooks, WrongAnswersAreErrors) {
  Same m;
  auto handle = m->register_forward_pre_hook([](Module&, const Tensors& in) { return Tensors{in[0], in[0]}; });
  EXPECT_EQ(message_of([&] { m(vector_of({1})); }),
            "Same: a forward pre-hook returned 2 tensor(s) in place of 1 argument(s)");
  handle.remove();
  handle = m->register_forward_hook([](Module&, const Tensors&, const Tensors&) { return Tensors{}; });
  EXPECT_EQ(message_of([&] { m(vector_of({1})); }),
            "Same: a forward hook returned 0 tensor(s) in place of 1 result(s)");
  handle.remove();
  handle = m->register_full_backward_hook([](Module&, const Tensors& in, const Tensors&) {
    return Tensors{in[0], in[0]};
  });
  EXPECT_EQ(message_of([&] { at::sum(m(vector_of({1}, true))).backward(); }),
            "Backward hook returned an invalid number of grad_input, got 2, but expected 1");
  handle.remove();
  handle = m->register_full_backward_pre_hook([](Module&, const Tensors&) { return Tensors{}; });
  EXPECT_EQ(message_of([&] { at::sum(m(vector_of({1}, true))).backward(); }),
            "Backward pre hook returned an invalid number of grad_output, got 0, but expected 1");
}

TEST(ModuleHooks, WatchedTensorsCannotBeModifiedInPlace) {
  Same m;
  m->register_full_backward_hook([](Module&, const Tensors&, const Tensors&) {});
  const at::Tensor x = vector_of({1, 2}, true);
  at::Tensor y = m(at::mul(x, 1));
  EXPECT_EQ(message_of([&] {
              at::add_(y, 1);
            }).rfind("Output 0 of BackwardHookFunctionBackward is a view and is being modified inplace", 0),
            0u)
      << message_of([&] { at::add_(y, 1); });
}

struct FailsImpl : Module {
  at::Tensor forward(const at::Tensor&) { throw std::runtime_error("forward failed"); }
};
TORCH_MODULE(Fails);

struct Collecting : c10::WarningHandler {
  void process(const c10::Warning& warning) override { messages.push_back(warning.msg()); }
  std::vector<std::string> messages;
};

TEST(ModuleHooks, AlwaysCall) {
  Fails m;
  Log log;
  m->register_forward_hook([&](Module&, const Tensors&, const Tensors&) { log.push_back("plain"); });
  m->register_forward_hook(
      [&](Module&, const Tensors& in, const Tensors& out) {
        log.push_back(std::to_string(in.size()) + std::to_string(out.size()));
      },
      false, /*always_call=*/true);
  m->register_forward_hook([&](Module&, const Tensors&, const Tensors&) { throw std::runtime_error("second"); }, false,
                           true);
  Collecting warnings;
  {
    c10::WarningUtils::WarningHandlerGuard guard(&warnings);
    EXPECT_EQ(what_of([&] { m(vector_of({1})); }), "forward failed");
  }
  EXPECT_EQ(log, Log{"10"});
  ASSERT_EQ(warnings.messages.size(), 1u);
  EXPECT_EQ(warnings.messages[0],
            "module forward hook with `always_call=True` raised an exception that was silenced as another error was "
            "raised in "
            "forward: second");

  // A hook that throws is not called again; those after it that ask for it are.
  Same fine;
  log.clear();
  fine->register_forward_hook(
      [&](Module&, const Tensors&, const Tensors&) { throw std::runtime_error("a hook failed"); }, false, true);
  fine->register_forward_hook(
      [&](Module&, const Tensors&, const Tensors& out) { log.push_back(std::to_string(out.size())); }, false, true);
  EXPECT_EQ(what_of([&] { fine(vector_of({1})); }), "a hook failed");
  EXPECT_EQ(log, Log{"1"});
}

TEST(ModuleHooks, GlobalOnes) {
  Log log;
  const auto name = [](Module& m) { return detail::class_name(m); };
  RemovableHandle a =
      modules::register_module_forward_pre_hook([&](Module& m, const Tensors&) { log.push_back("pre " + name(m)); });
  RemovableHandle b = modules::register_module_forward_hook(
      [&](Module& m, const Tensors&, const Tensors&) { log.push_back("post " + name(m)); });
  Sequential net{Same(), Times(2)};
  net->register_forward_hook([&](Module&, const Tensors&, const Tensors&) { log.push_back("own post"); });
  net(vector_of({1, -9}));
  a.remove();
  b.remove();
  net(vector_of({1, -9}));
  EXPECT_EQ(log, (Log{"pre Sequential", "pre Same", "post Same", "pre Times", "post Times", "post Sequential",
                      "own post", "own post"}));
  log.clear();
  RemovableHandle c = modules::register_module_full_backward_pre_hook(
      [&](Module& m, const Tensors&) { log.push_back("back pre " + name(m)); });
  RemovableHandle d = modules::register_module_full_backward_hook(
      [&](Module& m, const Tensors&, const Tensors&) { log.push_back("back " + name(m)); });
  Times times(2);
  times->register_full_backward_hook([&](Module&, const Tensors&, const Tensors&) { log.push_back("own"); });
  at::sum(times(vector_of({1}, true))).backward();
  c.remove();
  d.remove();
  EXPECT_EQ(log, (Log{"back pre Times", "back Times", "own"}));
}

TEST(ModuleHooks, Registration) {
  Log log;
  RemovableHandle p = modules::register_module_parameter_registration_hook(
      [&](Module&, const std::string& name, const at::Tensor& t) { return log.push_back("p " + name), at::add(t, 1); });
  RemovableHandle b = modules::register_module_buffer_registration_hook(
      [&](Module&, const std::string& name, const at::Tensor&) { return log.push_back("b " + name), at::Tensor(); });
  RemovableHandle c = modules::register_module_module_registration_hook(
      [&](Module&, const std::string& name, const std::shared_ptr<Module>&) {
        return log.push_back("m " + name), std::make_shared<QuietImpl>();
      });
  Module m("m");
  EXPECT_EQ(numbers(m.register_parameter("w", vector_of({1}))), Numbers{2});
  m.register_buffer("n", vector_of({1}));
  m.register_module("child", Same());
  p.remove(), b.remove(), c.remove();
  m.register_parameter("v", vector_of({1}));
  EXPECT_EQ(log, (Log{"p w", "b n", "m child"}));
  EXPECT_NE(m.children()[0]->as<Quiet>(), nullptr);
}

TEST(ModuleHooks, BackwardWithoutInputsThatNeedIt) {
  Times m(3);
  int calls = 0;
  RemovableHandle handle = m->register_full_backward_hook([&](Module&, const Tensors& in, const Tensors& out) {
    ++calls;
    EXPECT_EQ(in.size(), 1u);
    EXPECT_FALSE(in[0].defined());
    EXPECT_EQ(numbers(out[0]), Numbers{1});
  });
  Collecting warnings;
  {
    c10::WarningUtils::WarningHandlerGuard guard(&warnings);
    at::sum(m(vector_of({1}))).backward();
  }
  EXPECT_EQ(calls, 1);
  ASSERT_EQ(warnings.messages.size(), 1u);
  EXPECT_EQ(warnings.messages[0].rfind(
                "Full backward hook is firing when gradients are computed with respect to module outputs", 0),
            0u);
  handle.remove();
  m->register_full_backward_hook([&](Module&, const Tensors&, const Tensors& out) { return out; });
  EXPECT_EQ(message_of([&] { at::sum(m(vector_of({1}))).backward(); }),
            "Backward hook for Modules where no input requires gradient should always return None or None for all "
            "gradients.");
}

struct SplitImpl : Module {
  std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& y) {
    return {at::mul(x, 2), at::mul(y, 3)};
  }
};
TORCH_MODULE(Split);

TEST(ModuleHooks, UnusedResultsHaveNoGradient) {
  Split m;
  m->register_full_backward_hook([&](Module&, const Tensors& in, const Tensors& out) {
    EXPECT_TRUE(out[0].defined());
    EXPECT_FALSE(out[1].defined());
    EXPECT_EQ(numbers(in[0]), Numbers{2});
    EXPECT_EQ(numbers(in[1]), Numbers{0});
  });
  const at::Tensor x = vector_of({1}, true), y = vector_of({1}, true);
  at::sum(std::get<0>(m(x, y))).backward();
  EXPECT_EQ(numbers(x.grad()), Numbers{2});
}

TEST(ModuleHooks, SecondDerivativesAndRepeatedPasses) {
  Times m(3);
  int calls = 0;
  m->register_full_backward_hook([&](Module&, const Tensors&, const Tensors&) { ++calls; });
  const at::Tensor x = vector_of({2}, true);
  const at::Tensor y = m(at::mul(x, x));
  const at::Tensor first = autograd::grad({y}, {x}, {at::ones({1})}, true, /*create_graph=*/true)[0];
  EXPECT_EQ(numbers(first), Numbers{12});
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(numbers(autograd::grad({first}, {x}, {at::ones({1})}, true)[0]), Numbers{6});
  autograd::grad({y}, {x}, {at::ones({1})});
  EXPECT_EQ(calls, 2);
}

TEST(ModuleHooks, OutliveNoModule) {
  int calls = 0;
  const at::Tensor x = vector_of({2}, true);
  at::Tensor y;
  {
    Times m(3);
    m->register_full_backward_hook([&](Module&, const Tensors&, const Tensors&) { ++calls; });
    y = m(x);
  }
  at::sum(y).backward();
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(numbers(x.grad()), Numbers{3});
}

TEST(ModuleHooks, NothingIsWatchedWithoutRecording) {
  Times m(3);
  m->register_full_backward_hook([&](Module&, const Tensors&, const Tensors&) { FAIL(); });
  c10::NoGradGuard no_grad;
  EXPECT_FALSE(m(vector_of({2}, true)).requires_grad());
}

TEST(ModuleHooks, ClonesHaveTheirOwn) {
  Times m(2);
  Module* seen = nullptr;
  RemovableHandle handle =
      m->register_forward_hook([&](Module& self, const Tensors&, const Tensors&) { seen = &self; });
  auto copy = std::dynamic_pointer_cast<TimesImpl>(m->clone());
  Sequential net(m);
  auto net_copy = std::dynamic_pointer_cast<SequentialImpl>(net->clone());
  handle.remove();
  m(vector_of({1}));
  EXPECT_EQ(seen, nullptr);
  call_module(*copy, vector_of({1}));
  EXPECT_EQ(seen, copy.get());
  net_copy->forward(vector_of({1}));
  EXPECT_EQ(seen, net_copy->ptr(0).get());
}

TEST(ModuleHooks, ThreadsCallTogether) {
  Times m(2);
  std::atomic<int> calls{0};
  m->register_forward_hook([&](Module&, const Tensors&, const Tensors&) { ++calls; });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        RemovableHandle handle = modules::register_module_forward_pre_hook([&](Module&, const Tensors&) { ++calls; });
        m(vector_of({1}));
        handle.remove();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_GE(calls.load(), 400);
}

}  // namespace
}  // namespace torch::nn
