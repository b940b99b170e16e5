// What a call costs. Written against libtorch's C++ API: the same source is compiled against this library and against
// libtorch (compare.py), and both are run in turn.
#include <memory>
#include <set>

#include <torch/csrc/autograd/profiler.h>
#include <torch/torch.h>

#include "utils/benchmark/program.h"

namespace {

namespace bench = torch::utils::benchmark;

// Held by the statement that it is for.
auto inference() { return std::make_shared<c10::InferenceMode>(); }
auto no_grad() { return std::make_shared<torch::NoGradGuard>(); }

void add_operators(bench::Program& p) {
  p.call("empty", [] { return [] { return at::empty({8}); }; });
  p.call("view", [] { return [t = at::empty({8})] { return t.view({2, 4}); }; });
  p.call("add_inference", [] {
    return [guard = inference(), a = at::ones({8}), b = at::ones({8})] { return at::add(a, b); };
  });
  p.call("add_no_grad", [] {
    return [guard = no_grad(), a = torch::ones({8}), b = torch::ones({8})] { return at::add(a, b); };
  });
  p.call("add_out", [] {
    return [a = at::ones({8}), b = at::ones({8}), out = at::empty({8})]() mutable { at::add_out(out, a, b); };
  });
  p.call("add_recording", [] {
    return [a = torch::ones({8}, torch::requires_grad()), b = torch::ones({8})] { return at::add(a, b); };
  });
  p.call("add_row_broadcast", [] {
    return [a = at::ones({8, 8}), b = at::ones({8})] { return at::add(a, b); };
  });
  p.call("mm_of_8x8", [] {
    return [guard = no_grad(), a = torch::ones({8, 8}), b = torch::ones({8, 8})] { return at::mm(a, b); };
  });
  p.call("softmax_of_8x8", [] {
    return [guard = no_grad(), a = torch::ones({8, 8})] { return at::softmax(a, 1); };
  });
}

// What a profile of a hundred small operators adds to them.
void add_profiles(bench::Program& p) {
  p.call("100_adds", [] {
    return [guard = no_grad(), a = torch::ones({8}), b = torch::ones({8})] {
      for (int i = 0; i < 100; ++i) at::add(a, b);
    };
  });
  p.call("100_adds_profiled", [] {
    return [guard = no_grad(), a = torch::ones({8}), b = torch::ones({8})] {
      namespace profiler = torch::autograd::profiler;
      const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO);
      const std::set<torch::profiler::impl::ActivityType> activities{torch::profiler::impl::ActivityType::CPU};
      profiler::prepareProfiler(config, activities);
      profiler::enableProfiler(config, activities);
      for (int i = 0; i < 100; ++i) at::add(a, b);
      profiler::disableProfiler();
    };
  });
}

void add_gradients(bench::Program& p) {
  p.call("mul_sum_backward", [] {
    return [a = torch::ones({8}, torch::requires_grad()), b = torch::ones({8})]() mutable {
      (a * b).sum().backward();
      a.mutable_grad().reset();
    };
  });
  p.call("chain_of_100", [] {
    return [a = torch::ones({8}, torch::requires_grad()), b = torch::ones({8})]() mutable {
      at::Tensor x = a;
      for (int i = 0; i < 100; ++i) x = x * b;
      x.backward(b);
      a.mutable_grad().reset();
    };
  });
}

void add_modules(bench::Program& p) {
  p.call("linear_module", [] {
    return
        [guard = inference(), linear = torch::nn::Linear(8, 8), x = at::ones({8, 8})]() mutable { return linear(x); };
  });
  // What is left of a call when the module does nothing.
  p.call("identity_module", [] {
    return [identity = torch::nn::Identity(), x = at::ones({8})]() mutable { return identity(x); };
  });
  p.call("sequential_of_8_identities", [] {
    torch::nn::Sequential net;
    for (int i = 0; i < 8; ++i) net->push_back(torch::nn::Identity());
    return [net, x = at::ones({8})]() mutable { return net->forward(x); };
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::Program program("overhead");
  add_operators(program);
  add_profiles(program);
  add_gradients(program);
  add_modules(program);
  return program.run(argc, argv);
}
