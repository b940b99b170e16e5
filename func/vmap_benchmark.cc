// What vmap costs: of small calls, and beside what a program would write by hand.
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/random/ops.h"
#include "c10/core/grad_mode.h"
#include "func/vmap.h"
#include "utils/benchmark/program.h"

namespace {

namespace bench = torch::utils::benchmark;
using at::Tensor;

void add_rows(bench::Program& p) {
  p.call("add of 8 under vmap", [] {
    return [guard = std::make_shared<c10::NoGradGuard>(), a = at::ones({4, 8}),
            f = torch::func::vmap([](const Tensor& x) { return at::add(x, x); })] { return f(a); };
  });
  for (const int64_t n : {32, 128}) {
    const std::string size = "64 products of " + std::to_string(n) + " x " + std::to_string(n);
    p.call("bmm, " + size, [n] {
      return [guard = std::make_shared<c10::NoGradGuard>(), a = at::rand({64, n, n}), b = at::rand({64, n, n})] {
        return at::bmm(a, b);
      };
    });
    p.call("vmap of mm, " + size, [n] {
      return [guard = std::make_shared<c10::NoGradGuard>(), a = at::rand({64, n, n}), b = at::rand({64, n, n}),
              f = torch::func::vmap([](const Tensor& x, const Tensor& y) { return at::mm(x, y); })] { return f(a, b); };
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Program program("vmap");
  add_rows(program);
  return program.run(argc, argv);
}
