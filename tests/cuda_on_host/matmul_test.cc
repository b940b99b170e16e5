// Products of CUDA tensors: layouts, numbers, memory, errors, and how often the library is asked.
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "aten/core/context.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cuda/blas/blas.h"
#include "aten/cuda/blas/cublas_handle.h"
#include "aten/cuda/matmul/product.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/matrix_test_support.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/cuda/caching_allocator.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/stream.h"
#include "c10/cuda/testing.h"
#include "tests/cuda_on_host/blas/standin.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace at {
namespace {

using c10::cuda::testing::in_all_orders;
using c10::cuda::testing::in_own_process;
using matrix_testing::Arrangement;
using matrix_testing::error_of;
using matrix_testing::expect_same;
using matrix_testing::random_tensor;
using matrix_testing::tolerance_of;

std::vector<matrix_testing::Number> elements(const Tensor& t) {
  return matrix_testing::values(t);
}

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

// Runs `body` in a process of its own, in every order of execution, and looks for misuse and leaks.
void on_device(const std::function<void()>& body) {
  in_all_orders([&] {
    body();
    c10::cuda::CUDACachingAllocator::emptyCache();
    EXPECT_EQ(cublas_standin::live_descriptors(), 0u);
  });
}

std::vector<std::string> pieces_of_work() {
  std::vector<std::string> names;
  for (const cuda_standin::Executed& e : cuda_standin::trace()) names.push_back(e.name);
  return names;
}
// What `call` does on the device, by name.
std::vector<std::string> work_of(const std::function<void()>& call) {
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  cuda_standin::clear_trace();
  call();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return pieces_of_work();
}

// What `body` says in a process of its own.
bool said_by_process(const std::function<bool()>& body) {
  auto* said =
      static_cast<bool*>(::mmap(nullptr, sizeof(bool), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  in_own_process([&] { *said = body(); });
  const bool result = *said;
  ::munmap(said, sizeof(bool));
  return result;
}

class Random {
 public:
  explicit Random(unsigned seed) : bits_(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(bits_() % static_cast<uint64_t>(n)); }

 private:
  std::mt19937_64 bits_;
};

// A matrix, or a batch of them, on the CPU: by rows or by columns, with gaps, at an offset, repeated, by every second
// element.
Tensor any_matrix(Random& random, std::vector<int64_t> sizes, ScalarType dtype) {
  const size_t rank = sizes.size();
  std::vector<int64_t> memory = sizes;
  const bool turned = random.below(2) == 0;
  if (turned) std::swap(memory[rank - 1], memory[rank - 2]);
  const int64_t gap = random.below(3), apart = random.below(5) == 0 ? 2 : 1, offset = random.below(4);
  std::vector<int64_t> strides(rank);
  strides[rank - 1] = apart;
  strides[rank - 2] = std::max<int64_t>(1, memory[rank - 1] * apart + gap);
  if (rank == 3) strides[0] = random.below(4) == 0 ? 0 : memory[1] * strides[1] + random.below(2) * 5;
  int64_t last = 1;
  for (size_t d = 0; d < rank; ++d) last += std::max<int64_t>(0, memory[d] - 1) * strides[d];
  if (turned) std::swap(strides[rank - 1], strides[rank - 2]);
  const Tensor block = random_tensor({last + offset}, dtype);
  return make_view(block, sizes, strides, offset);
}

TEST(CudaMatmul, RandomProductsAreTheCpus) {
  on_device([] {
    Random random(1);
    constexpr ScalarType kTypes[] = {kFloat, kDouble, kHalf, kBFloat16, kComplexFloat, kComplexDouble};
    constexpr int64_t kSizes[] = {1, 1, 2, 3, 5, 8, 16, 17, 0};
    for (int round = 0; round < 150; ++round) {
      const ScalarType dtype = kTypes[random.below(6)];
      const bool batched = random.below(2) == 0;
      const auto size = [&] { return kSizes[random.below(random.below(6) == 0 ? 9 : 8)]; };
      const int64_t m = size(), n = size(), k = size(), l = 1 + random.below(3);
      const auto sizes = [&](int64_t rows, int64_t columns) {
        return batched ? std::vector<int64_t>{l, rows, columns} : std::vector<int64_t>{rows, columns};
      };
      const Tensor a = any_matrix(random, sizes(m, k), dtype), b = any_matrix(random, sizes(k, n), dtype);
      const std::vector<std::vector<int64_t>> addends = {{}, {n}, {1}, {m, 1}, {1, n}, {m, n}};
      const Tensor add = random_tensor(addends[static_cast<size_t>(random.below(6))], dtype);
      const double beta = std::vector<double>{0, 1, 1, 2}[static_cast<size_t>(random.below(4))];
      const double alpha = std::vector<double>{0, 1, 1, -0.5}[static_cast<size_t>(random.below(4))];
      SCOPED_TRACE(c10::str(round, ": ", toString(dtype), " ", a.sizes(), a.strides(), " ", b.sizes(), b.strides(),
                            " + ", add.sizes(), " beta ", beta, " alpha ", alpha));
      const Tensor x = to_gpu(a), y = to_gpu(b), z = to_gpu(add);
      if (batched) {
        expect_same(to_cpu(at::bmm(x, y)), at::bmm(a, b), "bmm");
        expect_same(to_cpu(at::baddbmm(z, x, y, beta, alpha)), at::baddbmm(add, a, b, beta, alpha), "baddbmm");
        expect_same(to_cpu(at::addbmm(z, x, y, beta, alpha)), at::addbmm(add, a, b, beta, alpha), "addbmm");
      } else {
        expect_same(to_cpu(at::mm(x, y)), at::mm(a, b), "mm");
        expect_same(to_cpu(at::addmm(z, x, y, beta, alpha)), at::addmm(add, a, b, beta, alpha), "addmm");
        Tensor wanted = any_matrix(random, {m, n}, dtype);
        Tensor out = to_gpu(wanted);
        at::addmm_out(out, z, x, y, beta, alpha);
        expect_same(to_cpu(out), at::addmm(add, a, b, beta, alpha), "addmm_out");
        at::addmm_(out, x, y, beta, alpha);
        expect_same(to_cpu(out), at::addmm(at::addmm(add, a, b, beta, alpha), a, b, beta, alpha), "addmm_");
      }
    }
  });
}

TEST(CudaMatmul, TransposedAndPaddedMatricesAreNotCopied) {
  on_device([] {
    const std::vector<std::string> product{"cublasLtMatmul"};
    const Tensor a = to_gpu(random_tensor({6, 5})), b = to_gpu(random_tensor({5, 4})),
                 bias = to_gpu(random_tensor({4}));
    const Tensor wide = to_gpu(random_tensor({5, 9})), batch = to_gpu(random_tensor({3, 5, 7})),
                 one = at::expand(b, {3, 5, 4}, false);
    Tensor out = to_gpu(random_tensor({4, 6}));
    EXPECT_EQ(work_of([&] { at::mm(a, b); }), product);
    EXPECT_EQ(work_of([&] { at::mm(at::t(b), at::t(a)); }), product);
    EXPECT_EQ(work_of([&] { at::mm(a, at::slice(wide, 1, 2, 7)); }), product);
    EXPECT_EQ(work_of([&] { at::mm(a, at::t(at::slice(at::t(wide), 0, 1, 8))); }), product);
    EXPECT_EQ(work_of([&] {
                Tensor turned = at::t(out);
                at::mm_out(turned, a, b);
              }),
              product);
    EXPECT_EQ(work_of([&] { at::bmm(at::transpose(batch, 1, 2), one); }), product);
    EXPECT_EQ(work_of([&] { at::addmm(bias, a, b); }), product);
    EXPECT_EQ(work_of([&] { at::addmm(bias, a, b, 1, 0.5); }), product);
    EXPECT_EQ(work_of([&] { at::linear(at::t(wide), to_gpu(random_tensor({4, 5})), bias); }).back(), "cublasLtMatmul");
    EXPECT_EQ(work_of([&] { at::addmm(at::t(out), a, b, 2, 1); }).size(), 2u);  // an addend by columns is copied
    EXPECT_EQ(work_of([&] { at::addmm(to_gpu(random_tensor({6, 4})), a, b, 2, 1); }).back(), "cublasLtMatmul");
    Tensor self = to_gpu(random_tensor({6, 4}));
    EXPECT_EQ(work_of([&] { at::addmm_(self, a, b); }), product);
    EXPECT_EQ(work_of([&] { at::mv(a, at::select(b, 1, 0)); }), product);
    // Every second column of each row.
    EXPECT_EQ(work_of([&] { at::mm(a, at::slice(wide, 1, 0, 9, 2)); }).size(), 2u);
  });
}

TEST(CudaMatmul, EpiloguesThatTheLibraryHasNotAreStepsOfOurs) {
  on_device([] {
    for (const bool refuse : {false, true}) {
      cublas_standin::reset({.refuse_epilogues = refuse});
      cuda::blas::clear_cache();
      for (const ScalarType dtype : {kFloat, kDouble, kBFloat16}) {
        const Tensor a = random_tensor({6, 5}, dtype), b = random_tensor({5, 4}, dtype),
                     bias = random_tensor({4}, dtype);
        const Tensor x = to_gpu(a), y = to_gpu(b), z = to_gpu(bias);
        expect_same(to_cpu(at::addmm(z, x, y)), at::addmm(bias, a, b), "addmm");
        expect_same(to_cpu(at::linear(x, to_gpu(at::contiguous(at::t(b))), z)), at::addmm(bias, a, b), "linear");
        if (refuse || dtype == kDouble) continue;  // activations need kernels of their own then
        for (const bool gelu : {false, true}) {
          Tensor out = at::empty_contiguous({6, 4}, dtype, kGpu);
          const auto activation = gelu ? cuda::blas::Activation::kGeluTanh : cuda::blas::Activation::kRelu;
          EXPECT_EQ(work_of([&] { cuda::product("test", x, y, &z, 1, 1, out, activation); }),
                    std::vector<std::string>{"cublasLtMatmul"});
          const Tensor sum = at::addmm(bias, a, b);
          expect_same(to_cpu(out), gelu ? at::gelu(sum, "tanh") : at::relu(sum), gelu ? "gelu" : "relu");
        }
      }
    }
  });
}

// A linear layer's weight and bias have their gradients of one call.
TEST(CudaMatmul, GradientsOfAWeightAndItsBias) {
  on_device([] {
    for (const bool refuse : {false, true}) {
      cublas_standin::reset({.refuse_epilogues = refuse});
      cuda::blas::clear_cache();
      for (const ScalarType dtype : {kFloat, kDouble, kBFloat16}) {
        const Tensor grad = random_tensor({7, 5}, dtype), x = random_tensor({7, 3}, dtype);
        const auto expected = at::_fused_linear_parameters_backward(grad, x);
        for (const bool by_columns : {false, true}) {
          const Tensor g = by_columns ? at::t(to_gpu(at::contiguous(at::t(grad)))) : to_gpu(grad), on_gpu = to_gpu(x);
          std::tuple<Tensor, Tensor> results;
          const auto work = work_of([&] { results = at::_fused_linear_parameters_backward(g, on_gpu); });
          expect_same(to_cpu(std::get<0>(results)), std::get<0>(expected), "weight");
          expect_same(to_cpu(std::get<1>(results)), std::get<1>(expected), "bias");
          EXPECT_EQ(work.front(), "cublasLtMatmul");
          if (!refuse && dtype != kDouble) EXPECT_EQ(work.size(), 1u);
        }
      }
      const auto none =
          at::_fused_linear_parameters_backward(to_gpu(random_tensor({0, 5})), to_gpu(random_tensor({0, 3})));
      expect_same(to_cpu(std::get<0>(none)), at::zeros({5, 3}), "weight of nothing");
    }
  });
}

TEST(CudaMatmul, WhatTheContextAllows) {
  in_own_process([] {
    Context& context = globalContext();
    // 1 + 2^-11 lies between two TF32 numbers.
    const Tensor a = at::full({1, 1}, 1 + 0x1p-11, kGpu), one = at::ones({1, 1}, kGpu);
    const auto product = [&] { return elements(at::mm(a, one))[0].real(); };
    EXPECT_EQ(product(), 1 + 0x1p-11);
    context.setAllowTF32CuBLAS(true);
    EXPECT_EQ(product(), 1 + 0x1p-10);
    context.setFloat32MatmulPrecision("highest");
    EXPECT_EQ(product(), 1 + 0x1p-11);
    context.setFloat32MatmulPrecision("medium");
    EXPECT_EQ(product(), 1 + 0x1p-10);

    // 257 is no bfloat16 number, 2049 no half: as a part of a sum it loses the 1.
    for (const ScalarType dtype : {kBFloat16, kHalf}) {
      const double large = dtype == kHalf ? 2048 : 256;
      const Tensor row = at::to(at::testing::tensor_of({large, 1, -large, 0}, {1, 4}), kGpu, dtype);
      const Tensor column = at::to(at::testing::tensor_of({1, 1, 1, 1}, {4, 1}), kGpu, dtype);
      const auto sum = [&] { return elements(at::mm(row, column))[0].real(); };
      EXPECT_EQ(sum(), 0);
      context.setAllowFP16ReductionCuBLAS(false);
      context.setAllowBF16ReductionCuBLAS(false);
      EXPECT_EQ(sum(), 1);
      context.setAllowFP16AccumulationCuBLAS(true);
      EXPECT_EQ(sum(), dtype == kHalf ? 0 : 1);
      context.setAllowFP16AccumulationCuBLAS(false);
      context.setAllowFP16ReductionCuBLAS(true);
      context.setAllowBF16ReductionCuBLAS(true);
    }
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaMatmul, TheLibraryIsAskedOnceForEachProblem) {
  in_own_process([] {
    const Tensor block = to_gpu(random_tensor({200}));
    const auto at_offset = [&](int64_t offset) { return make_view(block, {4, 4}, {4, 1}, offset); };
    const Tensor b = to_gpu(random_tensor({4, 4}));
    for (int i = 0; i < 3; ++i) at::mm(at_offset(0), b);
    EXPECT_EQ(cublas_standin::heuristic_calls(), 1u);
    at::mm(at_offset(64), b);  // 256 bytes further
    EXPECT_EQ(cublas_standin::heuristic_calls(), 1u);
    at::mm(at_offset(1), b);  // aligned to 4 bytes
    at::mm(at_offset(3), b);
    EXPECT_EQ(cublas_standin::heuristic_calls(), 2u);
    at::mm(at::t(at_offset(0)), b);
    EXPECT_EQ(cublas_standin::heuristic_calls(), 3u);
    const cuda::blas::CacheStats stats = cuda::blas::cache_stats();
    EXPECT_EQ(stats.entries, 3u);
    EXPECT_EQ(stats.hits, 4u);
    EXPECT_EQ(stats.misses, 3u);
    EXPECT_EQ(stats.limit, size_t{2} << 20);
    // Room for two.
    cuda::blas::set_cache_limit(stats.bytes / 3 * 2);
    EXPECT_EQ(cuda::blas::cache_stats().entries, 2u);
    at::mm(at_offset(0), b);  // the one that was not used longest went
    EXPECT_EQ(cublas_standin::heuristic_calls(), 4u);
    at::mm(at::t(at_offset(0)), b);
    EXPECT_EQ(cublas_standin::heuristic_calls(), 4u);
    for (int64_t n = 1; n < 20; ++n) at::mm(at_offset(0), make_view(block, {4, n}, {n, 1}, 0));
    EXPECT_EQ(cuda::blas::cache_stats().entries, 2u);
    cuda::blas::set_cache_limit(0);
    at::mm(at_offset(0), b);
    EXPECT_EQ(cuda::blas::cache_stats().bytes, 0u);
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaMatmul, WorkspaceIsWhatTheEnvironmentSays) {
  const auto bytes = [](const char* config, const char* size) {
    size_t result = 0;
    EXPECT_EQ(config == nullptr ? unsetenv("CUBLAS_WORKSPACE_CONFIG") : setenv("CUBLAS_WORKSPACE_CONFIG", config, 1),
              0);
    EXPECT_EQ(size == nullptr ? unsetenv("CUBLASLT_WORKSPACE_SIZE") : setenv("CUBLASLT_WORKSPACE_SIZE", size, 1), 0);
    result = cuda::blas::workspace_bytes(0);
    const Tensor a = random_tensor({3, 3});
    expect_same(to_cpu(at::mm(to_gpu(a), to_gpu(a))), at::mm(a, a), "mm");
    EXPECT_EQ(cuda_standin::misuse(), "");
    return result;
  };
  in_own_process([&] { EXPECT_EQ(bytes(nullptr, nullptr), size_t{32} << 20); });
  in_own_process([&] { EXPECT_EQ(bytes(":4096:2:16:8", nullptr), size_t{8320} << 10); });
  in_own_process([&] { EXPECT_EQ(bytes(":0:0", nullptr), 0u); });
  in_own_process([&] { EXPECT_EQ(bytes(":0:0", "1024"), size_t{1} << 20); });
  in_own_process([&] {
    const c10::cuda::testing::Warnings warnings;
    EXPECT_EQ(bytes(":16:8:", nullptr), size_t{32} << 20);
    const auto of_it = [](const std::string& text) {
      return text.find("CUBLAS_WORKSPACE_CONFIG") != std::string::npos;
    };
    EXPECT_EQ(std::count_if(warnings.texts.begin(), warnings.texts.end(), of_it), 1);
  });
}

// Tiles, layouts and factors of integer products, against the CPU's, which wrap alike.
TEST(CudaMatmul, IntegersAreThoseOfTheCpu) {
  c10::cuda::testing::in_all_orders([] {
    const auto numbers = [](std::vector<int64_t> sizes, ScalarType dtype, Arrangement layout) {
      return random_tensor(std::move(sizes), dtype, layout);
    };
    constexpr Arrangement kPlain = Arrangement::kContiguous, kTurned = Arrangement::kTransposed;
    for (const ScalarType dtype : {kByte, kChar, kShort, kInt, kLong}) {
      // 65 x 65 elements are four tiles, and a depth of 17 two steps.
      const int64_t n = dtype == kLong ? 65 : 5;
      const Tensor a = numbers({n, 17}, dtype, kPlain), b = numbers({17, n}, dtype, kTurned);
      const Tensor add = numbers({n, n}, dtype, kTurned), row = numbers({n}, dtype, kPlain);
      expect_same(to_cpu(at::mm(to_gpu(a), to_gpu(b))), at::mm(a, b), toString(dtype));
      expect_same(to_cpu(at::addmm(to_gpu(add), to_gpu(a), to_gpu(b), 3, -100)), at::addmm(add, a, b, 3, -100),
                  toString(dtype));
      expect_same(to_cpu(at::addmm(to_gpu(row), to_gpu(a), to_gpu(b), 0, 7)), at::addmm(row, a, b, 0, 7),
                  toString(dtype));
      // Factors lose what is behind the point.
      expect_same(to_cpu(at::addmm(to_gpu(row), to_gpu(a), to_gpu(b), 1.5, 0.6)), at::addmm(row, a, b, 1.5, 0.6),
                  toString(dtype));
      const Tensor three = at::expand(at::unsqueeze(a, 0), {3, n, 17}), other = numbers({3, 17, 2}, dtype, kPlain);
      expect_same(to_cpu(at::bmm(to_gpu(three), to_gpu(other))), at::bmm(three, other), toString(dtype));
      const Tensor v = numbers({17}, dtype, kPlain);
      expect_same(to_cpu(at::mv(to_gpu(a), to_gpu(v))), at::mv(a, v), toString(dtype));
      expect_same(to_cpu(at::dot(to_gpu(v), to_gpu(v))), at::dot(v, v), toString(dtype));
      Tensor in_place = to_gpu(add);
      at::addmm_(in_place, to_gpu(a), to_gpu(b), -1, 2);
      expect_same(to_cpu(in_place), at::addmm(add, a, b, -1, 2), toString(dtype));
    }
    const Tensor truths = at::ones({2, 2}, TensorOptions().device(kGpu).dtype(kBool));
    EXPECT_THROW(at::mm(truths, truths), c10::NotImplementedError);
  });
}

// The library may add parts of other products in bfloat16, which gives 2.5 here.
TEST(CudaMatmul, DotProductsAreSummedInFloat) {
  in_own_process([] {
    const Tensor a = at::testing::tensor_of({-8.5, -1.765625, -4.3125, -2.40625, -7.9375}, {5}, kBFloat16),
                 b = at::testing::tensor_of({3.609375, -8.0625, -0.57421875, 3.125, -3.03125}, {5}, kBFloat16);
    EXPECT_EQ(at::testing::values(at::dot(to_gpu(a), to_gpu(b))), (std::vector<double>{2.578125}));
  });
}

TEST(CudaMatmul, ErrorsNameCallSizesAndDtype) {
  in_own_process([] {
    const Tensor a = to_gpu(random_tensor({3, 2}, kHalf)), b = to_gpu(random_tensor({2, 4}, kHalf));
    // The first call makes the handle; the last one of a product multiplies.
    at::mm(a, b);
    const auto calls = static_cast<int64_t>(cublas_standin::calls());
    cublas_standin::reset({.fail_call = calls - 3, .fail_with = CUBLAS_STATUS_EXECUTION_FAILED});
    std::string text;
    for (int i = 0; i < 3 && text.empty(); ++i) text = error_of([&] { at::mm(a, b); });
    EXPECT_NE(text.find("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED"), std::string::npos) << text;
    EXPECT_NE(text.find("addmm_cuda of 3 x 2 and 2 x 4, Half"), std::string::npos) << text;
  });
}

TEST(CudaMatmul, EveryCallMayFail) {
  const Tensor left = random_tensor({3, 2}), right = random_tensor({2, 4}), row = random_tensor({4});
  const Tensor sum = at::addmm(row, left, right), batch = at::bmm(at::unsqueeze(left, 0), at::unsqueeze(right, 0));
  const auto multiply = [&] {
    const Tensor a = to_gpu(left), b = to_gpu(right), bias = to_gpu(row);
    expect_same(to_cpu(at::addmm(bias, a, b)), sum, "addmm");
    expect_same(to_cpu(at::bmm(at::unsqueeze(a, 0), at::unsqueeze(b, 0))), batch, "bmm");
  };
  // The error, which must name the failure; after it the same works in the same process, and nothing is lost.
  const auto try_twice = [&](const std::string& named, const auto& was_called) {
    const std::string text = error_of(multiply);
    if (!was_called()) {
      EXPECT_EQ(text, "");
      return false;
    }
    if (!text.empty()) EXPECT_NE(text.find(named), std::string::npos) << text;
    EXPECT_EQ(c10::cuda::last_launch_status(), cudaSuccess);
    multiply();
    c10::cuda::CUDACachingAllocator::emptyCache();
    c10::cuda::testing::empty_caches();
    EXPECT_EQ(cublas_standin::live_descriptors(), 0u);
    EXPECT_EQ(cuda_standin::misuse(), "");
    EXPECT_EQ(c10::cuda::testing::leaks_but_streams(), "");
    return true;
  };
  bool failed = true;
  // The very first call asks for devices, and its failure is a process without any.
  for (int64_t n = 1; failed; ++n) {
    ASSERT_LT(n, 1000);
    failed = said_by_process([&] {
      SCOPED_TRACE(n);
      cuda_standin::reset({.fail_call = n, .fail_releases = false});
      return try_twice("CUDA error: ", [] { return !cuda_standin::failed_call().empty(); });
    });
  }
  failed = true;
  for (int64_t n = 0; failed; ++n) {
    ASSERT_LT(n, 200);
    failed = said_by_process([&] {
      SCOPED_TRACE(n);
      cublas_standin::reset({.fail_call = n});
      return try_twice("CUDA error: CUBLAS_STATUS_ALLOC_FAILED (the resource allocation failed) when calling `cublasLt",
                       [n] { return cublas_standin::calls() > static_cast<uint64_t>(n); });
    });
  }
}

TEST(CudaMatmul, ThreadsShareADevicesHandle) {
  on_device([] {
    const Tensor a = random_tensor({7, 5}), b = random_tensor({5, 6}), want = at::mm(a, b);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        const Device device(DeviceType::CUDA, static_cast<c10::DeviceIndex>(i % 2));
        const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool(false, device.index()));
        const Tensor x = at::to(a, device, kFloat), y = at::to(b, device, kFloat);
        for (int round = 0; round < 5; ++round) expect_same(to_cpu(at::mm(x, y)), want, "mm");
      });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(cublas_standin::live_handles(), 2u);
  });
}

// As a program of libtorch calls cuBLAS itself.
TEST(CudaMatmul, HandlesOfCublasAreOneAThread) {
  on_device([] {
    const Tensor a = random_tensor({3, 4}), b = random_tensor({4, 2}), want = at::mm(a, b);
    const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
    const Tensor x = to_gpu(a), y = to_gpu(b);
    const Tensor out = at::empty({3, 2}, x.options());
    const cublasHandle_t handle = cuda::getCurrentCUDABlasHandle();
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cublasGetStream(handle, &stream), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(stream, c10::cuda::getCurrentCUDAStream().stream());
    const float one = 1, zero = 0;
    ASSERT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 3, 4, &one, y.data_ptr<float>(), 2, x.data_ptr<float>(),
                          4, &zero, out.data_ptr<float>(), 2),
              CUBLAS_STATUS_SUCCESS);
    expect_same(to_cpu(out), want, "cublasSgemm");
    EXPECT_EQ(cuda::getCurrentCUDABlasHandle(), handle);
    // Another thread has another one, which the next thread gets.
    cublasHandle_t others[2] = {};
    for (cublasHandle_t& other : others) std::thread([&] { other = cuda::getCurrentCUDABlasHandle(); }).join();
    EXPECT_NE(others[0], handle);
    EXPECT_EQ(others[0], others[1]);
    cublasMath_t mode = CUBLAS_DEFAULT_MATH;
    globalContext().setAllowTF32CuBLAS(true);
    ASSERT_EQ(cublasGetMathMode(cuda::getCurrentCUDABlasHandle(), &mode), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(mode, CUBLAS_TF32_TENSOR_OP_MATH);
    globalContext().setAllowTF32CuBLAS(false);
    cuda::clearCublasWorkspaces();
  });
}

TEST(CudaMatmul, ProductsOfIntegersAndEighths) {
  on_device([] {
    Random random(5);
    for (int round = 0; round < 12; ++round) {
      const int64_t m = 1 + random.below(20), n = 1 + random.below(20), k = random.below(20);
      const Tensor a = random_tensor({m, k}, kChar), b = at::t(random_tensor({n, k}, kChar));
      const Tensor c = random.below(2) == 0 ? at::contiguous(b) : b;
      SCOPED_TRACE(c10::str(m, " ", n, " ", k));
      expect_same(to_cpu(at::_int_mm(to_gpu(a), to_gpu(c))), at::_int_mm(a, c), "_int_mm");
    }
    for (const int64_t size : {16, 32, 7}) {
      for (const ScalarType type : {kFloat, kBFloat16, kHalf, kFloat8_e4m3fn}) {
        for (const auto& [lines, left_type] : {std::pair{false, kFloat8_e4m3fn}, std::pair{true, kFloat8_e4m3fn},
                                               std::pair{false, kFloat8_e5m2}, std::pair{true, kFloat8_e5m2}}) {
          const Tensor a = at::to(random_tensor({5, size}), left_type),
                       b = at::to(at::t(random_tensor({size, size})), kFloat8_e5m2);
          const Tensor left = lines ? at::add(random_tensor({5, 1}), 2) : at::full({}, 0.5),
                       right = lines ? at::add(random_tensor({1, size}), 2) : at::full({}, 3.0);
          const Tensor bias = random_tensor({size}, type == kFloat8_e4m3fn ? kBFloat16 : type);
          SCOPED_TRACE(c10::str(size, " ", toString(type), lines));
          for (const std::optional<Tensor>& add : {std::optional<Tensor>(), std::optional<Tensor>(bias)}) {
            const Tensor want = at::_scaled_mm(a, b, left, right, add, std::nullopt, type);
            const Tensor got =
                at::_scaled_mm(to_gpu(a), to_gpu(b), to_gpu(left), to_gpu(right),
                               add ? std::optional<Tensor>(to_gpu(*add)) : std::nullopt, std::nullopt, type);
            EXPECT_EQ(got.scalar_type(), type);
            at::testing::expect_close(at::to(to_cpu(got), kFloat), at::to(want, kFloat),
                                      type == kFloat8_e4m3fn ? 0.13 : 0.01, type == kFloat ? 1e-5 : 0.05);
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace at
