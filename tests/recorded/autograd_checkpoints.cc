// Scripts about checkpoints.
#include "aten/aten.h"
#include "aten/core/dispatch_mode.h"
#include "autograd/autograd.h"
#include "autograd/checkpoint/checkpoint.h"
#include "autograd/checkpoint/selective.h"
#include "c10/core/cpu_generator.h"
#include "c10/dispatch/registry.h"
#include "nn/functional/functional.h"
#include "nn/layers/linear.h"
#include "nn/module/sequential.h"
#include "tests/recorded/autograd_scripts.h"

namespace recorded {
namespace {

namespace checkpoints = torch::utils::checkpoint;
namespace F = torch::nn::functional;
using at::Tensor;
using checkpoints::CheckpointOptions;

void checkpoint_counts(ScriptRun& r) {
  for (const bool reentrant : {true, false}) {
    int n = 0;
    const auto f = [&](const Tensor& a) {
      ++n;
      return (a * a).exp();
    };
    const Tensor x = r.leaf({0.1, 0.2});
    const Tensor y = checkpoints::checkpoint(f, x, CheckpointOptions().use_reentrant(reentrant));
    const int before = n;
    y.sum().backward();
    const Tensor z = at::clone(at::detach(x)).set_requires_grad(true);
    (z * z).exp().sum().backward();
    r.log("reentrant", reentrant, "| calls before backward", before, "| after", n, "| equal to the plain gradient",
          at::equal(x.grad(), z.grad()));
  }
}

void checkpoint_early_stop(ScriptRun& r) {
  for (const bool early : {true, false}) {
    std::vector<std::string> trace;
    const auto f = [&](const Tensor& a) {
      trace.push_back("start");
      const Tensor b = a.exp();
      trace.push_back("middle");
      const Tensor c = b.sin();
      trace.push_back("end");
      return c + 1;
    };
    const Tensor x = r.leaf({0.5});
    Tensor y;
    {
      const checkpoints::set_checkpoint_early_stop stop(early);
      y = checkpoints::checkpoint(f, x);
    }
    y.sum().backward();
    r.log("early stop", early, trace);
  }
}

void checkpoint_nested(ScriptRun& r) {
  int inner_calls = 0, outer_calls = 0;
  const auto inner = [&](const Tensor& a) {
    ++inner_calls;
    return a.sin();
  };
  const auto outer = [&](const Tensor& a) {
    ++outer_calls;
    return checkpoints::checkpoint(inner, a * 2).exp();
  };
  const Tensor x = r.leaf({0.3});
  checkpoints::checkpoint(outer, x).sum().backward();
  r.log("{'outer': " + std::to_string(outer_calls) + ", 'inner': " + std::to_string(inner_calls) + "}", x.grad());
}

void checkpoint_random_state(ScriptRun& r) {
  for (const bool preserve : {true, false}) {
    for (const bool reentrant : {true, false}) {
      at::manual_seed(3);
      const Tensor x = at::ones({8}, at::TensorOptions(at::kDouble)).set_requires_grad(true);
      std::vector<Tensor> masks;
      const auto f = [&](const Tensor& a) {
        const Tensor b = F::dropout(a, F::DropoutFuncOptions().p(0.5));
        masks.push_back(at::detach(b) != 0);
        return b * a;
      };
      const auto options = CheckpointOptions().use_reentrant(reentrant).preserve_rng_state(preserve);
      checkpoints::checkpoint(f, x, options).sum().backward();
      r.log("preserve", preserve, "| reentrant", reentrant, "| same mask", at::equal(masks[0], masks[1]), masks[0]);
    }
  }
}

void checkpoint_sequential(ScriptRun& r) {
  namespace nn = torch::nn;
  at::manual_seed(1);
  nn::Sequential m;
  std::vector<int> count(4);
  for (size_t i = 0; i < count.size(); ++i) {
    nn::Linear layer(3, 3);
    layer->register_forward_hook(
        [&count, i](nn::Module&, const std::vector<Tensor>&, const std::vector<Tensor>&) { ++count[i]; });
    m->push_back(layer);
  }
  const Tensor x = at::ones({2, 3}).set_requires_grad(true);
  const auto gradients = [&](const Tensor& y) {
    m->zero_grad();
    y.sum().backward();
    std::vector<Tensor> all;
    for (const Tensor& p : m->parameters()) all.push_back(at::clone(p.grad()));
    return all;
  };
  for (const int segments : {1, 2, 3, 4}) {
    count.assign(4, 0);
    const auto got = gradients(checkpoints::checkpoint_sequential(*m, segments, x));
    const std::string calls = "[" + c10::str(count[0], ", ", count[1], ", ", count[2], ", ", count[3]) + "]";
    const auto plain = gradients(m(x));
    bool same = true;
    for (size_t i = 0; i < got.size(); ++i) same = same && at::equal(got[i], plain[i]);
    r.log("segments", segments, "| forward calls of each layer", calls, "| equal gradients", same);
  }
}

void checkpoint_not_deterministic(ScriptRun& r) {
  int calls = 0;
  const auto f = [&](const Tensor& a) { return ++calls == 1 ? a.exp() : at::slice(a, 0, 0, 1).exp(); };
  const Tensor y = checkpoints::checkpoint(f, r.leaf({1, 2}));
  std::string text;
  try {
    y.sum().backward();
  } catch (const c10::Error& e) {
    text = e.what_without_backtrace();
  }
  r.log(text.substr(0, text.find('\n')));
}

void checkpoint_reentrant_rules(ScriptRun& r) {
  const Tensor x = r.leaf({1});
  const auto reentrant = CheckpointOptions().use_reentrant(true);
  const auto exp = [](const Tensor& a) { return a.exp(); };
  r.log(caught([&] { torch::autograd::grad({checkpoints::checkpoint(exp, x, reentrant).sum()}, {x}); }));
  const Tensor z = at::ones({2});
  Tensor y;
  std::vector<std::string> texts;
  {
    CollectedWarnings warnings;
    y = checkpoints::checkpoint([](const Tensor& a) { return a * 2; }, z, reentrant);
    texts = warnings.texts;
  }
  r.log(y.requires_grad(), texts);
  const Tensor w = r.leaf({3});
  r.log(checkpoints::checkpoint([&](const Tensor& a) { return a * w; }, z).requires_grad());
}

struct Counts final : at::DispatchMode {
  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) override {
    mm += op.schema().name() == "aten::mm";
    sigmoid += op.schema().name() == "aten::sigmoid";
    op.callBoxed(stack);
  }
  std::string text() const { return c10::str("{'mm': ", mm, ", 'sigmoid': ", sigmoid, "}"); }
  int mm = 0, sigmoid = 0;
};

void checkpoint_selective(ScriptRun& r) {
  using checkpoints::CheckpointPolicy;
  for (const auto policy : {CheckpointPolicy::MUST_SAVE, CheckpointPolicy::PREFER_RECOMPUTE}) {
    const auto choose = [policy](const checkpoints::SelectiveCheckpointContext&, const c10::OperatorHandle& op,
                                 at::ArrayRef<c10::IValue>) {
      return op.schema().name() == "aten::mm" ? policy : CheckpointPolicy::PREFER_RECOMPUTE;
    };
    const Tensor x = at::ones({2, 2}).set_requires_grad(true), w = at::ones({2, 2}).set_requires_grad(true);
    const auto f = [](const std::vector<Tensor>& in) {
      return at::matmul(at::sigmoid(at::matmul(in[0], in[1])), in[1]);
    };
    Counts counts;
    std::string before;
    {
      const at::DispatchModeGuard on(counts);
      const auto options =
          CheckpointOptions().context_fn([&] { return checkpoints::create_selective_checkpoint_contexts(choose); });
      const Tensor y = checkpoints::checkpoint(f, {x, w}, options);
      before = counts.text();
      y.sum().backward();
    }
    r.log(policy == CheckpointPolicy::MUST_SAVE ? "MUST_SAVE" : "PREFER_RECOMPUTE", "| before backward", before,
          "| after", counts.text());
  }
}

}  // namespace

const std::map<std::string, Script>& checkpoint_scripts() {
  static const std::map<std::string, Script> all = {
#define SCRIPT(name) {#name, name}
      SCRIPT(checkpoint_counts),          SCRIPT(checkpoint_random_state),      SCRIPT(checkpoint_sequential),
      SCRIPT(checkpoint_early_stop),      SCRIPT(checkpoint_not_deterministic), SCRIPT(checkpoint_nested),
      SCRIPT(checkpoint_reentrant_rules), SCRIPT(checkpoint_selective),
#undef SCRIPT
  };
  return all;
}

}  // namespace recorded
