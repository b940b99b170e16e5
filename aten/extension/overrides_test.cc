// The examples of docs/overrides.md, which //docs:overrides_examples_test finds here.
#include "aten/extension/overrides.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"

namespace {

struct Counted final : torch::overrides::TensorSubclass<Counted> {
  using TensorSubclass::TensorSubclass;
  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) const override {
    ++calls[torch::overrides::resolve_name(op)];
    run(op, stack);
  }
  static inline std::map<std::string, int> calls;
};

TEST(Overrides, ATensorThatCounts) {
  at::Tensor x = Counted::wrap(torch::ones({2, 3})).requires_grad_();
  at::Tensor loss = (x * x).sum();
  loss.backward();
  EXPECT_EQ(Counted::unwrap(loss).item<double>(), 6);
  EXPECT_TRUE(Counted::is_instance(x.grad()));
  EXPECT_EQ(Counted::calls["aten::sum"], 1);

  EXPECT_GE(Counted::calls["aten::mul.Tensor"], 2);  // forward and backward
  EXPECT_TRUE(torch::overrides::is_tensor_subclass(x));
  EXPECT_FALSE(torch::overrides::is_tensor_subclass(torch::ones({2})));
  EXPECT_TRUE(at::equal(Counted::unwrap(x.grad()), torch::full({2, 3}, 2.)));
}

TEST(Overrides, ViewsAndWritesOfASubclass) {
  at::Tensor x = Counted::wrap(torch::zeros({2, 3}));
  at::Tensor row = x[1];
  EXPECT_TRUE(row.is_view() && Counted::is_instance(row));
  EXPECT_TRUE(row.add_(1).is_same(row));
  EXPECT_EQ(Counted::unwrap(x).sum().item<double>(), 3);
  at::Tensor out = Counted::wrap(torch::empty({0}));
  at::add_out(out, x, x);
  EXPECT_EQ(out.sizes(), x.sizes());
  EXPECT_EQ((out + 1).sizes(), x.sizes());
  EXPECT_TRUE(Counted::is_instance(at::cat({torch::ones({2, 3}), x})));
  EXPECT_EQ(at::split(x, 1).size(), 2u);
  EXPECT_TRUE(Counted::is_instance(x.detach()));
  EXPECT_FALSE(Counted::wrap(at::Tensor()).defined());
}

struct Trace final : torch::overrides::TorchDispatchMode {
  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) override {
    names.push_back(torch::overrides::resolve_name(op));
    op.redispatchBoxed(keys, stack);
  }
  std::vector<std::string> names;
};

TEST(Overrides, AModeThatTraces) {
  at::Tensor x = torch::randn({4, 8}), w = torch::randn({2, 8});
  Trace trace;
  {
    torch::overrides::TorchDispatchModeGuard on(trace);
    at::relu(at::linear(x, w));
  }
  EXPECT_EQ(trace.names.back(), "aten::relu");
  const size_t seen = trace.names.size();
  at::relu(x);
  EXPECT_EQ(trace.names.size(), seen);
}

// Values of a unit: 3 m + 2 m is 5 m, 3 m + 2 s an error.
class Measure final : public at::WrapperTensorImpl {
 public:
  Measure(at::Tensor value, std::string unit)
      : WrapperTensorImpl(value), value_(std::move(value)), unit_(std::move(unit)) {}
  const at::Tensor& value() const { return value_; }
  const std::string& unit() const { return unit_; }
  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) const override {
    const std::string unit = unit_;
    at::transform_tensors(*stack, [&](const at::Tensor& t) {
      const auto* measure = at::wrapper_of<Measure>(t);
      TORCH_CHECK_VALUE(measure != nullptr && measure->unit() == unit, "the units differ");
      return measure->value();
    });
    op.callBoxed(*stack);
    at::transform_tensors(*stack, [&](const at::Tensor& t) {
      return at::Tensor(c10::make_intrusive<Measure>(t, unit));
    });
  }
  c10::intrusive_ptr<c10::TensorImpl> shallow_copy() const override {
    auto copy = c10::make_intrusive<Measure>(value_, unit_);
    copy->copy_metadata_from(*this);
    return copy;
  }

 private:
  at::Tensor value_;
  std::string unit_;
};

TEST(Overrides, ATensorWithAUnit) {
  const auto measure = [](double value, const char* unit) {
    return at::Tensor(c10::make_intrusive<Measure>(at::scalar_tensor(value), unit));
  };
  const at::Tensor sum = measure(3, "m") + measure(2, "m");
  EXPECT_EQ(at::wrapper_of<Measure>(sum)->value().item<double>(), 5);
  EXPECT_EQ(at::wrapper_of<Measure>(sum)->unit(), "m");
  EXPECT_THROW(measure(3, "m") + measure(2, "s"), c10::ValueError);
}

}  // namespace
