// Convolutions of CUDA tensors: by cuDNN and by kernels of ours the results of the CPU; what the context's switches
// choose, how often the library is asked, memory, errors.
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "aten/core/context.h"
#include "aten/core/tensor.h"
#include "aten/cuda/cudnn/cache.h"
#include "aten/cuda/graph.h"
#include "aten/ops/conv/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/matrix_test_support.h"
#include "aten/ops/view/ops.h"
#include "c10/cuda/caching_allocator.h"
#include "c10/cuda/device.h"
#include "c10/cuda/frontend.h"
#include "c10/cuda/testing.h"
#include "tests/cuda_on_host/cudnn/standin.h"
#include "tests/cuda_on_host/runtime/standin.h"
#include "tests/cuda_on_host/simt/simt.h"

namespace at {
namespace {

using c10::cuda::testing::in_all_orders;
using c10::cuda::testing::in_own_process;
using matrix_testing::Arrangement;
using matrix_testing::expect_same;
using matrix_testing::random_tensor;

const Device kGpu(DeviceType::CUDA, 0);

Tensor to_gpu(const Tensor& t) {
  return at::to(t, kGpu, t.scalar_type());
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

bool has_note(cudnnBackendNumericalNote_t note) {
  return (cudnn_standin::last_notes() >> note & 1) != 0;
}

struct Case {
  const char* name;
  std::vector<int64_t> x, w;
  std::vector<int64_t> stride, padding, dilation;
  int64_t groups = 1;
  bool transposed = false;
  std::vector<int64_t> output_padding = {0};
};

const Case kCases[] = {
    {"1d", {2, 3, 10}, {4, 3, 3}, {2}, {1}, {2}},
    {"2d", {2, 3, 7, 8}, {4, 3, 3, 2}, {1}, {0}, {1}},
    {"2d groups", {2, 4, 9, 8}, {6, 2, 3, 2}, {2, 1}, {1, 2}, {2, 1}, 2},
    {"2d depthwise", {2, 3, 5, 5}, {6, 1, 3, 3}, {1}, {1}, {1}, 3},
    {"2d wide padding", {1, 2, 4, 3}, {2, 2, 2, 2}, {3}, {5}, {1}},
    {"3d", {1, 2, 4, 5, 4}, {3, 2, 2, 3, 2}, {1, 2, 1}, {1}, {1}},
    {"1d transposed", {2, 4, 6}, {4, 3, 3}, {2}, {1}, {1}, 1, true, {1}},
    {"2d transposed groups", {2, 4, 5, 4}, {4, 2, 3, 2}, {2, 1}, {1, 0}, {1, 2}, 2, true, {1, 0}},
    {"2d transposed beyond the stride", {1, 2, 3, 3}, {2, 2, 2, 2}, {1}, {0}, {3}, 1, true, {2}},
    {"3d transposed", {1, 2, 3, 2, 3}, {2, 3, 2, 2, 2}, {2}, {0}, {1}, 1, true, {1}},
    {"no samples", {0, 3, 7, 8}, {4, 3, 3, 2}, {1}, {0}, {1}},
};

Tensor forward(const Case& c, const Tensor& x, const Tensor& w, const std::optional<Tensor>& b) {
  return at::convolution(x, w, b, c.stride, c.padding, c.dilation, c.transposed, c.output_padding, c.groups);
}
std::array<Tensor, 3> backward(const Case& c, const Tensor& grad, const Tensor& x, const Tensor& w) {
  auto [gx, gw, gb] =
      at::convolution_backward(grad, x, w, OptionalIntArrayRef(std::nullopt), c.stride, c.padding, c.dilation,
                               c.transposed, c.output_padding, c.groups, std::array<bool, 3>{true, true, true});
  return {gx, gw, gb};
}

void expect_those_of_the_cpu(const Case& c, ScalarType dtype, Arrangement layout) {
  const std::string what = std::string(c.name) + " " + toString(dtype);
  const Tensor x = random_tensor(c.x, dtype, layout), w = random_tensor(c.w, dtype, layout);
  const Tensor b = random_tensor({c.transposed ? c.w[1] * c.groups : c.w[0]}, dtype);
  const Tensor want = forward(c, x, w, b), got = forward(c, to_gpu(x), to_gpu(w), to_gpu(b));
  expect_same(got, want, what);
  const Tensor grad = random_tensor(want.sizes().vec(), dtype, layout);
  const auto gradients = backward(c, to_gpu(grad), to_gpu(x), to_gpu(w)), wanted = backward(c, grad, x, w);
  for (size_t i = 0; i < 3; ++i) expect_same(gradients[i], wanted[i], what + " gradient " + std::to_string(i));
}

TEST(CudaConvolution, HasTheResultsOfTheCpu) {
  in_all_orders([] {
    globalContext().setAllowTF32CuDNN(false);
    for (const ScalarType dtype : {kFloat, kHalf}) {
      for (const Case& c : kCases) expect_those_of_the_cpu(c, dtype, Arrangement::kContiguous);
    }
    EXPECT_GT(cudnn_standin::executions(), 0u);
    cuda::cudnn::clear_cache();
    EXPECT_EQ(cudnn_standin::live_descriptors(), 0u);
  });
  in_own_process([] {
    globalContext().setAllowTF32CuDNN(false);
    for (const ScalarType dtype : {kDouble, kBFloat16, kComplexFloat, kLong, kByte}) {
      for (const Case& c : kCases) expect_those_of_the_cpu(c, dtype, Arrangement::kContiguous);
    }
    for (const Case& c : kCases) expect_those_of_the_cpu(c, kFloat, Arrangement::kStrided);
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaConvolution, HasTheResultsOfTheCpuWithoutCudnn) {
  in_own_process([] {
    globalContext().setUserEnabledCuDNN(false);
    for (const ScalarType dtype :
         {kFloat, kDouble, kHalf, kBFloat16, kComplexFloat, kComplexDouble, kByte, kChar, kShort, kInt, kLong}) {
      for (const Case& c : kCases) expect_those_of_the_cpu(c, dtype, Arrangement::kContiguous);
    }
    for (const Case& c : kCases) expect_those_of_the_cpu(c, kFloat, Arrangement::kStrided);
    EXPECT_EQ(cudnn_standin::calls(), 0u);
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaConvolution, WithoutEnginesKernelsOfOursRun) {
  in_own_process([] {
    cudnn_standin::reset({.no_engines = true});
    const Case& c = kCases[1];
    const Tensor x = random_tensor(c.x), w = random_tensor(c.w);
    const auto names =
        work_of([&] { expect_same(forward(c, to_gpu(x), to_gpu(w), {}), forward(c, x, w, {}), c.name); });
    EXPECT_EQ(count_of(names, "cudnnBackendExecute"), 0);
    EXPECT_EQ(count_of(names, "convolution"), 1);
    const uint64_t calls = cudnn_standin::calls();
    forward(c, to_gpu(x), to_gpu(w), {});
    EXPECT_EQ(cudnn_standin::calls(), calls + 1) << "the library is asked again";  // cudnnSetStream
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaConvolution, KernelsOfOursHaveTheSameBitsInEveryOrder) {
  in_own_process([] {
    globalContext().setUserEnabledCuDNN(false);
    // The sums of a gradient of the weight are a warp's.
    const Case c = {"2d", {3, 4, 20, 10}, {4, 2, 3, 3}, {1}, {1}, {1}, 2};
    const Tensor x = to_gpu(random_tensor(c.x)), w = to_gpu(random_tensor(c.w));
    std::vector<std::vector<matrix_testing::Number>> first;
    for (const simt::Order order : {simt::Order::kForward, simt::Order::kReverse, simt::Order::kRandom}) {
      simt::options().order = order;
      const Tensor y = forward(c, x, w, {});
      const auto gradients = backward(c, y, x, w);
      std::vector<std::vector<matrix_testing::Number>> all = {matrix_testing::values(y)};
      for (const Tensor& g : gradients) all.push_back(matrix_testing::values(g));
      if (first.empty()) first = all;
      EXPECT_EQ(all, first);
    }
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaConvolution, ChannelsLastStays) {
  in_own_process([] {
    const Case& c = kCases[2];
    const Tensor x = at::contiguous(random_tensor(c.x, kHalf), MemoryFormat::ChannelsLast);
    const Tensor w = random_tensor(c.w, kHalf), want = forward(c, x, w, {});
    const Tensor gx = at::contiguous(to_gpu(x), MemoryFormat::ChannelsLast), gw = to_gpu(w);
    const Tensor got = forward(c, gx, gw, {});
    EXPECT_TRUE(got.is_contiguous(MemoryFormat::ChannelsLast));
    expect_same(got, want, "channels last");
    const Tensor lw = at::contiguous(gw, MemoryFormat::ChannelsLast);
    const auto names = work_of([&] { forward(c, gx, lw, {}); });
    EXPECT_EQ(names, std::vector<std::string>{"cudnnBackendExecute"});
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaConvolution, ReluAndSumAreOneGraphWhereThereIsAnEngine) {
  in_own_process([] {
    const Case& c = kCases[1];
    for (const ScalarType dtype : {kHalf, kBFloat16, kFloat, kDouble}) {
      const Tensor x = random_tensor(c.x, dtype), w = random_tensor(c.w, dtype), b = random_tensor({4}, dtype);
      const Tensor z = random_tensor(forward(c, x, w, {}).sizes().vec(), dtype);
      const auto call = [&](const Tensor& x, const Tensor& w, const Tensor& z, const Tensor& b) {
        return at::cudnn_convolution_add_relu(x, w, z, 0.5, b, c.stride, c.padding, c.dilation, c.groups);
      };
      const Tensor want = call(x, w, z, b), gx = to_gpu(x), gw = to_gpu(w), gz = to_gpu(z), gb = to_gpu(b);
      globalContext().setAllowTF32CuDNN(false);
      Tensor got;
      const auto names = work_of([&] { got = call(gx, gw, gz, gb); });
      expect_same(got, want, toString(dtype));
      EXPECT_EQ(count_of(names, "cudnnBackendExecute"), 1);
      EXPECT_EQ(names.size(), dtype == kHalf || dtype == kBFloat16 ? 1u : 2u);
      globalContext().setAllowTF32CuDNN(true);
      EXPECT_EQ(work_of([&] { call(gx, gw, gz, gb); }).size(), dtype == kDouble ? 2u : 1u);
    }
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

// What is added to the library's sums: vectors of one channel, of several, and element by element.
TEST(CudaConvolution, BiasAndReluOfEveryLayout) {
  in_own_process([] {
    globalContext().setAllowTF32CuDNN(false);
    for (const ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
      for (const int64_t channels : {3, 8}) {
        for (const int64_t size : {3, 4}) {
          for (const MemoryFormat format : {MemoryFormat::Contiguous, MemoryFormat::ChannelsLast}) {
            const auto sample = [&](const std::vector<int64_t>& sizes) {
              return at::contiguous(random_tensor(sizes, dtype), format);
            };
            const Tensor x = sample({2, 4, size, size}), w = random_tensor({channels, 4, 1, 1}, dtype),
                         b = random_tensor({channels}, dtype), z = sample({2, channels, size, size});
            const auto on = [&](const Tensor& t) { return at::contiguous(to_gpu(t), format); };
            const Case c = {"1x1", {}, {}, {1}, {0}, {1}};
            expect_same(forward(c, on(x), to_gpu(w), to_gpu(b)), forward(c, x, w, b), toString(dtype));
            const auto call = [](const Tensor& x, const Tensor& w, const Tensor& z, const Tensor& b) {
              return at::cudnn_convolution_add_relu(x, w, z, 2, b, {1}, {0}, {1}, 1);
            };
            cudnn_standin::reset({.only_fallback = true});  // which has no such graph
            cuda::cudnn::clear_cache();
            expect_same(call(on(x), to_gpu(w), on(z), to_gpu(b)), call(x, w, z, b), toString(dtype));
            cudnn_standin::reset();
            cuda::cudnn::clear_cache();
          }
        }
      }
    }
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaConvolution, EnginesAreThoseThatTheContextAllows) {
  in_own_process([] {
    Context& context = globalContext();
    const Case& c = kCases[1];
    const Tensor x = to_gpu(random_tensor(c.x)), w = to_gpu(random_tensor(c.w));
    EXPECT_TRUE(context.allowTF32CuDNN());
    forward(c, x, w, {});
    EXPECT_TRUE(has_note(CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
    EXPECT_FALSE(has_note(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS));
    {
      const NoTF32Guard guard;
      forward(c, x, w, {});
      EXPECT_FALSE(has_note(CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
    }
    context.setAllowTF32CuDNN(false);
    forward(c, x, w, {});
    EXPECT_FALSE(has_note(CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
    EXPECT_TRUE(has_note(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC));
    context.setDeterministicCuDNN(true);
    forward(c, x, w, {});
    EXPECT_EQ(cudnn_standin::last_notes(), 0u);
    context.setDeterministicCuDNN(false);
    context.setDeterministicAlgorithms(true);
    forward(c, x, w, {});
    EXPECT_EQ(cudnn_standin::last_notes(), 0u);
    context.setDeterministicAlgorithms(false);
    // Sums of 16-bit numbers are of float32.
    forward(c, at::to(x, kHalf), at::to(w, kHalf), {});
    EXPECT_FALSE(has_note(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION));
    cudnn_standin::reset({.only_fallback = true});
    cuda::cudnn::clear_cache();
    forward(c, x, w, {});
    EXPECT_EQ(cudnn_standin::executions(), 1u);
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaConvolution, PlansAreMadeOnceForEachProblem) {
  in_own_process([] {
    const Case& c = kCases[1];
    const Tensor x = to_gpu(random_tensor(c.x)), w = to_gpu(random_tensor(c.w));
    for (int i = 0; i < 3; ++i) forward(c, x, w, {});
    EXPECT_EQ(cudnn_standin::plans(), 1u);
    cuda::cudnn::CacheStats stats = cuda::cudnn::cache_stats();
    EXPECT_EQ(stats.entries, 1u);
    EXPECT_EQ(stats.hits, 2u);
    EXPECT_EQ(stats.misses, 1u);
    EXPECT_EQ(stats.limit, 10000u);
    Case other = c;
    other.padding = {1};
    forward(other, x, w, {});
    EXPECT_EQ(cudnn_standin::plans(), 2u);
    // Other threads have the same plans.
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) forward(c, x, w, {});
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(cudnn_standin::plans(), 2u);
    EXPECT_LE(cudnn_standin::live_handles(), 5u);
    // Room for one.
    cuda::cudnn::set_cache_limit(1);
    EXPECT_EQ(cuda::cudnn::cache_stats().entries, 1u);
    forward(c, x, w, {});
    forward(other, x, w, {});
    EXPECT_EQ(cudnn_standin::plans(), 3u);
    cuda::cudnn::clear_cache();
    EXPECT_EQ(cudnn_standin::live_descriptors(), 0u);
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaConvolution, BenchmarksTimeEngines) {
  in_own_process([] {
    globalContext().setBenchmarkCuDNN(true);
    globalContext().setBenchmarkLimitCuDNN(2);
    const Case& c = kCases[1];
    const Tensor x = random_tensor(c.x), w = random_tensor(c.w), gx = to_gpu(x), gw = to_gpu(w);
    forward(c, gx, gw, {});
    EXPECT_EQ(cudnn_standin::plans(), 2u);
    EXPECT_EQ(cudnn_standin::executions(), 5u);  // each once for warmth and once for the time, and the winner
    forward(c, gx, gw, {});
    EXPECT_EQ(cudnn_standin::executions(), 6u);
    globalContext().setBenchmarkLimitCuDNN(0);
    globalContext().setAllowTF32CuDNN(false);
    expect_same(forward(c, gx, gw, {}), forward(c, x, w, {}), "benchmark");
    EXPECT_EQ(cudnn_standin::plans(), 4u);
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaConvolution, EveryFailingCallOfTheLibraryIsAnError) {
  const Case& c = kCases[1];
  const auto body = [&] {
    const Tensor x = random_tensor(c.x), w = random_tensor(c.w);
    globalContext().setAllowTF32CuDNN(false);
    expect_same(forward(c, to_gpu(x), to_gpu(w), {}), forward(c, x, w, {}), c.name);
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
      EXPECT_NE(matrix_testing::error_of(body).find(
                    "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED when calling `cudnn"),
                std::string::npos);
      body();
      cuda::cudnn::clear_cache();
      EXPECT_EQ(cudnn_standin::live_descriptors(), 0u);
      EXPECT_EQ(cuda_standin::misuse(), "");
    });
  }
  ::munmap(calls, sizeof(uint64_t));
}

TEST(CudaConvolution, LackOfMemoryForOneEngineIsNoError) {
  in_own_process([] {
    cuda_standin::reset({.devices = 1, .memory_bytes = size_t{4} << 20});
    globalContext().setAllowTF32CuDNN(false);
    const Case& c = kCases[1];
    const Tensor x = random_tensor(c.x), w = random_tensor(c.w), gx = to_gpu(x), gw = to_gpu(w);
    // No room for any workspace: the engine that wants none runs.
    std::vector<Tensor> taken;
    try {
      for (;;) taken.push_back(at::empty({20000}, TensorOptions().dtype(kFloat).device(kGpu)));
    } catch (const c10::OutOfMemoryError&) {
    }
    expect_same(forward(c, gx, gw, {}), forward(c, x, w, {}), "short of memory");
    EXPECT_EQ(cudnn_standin::executions(), 1u);
    EXPECT_EQ(cudnn_standin::last_notes(), 0u);
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaConvolution, GraphsReplayThem) {
  in_all_orders([] {
    globalContext().setDeterministicCuDNN(true);
    const Case& c = kCases[2];
    const Tensor w = to_gpu(random_tensor(c.w));
    Tensor x = to_gpu(random_tensor(c.x));
    const auto work = [&] {
      const Tensor y = forward(c, x, w, {});
      const auto gradients = backward(c, y, x, w);
      return std::vector<Tensor>{y, gradients[0], gradients[1]};
    };
    c10::cuda::device_synchronize();
    cuda::CUDAGraph graph;
    std::vector<Tensor> out;
    {
      torch::cuda::graph capture(graph);
      out = work();
    }
    for (int i = 0; i < 2; ++i) {
      at::copy_(x, random_tensor(c.x));
      graph.replay();
      const std::vector<Tensor> want = work();
      for (size_t k = 0; k < out.size(); ++k)
        EXPECT_EQ(matrix_testing::values(out[k]), matrix_testing::values(want[k])) << k;
    }
    cuda::cudnn::clear_cache();
  });
}

}  // namespace
}  // namespace at
