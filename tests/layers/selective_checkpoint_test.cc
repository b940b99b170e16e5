// Selective activation checkpointing: which operators run again in backward, and that gradients are those of the plain run, bit
// for bit. The counts are PyTorch's.
#include "autograd/checkpoint/selective.h"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "aten/core/dispatch_mode.h"
#include "autograd/autograd.h"
#include "c10/core/cpu_generator.h"
#include "c10/dispatch/registry.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"

namespace layers {
namespace {

using at::Tensor;
using c10::testing::message_of;
using torch::autograd::variable_list;
using namespace torch::utils::checkpoint;

struct CountCalls final : at::DispatchMode {
  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) override {
    ++calls[op.operator_name().name];
    op.callBoxed(*stack);
  }
  std::map<std::string, int> calls;
};

PolicyFunction always(CheckpointPolicy policy) {
  return [policy](const SelectiveCheckpointContext&, const c10::OperatorHandle&, at::ArrayRef<c10::IValue>) { return policy; };
}

CheckpointOptions selecting(PolicyFunction policy, bool allow_mutation = false) {
  return CheckpointOptions().context_fn(
      [=] { return create_selective_checkpoint_contexts(policy, allow_mutation); });
}
CheckpointOptions saving(std::vector<std::string> operators) {
  return CheckpointOptions().context_fn([=] { return create_selective_checkpoint_contexts(operators); });
}

Tensor parameter(at::IntArrayRef sizes) { return at::rand(sizes).requires_grad_(); }

TEST(SelectiveCheckpoint, SavedOperatorsRunOnce) {
  const auto f = [](const variable_list& in) { return at::matmul(at::sigmoid(at::matmul(in[0], in[1])), in[1]); };
  const std::pair<CheckpointOptions, int> cases[] = {
      {saving({"aten::mm"}), 6}, {selecting(always(CheckpointPolicy::PREFER_RECOMPUTE)), 7}, {CheckpointOptions(), 7}};
  for (const auto& [options, products] : cases) {
    CountCalls count;
    const at::DispatchModeGuard on(count);
    const Tensor y = checkpoint(f, variable_list{parameter({2, 2}), parameter({2, 2})}, options);
    EXPECT_EQ(count.calls["aten::mm"], 2);
    EXPECT_EQ(count.calls["aten::sigmoid"], 1);
    at::sum(y).backward();
    EXPECT_EQ(count.calls["aten::mm"], products);
    EXPECT_EQ(count.calls["aten::sigmoid"], 2);
  }
}

// Views, changes in place, several results, lists of results and random numbers.
Tensor block(const variable_list& in) {
  Tensor y = at::matmul(in[0], in[1].t());
  y = at::dropout(at::softmax(y, 1), 0.3, true);
  y = at::add(y, at::bernoulli(at::detach(at::sigmoid(y))));
  Tensor z = at::mul(at::reshape(y, {-1}), 2).relu_();
  const auto [values, order] = at::sort(z);
  const std::vector<Tensor> parts = at::split(at::mul(values, z), 8);
  z = at::mul(at::add(parts[0], parts[1]), at::dropout(at::tanh(parts[0]), 0.5, true));
  return at::matmul(at::view(z, {2, 4}), in[1]);
}

TEST(SelectiveCheckpoint, GradientsAreThoseOfThePlainRun) {
  at::manual_seed(4);
  const Tensor a = at::rand({4, 6}), b = at::rand({4, 6});
  const auto gradients = [&](const std::function<Tensor(const variable_list&)>& run) {
    at::manual_seed(5);
    const variable_list in{a.clone().requires_grad_(), b.clone().requires_grad_()};
    const Tensor y = run(in);
    at::sum(at::mul(y, y)).backward();
    return variable_list{y.detach(), in[0].grad(), in[1].grad(), at::rand({3})};
  };
  const variable_list plain = gradients(block);
  const PolicyFunction every_other = [](const SelectiveCheckpointContext&, const c10::OperatorHandle& op,
                                        at::ArrayRef<c10::IValue>) {
    return op.operator_name().name.size() % 2 == 0 ? CheckpointPolicy::MUST_SAVE : CheckpointPolicy::MUST_RECOMPUTE;
  };
  // All but what relu_ changes.
  const PolicyFunction all_but_changed = [](const SelectiveCheckpointContext&, const c10::OperatorHandle& op,
                                            at::ArrayRef<c10::IValue>) {
    const bool changed = toString(op.operator_name()) == "aten::mul.Scalar";
    return changed ? CheckpointPolicy::PREFER_RECOMPUTE : CheckpointPolicy::PREFER_SAVE;
  };
  const std::vector<CheckpointOptions> all{
      saving({"aten::mm"}),
      saving({"aten::mm", "aten::_softmax", "aten::sort", "aten::bernoulli"}),
      selecting(all_but_changed),
      selecting(every_other)};
  for (CheckpointOptions options : all) {
    for (const bool early : {true, false}) {
      options.early_stop(early);
      const auto checkpointed = [&](const variable_list& in) { return checkpoint(block, in, options); };
      const variable_list got = gradients(checkpointed);
      for (size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(at::equal(got[i], plain[i])) << i;
    }
  }
}

TEST(SelectiveCheckpoint, PoliciesSeeTheCall) {
  std::vector<std::string> asked;
  const PolicyFunction note = [&](const SelectiveCheckpointContext& context, const c10::OperatorHandle& op,
                                  at::ArrayRef<c10::IValue> arguments) {
    asked.push_back(
        (context.is_recompute ? "again " : "first ") + toString(op.operator_name()) + " " +
        std::to_string(arguments.size()) + (arguments[0].isTensor() ? "" : "?"));
    return CheckpointPolicy::PREFER_SAVE;
  };
  const Tensor x = parameter({2, 2});
  const Tensor y = checkpoint(
      [](const Tensor& t) {
        Tensor z = at::mul(t.t(), 3);
        return at::add(z.exp(), z, 2);
      },
      x, selecting(note).early_stop(false));
  at::sum(y).backward();
  // Not for t, which is a view.
  const std::vector<std::string> want{"first aten::mul.Scalar 2", "first aten::exp 1", "first aten::add.Tensor 3",
                                      "again aten::mul.Scalar 2", "again aten::exp 1", "again aten::add.Tensor 3"};
  EXPECT_EQ(asked, want);
  EXPECT_TRUE(at::allclose(x.grad(), at::add(at::mul(at::exp(at::mul(x.detach(), 3)), 3), 6)));
}

TEST(SelectiveCheckpoint, ChangesOfKeptResultsAreFound) {
  const auto changes = [](const Tensor& t) {
    Tensor y = at::mm(t, t);
    Tensor z = at::sin(y);
    y.detach().add_(1);
    return at::exp(z);
  };
  const Tensor x = parameter({2, 2});
  EXPECT_EQ(
      message_of([&] { at::sum(checkpoint(changes, x, saving({"aten::mm"}))).backward(); }),
      "Tensor cached during selective activation checkpoint has been mutated");
  const PolicyFunction products = [](const SelectiveCheckpointContext&, const c10::OperatorHandle& op,
                                     at::ArrayRef<c10::IValue>) {
    return op.operator_name().name == "aten::mm" ? CheckpointPolicy::MUST_SAVE : CheckpointPolicy::PREFER_RECOMPUTE;
  };
  at::sum(checkpoint(changes, x, selecting(products, /*allow_mutation=*/true))).backward();
  EXPECT_TRUE(x.grad().defined());
}

TEST(SelectiveCheckpoint, KeptResultsServeOnce) {
  const auto f = [](const Tensor& t) { return at::exp(at::sin(at::mm(t, t))); };
  const Tensor x = parameter({2, 2});
  const Tensor y = at::sum(checkpoint(f, x, saving({"aten::mm"})));
  y.backward({}, /*retain_graph=*/true);
  EXPECT_EQ(message_of([&] { y.backward(); }).find("Trying to backward an extra time."), 0u);
  int asked = 0;
  const PolicyFunction changes_its_mind = [&](const SelectiveCheckpointContext&, const c10::OperatorHandle&,
                                              at::ArrayRef<c10::IValue>) {
    return asked++ == 0 ? CheckpointPolicy::PREFER_RECOMPUTE : CheckpointPolicy::MUST_SAVE;
  };
  EXPECT_EQ(
      message_of([&] {
        at::sum(checkpoint([](const Tensor& t) { return at::exp(t); }, x, selecting(changes_its_mind))).backward();
      }),
      "aten::exp encountered during backward, but not found in storage");
  EXPECT_NE(
      message_of([] { create_selective_checkpoint_contexts({"aten::no_such_operator"}); }).find("Could not find schema for aten::no_such_operator"),
      std::string::npos);
}

TEST(SelectiveCheckpoint, NothingStaysBehind) {
  c10::weak_intrusive_ptr<c10::StorageImpl> kept;
  const auto f = [&](const Tensor& t) {
    const Tensor product = at::mm(t, t);
    kept = c10::weak_intrusive_ptr<c10::StorageImpl>(product.unsafeGetTensorImpl()->storage());
    return at::sum(at::sin(at::sin(product)));
  };
  const Tensor x = parameter({2, 2});
  { const Tensor unused = checkpoint(f, x, saving({"aten::mm"})); }
  EXPECT_TRUE(kept.expired());
  Tensor y = checkpoint(f, x, saving({"aten::mm"}));
  EXPECT_FALSE(kept.expired());
  y.backward();
  EXPECT_TRUE(kept.expired());
  y = checkpoint(f, x);
  EXPECT_TRUE(kept.expired());
}

TEST(SelectiveCheckpoint, InsideOthers) {
  const auto inner = [](const Tensor& t) { return at::sin(at::mm(t, t)); };
  const auto outer = [&](const Tensor& t) { return at::exp(checkpoint(inner, at::mul(t, 2), saving({"aten::mm"}))); };
  const Tensor x = parameter({3, 3});
  at::sum(at::exp(inner(at::mul(x, 2)))).backward();
  const Tensor want = x.grad().clone();
  for (const CheckpointOptions& options : {CheckpointOptions(), saving({"aten::mm"}), saving({"aten::mul.Scalar"})}) {
    x.mutable_grad().reset();
    at::sum(checkpoint(outer, x, options)).backward();
    EXPECT_TRUE(at::equal(x.grad(), want));
  }
}

}  // namespace
}  // namespace layers
