// ResNet-18 in float and in 8 bits, one image of 224 x 224, one thread.
#include <cmath>

#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/conv/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pool/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/view/ops.h"
#include "benchmark/benchmark.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "c10/parallel/parallel.h"
#include "quantization/lowering/lowering.h"
#include "quantization/pt2e/pt2e.h"
#include "quantization/quantizers/x86_inductor_quantizer.h"
#include "quantization/testing/programs.h"

namespace torch::quantization {
namespace {

using at::Tensor;

// Batch norms are left out: they are folded before either is run.
struct ResNet {
  testing::State state;

  ResNet() {
    auto generator = at::detail::createCPUGenerator(1);
    const auto add = [&](const std::string& name, int64_t out, int64_t in, int64_t k) {
      const double deviation = std::sqrt(2.0 / static_cast<double>(in * k * k));
      state.emplace_back(name + ".weight", at::mul(at::randn({out, in, k, k}, generator), deviation));
      state.emplace_back(name + ".bias", at::mul(at::randn({out}, generator), 0.1));
    };
    add("stem", 64, 3, 7);
    int64_t width = 64;
    for (int stage = 0; stage < 4; ++stage) {
      for (int block = 0; block < 2; ++block) {
        const std::string name = std::to_string(stage) + "." + std::to_string(block);
        const int64_t out = int64_t{64} << stage;
        add(name + ".a", out, width, 3);
        add(name + ".b", out, out, 3);
        if (width != out) add(name + ".d", out, width, 1);
        width = out;
      }
    }
    state.emplace_back("fc.weight", at::mul(at::randn({1000, 512}, generator), 0.04));
    state.emplace_back("fc.bias", at::randn({1000}, generator));
  }

  static Tensor forward(std::map<std::string, Tensor>& s, const std::vector<Tensor>& in) {
    const auto conv = [&](const std::string& name, const Tensor& x, int64_t stride, int64_t padding) {
      return at::conv2d(x, s.at(name + ".weight"), s.at(name + ".bias"), {stride, stride}, {padding, padding});
    };
    Tensor x = at::max_pool2d(at::relu(conv("stem", in[0], 2, 3)), {3, 3}, {2, 2}, {1, 1});
    for (int stage = 0; stage < 4; ++stage) {
      for (int block = 0; block < 2; ++block) {
        const std::string name = std::to_string(stage) + "." + std::to_string(block);
        const bool down = stage > 0 && block == 0;
        const Tensor y = conv(name + ".b", at::relu(conv(name + ".a", x, down ? 2 : 1, 1)), 1, 1);
        x = at::relu(at::add(y, down ? conv(name + ".d", x, 2, 0) : x));
      }
    }
    return at::linear(at::flatten(at::adaptive_avg_pool2d(x, {1, 1}), 1), s.at("fc.weight"), s.at("fc.bias"));
  }
};

ExportedProgram make(int64_t batch) {
  const ResNet net;
  return testing::program_of(&ResNet::forward, net.state, {at::zeros({batch, 3, 224, 224})});
}

void resnet18_float(benchmark::State& state) {
  const c10::InferenceMode inference;
  at::set_num_threads(1);
  const ExportedProgram program = make(state.range(0));
  const Tensor x = at::randn({state.range(0), 3, 224, 224});
  testing::run(program, {x});
  for (auto _ : state) benchmark::DoNotOptimize(testing::run(program, {x}));
}
BENCHMARK(resnet18_float)->Arg(1)->Arg(8)->Unit(benchmark::kMillisecond)->UseRealTime();

void resnet18_int8(benchmark::State& state) {
  const c10::InferenceMode inference;
  at::set_num_threads(1);
  const Tensor x = at::randn({state.range(0), 3, 224, 224});
  X86InductorQuantizer quantizer;
  quantizer.set_global(get_default_x86_inductor_quantization_config());
  ExportedProgram prepared = prepare_pt2e(make(state.range(0)), quantizer);
  testing::run(prepared, {x});
  ExportedProgram program = convert_pt2e(std::move(prepared));
  lower_to_integers(program);
  testing::run(program, {x});
  for (auto _ : state) benchmark::DoNotOptimize(testing::run(program, {x}));
}
BENCHMARK(resnet18_int8)->Arg(1)->Arg(8)->Unit(benchmark::kMillisecond)->UseRealTime();

// A linear layer between float tensors: where bytes begin to be worth it.
void linear(benchmark::State& state, bool bytes) {
  const c10::InferenceMode inference;
  at::set_num_threads(1);
  const int64_t rows = state.range(0), in = state.range(1), out = state.range(2);
  const Tensor w = at::randn({out, in}), b = at::randn({out}), x = at::randn({rows, in});
  ExportedProgram program =
      testing::program_of([](std::map<std::string, Tensor>& s,
                             const std::vector<Tensor>& inputs) { return at::linear(inputs[0], s.at("w"), s.at("b")); },
                          {{"w", w}, {"b", b}}, {x});
  if (bytes) {
    X86InductorQuantizer quantizer;
    quantizer.set_global(get_default_x86_inductor_quantization_config());
    ExportedProgram prepared = prepare_pt2e(std::move(program), quantizer);
    testing::run(prepared, {x});
    program = convert_pt2e(std::move(prepared));
    LoweringOptions all;
    all.use_cost_model = false;
    lower_to_integers(program, all);
  }
  for (auto _ : state) benchmark::DoNotOptimize(testing::run(program, {x}));
}
void sizes(benchmark::internal::Benchmark* b) {
  for (const int64_t rows : {1, 16, 128}) {
    for (const int64_t size : {32, 128, 512, 1024, 2048}) b->Args({rows, size, size});
  }
}
BENCHMARK_CAPTURE(linear, of_floats, false)->Apply(sizes);
BENCHMARK_CAPTURE(linear, of_bytes, true)->Apply(sizes);

}  // namespace
}  // namespace torch::quantization
