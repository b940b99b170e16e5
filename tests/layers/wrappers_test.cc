// Tensors that are not what the library made: they survive all that a program does with tensors. And modes and observers, which
// see every operator.
#include "tests/layers/wrappers.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>

#include "aten/aten.h"
#include "aten/core/dispatch_mode.h"
#include "aten/core/library.h"
#include "aten/core/record_function.h"
#include "aten/core/sequence_number.h"
#include "aten/core/thread_local_state.h"
#include "autograd/autograd.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"
#include "optim/optim.h"

namespace layers {
namespace {

using at::Tensor;
using c10::testing::message_of;

bool logged(const std::string& name) {
  const auto& log = LoggingTensor::log();
  return std::find(log.begin(), log.end(), name) != log.end();
}

void expect_equal(const Tensor& actual, const Tensor& expected) {
  EXPECT_TRUE(at::equal(unwrapped(actual).detach(), unwrapped(expected).detach()));
}

TEST(LoggingTensor, IsATensorWithoutStorage) {
  const Tensor t = logging(at::ones({2, 3}));
  EXPECT_EQ(t.sizes(), at::IntArrayRef({2, 3}));
  EXPECT_EQ(t.scalar_type(), at::kFloat);
  EXPECT_TRUE(t.is_cpu());
  EXPECT_NE(message_of([&] { t.data_ptr(); }).find("Cannot access data pointer of Tensor that doesn't have storage"), std::string::npos);
  EXPECT_NE(message_of([&] { t.data_ptr<float>(); }).find("LoggingTensor"), std::string::npos);
}

TEST(LoggingTensor, ArithmeticInPlaceAndOut) {
  LoggingTensor::log().clear();
  const Tensor x = at::randn({4}), y = at::randn({4});
  Tensor a = logging(x.clone());
  expect_equal(a + y, x + y);
  EXPECT_TRUE(logged("aten::add.Tensor"));
  const int64_t version = a._version();
  EXPECT_TRUE(a.mul_(2).is_same(a));
  EXPECT_EQ(a._version(), version + 1);
  expect_equal(a, x * 2);
  Tensor out = logging(at::empty({4}));
  EXPECT_TRUE(at::add_out(out, a, y).is_same(out));
  expect_equal(out, x * 2 + y);
  expect_equal(at::cat({a, y}), at::cat({x * 2, y}));
  EXPECT_TRUE(at::wrapper_of(at::cat({y, a})) != nullptr);
}

TEST(LoggingTensor, ViewsAreTracked) {
  const Tensor x = at::randn({4, 4});
  Tensor a = logging(x.clone());
  Tensor row = a.select(0, 1);
  EXPECT_TRUE(row.is_view());
  EXPECT_TRUE(row._base().is_same(a));
  EXPECT_TRUE(row.narrow(0, 0, 2)._base().is_same(a));
  const int64_t version = a._version();
  row.fill_(7);
  EXPECT_EQ(a._version(), version + 1);
  Tensor expected = x.clone();
  expected.select(0, 1).fill_(7);
  expect_equal(a, expected);
  for (const Tensor& part : a.split(2)) EXPECT_TRUE(part.is_view());
}

TEST(LoggingTensor, GradientsAreRecorded) {
  const Tensor data = at::randn({4, 4}), weight = at::randn({4, 4});
  const auto loss_of = [&](const Tensor& x, const Tensor& w) { return (at::matmul(x, w).tanh() * x).exp().sum(); };
  Tensor w = weight.clone().requires_grad_();
  loss_of(data, w).backward();

  Tensor wrapped = logging(weight.clone());
  wrapped.requires_grad_();
  LoggingTensor::log().clear();
  Tensor loss = loss_of(data, wrapped);
  EXPECT_TRUE(logged("aten::mm"));
  EXPECT_FALSE(logged("aten::matmul"));  // composed of others
  EXPECT_TRUE(loss.requires_grad());
  int hooked = 0;
  wrapped.register_hook([&](const Tensor& grad) { hooked += at::wrapper_of<LoggingTensor>(grad) != nullptr; });
  loss.backward();
  EXPECT_EQ(hooked, 1);
  expect_equal(wrapped.grad(), w.grad());
  EXPECT_NE(at::wrapper_of<LoggingTensor>(wrapped.grad()), nullptr);
  // Nothing of the kind is lost where a tensor is detached or kept.
  EXPECT_NE(at::wrapper_of<LoggingTensor>(wrapped.detach()), nullptr);
  EXPECT_FALSE(wrapped.detach().requires_grad());
  EXPECT_NE(at::wrapper_of<LoggingTensor>(wrapped.variable_data()), nullptr);
}

TEST(LoggingTensor, InPlaceUnderAutograd) {
  const Tensor data = at::randn({4, 4});
  const auto run = [](const Tensor& leaf) {
    Tensor x = leaf * 1;
    x.select(0, 1).mul_(3);
    x.add_(leaf);
    return x.exp().sum();
  };
  Tensor plain = data.clone().requires_grad_();
  run(plain).backward();
  Tensor wrapped = logging(data.clone()).requires_grad_();
  run(wrapped).backward();
  expect_equal(wrapped.grad(), plain.grad());

  Tensor kept = logging(data.clone()).requires_grad_();
  Tensor x = kept * 1;
  Tensor y = x * x;
  x.add_(1);
  EXPECT_NE(message_of([&] { y.sum().backward(); }).find("modified by an inplace operation"), std::string::npos);
}

TEST(LoggingTensor, OptimizersStepOnIt) {
  const Tensor data = at::randn({4, 4});
  const auto train = [](Tensor w) {
    w.requires_grad_();
    torch::optim::SGD optimizer({w}, torch::optim::SGDOptions(0.1).momentum(0.9));
    for (int i = 0; i < 3; ++i) {
      optimizer.zero_grad();
      (w * w).sum().backward();
      optimizer.step();
    }
    return w;
  };
  expect_equal(train(logging(data.clone())), train(data.clone()));
}

TEST(LoggingTensor, SetDataKeepsTheKind) {
  Tensor a = logging(at::ones({2}));
  a.set_data(logging(at::zeros({3})));
  EXPECT_EQ(a.numel(), 3);
  expect_equal(a, at::zeros({3}));
  EXPECT_NE(message_of([&] { a.set_data(at::ones({2})); }).find("a LoggingTensor cannot take over the data of a Tensor"), std::string::npos);
}

TEST(HalvesTensor, ElementWiseOnHalvesOthersOnTheWhole) {
  const Tensor x = at::randn({4, 3});
  const Tensor h = halves(x);
  EXPECT_EQ(h.sizes(), at::IntArrayRef({4, 3}));
  HalvesTensor::done_on_halves() = 0;
  const Tensor y = (h * 2 + h).tanh();
  EXPECT_NE(at::wrapper_of<HalvesTensor>(y), nullptr);
  EXPECT_GT(HalvesTensor::done_on_halves(), 0);
  expect_equal(y, (x * 2 + x).tanh());
  EXPECT_EQ(at::wrapper_of(h.sum()), nullptr);
  EXPECT_TRUE(at::equal(h.sum(0), x.sum(0)));
}

TEST(HalvesTensor, GradientsAreRecorded) {
  const Tensor data = at::randn({4, 3});
  Tensor plain = data.clone().requires_grad_();
  (plain.tanh() * plain).sum().backward();
  Tensor h = halves(data).requires_grad_();
  (h.tanh() * h).sum().backward();
  expect_equal(h.grad(), plain.grad());
}

TEST(Modes, SeeWhatIsCalledAndStack) {
  struct Names final : at::DispatchMode {
    explicit Names(std::string prefix) : prefix(std::move(prefix)) {}
    void handle(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) override {
      names.push_back(prefix + toString(op.operator_name()));
      op.callBoxed(*stack);
    }
    std::string prefix;
    std::vector<std::string> names;
  };
  Names outer("outer "), inner("inner ");
  Tensor w = at::ones({2, 2}).requires_grad_();
  {
    const at::DispatchModeGuard first(outer);
    {
      const at::DispatchModeGuard second(inner);
      EXPECT_EQ(at::dispatch_mode_depth(), 2u);
      at::matmul(w, w).sum().backward();
    }
    at::neg(at::ones({1}));
  }
  at::neg(at::ones({1}));
  const auto has = [](const Names& mode, const std::string& name) {
    return std::find(mode.names.begin(), mode.names.end(), mode.prefix + name) != mode.names.end();
  };
  EXPECT_TRUE(has(inner, "aten::mm") && has(outer, "aten::mm"));
  EXPECT_FALSE(has(inner, "aten::matmul"));
  EXPECT_FALSE(has(inner, "aten::neg"));
  EXPECT_EQ(std::count(outer.names.begin(), outer.names.end(), "outer aten::neg"), 1);
  EXPECT_TRUE(at::equal(w.grad(), at::full({2, 2}, 4.0)));
}

struct Seen {
  std::vector<std::string> names;
  size_t inputs = 0, outputs = 0, ended = 0;
};
Seen& seen() {
  static Seen& instance = *new Seen;
  return instance;
}
std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& fn) {
  seen().names.push_back(fn.name());
  seen().inputs += fn.num_inputs();
  return nullptr;
}
void on_end(const at::RecordFunction& fn, at::ObserverContext*) {
  ++seen().ended;
  seen().outputs += fn.num_outputs();
}

TEST(RecordFunction, SeesEachOperatorOnce) {
  for (const bool values : {false, true}) {
    seen() = {};
    Tensor w = at::ones({2, 2}).requires_grad_();
    const auto handle = at::addGlobalCallback(at::RecordFunctionCallback(&on_start, &on_end).needsInputs(values).needsOutputs(values));
    const Tensor y = at::mul(w, w);
    {
      const at::DisableRecordFunctionGuard off;
      at::neg(w);
    }
    at::exp(at::ones({1}));
    { RECORD_USER_SCOPE("mine"); }
    at::removeCallback(handle);
    at::neg(w);
    EXPECT_EQ(std::count(seen().names.begin(), seen().names.end(), "aten::mul"), 1) << values;
    EXPECT_EQ(std::count(seen().names.begin(), seen().names.end(), "aten::exp"), 1) << values;
    EXPECT_EQ(std::count(seen().names.begin(), seen().names.end(), "mine"), 1) << values;
    EXPECT_EQ(std::count(seen().names.begin(), seen().names.end(), "aten::neg"), 0) << values;
    EXPECT_EQ(seen().ended, seen().names.size());
    EXPECT_EQ(seen().inputs > 0, values);
    EXPECT_EQ(seen().outputs > 0, values);
    EXPECT_TRUE(y.requires_grad());
  }
}

TEST(RecordFunction, ThreadLocalCallbacksScopesAndSampling) {
  seen() = {};
  const auto user = at::addThreadLocalCallback(at::RecordFunctionCallback(&on_start, &on_end).scopes({at::RecordScope::USER_SCOPE}));
  at::exp(at::ones({1}));
  { RECORD_USER_SCOPE("a"); }
  at::disableCallback(user);
  { RECORD_USER_SCOPE("b"); }
  at::reenableCallback(user);
  at::removeCallback(user);
  EXPECT_EQ(seen().names, std::vector<std::string>{"a"});
  const auto never = at::addThreadLocalCallback(at::RecordFunctionCallback(&on_start, &on_end).samplingProb(0));
  at::exp(at::ones({1}));
  at::removeCallback(never);
  EXPECT_EQ(seen().names.size(), 1u);
  EXPECT_FALSE(at::hasCallbacks());
  EXPECT_THROW(at::RecordFunctionCallback(&on_start).samplingProb(2), c10::Error);
}

struct Range {
  std::string name;
  int64_t number;
  size_t inputs;
};
std::vector<Range> ranges;
std::unique_ptr<at::ObserverContext> note_range(const at::RecordFunction& fn) {
  ranges.push_back({fn.name(), fn.seqNr(), fn.num_inputs()});
  return nullptr;
}

TEST(RecordFunction, BackwardRangesHaveTheNumbersOfTheirOperators) {
  for (const bool values : {false, true}) {
    ranges.clear();
    Tensor w = at::ones({2, 2}).requires_grad_();
    const auto handle = at::addGlobalCallback(at::RecordFunctionCallback(&note_range).needsInputs(values));
    const uint64_t first = at::sequence_number::peek();
    const Tensor y = at::mul(w, w);
    const Tensor z = at::exp(y);
    at::sum(z).backward();
    at::removeCallback(handle);
    EXPECT_EQ(y.grad_fn()->sequence_nr(), first);
    const auto find = [](const std::string& name) {
      const auto found = std::find_if(ranges.begin(), ranges.end(), [&](const Range& r) { return r.name == name; });
      return found == ranges.end() ? Range{"missing", -2, 0} : *found;
    };
    const int64_t number = static_cast<int64_t>(first);
    EXPECT_EQ(find("aten::mul").number, number);
    EXPECT_EQ(find("aten::exp").number, number + 1);
    EXPECT_EQ(find("MulBackward0").number, number);
    EXPECT_EQ(find("ExpBackward0").number, number + 1);
    EXPECT_EQ(find("SumBackward0").number, number + 2);
    EXPECT_EQ(find("torch::autograd::AccumulateGrad").number, -1);
    EXPECT_EQ(find("MulBackward0").inputs, values ? 1u : 0u);
    Tensor v = at::ones({2}).requires_grad_();
    const size_t seen_before = ranges.size();
    at::sum(v).backward();
    EXPECT_EQ(ranges.size(), seen_before);
  }
  ranges.clear();
  const auto refuses = at::addThreadLocalCallback(
      at::RecordFunctionCallback([](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
        throw std::out_of_range("no");
      }).scopes({at::RecordScope::BACKWARD_FUNCTION}));
  Tensor v = at::ones({2}).requires_grad_();
  EXPECT_THROW(at::sum(v).backward(), std::out_of_range);
  at::removeCallback(refuses);
}

TEST(ThreadLocalState, CarriesModesAndObservers) {
  struct Count final : at::DispatchMode {
    void handle(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) override {
      ++calls;
      op.callBoxed(*stack);
    }
    int calls = 0;
  };
  Count mode;
  ranges.clear();
  const Tensor x = at::ones({2});
  const auto work = [&x] { at::neg(x); };
  std::function<void()> carried;
  {
    const at::DispatchModeGuard on(mode);
    const auto handle = at::addThreadLocalCallback(at::RecordFunctionCallback(&note_range));
    carried = at::wrapPropagateTLSState(work);
    at::removeCallback(handle);
    std::thread(carried).join();
    EXPECT_EQ(mode.calls, 1);
    EXPECT_EQ(ranges.size(), 2u);  // the call, and the one that the mode makes of it
    std::thread(work).join();
    EXPECT_EQ(mode.calls, 1);
    at::neg(x);
    EXPECT_EQ(mode.calls, 2);
    EXPECT_EQ(ranges.size(), 2u);  // the call, and the one that the mode makes of it
    const at::ThreadLocalState with_mode;
    {
      // A state without modes takes them away until the end of its guard.
      const at::ThreadLocalState none = [] {
        std::optional<at::ThreadLocalState> state;
        std::thread([&state] { state.emplace(); }).join();
        return *state;
      }();
      const at::ThreadLocalStateGuard guard(none);
      EXPECT_EQ(at::dispatch_mode_depth(), 0u);
      at::neg(x);
      EXPECT_EQ(mode.calls, 2);
    }
    EXPECT_EQ(at::dispatch_mode_depth(), 1u);
    at::neg(x);
    EXPECT_EQ(mode.calls, 3);
  }
  {
    const at::DisableRecordFunctionGuard off;
    carried = at::wrapPropagateTLSState([] { EXPECT_FALSE(at::isRecordFunctionEnabled()); });
  }
  std::thread(carried).join();
}

}  // namespace
}  // namespace layers
