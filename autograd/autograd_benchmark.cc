// What recording and differentiating cost beyond the arithmetic: eight floats, one thread.
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "autograd/autograd.h"
#include "utils/benchmark/program.h"

namespace {

namespace bench = torch::utils::benchmark;

at::Tensor leaf() {
  at::Tensor t = at::ones({8});
  t.set_requires_grad(true);
  return t;
}

void add_rows(bench::Program& p) {
  p.call("add_recording", [] { return [a = leaf(), b = at::ones({8})] { return at::add(a, b); }; });
  p.call("mul_recording", [] { return [a = leaf(), b = leaf()] { return at::mul(a, b); }; });
  p.call("mul_sum_backward", [] {
    return [a = leaf(), b = at::ones({8})]() mutable {
      at::sum(at::mul(a, b)).backward();
      a.mutable_grad().reset();
    };
  });
  // A chain of multiplications, forward and backward.
  p.call("chain_of_100", [] {
    return [a = leaf(), b = at::ones({8}), one = at::ones({8})]() mutable {
      at::Tensor y = a;
      for (int i = 0; i < 100; ++i) y = at::mul(y, b);
      y.backward(one);
      a.mutable_grad().reset();
    };
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::Program program("autograd");
  add_rows(program);
  return program.run(argc, argv);
}
