// Recurrent networks of CUDA tensors: by cuDNN and by kernels of ours the results and gradients of the CPU; where the
// weights lie, dropout, what the context's switches choose, memory, errors.
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "aten/autocast/autocast.h"
#include "aten/core/context.h"
#include "aten/core/tensor.h"
#include "aten/cuda/graph.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/matrix_test_support.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/rnn/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "autograd/forward_ad.h"
#include "c10/core/grad_mode.h"
#include "c10/cuda/caching_allocator.h"
#include "c10/cuda/device.h"
#include "c10/cuda/frontend.h"
#include "c10/cuda/testing.h"
#include "nn/layers/rnn.h"
#include "tests/cuda_on_host/cudnn/standin.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace at {
namespace {

using c10::cuda::testing::in_all_orders;
using c10::cuda::testing::in_own_process;
using c10::cuda::testing::Warnings;
using matrix_testing::error_of;
using matrix_testing::expect_same;
using matrix_testing::random_tensor;
using Tensors = std::vector<Tensor>;

const Device kGpu(DeviceType::CUDA, 0);

Tensor to_gpu(const Tensor& t) {
  return t.defined() ? at::to(t, kGpu, t.scalar_type()) : t;
}
Tensors to_gpu(const Tensors& all) {
  Tensors on;
  for (const Tensor& t : all) on.push_back(to_gpu(t));
  return on;
}

// What ran on the device, by name.
std::vector<std::string> work_of(const std::function<void()>& call) {
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  cuda_standin::clear_trace();
  call();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  std::vector<std::string> names;
  for (const cuda_standin::Executed& e : cuda_standin::trace()) names.push_back(e.name);
  return names;
}
int64_t count_of(const std::vector<std::string>& names, const std::string& name) {
  return std::count(names.begin(), names.end(), name);
}

// The numbers are those of _cudnn_rnn.
enum Mode : int64_t { kRelu, kTanh, kLstm, kGru };
constexpr const char* kNames[] = {"relu", "tanh", "lstm", "gru"};

struct Case {
  Mode mode = kLstm;
  int64_t layers = 1;
  bool bidirectional = false, biased = true, packed = false;
  int64_t projection = 0;
  bool batch_first = false;
  double dropout = 0;
  bool train = false;

  static constexpr int64_t kInput = 3, kHidden = 4, kBatch = 3, kSteps = 4;
  int64_t directions() const { return bidirectional ? 2 : 1; }
  int64_t state() const { return projection > 0 ? projection : kHidden; }
  int64_t stride() const { return 2 + (biased ? 2 : 0) + (projection > 0 ? 1 : 0); }
  std::string name() const {
    return std::string(kNames[mode]) + " layers " + std::to_string(layers) + (bidirectional ? " both ways" : "") +
           (biased ? " biased" : "") + (packed ? " packed" : "") + (projection > 0 ? " projected" : "") +
           (batch_first ? " batch first" : "");
  }
};

// Input, hx, cx (undefined but for an LSTM), weights.
Tensors arguments_of(const Case& c, ScalarType dtype) {
  const int64_t parts = c.layers * c.directions(), gates = c.mode == kLstm ? 4 : c.mode == kGru ? 3 : 1;
  Tensors all;
  if (c.packed) {
    all.push_back(random_tensor({8, Case::kInput}, dtype));  // 3, 2, 2, 1 rows
  } else if (c.batch_first) {
    all.push_back(random_tensor({Case::kBatch, Case::kSteps, Case::kInput}, dtype));
  } else {
    all.push_back(random_tensor({Case::kSteps, Case::kBatch, Case::kInput}, dtype));
  }
  all.push_back(random_tensor({parts, Case::kBatch, c.state()}, dtype));
  all.push_back(c.mode == kLstm ? random_tensor({parts, Case::kBatch, Case::kHidden}, dtype) : Tensor());
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t rows = gates * Case::kHidden;
    all.push_back(random_tensor({rows, part < c.directions() ? Case::kInput : c.state() * c.directions()}, dtype));
    all.push_back(random_tensor({rows, c.state()}, dtype));
    for (int i = 0; c.biased && i < 2; ++i) all.push_back(random_tensor({rows}, dtype));
    if (c.projection > 0) all.push_back(random_tensor({c.projection, Case::kHidden}, dtype));
  }
  return all;
}

Tensor batch_sizes() {
  const Tensor t = at::empty({4}, TensorOptions().dtype(kLong));
  const int64_t counts[] = {3, 2, 2, 1};
  std::copy(counts, counts + 4, t.data_ptr<int64_t>());
  return t;
}

// The results: output, hy, and an LSTM's cy.
Tensors run(const Case& c, const Tensors& all) {
  const Tensors weights(all.begin() + 3, all.end());
  const auto listed = [](const auto& r) { return std::apply([](const auto&... t) { return Tensors{t...}; }, r); };
  const auto call = [&](auto op, const auto& hx) {
    return listed(
        c.packed ? op(all[0], batch_sizes(), hx, weights, c.biased, c.layers, c.dropout, c.train, c.bidirectional)
                 : op(all[0], hx, weights, c.biased, c.layers, c.dropout, c.train, c.bidirectional, c.batch_first));
  };
  switch (c.mode) {
    case kLstm:
      return call([](const auto&... a) { return at::lstm(a...); }, Tensors{all[1], all[2]});
    case kGru:
      return call([](const auto&... a) { return at::gru(a...); }, all[1]);
    case kTanh:
      return call([](const auto&... a) { return at::rnn_tanh(a...); }, all[1]);
    default:
      return call([](const auto&... a) { return at::rnn_relu(a...); }, all[1]);
  }
}

Tensors leaves_of(const Tensors& all) {
  Tensors leaves;
  for (const Tensor& t : all) leaves.push_back(t.defined() ? at::detach(t).set_requires_grad(true) : t);
  return leaves;
}
Tensors defined_of(const Tensors& all) {
  Tensors defined;
  std::copy_if(all.begin(), all.end(), std::back_inserter(defined), [](const Tensor& t) { return t.defined(); });
  return defined;
}

Tensors gradients_of(const Tensors& results, const Tensors& cotangents, const Tensors& leaves) {
  return torch::autograd::grad(results, defined_of(leaves), cotangents);
}

// Results and gradients on the device are those of the CPU.
void expect_those_of_the_cpu(const Case& c, ScalarType dtype) {
  const std::string what = c.name() + " " + toString(dtype);
  const Tensors cpu = leaves_of(arguments_of(c, dtype)), gpu = leaves_of(to_gpu(cpu));
  const Tensors want = run(c, cpu), got = run(c, gpu);
  Tensors cotangents;
  ASSERT_EQ(got.size(), want.size());
  // 16-bit numbers of states are rounded at every step on the CPU, and their sums in other orders.
  const bool is_short = dtype == kHalf || dtype == kBFloat16;
  const auto expect_close = [&](const Tensor& a, const Tensor& b, const char* of, size_t i) {
    expect_same(is_short ? at::div(a, 4) : a, is_short ? at::div(b, 4) : b, what + of + std::to_string(i));
  };
  for (size_t i = 0; i < want.size(); ++i) {
    expect_close(got[i], want[i], " result ", i);
    cotangents.push_back(random_tensor(want[i].sizes().vec(), dtype));
  }
  const Tensors wanted = gradients_of(want, cotangents, cpu), found = gradients_of(got, to_gpu(cotangents), gpu);
  for (size_t i = 0; i < wanted.size(); ++i) expect_close(found[i], wanted[i], " gradient ", i);
  const c10::NoGradGuard no_grad;
  const Tensors inferred = run(c, gpu);
  for (size_t i = 0; i < want.size(); ++i) expect_close(inferred[i], want[i], " result without gradients ", i);
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const Mode mode : {kRelu, kTanh, kLstm, kGru}) {
    for (const int64_t layers : {1, 2}) {
      for (int bits = 0; bits < 8; ++bits) {
        Case c{mode, layers, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
        all.push_back(c);
        if (mode != kLstm) continue;
        c.projection = 2;
        all.push_back(c);
      }
    }
  }
  return all;
}

TEST(CudaRnn, HasTheResultsAndGradientsOfTheCpu) {
  for (const ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
    in_own_process([dtype] {
      for (const Case& c : all_cases()) {
        const uint64_t before = cudnn_standin::network_executions();
        expect_those_of_the_cpu(c, dtype);
        EXPECT_EQ(cudnn_standin::network_executions(), before + 4) << c.name();
      }
      EXPECT_EQ(cudnn_standin::live_descriptors(), 0u);
      EXPECT_EQ(cuda_standin::misuse(), "");
    });
  }
}

TEST(CudaRnn, HasThemInEveryOrderOfStreams) {
  in_all_orders([] {
    for (const Mode mode : {kRelu, kTanh, kLstm, kGru}) {
      Case c{mode, 2, true};
      c.batch_first = true;
      expect_those_of_the_cpu(c, kFloat);
    }
    EXPECT_EQ(cudnn_standin::live_descriptors(), 0u);
  });
}

TEST(CudaRnn, HasThemWithoutCudnn) {
  in_own_process([] {
    globalContext().setUserEnabledCuDNN(false);
    for (const Case& c : all_cases()) expect_those_of_the_cpu(c, kDouble);
    EXPECT_EQ(cudnn_standin::calls(), 0u);
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaRnn, TheContextSaysWhetherAndHow) {
  in_own_process([] {
    Context& context = globalContext();
    const Case c;
    const Tensors all = to_gpu(arguments_of(c, kFloat));
    const auto runs = [&](const Tensors& with) {
      const uint64_t before = cudnn_standin::network_executions();
      run(c, with);
      return cudnn_standin::network_executions() != before;
    };
    EXPECT_TRUE(runs(all));
    EXPECT_EQ(cudnn_standin::last_network_math(), CUDNN_DEFAULT_MATH);
    context.setAllowTF32CuDNN(false);
    EXPECT_TRUE(runs(all));
    EXPECT_EQ(cudnn_standin::last_network_math(), CUDNN_FMA_MATH);
    context.setAllowTF32CuDNN(true);
    {
      const NoTF32Guard guard;
      run(c, all);
      EXPECT_EQ(cudnn_standin::last_network_math(), CUDNN_FMA_MATH);
    }
    EXPECT_TRUE(runs(to_gpu(arguments_of(c, kHalf))));
    EXPECT_EQ(cudnn_standin::last_network_math(), CUDNN_TENSOR_OP_MATH);
    for (auto set : {&Context::setDeterministicCuDNN}) {
      (context.*set)(true);
      EXPECT_FALSE(runs(all));
      (context.*set)(false);
    }
    context.setDeterministicAlgorithms(true);
    EXPECT_FALSE(runs(all));
    context.setDeterministicAlgorithms(false);
    context.setUserEnabledCuDNN(false);
    EXPECT_FALSE(runs(all));
    context.setUserEnabledCuDNN(true);
    EXPECT_TRUE(runs(all));
    // What it turns out not to run.
    cudnn_standin::reset({.no_networks = true});
    const auto names = work_of([&] { run(c, all); });
    EXPECT_EQ(count_of(names, "lstm"), Case::kSteps);
    EXPECT_EQ(cudnn_standin::live_descriptors(), 0u);
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaRnn, EmptyNetworksAndWrongOnesAreAsOnTheCpu) {
  in_own_process([] {
    const Case c;
    Tensors all = to_gpu(arguments_of(c, kFloat));
    all[0] = at::narrow(all[0], 1, 0, 0);
    all[1] = at::narrow(all[1], 1, 0, 0);
    all[2] = at::narrow(all[2], 1, 0, 0);
    EXPECT_EQ(run(c, all)[0].sizes(), IntArrayRef({Case::kSteps, 0, Case::kHidden}));
    for (const size_t wrong : {0, 1, 2, 3, 4, 5}) {
      Tensors cpu = arguments_of(c, kFloat);
      cpu[wrong] = at::to(cpu[wrong], kDouble);
      const std::string want = error_of([&] { run(c, cpu); }), got = error_of([&] { run(c, to_gpu(cpu)); });
      EXPECT_NE(want, "");
      EXPECT_EQ(got.substr(0, got.find('\n')), want.substr(0, want.find('\n')));
      cpu = arguments_of(c, kFloat);
      cpu[wrong] = at::narrow(cpu[wrong], -1, 0, 1);
      EXPECT_NE(error_of([&] { run(c, to_gpu(cpu)); }), "") << wrong;
    }
    EXPECT_EQ(cudnn_standin::network_executions(), 0u);
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaRnn, BackwardCanRunTwiceAndBeDifferentiated) {
  in_own_process([] {
    for (const Mode mode : {kTanh, kLstm, kGru}) {
      for (const bool packed : {false, true}) {
        Case c{mode, 2, true, true, packed, mode == kLstm ? 2 : 0};
        c.batch_first = !packed;
        const Tensors cpu = leaves_of(arguments_of(c, kDouble)), gpu = leaves_of(to_gpu(cpu));
        const Tensors want = run(c, cpu), got = run(c, gpu);
        const Tensor g = random_tensor(want[0].sizes().vec(), kDouble);
        const auto first_of = [&](const Tensors& results, const Tensors& in, const Tensor& cotangent, bool create) {
          return torch::autograd::grad({results[0]}, defined_of(in), {cotangent}, true, create);
        };
        const Tensors once = first_of(got, gpu, to_gpu(g), false), again = first_of(got, gpu, to_gpu(g), false);
        for (size_t i = 0; i < once.size(); ++i)
          EXPECT_EQ(matrix_testing::values(once[i]), matrix_testing::values(again[i])) << c.name();
        const auto second_of = [&](const Tensors& results, const Tensors& in, const Tensor& cotangent) {
          Tensor sum;
          for (const Tensor& t : first_of(results, in, cotangent, true)) {
            const Tensor s = at::sum(at::mul(t, t));
            sum = sum.defined() ? at::add(sum, s) : s;
          }
          return torch::autograd::grad({sum}, defined_of(in));
        };
        const Tensors wanted = second_of(want, cpu, g), found = second_of(got, gpu, to_gpu(g));
        for (size_t i = 0; i < wanted.size(); ++i) {
          expect_same(found[i], wanted[i], c.name() + " second gradient " + std::to_string(i));
        }
      }
    }
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaRnn, TangentsGoThroughKernelsOfOurs) {
  in_own_process([] {
    const Case c{kGru};
    const Tensors cpu = arguments_of(c, kDouble), gpu = to_gpu(cpu);
    const Tensor direction = random_tensor(cpu[0].sizes().vec(), kDouble);
    const auto tangent_of = [&](Tensors all, const Tensor& along) {
      const torch::autograd::forward_ad::dual_level level;
      all[0] = torch::autograd::forward_ad::make_dual(all[0], along);
      return torch::autograd::forward_ad::unpack_dual(run(c, all)[0]).tangent;
    };
    expect_same(tangent_of(gpu, to_gpu(direction)), tangent_of(cpu, direction), "tangent");
    EXPECT_EQ(cudnn_standin::network_executions(), 0u);
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaRnn, AutocastTakesIt) {
  in_own_process([] {
    const Case c{kLstm, 2};
    const Tensors gpu = leaves_of(to_gpu(arguments_of(c, kFloat)));
    Tensors got;
    {
      torch::autocast region(kCUDA);
      got = run(c, gpu);
    }
    EXPECT_EQ(got[0].scalar_type(), kHalf);
    const Tensors want = run(c, gpu);
    for (size_t i = 0; i < want.size(); ++i) expect_same(got[i], at::to(want[i], kHalf), "autocast");
    const Tensors gradients = torch::autograd::grad({at::sum(got[0])}, defined_of(gpu), {}, {}, false, true);
    for (const Tensor& g : gradients) EXPECT_EQ(g.scalar_type(), kFloat);
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

// --- where weights lie ---

int64_t copies_of(const std::vector<std::string>& names) {
  return static_cast<int64_t>(names.size()) - count_of(names, "cudnnRNNForward");
}

int64_t count_of_scattered(const Warnings& warnings) {
  return std::count_if(warnings.texts.begin(), warnings.texts.end(), [](const std::string& text) {
    return text.find("RNN module weights are not part of single contiguous chunk of memory.") == 0;
  });
}

TEST(CudaRnn, WeightsInOneBufferAreNotCopied) {
  in_own_process([] {
    const c10::WarningUtils::WarnAlways warn_always;
    const Warnings warnings;
    const Case c{kLstm, 2, true, true, false, 2};
    Tensors gpu = to_gpu(arguments_of(c, kFloat));
    Tensors results;
    EXPECT_GT(copies_of(work_of([&] { results = run(c, gpu); })), 0);
    EXPECT_EQ(count_of_scattered(warnings), 1);
    const Tensors weights(gpu.begin() + 3, gpu.end());
    Tensors before;
    for (const Tensor& w : weights) before.push_back(at::clone(w));
    const Tensor buffer = at::_cudnn_rnn_flatten_weight(weights, c.stride(), Case::kInput, c.mode, Case::kHidden,
                                                        c.projection, c.layers, false, c.bidirectional);
    for (size_t i = 0; i < weights.size(); ++i) {
      expect_same(weights[i], before[i], "flattened weight");
      EXPECT_TRUE(weights[i].storage().is_alias_of(buffer.storage()));
    }
    Tensors again;
    EXPECT_EQ(copies_of(work_of([&] { again = run(c, gpu); })), 0);
    for (size_t i = 0; i < results.size(); ++i)
      EXPECT_EQ(matrix_testing::values(again[i]), matrix_testing::values(results[i]));
    EXPECT_EQ(count_of_scattered(warnings), 1);
    // The buffer itself may be given.
    const auto [output, hy, cy, reserve, same] =
        at::_cudnn_rnn(gpu[0], before, c.stride(), buffer, gpu[1], gpu[2], c.mode, Case::kHidden, c.projection,
                       c.layers, false, 0, false, c.bidirectional, {}, std::nullopt);
    EXPECT_EQ(same.const_data_ptr(), buffer.const_data_ptr());
    EXPECT_EQ(reserve.numel(), 0);
    expect_same(output, results[0], "with a buffer");
    // In another order of the same buffer they are copied.
    std::swap(gpu[5], gpu[6]);
    EXPECT_GT(copies_of(work_of([&] { run(c, gpu); })), 0);
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaRnn, ModulesFlattenTheirParameters) {
  in_own_process([] {
    const c10::WarningUtils::WarnAlways warn_always;
    const Warnings warnings;
    torch::nn::LSTM lstm(torch::nn::LSTMOptions(3, 4).num_layers(2).bidirectional(true).proj_size(2));
    torch::nn::GRU gru(torch::nn::GRUOptions(3, 4).batch_first(true));
    torch::nn::RNN rnn(torch::nn::RNNOptions(3, 4).nonlinearity(torch::kReLU).bias(false));
    const Tensor x = random_tensor({4, 3, 3});
    const auto call = [&](const Tensor& in) {
      return Tensors{std::get<0>(lstm->forward(in)), std::get<0>(gru->forward(in)), std::get<0>(rnn->forward(in))};
    };
    const Tensors want = call(x);
    lstm->flatten_parameters();  // nothing, on the CPU
    lstm->to(kGpu);
    gru->to(kGpu);
    rnn->to(kGpu);
    const Tensor gx = to_gpu(x);
    const Tensors got = call(gx);
    for (size_t i = 0; i < want.size(); ++i) expect_same(got[i], want[i], "module");
    const auto weights = lstm->all_weights();
    for (const Tensor& w : weights) {
      EXPECT_TRUE(w.requires_grad() && w.is_leaf() && w.storage().is_alias_of(weights[0].storage()));
    }
    {
      const c10::NoGradGuard no_grad;
      EXPECT_EQ(count_of(work_of([&] { lstm->forward(gx); }), "cudnnRNNForward"), 1);
      // Writes reach the buffer.
      for (const Tensor& w : weights) at::mul_(const_cast<Tensor&>(w), 0);
      EXPECT_EQ(at::sum(at::abs(std::get<0>(lstm->forward(gx)))).item<float>(), 0);
    }
    EXPECT_EQ(count_of_scattered(warnings), 0);
    gru->to(kDouble);
    gru->to(kCPU);
    gru->to(kGpu);
    gru->forward(at::to(gx, kDouble));
    EXPECT_EQ(count_of_scattered(warnings), 0);
    // A copy has memory of its own for every parameter, until it is flattened.
    const auto copy = std::dynamic_pointer_cast<torch::nn::GRUImpl>(gru->clone());
    copy->forward(at::to(gx, kDouble));
    EXPECT_EQ(count_of_scattered(warnings), 1);
    copy->flatten_parameters();
    copy->forward(at::to(gx, kDouble));
    EXPECT_EQ(count_of_scattered(warnings), 1);
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

// --- dropout ---

struct Dropped {
  Tensor output, reserve, buffer;
};
Dropped run_dropped(const Case& c, const Tensors& all, const Tensor& state) {
  auto [output, hy, cy, reserve, buffer] =
      at::_cudnn_rnn(all[0], TensorList(all).slice(3, all.size() - 3), c.stride(), std::nullopt, all[1],
                     all[2].defined() ? std::optional<Tensor>(all[2]) : std::nullopt, c.mode, Case::kHidden,
                     c.projection, c.layers, c.batch_first, c.dropout, c.train, c.bidirectional, {}, state);
  return {output, reserve, buffer};
}
Tensor dropout_state(int64_t seed, double dropout = 0.5, bool train = true) {
  return at::_cudnn_init_dropout_state(dropout, train, seed, TensorOptions().dtype(kByte).device(kGpu));
}

TEST(CudaRnn, DropoutOfTheLibraryIsThatOfItsState) {
  in_own_process([] {
    Case c{kLstm, 2, true};
    c.dropout = 0.5;
    c.train = true;
    const Tensors all = to_gpu(arguments_of(c, kDouble));
    const Tensor state = dropout_state(3);
    const auto values_of = [](const Dropped& d) { return matrix_testing::values(d.output); };
    const auto first = values_of(run_dropped(c, all, state)), second = values_of(run_dropped(c, all, state));
    EXPECT_NE(first, second) << "the state does not move on";
    EXPECT_EQ(values_of(run_dropped(c, all, dropout_state(3))), first);
    EXPECT_NE(values_of(run_dropped(c, all, dropout_state(4))), first);
    Case plain = c;
    plain.train = false;
    EXPECT_EQ(values_of(run_dropped(plain, all, state)), matrix_testing::values(run(plain, all)[0]));
    EXPECT_EQ(dropout_state(3, 0).numel(), 0);
    EXPECT_EQ(dropout_state(3, 0.5, false).numel(), 0);
    EXPECT_NE(error_of([&] { run_dropped(c, all, dropout_state(3, 0)); }).find("_cudnn_init_dropout_state"),
              std::string::npos);
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

// The gradient of what dropped some elements, against differences of what drops the same.
TEST(CudaRnn, BackwardDropsWhatForwardDropped) {
  in_own_process([] {
    for (const Mode mode : {kLstm, kGru}) {
      Case c{mode, 2};
      c.dropout = 0.4;
      c.train = true;
      const Tensors base = arguments_of(c, kDouble);
      const Tensors leaves = leaves_of(to_gpu(base));
      const Tensor output = run_dropped(c, leaves, dropout_state(7, c.dropout)).output;
      const Tensor cotangent = random_tensor(output.sizes().vec(), kDouble);
      const Tensors gradients = torch::autograd::grad({output}, defined_of(leaves), {to_gpu(cotangent)});
      const auto loss_of = [&](const Tensors& all) {
        const Tensor out = run_dropped(c, to_gpu(all), dropout_state(7, c.dropout)).output;
        return at::sum(at::mul(out, to_gpu(cotangent))).item<double>();
      };
      size_t next = 0;
      for (size_t i = 0; i < base.size(); ++i) {
        if (!base[i].defined()) continue;
        const Tensor direction = random_tensor(base[i].sizes().vec(), kDouble);
        constexpr double kStep = 1e-5;
        Tensors up = base, down = base;
        up[i] = at::add(base[i], direction, kStep);
        down[i] = at::sub(base[i], direction, kStep);
        const double found = at::sum(at::mul(gradients[next++], to_gpu(direction))).item<double>();
        EXPECT_NEAR(found, (loss_of(up) - loss_of(down)) / (2 * kStep), 1e-7) << c.name() << " argument " << i;
      }
      EXPECT_NE(error_of([&] {
                  torch::autograd::grad({run_dropped(c, leaves, dropout_state(7)).output}, {leaves[0]},
                                        {to_gpu(cotangent)}, true, true);
                }).find("second derivative with dropout"),
                std::string::npos);
    }
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaRnn, DropoutOfLayersIsThatOfTheGenerator) {
  in_own_process([] {
    Case c{kGru, 3, true};
    c.dropout = 0.5;
    c.train = true;
    const Tensors all = to_gpu(arguments_of(c, kFloat));
    const auto seeded = [&](uint64_t seed, bool with_cudnn) {
      globalContext().setUserEnabledCuDNN(with_cudnn);
      torch::cuda::manual_seed_all(seed);
      return run(c, all);
    };
    const Tensors first = seeded(1, true), again = seeded(1, true), other = seeded(2, true), ours = seeded(1, false);
    EXPECT_EQ(matrix_testing::values(first[0]), matrix_testing::values(again[0]));
    EXPECT_NE(matrix_testing::values(first[0]), matrix_testing::values(other[0]));
    for (size_t i = 0; i < first.size(); ++i) expect_same(first[i], ours[i], "the same elements are dropped");
    Case plain = c;
    plain.train = false;
    globalContext().setUserEnabledCuDNN(true);
    EXPECT_EQ(matrix_testing::values(run(plain, all)[0]), matrix_testing::values(run(plain, all)[0]));
    // Gradients reach all of it.
    const Tensors leaves = leaves_of(all);
    for (const Tensor& g : torch::autograd::grad({at::sum(run(c, leaves)[0])}, defined_of(leaves)))
      EXPECT_NE(at::sum(at::abs(g)).item<float>(), 0);
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

// --- graphs, failures ---

TEST(CudaRnn, GraphsReplayThem) {
  in_all_orders([] {
    Case c{kLstm, 2, true};
    Tensors all = leaves_of(to_gpu(arguments_of(c, kFloat)));
    const Tensor cotangent = to_gpu(random_tensor({Case::kSteps, Case::kBatch, 2 * Case::kHidden}));
    const auto work = [&] {
      Tensors r = run(c, all);
      for (const Tensor& g : torch::autograd::grad({r[0]}, defined_of(all), {cotangent})) r.push_back(g);
      return r;
    };
    work();
    c10::cuda::device_synchronize();
    cuda::CUDAGraph graph;
    Tensors out;
    {
      torch::cuda::graph capture(graph);
      out = work();
    }
    for (int i = 0; i < 2; ++i) {
      {
        const c10::NoGradGuard no_grad;
        at::copy_(all[0], random_tensor({Case::kSteps, Case::kBatch, Case::kInput}));
      }
      graph.replay();
      const Tensors want = work();
      for (size_t k = 0; k < out.size(); ++k)
        EXPECT_EQ(matrix_testing::values(out[k]), matrix_testing::values(want[k])) << k;
    }
  });
}

TEST(CudaRnn, EveryFailingCallOfTheLibraryIsAnError) {
  Case c{kLstm, 1, false, true, true, 2};
  const auto body = [&] {
    const Tensors leaves = leaves_of(to_gpu(arguments_of(c, kFloat)));
    const Tensor output = run(c, leaves)[0];
    torch::autograd::grad({at::sum(output)}, {leaves[0], leaves[3]}, {}, {}, false, true);
    dropout_state(1);
  };
  auto* const calls = static_cast<uint64_t*>(
      ::mmap(nullptr, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(calls, MAP_FAILED);
  in_own_process([&] {
    body();
    *calls = cudnn_standin::calls();
  });
  ASSERT_GT(*calls, 50u);
  for (int64_t n = 0; n < static_cast<int64_t>(*calls); ++n) {
    in_own_process([&] {
      SCOPED_TRACE(n);
      cudnn_standin::reset({.fail_call = n});
      EXPECT_NE(
          error_of(body).find("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED when calling `cudnn"),
          std::string::npos);
      EXPECT_EQ(cudnn_standin::live_descriptors(), 0u);
      body();
      EXPECT_EQ(cudnn_standin::live_descriptors(), 0u);
      EXPECT_EQ(cuda_standin::misuse(), "");
    });
  }
  ::munmap(calls, sizeof(uint64_t));
}

TEST(CudaRnn, OperatorsRefuseWhatDoesNotFit) {
  in_own_process([] {
    const Case c;
    const Tensors all = to_gpu(arguments_of(c, kFloat));
    const Tensors weights(all.begin() + 3, all.end());
    const auto call = [&](int64_t stride, int64_t mode, int64_t hidden, int64_t projection, int64_t layers) {
      return error_of([&] {
        at::_cudnn_rnn(all[0], weights, stride, std::nullopt, all[1], all[2], mode, hidden, projection, layers, false,
                       0, false, false, {}, std::nullopt);
      });
    };
    EXPECT_EQ(call(4, kLstm, Case::kHidden, 0, 1), "");
    EXPECT_NE(call(4, 4, Case::kHidden, 0, 1).find("mode must be from 0 to 3"), std::string::npos);
    EXPECT_NE(call(3, kLstm, Case::kHidden, 0, 1).find("weights for each layer"), std::string::npos);
    EXPECT_NE(call(4, kLstm, 5, 0, 1).find("expected a weight of size"), std::string::npos);
    EXPECT_NE(call(4, kLstm, Case::kHidden, 0, 2).find("expected 8 weights"), std::string::npos);
    EXPECT_NE(call(5, kGru, Case::kHidden, 2, 1).find("only an LSTM has projections"), std::string::npos);
    const auto backward = [&](bool train, const Tensor& reserve) {
      return error_of([&] {
        at::_cudnn_rnn_backward(all[0], weights, 4, all[3], all[1], all[2], all[1], all[1], std::nullopt, std::nullopt,
                                kLstm, Case::kHidden, 0, 1, false, 0, train, false, {}, std::nullopt, reserve,
                                {true, true, true, true});
      });
    };
    EXPECT_NE(backward(false, all[0]).find("cudnn RNN backward can only be called in training mode"),
              std::string::npos);
    EXPECT_NE(backward(true, all[0]), "");
    EXPECT_NE(error_of([&] { at::_cudnn_rnn_flatten_weight({}, 4, 3, kLstm, 4, 0, 1, false, false); }), "");
    EXPECT_TRUE(at::_use_cudnn_rnn_flatten_weight());
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaRnn, AStepIsAProductAndALaunch) {
  in_own_process([] {
    globalContext().setUserEnabledCuDNN(false);
    for (const bool half : {false, true}) {
      const ScalarType dtype = half ? kHalf : kFloat;
      const int64_t steps = 5, batch = 3, features = 4, hidden = 6;
      const Tensor x = random_tensor({steps, batch, features}, dtype), h = random_tensor({1, batch, hidden}, dtype);
      const auto params = [&](int64_t gates) {
        return std::vector<Tensor>{random_tensor({gates * hidden, features}, dtype),
                                   random_tensor({gates * hidden, hidden}, dtype),
                                   random_tensor({gates * hidden}, dtype), random_tensor({gates * hidden}, dtype)};
      };
      const auto gpu = [](const std::vector<Tensor>& all) {
        std::vector<Tensor> on;
        for (const Tensor& t : all) on.push_back(to_gpu(t));
        return on;
      };
      const std::vector<Tensor> lstm = params(4), gru = params(3), on_lstm = gpu(lstm), on_gru = gpu(gru);
      const Tensor gx = to_gpu(x), gh = to_gpu(h);
      std::tuple<Tensor, Tensor, Tensor> got;
      auto names = work_of([&] { got = at::lstm(gx, {gh, gh}, on_lstm, true, 1, 0.0, false, false, false); });
      const auto want = at::lstm(x, {h, h}, lstm, true, 1, 0.0, false, false, false);
      expect_same(std::get<0>(got), std::get<0>(want), "lstm");
      expect_same(std::get<2>(got), std::get<2>(want), "lstm cells");
      EXPECT_EQ(count_of(names, "lstm"), steps);
      EXPECT_EQ(count_of(names, "cublasLtMatmul"), steps + 1);
      std::tuple<Tensor, Tensor> result;
      names = work_of([&] { result = at::gru(gx, gh, on_gru, true, 1, 0.0, false, false, false); });
      expect_same(std::get<0>(result), std::get<0>(at::gru(x, h, gru, true, 1, 0.0, false, false, false)), "gru");
      EXPECT_EQ(count_of(names, "gru"), steps);
      EXPECT_EQ(count_of(names, "cublasLtMatmul"), steps + 1);
    }
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

}  // namespace
}  // namespace at
