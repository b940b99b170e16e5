// Attention of CUDA tensors on the host: against the CPU's kernels, in every order of blocks, warps and lanes, and how
// much memory it takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/attention/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/matrix_test_support.h"
#include "aten/ops/view/ops.h"
#include "c10/cuda/caching_allocator.h"
#include "tests/cuda_on_host/simt/simt.h"

namespace at {
namespace {

using matrix_testing::Arrangement;
using matrix_testing::random_tensor;

const Device kGpu(DeviceType::CUDA, 0);

struct Case {
  const char* what;
  ScalarType dtype = kDouble;
  int64_t queries = 5, keys = 7, width = 3, value_width = 6;
  int64_t heads = 2, key_heads = 2;
  bool causal = false;
  double dropout = 0;
  std::optional<Tensor> mask = std::nullopt;
  Arrangement layout = Arrangement::kContiguous;
  int64_t batches = 2;
};

// The same strides in memory of the device.
Tensor to_gpu(const Tensor& t) {
  int64_t last = t.numel() == 0 ? 0 : 1;
  for (int64_t d = 0; d < t.dim() && last != 0; ++d) last += (t.size(d) - 1) * t.stride(d);
  const Tensor block = make_view(t, {last}, {1}, t.storage_offset());
  return make_view(at::to(block, kGpu, t.scalar_type()), t.sizes(), t.strides(), 0);
}
std::optional<Tensor> to_gpu(const std::optional<Tensor>& t) {
  return t.has_value() ? std::optional<Tensor>(to_gpu(*t)) : t;
}

void expect_same(const Tensor& gpu, const Tensor& cpu, const char* what) {
  ASSERT_TRUE(gpu.is_cuda());
  ASSERT_EQ(gpu.strides(), cpu.strides()) << what;
  SCOPED_TRACE(what);
  const double tolerance = matrix_testing::tolerance_of(cpu.scalar_type());
  testing::expect_close(at::to(testing::on_cpu(gpu), kDouble), at::to(cpu, kDouble), tolerance, tolerance);
}

struct Inputs {
  explicit Inputs(const Case& c)
      : query(random_tensor({c.batches, c.heads, c.queries, c.width}, c.dtype, c.layout)),
        key(random_tensor({c.batches, c.key_heads, c.keys, c.width}, c.dtype, c.layout)),
        value(random_tensor({c.batches, c.key_heads, c.keys, c.value_width}, c.dtype, c.layout)),
        grad(random_tensor({c.batches, c.heads, c.queries, c.value_width}, c.dtype, c.layout)) {}
  Tensor query, key, value, grad;
};

// Result, logarithms of sums, and gradients.
std::vector<Tensor> attend(const Case& c, const Inputs& in, bool on_gpu) {
  const auto on = [&](const auto& t) { return on_gpu ? to_gpu(t) : t; };
  const double scale = 0.7;
  const int64_t seed = 11;
  const Tensor q = on(in.query), k = on(in.key), v = on(in.value);
  const auto mask = on(c.mask);
  const auto [out, sums] = at::_fused_attention(q, k, v, mask, c.dropout, c.causal, scale, seed);
  const auto [gq, gk, gv] =
      at::_fused_attention_backward(on(in.grad), q, k, v, out, sums, mask, c.dropout, c.causal, scale, seed);
  return {out, sums, gq, gk, gv};
}

void expect_as_on_cpu(const Case& c) {
  SCOPED_TRACE(c.what);
  const Inputs in(c);
  const std::vector<Tensor> gpu = attend(c, in, true), cpu = attend(c, in, false);
  const char* names[] = {"output", "logarithms", "gradient of the query", "gradient of the key",
                         "gradient of the value"};
  for (size_t i = 0; i < gpu.size(); ++i) expect_same(gpu[i], cpu[i], names[i]);
}

TEST(CudaAttention, GivesWhatTheCpuDoes) {
  const Tensor added = random_tensor({2, 1, 7}, kDouble), flags = at::to(random_tensor({2, 1, 5, 7}, kInt), kBool);
  const Tensor hidden = at::zeros({5, 7}, TensorOptions().dtype(kBool));
  for (const Case& c : std::vector<Case>{{"plain"},
                                         {"causal", kDouble, 5, 7, 3, 6, 2, 2, true},
                                         {"more queries than keys", kDouble, 9, 4, 3, 6, 2, 2, true},
                                         {"heads that share keys", kDouble, 5, 7, 3, 6, 2, 1, true},
                                         {"one head for all", kDouble, 5, 7, 3, 6, 4, 1},
                                         {"an added mask", kDouble, 5, 7, 3, 6, 2, 2, false, 0, added},
                                         {"flags", kDouble, 5, 7, 3, 6, 2, 1, false, 0, flags},
                                         {"nothing is seen", kDouble, 5, 7, 3, 6, 2, 1, false, 0, hidden},
                                         {"dropout", kDouble, 5, 7, 3, 6, 2, 1, false, 0.4},
                                         {"everything is dropped", kDouble, 5, 7, 3, 6, 2, 1, false, 1},
                                         {"turned", kDouble, 5, 7, 3, 6, 2, 2, true, 0, {}, Arrangement::kTransposed},
                                         {"apart", kFloat, 5, 7, 3, 6, 2, 1, false, 0, {}, Arrangement::kStrided},
                                         {"float", kFloat, 5, 7, 8, 8, 2, 2, true},
                                         {"half", kHalf, 5, 7, 8, 6},
                                         {"bfloat16", kBFloat16, 5, 7, 8, 8, 2, 1},
                                         {"no keys", kDouble, 5, 0},
                                         {"no queries", kDouble, 0, 7},
                                         {"no heads", kDouble, 5, 7, 3, 6, 0, 0},
                                         {"rows without columns", kDouble, 5, 7, 0, 6},
                                         {"wider than kernels are", kDouble, 5, 7, 260, 6, 2, 1, true, 0.3}}) {
    expect_as_on_cpu(c);
  }
}

// Lengths just over a tile, by the classes of widths and with rows that can be read 16 bytes at a time, and not.
TEST(CudaAttention, EveryClassOfTiles) {
  for (ScalarType dtype : {kFloat, kDouble}) {
    for (int64_t width : {1, 8, 40, 64, 80, 128, 136, 256}) {
      const int64_t bytes = width * (dtype == kDouble ? 8 : 4), tile = bytes <= 512 ? 64 : bytes <= 1024 ? 32 : 16;
      SCOPED_TRACE(width);
      expect_as_on_cpu({"a class",
                        dtype,
                        tile + 2,
                        tile + 3,
                        width,
                        std::max<int64_t>(width - 3, 1),
                        1,
                        1,
                        width < 64,
                        0,
                        {},
                        {},
                        1});
    }
  }
  const Tensor flags = at::to(random_tensor({66, 67}, kInt), kBool);
  for (ScalarType dtype : {kHalf, kBFloat16}) {
    expect_as_on_cpu({"16 bits", dtype, 66, 67, 64, 64, 2, 1, true, 0, {}, {}, 1});
    expect_as_on_cpu({"16 bits and flags", dtype, 66, 67, 40, 40, 1, 1, false, 0, flags, {}, 1});
  }
}

// Numbers of 16 bits, which matrix instructions multiply, against the same call of doubles.
void expect_as_in_double(const Case& c) {
  const Inputs in(c);
  const auto wide = [](const Tensor& t) { return at::to(t, kDouble); };
  Inputs in_double = in;
  for (Tensor* t : {&in_double.query, &in_double.key, &in_double.value, &in_double.grad}) *t = wide(*t);
  Case of_double = c;
  of_double.dtype = kDouble;
  if (c.mask.has_value() && c.mask->scalar_type() != kBool) of_double.mask = wide(*c.mask);
  const std::vector<Tensor> gpu = attend(c, in, true), cpu = attend(of_double, in_double, false);
  // Scores of wide heads are larger, and their gradients are rounded to 16 bits.
  const double wider = std::max(1.0, static_cast<double>(c.width) / 64);
  const double tolerance = (c.dtype == kHalf ? 2e-3 : 1.6e-2) * wider;
  const char* names[] = {"output", "logarithms", "gradient of the query", "gradient of the key",
                         "gradient of the value"};
  for (size_t i = 0; i < gpu.size(); ++i) {
    SCOPED_TRACE(names[i]);
    testing::expect_close(wide(testing::on_cpu(gpu[i])), cpu[i], tolerance, tolerance);
  }
}

TEST(CudaAttention, RandomShapesOf16BitNumbers) {
  std::mt19937 random(20);
  matrix_testing::random_bits().seed(20);
  const auto below = [&random](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  constexpr int64_t kWidths[] = {1, 8, 24, 32, 40, 64, 72, 96, 128, 136, 256};
  constexpr Arrangement kArrangements[] = {Arrangement::kContiguous, Arrangement::kContiguous,
                                           Arrangement::kTransposed, Arrangement::kStrided};
  for (int n = 0; n < 44; ++n) {
    Case c{"a random shape", n % 2 == 0 ? kHalf : kBFloat16};
    c.width = kWidths[n / 2 % 11];
    c.value_width = n % 3 == 0 ? std::max<int64_t>(c.width - below(9), 1) : c.width;
    const int64_t longest = c.width > 64 ? 80 : 140;
    c.queries = 1 + below(longest), c.keys = 1 + below(longest);
    c.batches = 1 + below(2), c.key_heads = 1, c.heads = 1 + below(2);
    c.causal = below(2) == 0;
    c.dropout = below(3) == 0 ? 0.3 : 0;
    c.layout = kArrangements[below(4)];
    const std::vector<int64_t> sizes = {c.queries, c.keys};
    switch (c.causal ? 3 : below(4)) {
      case 0:
        c.mask = at::to(random_tensor(sizes, kInt), kBool);
        break;
      case 1:
        c.mask = random_tensor(sizes, c.dtype, Arrangement::kTransposed);
        break;
      default:
        break;
    }
    SCOPED_TRACE(::testing::Message() << n << ": " << c.batches << " x " << c.heads << ", " << c.queries << " queries, "
                                      << c.keys << " keys, " << c.width << " and " << c.value_width << " wide, causal "
                                      << c.causal << ", dropout " << c.dropout);
    expect_as_in_double(c);
  }
}

// Weights and their gradients are rounded to 16 bits between the products: not what dropout and scale make of them.
TEST(CudaAttention, LargeFactorsDoNotOverflowIn16Bits) {
  Case c{"most is dropped", kHalf, 40, 300, 16, 16, 1, 1, false, 1 - 1e-6, {}, {}, 1};
  for (double dropout : {1 - 1e-6, 0.999, 1.0}) {
    c.dropout = dropout;
    const Inputs in(c);
    for (const Tensor& t : attend(c, in, true)) {
      for (const auto& x : matrix_testing::values(t)) ASSERT_TRUE(std::isfinite(x.real())) << dropout;
    }
  }
}

TEST(CudaAttention, AllOrdersOfThreadsGiveTheSameBits) {
  for (const Case& c : {Case{"float", kFloat, 66, 67, 24, 24, 2, 1, true, 0.2, {}, {}, 1},
                        Case{"bfloat16", kBFloat16, 66, 67, 24, 24, 2, 1, true, 0.2, {}, {}, 1},
                        Case{"half", kHalf, 66, 67, 64, 64, 2, 1, true, 0, {}, {}, 1},
                        Case{"wide", kBFloat16, 20, 40, 256, 256, 1, 1, false, 0, {}, {}, 1}}) {
    SCOPED_TRACE(c.what);
    const Inputs in(c);
    const simt::Options before = simt::options();
    std::vector<std::vector<Tensor>> seen;
    for (const auto& [order, seed] : std::vector<std::pair<simt::Order, uint64_t>>{{simt::Order::kForward, 0},
                                                                                   {simt::Order::kReverse, 0},
                                                                                   {simt::Order::kRandom, 1},
                                                                                   {simt::Order::kRandom, 2}}) {
      simt::options().order = order;
      simt::options().seed = seed;
      seen.push_back(attend(c, in, true));
    }
    simt::options() = before;
    for (size_t i = 1; i < seen.size(); ++i) {
      for (size_t k = 0; k < seen[i].size(); ++k)
        EXPECT_EQ(matrix_testing::values(seen[i][k]), matrix_testing::values(seen[0][k]));
    }
  }
}

TEST(CudaAttention, DropoutFactorsAreTheCpus) {
  for (ScalarType dtype : {kFloat, kDouble, kHalf}) {
    const Tensor q = random_tensor({2, 3, 9, 2}, dtype), k = random_tensor({2, 1, 40, 2}, dtype);
    expect_same(at::_fused_attention_dropout(to_gpu(q), to_gpu(k), 0.3, 5), at::_fused_attention_dropout(q, k, 0.3, 5),
                "factors");
  }
}

// What a call takes at most beyond what was there before.
template <class F>
int64_t peak_of(const F& call) {
  namespace allocator = c10::cuda::CUDACachingAllocator;
  const auto bytes = [](const allocator::DeviceStats& stats) { return stats.allocated_bytes[0]; };
  allocator::resetPeakStats(0);
  const int64_t before = bytes(allocator::getDeviceStats(0)).current;
  call();
  return bytes(allocator::getDeviceStats(0)).peak - before;
}

TEST(CudaAttention, MemoryGrowsWithTheSequenceNotWithItsSquare) {
  for (ScalarType dtype : {kFloat, kHalf}) {
    const int64_t length = 700, width = 8, item = dtype == kHalf ? 2 : 4;
    const Tensor q = to_gpu(random_tensor({1, 1, length, width}, dtype));
    std::vector<Tensor> results;
    const int64_t forward = peak_of([&] {
      const auto [out, sums] = at::_fused_attention(q, q, q, {}, 0, true, 1, 0);
      results = {out, sums};
    });
    const int64_t backward = peak_of([&] {
      const auto gradients = at::_fused_attention_backward(q, q, q, q, results[0], results[1], {}, 0, true, 1, 0);
      (void)gradients;
    });
    const int64_t row = width * item + 4;
    EXPECT_LE(forward, length * row + 2048);
    EXPECT_LE(backward, length * (3 * row) + 4096);
    EXPECT_LT(backward, length * length * item / 4);
  }
}

}  // namespace
}  // namespace at
