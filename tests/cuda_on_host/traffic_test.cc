// Speed without a clock: what kernels move between memory and the chip against what an operator must move, and how
// often banks of shared memory make a warp wait.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <tuple>
#include <vector>

#include "aten/core/reduction.h"
#include "aten/core/tensor.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/attention/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/foreach/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/loss/ops.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/cuda/device.h"
#include "tests/cuda_on_host/runtime/standin.h"
#include "tests/cuda_on_host/simt/counts.h"
#include "tests/cuda_on_host/simt/simt.h"

namespace {

using at::Tensor;

Tensor made(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat) {
  return at::full(sizes, 0.5, at::TensorOptions(dtype).device(at::Device(at::kCUDA, 0)));
}

simt::KernelCounts counts_of(const std::function<void()>& run) {
  c10::cuda::device_synchronize();
  simt::start_counting();
  run();
  c10::cuda::device_synchronize();
  simt::KernelCounts all;
  for (const auto& [kernel, counts] : simt::stop_counting()) all += counts;
  return all;
}

struct Row {
  const char* name;
  std::function<void()> run;
  int64_t least;  // bytes, of what goes in and comes out
  int64_t launches;
  double asked = 1.05;  // at most, of `least`, in sectors of all requests; of those that come again a cache answers
  double vector = 0.9;  // at least, of the bytes that a warp can ask for at once, 512
  double waits = 1.05;  // wavefronts of shared memory, of the least
};

// Of the least bytes, each sector once a launch: what no cache can save.
constexpr double kMostMoved = 1.15;

class Traffic : public testing::Test {
 protected:
  void SetUp() override {
#ifndef __clang__
    GTEST_SKIP() << "only Clang reports accesses";
#endif
    if (!simt::options().watch) GTEST_SKIP() << "a sanitizer looks in the executor's stead";
  }

  static void check(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      const simt::KernelCounts c = counts_of(row.run);
      const int64_t requests = c.loads.requests + c.stores.requests;
      const auto of_least = [&row](int64_t sectors) {
        return 32.0 * static_cast<double>(sectors) / static_cast<double>(row.least);
      };
      const double moved = of_least(c.loads.first_sectors + c.stores.first_sectors);
      const double asked = of_least(c.loads.sectors + c.stores.sectors);
      const double bytes =
          requests == 0 ? 0 : static_cast<double>(c.loads.bytes + c.stores.bytes) / static_cast<double>(requests);
      std::printf(
          "%-28s %2lld launches, %5.2f of the least bytes (%5.2f asked for), %5.1f bytes a request, %lld of at least "
          "%lld wavefronts\n",
          row.name, static_cast<long long>(c.launches), moved, asked, bytes,
          static_cast<long long>(c.shared_wavefronts), static_cast<long long>(c.least_shared_wavefronts));
      EXPECT_EQ(c.launches, row.launches) << row.name;
      EXPECT_LE(moved, kMostMoved) << row.name;
      EXPECT_LE(asked, row.asked) << row.name;
      EXPECT_GE(moved, 0.99) << row.name << ": less than it must move";
      EXPECT_GE(bytes, 512 * row.vector) << row.name;
      EXPECT_LE(static_cast<double>(c.shared_wavefronts), row.waits * static_cast<double>(c.least_shared_wavefronts))
          << row.name;
    }
  }
};

constexpr int64_t kElements = 1 << 15;

TEST_F(Traffic, Pointwise) {
  Tensor a = made({kElements}), b = made({kElements}), out = made({kElements});
  Tensor h = made({kElements}, at::kHalf), h2 = made({kElements}, at::kHalf), h_out = made({kElements}, at::kHalf);
  Tensor d = made({kElements}, at::kDouble), d2 = made({kElements}, at::kDouble),
         d_out = made({kElements}, at::kDouble);
  Tensor flags = at::zeros({kElements}, at::TensorOptions(at::kBool).device(a.device()));
  Tensor one = made({1}), rows = a.view({128, 256}), rows_out = out.view({128, 256}), row = made({256});
  Tensor b_out = made({kElements}, at::kBFloat16);
  Tensor off = made({kElements + 1}).narrow(0, 1, kElements);
  check({
      {"add", [&] { at::add_out(out, a, b); }, 12 * kElements, 1},
      {"add of half", [&] { at::add_out(h_out, h, h2); }, 6 * kElements, 1},
      {"add of double", [&] { at::add_out(d_out, d, d2); }, 24 * kElements, 1},
      {"mul by a number", [&] { at::mul_(a, 2.0); }, 8 * kElements, 1},
      {"gelu", [&] { at::gelu_out(out, a); }, 8 * kElements, 1},
      {"exp", [&] { at::exp_out(out, a); }, 8 * kElements, 1},
      {"a comparison", [&] { at::lt_out(flags, a, b); }, 9 * kElements, 1, 1.05, 0.7},
      {"fill", [&] { at::fill_(out, 1.0); }, 4 * kElements, 1},
      {"add at an odd address", [&] { at::add_out(out, off, b); }, 12 * kElements, 1, 1.15, 0.2},
      {"a number added to all", [&] { at::add_out(out, a, one); }, 8 * kElements, 1, 1.2, 0.6},
      {"a row added to all", [&] { at::add_out(rows_out, rows, row); }, 8 * kElements, 1, 1.6, 0.8},
      {"cast to bfloat16", [&] { at::copy_(b_out, a); }, 6 * kElements, 1, 1.05, 0.7},
      {"cast of bfloat16", [&] { at::copy_(out, b_out); }, 6 * kElements, 1, 1.05, 0.7},
      {"add of bfloat16 to float", [&] { at::add_out(out, a, b_out); }, 10 * kElements, 1, 1.05, 0.8},
  });
}

// The losses of elements, and the gradients of losses and of activations, in one launch.
TEST_F(Traffic, Losses) {
  const Tensor a = made({kElements}), b = made({kElements}), grad = made({kElements}), one = made({});
  const auto none = at::Reduction::None, mean = at::Reduction::Mean;
  check({
      {"mse_loss", [&] { at::mse_loss(a, b, none); }, 12 * kElements, 1},
      {"l1_loss", [&] { at::l1_loss(a, b, none); }, 12 * kElements, 1},
      {"smooth_l1_loss", [&] { at::smooth_l1_loss(a, b, none); }, 12 * kElements, 1},
      {"huber_loss", [&] { at::huber_loss(a, b, none); }, 12 * kElements, 1},
      {"soft_margin_loss", [&] { at::soft_margin_loss(a, b, none); }, 12 * kElements, 1},
      {"kl_div", [&] { at::kl_div(a, b, none); }, 12 * kElements, 1},
      {"mse_loss_backward", [&] { at::mse_loss_backward(grad, a, b, none); }, 16 * kElements, 1},
      {"smooth_l1_loss_backward", [&] { at::smooth_l1_loss_backward(grad, a, b, none, 1); }, 16 * kElements, 1},
      {"huber_loss_backward", [&] { at::huber_loss_backward(grad, a, b, none, 1); }, 16 * kElements, 1},
      {"elu_backward", [&] { at::elu_backward(grad, 1, 1, 1, false, a); }, 12 * kElements, 1},
      {"leaky_relu_backward", [&] { at::leaky_relu_backward(grad, a, 0.1, false); }, 12 * kElements, 1},
      {"hardswish_backward", [&] { at::hardswish_backward(grad, a); }, 12 * kElements, 1},
      {"softplus_backward", [&] { at::softplus_backward(grad, a, 1, 20); }, 12 * kElements, 1},
  });
  for (const auto& loss : std::vector<std::function<void()>>{[&] { at::smooth_l1_loss(a, b, mean); },
                                                             [&] { at::smooth_l1_loss_backward(one, a, b, mean, 1); },
                                                             [&] { at::mse_loss(a, b, mean); }}) {
    EXPECT_LE(counts_of(loss).launches, 3);  // a reduction of so many elements is two
  }
}

TEST_F(Traffic, Reductions) {
  Tensor x = made({128, 256}), out = made({128}), column = made({256});
  check({
      {"sum of all", [&] { at::sum(x); }, 4 * kElements, 2},
      {"sum of rows", [&] { at::sum_out(out, x, at::OptionalIntArrayRef({1})); }, 4 * kElements, 1, 1.05, 0.6},
      {"sum of columns", [&] { at::sum_out(column, x, at::OptionalIntArrayRef({0})); }, 4 * kElements, 2, 1.75, 0.25,
       2.05},
      {"maxima of rows", [&] { at::amax_out(out, x, {1}); }, 4 * kElements, 1, 1.05, 0.6},
  });
}

// Rows are read once: they stay in registers. Weights are asked for again by each row, and a cache has them.
TEST_F(Traffic, Rows) {
  Tensor x = made({128, 256}), g = made({128, 256}), weight = made({256}), wide = made({16, 2048});
  Tensor h = made({128, 256}, at::kBFloat16), odd = made({128, 251});
  Tensor mean = made({128}), scale = made({128}), targets = at::full({128}, 7, x.options().dtype(at::kLong));
  Tensor sums = made({128}), one = made({});
  const auto norm_backward = [&] {
    at::native_layer_norm_backward(g, x, {256}, mean, scale, weight, weight, {true, true, true});
  };
  check({
      {"softmax", [&] { at::softmax(x, 1); }, 8 * kElements, 1},
      {"softmax of long rows", [&] { at::softmax(wide, 1); }, 8 * kElements, 1},
      {"softmax of bfloat16", [&] { at::softmax(h, 1); }, 4 * kElements, 1},
      {"softmax of odd rows", [&] { at::softmax(odd, 1); }, 8 * 128 * 251, 1, 1.9, 0.2},
      {"log_softmax", [&] { at::log_softmax(x, 1); }, 8 * kElements, 1},
      {"softmax_backward", [&] { at::_softmax_backward_data(g, x, 1, at::kFloat); }, 12 * kElements, 1},
      {"layer_norm", [&] { at::layer_norm(x, {256}); }, 8 * kElements, 1, 1.1, 0.6},
      {"layer_norm with weights", [&] { at::layer_norm(x, {256}, weight, weight); }, 8 * kElements, 1, 2.1, 0.7},
      {"layer_norm_backward", norm_backward, 12 * kElements, 2, 1.8, 0.7},
      {"cross_entropy", [&] { at::_fused_cross_entropy(x, targets, 1, -100, at::kFloat); }, 4 * kElements, 2, 1.2, 0.4},
      {"cross_entropy_backward", [&] { at::_fused_cross_entropy_backward(one, x, targets, 1, -100, sums, one); },
       8 * kElements, 1, 1.15, 0.6},
  });
}

TEST_F(Traffic, Copies) {
  Tensor x = made({128, 256}), y = made({128, 256}), turned = made({256, 128}), both = made({256, 256});
  Tensor rows = at::arange(64, at::TensorOptions(at::kLong).device(x.device()));
  check({
      {"transposed copy", [&] { at::copy_(turned, x.t()); }, 8 * kElements, 1, 1.1, 0.2},
      {"cat",
       [&] {
         at::cat_out(both, {x, y});
       },
       16 * kElements, 1, 1.1},
      {"index_select", [&] { at::index_select(x, 0, rows); }, 2 * 64 * 256 * 4, 1, 1.1, 0.8},
      {"cumsum", [&] { at::cumsum(x, 1); }, 8 * kElements, 1},
  });
}

// Attention of 16-bit numbers, 256 queries and keys: a block reads its rows once and all rows of the other side once.
TEST_F(Traffic, Attention) {
  constexpr int64_t kLength = 256;
  struct Heads {
    int64_t width, rows, query_rows, key_rows;  // of a block: forward, of the gradient of queries, of keys
  };
  for (const Heads& heads : {Heads{64, 128, 128, 64}, Heads{128, 128, 64, 64}}) {
    SCOPED_TRACE(heads.width);
    const Tensor q = made({1, 1, kLength, heads.width}, at::kBFloat16);
    Tensor out, sums;
    const int64_t side = kLength * heads.width * 2, numbers = kLength * 4;
    const auto expect = [](const char* what, const simt::KernelCounts& c, int64_t loads, int64_t stores) {
      const auto bytes = [](int64_t sectors) { return static_cast<double>(32 * sectors); };
      std::printf("%-28s %.0f bytes of %lld loaded, %.0f of %lld stored, %lld of at least %lld wavefronts\n", what,
                  bytes(c.loads.sectors), static_cast<long long>(loads), bytes(c.stores.sectors),
                  static_cast<long long>(stores), static_cast<long long>(c.shared_wavefronts),
                  static_cast<long long>(c.least_shared_wavefronts));
      EXPECT_LE(bytes(c.loads.sectors), 1.05 * static_cast<double>(loads)) << what;
      EXPECT_GE(bytes(c.loads.sectors), 0.99 * static_cast<double>(loads)) << what << ": less than it must";
      EXPECT_LE(bytes(c.stores.sectors), 1.05 * static_cast<double>(stores)) << what;
      EXPECT_EQ(c.shared_wavefronts, c.least_shared_wavefronts) << what;
      EXPECT_EQ(c.atomics, 0) << what;
    };
    expect("attention", counts_of([&] { std::tie(out, sums) = at::_fused_attention(q, q, q, {}, 0, false, 0.1, 0); }),
           side + kLength / heads.rows * 2 * side, side + numbers);
    // Queries' gradients: three operands of its rows, keys and values. Keys': both of its rows; queries, gradients and
    // two numbers of each query.
    expect("its gradients",
           counts_of([&] { at::_fused_attention_backward(q, q, q, q, out, sums, {}, 0, false, 0.1, 0); }),
           3 * side + numbers + kLength / heads.query_rows * 2 * side + 2 * side +
               kLength / heads.key_rows * (2 * side + 2 * numbers),
           3 * side + numbers);
  }
}

TEST_F(Traffic, Steps) {
  std::vector<Tensor> p, g, m, v, none, counts;
  for (int i = 0; i < 4; ++i) {
    for (auto* list : {&p, &g, &m, &v}) list->push_back(made({kElements / 4}));
    counts.push_back(made({}));
  }
  check({
      {"adamw", [&] { at::_fused_adamw_(p, g, m, v, none, counts, 0.1, 0.9, 0.99, 0.01, 1e-8, false, false); },
       7 * 4 * kElements, 1, 1.1},
      {"unscale",
       [&] {
         Tensor found = made({}), inverse = made({});
         at::_amp_foreach_non_finite_check_and_unscale_(g, found, inverse);
       },
       2 * 4 * kElements, 3, 1.1},
      {"add to lists", [&] { at::_foreach_add_(p, g); }, 3 * 4 * kElements, 1},
  });
}

}  // namespace
