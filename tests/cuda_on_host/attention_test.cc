// Attention as CUDA tensors have it, put together from other operators: on CPU tensors it gives what the CPU's kernels
// do.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/attention/kernels.h"
#include "aten/ops/attention/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/matrix_test_support.h"
#include "aten/ops/view/ops.h"

namespace at {
namespace {

using matrix_testing::Arrangement;
using matrix_testing::expect_same;
using matrix_testing::random_tensor;

struct Case {
  const char* what;
  ScalarType dtype = kDouble;
  int64_t key_heads = 4, keys = 7;
  bool causal = false;
  double dropout = 0;
  std::optional<Tensor> mask = std::nullopt;
  Arrangement layout = Arrangement::kContiguous;
};

void expect_the_kernels(const Case& c) {
  SCOPED_TRACE(c.what);
  const Tensor q = random_tensor({2, 4, 5, 3}, c.dtype, c.layout);
  const Tensor k = random_tensor({2, c.key_heads, c.keys, 3}, c.dtype, c.layout);
  const Tensor v = random_tensor({2, c.key_heads, c.keys, 6}, c.dtype, c.layout);
  const double scale = 0.7;
  const int64_t seed = 11;
  const auto [out, sums] = at::_fused_attention(q, k, v, c.mask, c.dropout, c.causal, scale, seed);
  Tensor own_out = at::empty_like(out), own_sums = at::empty_like(sums);
  native::fused_attention_cuda(q, k, v, c.mask, c.dropout, c.causal, scale, seed, own_out, own_sums);
  expect_same(own_out, out, "output");
  if (c.keys > 0 && !c.mask.has_value()) expect_same(own_sums, sums, "logsumexp");

  const Tensor g = random_tensor({2, 4, 5, 6}, c.dtype);
  const auto [gq, gk, gv] =
      at::_fused_attention_backward(g, q, k, v, out, sums, c.mask, c.dropout, c.causal, scale, seed);
  Tensor own_q = at::empty_like(gq), own_k = at::empty_like(gk), own_v = at::empty_like(gv);
  native::fused_attention_backward_cuda(g, q, k, v, own_out, own_sums, c.mask, c.dropout, c.causal, scale, seed, own_q,
                                        own_k, own_v);
  expect_same(own_q, gq, "gradient of the query");
  expect_same(own_k, gk, "gradient of the key");
  expect_same(own_v, gv, "gradient of the value");
}

TEST(CudaAttention, IsThatOfTheCpusKernels) {
  const Tensor added = random_tensor({4, 1, 7}, kDouble), flags = at::to(random_tensor({2, 1, 5, 7}, kInt), kBool);
  for (const Case& c : std::vector<Case>{{"plain"},
                                         {"causal", kDouble, 4, 7, true},
                                         {"heads that share keys", kDouble, 2, 7, true},
                                         {"one head for all", kDouble, 1},
                                         {"an added mask", kDouble, 4, 7, false, 0, added},
                                         {"a mask that hides rows", kDouble, 2, 7, false, 0, flags},
                                         {"dropout", kDouble, 2, 7, false, 0.4},
                                         {"turned", kDouble, 4, 7, true, 0, {}, Arrangement::kTransposed},
                                         {"apart", kFloat, 2, 7, false, 0, {}, Arrangement::kStrided},
                                         {"float", kFloat, 4, 7, true},
                                         {"half", kHalf},
                                         {"bfloat16", kBFloat16, 2},
                                         {"no keys", kDouble, 4, 0}}) {
    expect_the_kernels(c);
  }
}

}  // namespace
}  // namespace at
