// Kernels on data larger than the caches, and matrix products, with fresh results. Written against libtorch's C++ API, as
// overhead_benchmark.cc.
#include <torch/torch.h>

#include "utils/benchmark/program.h"

namespace {

namespace bench = torch::utils::benchmark;

constexpr int64_t kElements = 16 << 20;

// `streams` operands and results of kElements float32.
bench::Work streams(int count) { return {.bytes = 4.0 * count * kElements}; }

void add_rows(bench::Program& p) {
  p.row("copy", streams(2), [] {
    return [a = torch::rand({kElements}), b = torch::zeros({kElements})]() mutable { return b.copy_(a); };
  });
  p.row("add", streams(3), [] {
    return [a = torch::rand({kElements}), b = torch::rand({kElements})] { return at::add(a, b); };
  });
  p.row("exp", streams(2), [] {
    return [a = torch::rand({kElements})] { return at::exp(a); };
  });
  p.row("gelu", streams(2), [] {
    return [a = torch::randn({kElements})] { return at::gelu(a); };
  });
  p.row("pow_2.5", streams(2), [] {
    return [a = torch::rand({kElements})] { return at::pow(a, 2.5); };
  });
  p.row("pow_tensor", streams(3), [] {
    return [a = torch::rand({kElements}), b = torch::randn({kElements})] { return at::pow(a, b); };
  });
  p.row("pow_of_scalar", streams(2), [] {
    return [a = torch::randn({kElements})] { return at::pow(1.7, a); };
  });
  p.row("pow_3", streams(2), [] {
    return [a = torch::rand({kElements})] { return at::pow(a, 3); };
  });
  p.row("softmax", streams(2), [] {
    return [a = torch::randn({kElements / 1024, 1024})] { return at::softmax(a, -1); };
  });
  p.row("layer_norm", streams(2), [] {
    return [a = torch::randn({kElements / 1024, 1024}), w = torch::ones({1024}), b = torch::zeros({1024})] {
      return at::layer_norm(a, {1024}, w, b);
    };
  });
  p.row("sum_all", streams(1), [] {
    return [a = torch::rand({kElements})] { return at::sum(a); };
  });
  p.row("sum_outer", streams(1), [] {
    return [a = torch::rand({4096, kElements / 4096})] { return at::sum(a, {0}); };
  });
  p.row("transposed_copy", streams(2), [] {
    return [a = torch::rand({4096, kElements / 4096}).t()] { return a.contiguous(); };
  });
  p.row("mm_1024", {.bytes = 3 * 4.0 * 1024 * 1024, .flops = 2.0 * 1024 * 1024 * 1024}, [] {
    return [a = torch::randn({1024, 1024}), b = torch::randn({1024, 1024})] { return at::mm(a, b); };
  });
}

}  // namespace

int main(int argc, char** argv) {
  const c10::InferenceMode guard;
  bench::Program program("kernels");
  add_rows(program);
  return program.run(argc, argv);
}
