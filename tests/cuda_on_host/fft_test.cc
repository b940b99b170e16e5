// Fourier transforms of CUDA tensors: layouts, precisions, plans, memory, errors.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cuda/fft/plan.h"
#include "aten/cuda/graph.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/fft/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "c10/cuda/caching_allocator.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/stream.h"
#include "c10/cuda/testing.h"
#include "tests/cuda_on_host/fft/standin.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace at {
namespace {

using c10::cuda::testing::in_all_orders;
using c10::cuda::testing::in_own_process;

const Device kGpu(DeviceType::CUDA, 0);

Tensor to_gpu(const Tensor& t) {
  // The same strides in memory of its own.
  int64_t last = t.numel() == 0 ? 0 : 1;
  for (int64_t d = 0; d < t.dim() && last != 0; ++d) last += (t.size(d) - 1) * t.stride(d);
  const Tensor block = make_view(t, {last}, {1}, t.storage_offset());
  return make_view(at::to(block, kGpu, t.scalar_type()), t.sizes(), t.strides(), 0);
}
Tensor to_cpu(const Tensor& t) {
  return at::to(t, Device(DeviceType::CPU), t.scalar_type());
}
Tensor complex_sample(IntArrayRef sizes, ScalarType dtype = kDouble) {
  return at::complex(testing::sample(sizes, dtype, 1), testing::sample(sizes, dtype, 2));
}

void expect_same(const Tensor& gpu, const Tensor& cpu, double tolerance = 1e-10) {
  ASSERT_EQ(testing::sizes(gpu), testing::sizes(cpu));
  const auto wide = [](const Tensor& t) {
    const Tensor all = at::to(t, isComplexType(t.scalar_type()) ? kComplexDouble : kDouble);
    return all.is_complex() ? at::view_as_real(all) : all;
  };
  testing::expect_close(wide(to_cpu(gpu)), wide(cpu), tolerance, tolerance);
}

// Runs `body` in a process of its own, in every order of execution, and looks for misuse and leaks.
void on_device(const std::function<void()>& body) {
  in_all_orders([&] {
    body();
    cuda::fft::clear_plan_cache(0);
    EXPECT_EQ(cufft_standin::live_plans(), 0u);
    c10::cuda::CUDACachingAllocator::emptyCache();
  });
}

std::vector<std::string> work_of(const std::function<void()>& call) {
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  cuda_standin::clear_trace();
  call();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  std::vector<std::string> names;
  for (const cuda_standin::Executed& e : cuda_standin::trace()) names.push_back(e.name);
  return names;
}

TEST(CudaFft, AnyLayoutAndAnyDimensions) {
  on_device([] {
    const std::vector<std::vector<int64_t>> all = {{0}, {3}, {1, 2}, {3, 1}, {0, 3}, {0, 1, 2}, {3, 0, 1, 2}};
    for (const Tensor& x : testing::layouts(complex_sample({3, 4, 5, 2}))) {
      for (const std::vector<int64_t>& dims : all) {
        const Tensor y = at::_fft_c2c(x, dims, 1, false), z = at::_fft_c2c(to_gpu(x), dims, 1, false);
        expect_same(z, y);
        EXPECT_EQ(z.strides(), y.strides());
      }
    }
    for (const Tensor& x : testing::layouts(testing::sample({3, 4, 5, 2}, kDouble))) {
      for (const std::vector<int64_t>& dims : all) {
        for (const bool onesided : {false, true}) {
          const Tensor y = at::_fft_r2c(x, dims, 2, onesided), z = at::_fft_r2c(to_gpu(x), dims, 2, onesided);
          expect_same(z, y);
          EXPECT_EQ(z.strides(), y.strides());
        }
        const Tensor half = at::_fft_r2c(x, dims, 0, true);
        const int64_t n = x.size(dims.back());
        expect_same(at::_fft_c2r(to_gpu(half), dims, 2, n), x);
      }
    }
  });
}

// Imaginary parts that do not count do not count here, either, and what is transformed to real numbers stays.
TEST(CudaFft, HalfTransformsStay) {
  on_device([] {
    for (const int64_t n : {6, 7, 1, 2}) {
      const Tensor x = complex_sample({3, n / 2 + 1}), on_gpu = to_gpu(x);
      expect_same(at::_fft_c2r(on_gpu, {1}, 0, n), at::_fft_c2r(x, {1}, 0, n));
      expect_same(at::_fft_c2r(on_gpu, {0, 1}, 0, n), at::_fft_c2r(x, {0, 1}, 0, n));
      expect_same(on_gpu, x);
    }
  });
}

TEST(CudaFft, UnalignedRealNumbersAndOverlappingOnes) {
  on_device([] {
    const Tensor line = testing::sample({21}, kDouble), on_gpu = to_gpu(line);
    const Tensor x = at::narrow(line, 0, 1, 20), y = at::narrow(on_gpu, 0, 1, 20);
    expect_same(at::fft_rfft(y), at::fft_rfft(x));
    Tensor out = at::narrow(at::empty({7}, TensorOptions(kGpu).dtype(kDouble)), 0, 1, 6);
    at::_fft_c2r_out(out, at::fft_rfft(at::narrow(y, 0, 0, 6)), {0}, 2, 6);
    expect_same(out, at::narrow(x, 0, 0, 6));
    expect_same(at::fft_rfft(at::unfold(on_gpu, 0, 6, 4)), at::fft_rfft(at::unfold(line, 0, 6, 4)));
    const Tensor z = complex_sample({4, 1}), wide = at::expand(to_gpu(z), {4, 5});
    expect_same(at::fft_fft2(wide), at::fft_fft2(at::expand(z, {4, 5})));
  });
}

TEST(CudaFft, HalfPrecision) {
  on_device([] {
    const Tensor x = testing::sample({3, 8}), h = to_gpu(at::to(x, kHalf));
    const Tensor y = at::fft_rfft(h);
    EXPECT_EQ(y.scalar_type(), kComplexHalf);
    expect_same(y, at::fft_rfft(at::to(at::to(x, kHalf), kFloat)), 0.01);
    expect_same(at::fft_irfft(y), x, 0.01);
    expect_same(at::fft_fft(h, {}, -1, "ortho"), at::fft_fft(x, {}, -1, "ortho"), 0.01);
    const Tensor turned = at::transpose(to_gpu(at::to(testing::sample({8, 3}), kHalf)), 0, 1);
    expect_same(at::fft_rfft(turned), at::fft_rfft(at::transpose(testing::sample({8, 3}), 0, 1)), 0.01);
    testing::expect_error<Error>([&] { at::fft_rfft(to_gpu(at::to(testing::sample({6}), kHalf))); },
                                 "cuFFT only supports dimensions whose sizes are powers of two when computing in half");
    EXPECT_EQ(at::fft_rfft(to_gpu(at::to(testing::sample({6}), kBFloat16))).scalar_type(), kComplexFloat);
  });
}

TEST(CudaFft, OneCallOfTheLibrary) {
  on_device([] {
    const Tensor x = to_gpu(complex_sample({2, 3, 4, 5}));
    using Names = std::vector<std::string>;
    EXPECT_EQ(work_of([&] { at::fft_fft(x); }), Names{"cufftXtExec"});
    EXPECT_EQ(work_of([&] { at::fft_fft(x, {}, 0); }), Names{"cufftXtExec"});
    EXPECT_EQ(work_of([&] { at::fft_fftn(x, {}, IntArrayRef{1, 2, 3}); }), Names{"cufftXtExec"});
    EXPECT_EQ(work_of([&] { at::fft_rfft(at::real(x)); }), Names{"cufftXtExec"});
    EXPECT_EQ(work_of([&] { at::fft_ifft(x); }), (Names{"cufftXtExec", "mul"}));
  });
}

TEST(CudaFft, PlansAreKept) {
  on_device([] {
    EXPECT_EQ(at::_cufft_get_plan_cache_max_size(0), 4096);
    EXPECT_EQ(cuda::fft::plan_cache_size(0), 0);
    const auto transform = [](int64_t n) { at::fft_fft(to_gpu(complex_sample({n}))); };
    const auto made_by = [&](int64_t n) {
      const uint64_t before = cufft_standin::plans_made();
      transform(n);
      return cufft_standin::plans_made() - before;
    };
    at::_cufft_set_plan_cache_max_size(0, 2);
    EXPECT_EQ(made_by(4), 1u);
    EXPECT_EQ(made_by(5), 1u);
    EXPECT_EQ(made_by(4), 0u);
    EXPECT_EQ(made_by(6), 1u);  // the plan for 5 goes
    EXPECT_EQ(made_by(4), 0u);
    EXPECT_EQ(made_by(5), 1u);
    EXPECT_EQ(at::_cufft_get_plan_cache_size(0), 2);
    EXPECT_EQ(cuda::fft::plan_cache_size(1), 0);
    cuda::fft::set_plan_cache_max_size(0, 0);
    EXPECT_EQ(cuda::fft::plan_cache_size(0), 0);
    EXPECT_EQ(made_by(4), 1u);
    EXPECT_EQ(cufft_standin::live_plans(), 0u);
    at::_cufft_set_plan_cache_max_size(0, 4);
    EXPECT_EQ(made_by(4), 1u);
    at::_cufft_clear_plan_cache(0);
    EXPECT_EQ(at::_cufft_get_plan_cache_size(0), 0);
    testing::expect_error<Error>([] { cuda::fft::set_plan_cache_max_size(0, -1); }, "must be non-negative, but got -1");
    testing::expect_error<Error>([] { cuda::fft::plan_cache_size(2); },
                                 "expected 0 <= device index < 2, but got device with index 2");
  });
}

// Whichever call of the library fails, the error says which, nothing is lost, and the next transform is right.
TEST(CudaFft, EachCallOfTheLibraryFails) {
  in_own_process([] {
    cuda_standin::reset();
    const Tensor x = complex_sample({4, 6}), on_gpu = to_gpu(x);
    cufft_standin::reset();
    at::fft_fft2(on_gpu);
    const auto calls = static_cast<int64_t>(cufft_standin::calls());
    ASSERT_GT(calls, 4);
    for (int64_t n = 0; n < calls; ++n) {
      cuda::fft::clear_plan_cache(0);
      cufft_standin::reset({.fail_call = n});
      testing::expect_error<Error>([&] { at::fft_fft2(on_gpu); },
                                   "cuFFT error: CUFFT_ALLOC_FAILED when calling `cufft");
      expect_same(at::fft_fft2(on_gpu), at::fft_fft2(x));
    }
    cuda::fft::clear_plan_cache(0);
    EXPECT_EQ(cufft_standin::live_plans(), 0u);
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

// Graphs go on with the plan that they were captured with, whatever becomes of the cache.
TEST(CudaFft, CapturedTransforms) {
  in_all_orders([] {
    const Tensor x = complex_sample({4, 6}), y = complex_sample({4, 6});
    Tensor input = to_gpu(x), out;
    at::fft_fft2(input);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    {
      cuda::CUDAGraph graph;
      {
        torch::cuda::graph capture(graph);
        out = at::fft_irfft(at::fft_fft2(input), 10);
      }
      at::_cufft_clear_plan_cache(0);
      EXPECT_EQ(cufft_standin::live_plans(), 2u);
      for (const Tensor& values : {y, x}) {
        at::copy_(input, values);
        graph.replay();
        expect_same(out, at::fft_irfft(at::fft_fft2(values), 10));
      }
    }
    out = Tensor();
    c10::cuda::CUDACachingAllocator::emptyCache();
  });
}

TEST(CudaFft, StreamsAndDevices) {
  on_device([] {
    const Tensor x = complex_sample({4, 6}), y = at::fft_fft(x);
    const Tensor second = at::to(x, Device(DeviceType::CUDA, 1), x.scalar_type());
    expect_same(at::fft_fft(second), y);
    EXPECT_EQ(cuda::fft::plan_cache_size(1), 1);
    const Tensor on_gpu = to_gpu(x);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const c10::cuda::CUDAStream side = c10::cuda::getStreamFromPool();
    Tensor z;
    {
      const c10::cuda::CUDAStreamGuard guard(side);
      z = at::fft_fft(on_gpu);
    }
    side.synchronize();
    expect_same(z, y);
    cuda::fft::clear_plan_cache(1);
  });
}

}  // namespace
}  // namespace at
