// What a call of an operator costs the host, without the time of the stand-ins: device work is dropped, and what
// remains of the stand-ins' functions is measured and subtracted.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

#include "aten/core/tensor.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/softmax/ops.h"
#include "tests/cuda_on_host/runtime/own_time.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace {

using at::Tensor;

// What a launch may cost, in microseconds.
constexpr double kMost = 4;

Tensor made(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat) {
  return at::empty(sizes, at::TensorOptions(dtype).device(at::Device(at::kCUDA, 0)));
}

// Microseconds a call, of the quietest of many short runs.
double cost_of(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRuns = 200, kCalls = 50;
  for (int i = 0; i < kCalls; ++i) call();
  double least = 1e9;
  for (int run = 0; run < kRuns; ++run) {
    const double own = cuda_standin::own_seconds();
    const auto begin = Clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    const double all = std::chrono::duration<double>(Clock::now() - begin).count();
    least = std::min(least, all - (cuda_standin::own_seconds() - own));
  }
  return 1e6 * least / kCalls;
}

TEST(HostCost, OfALaunch) {
  cuda_standin::reset({.devices = 1, .idle = true});
  const Tensor a = made({64}), b = made({64}), rows = made({16, 64}), weight = made({64, 64}), bias = made({64});
  const Tensor h = made({16, 64}, at::kBFloat16), h_weight = made({64, 64}, at::kBFloat16),
               h_bias = made({64}, at::kBFloat16);
  Tensor out = made({64});
  struct Row {
    const char* name;
    std::function<void()> call;
    int launches;
  };
  const Row table[] = {
      {"add, to given memory", [&] { at::add_out(out, a, b); }, 1},
      {"add", [&] { at::add(a, b); }, 1},
      {"mul_ by a number", [&] { at::mul_(out, 2.0); }, 1},
      {"add of a row to all", [&] { at::add(rows, bias); }, 1},
      {"gelu", [&] { at::gelu(a); }, 1},
      {"sum of rows", [&] { at::sum(rows, at::OptionalIntArrayRef({1})); }, 1},
      {"softmax", [&] { at::softmax(rows, 1); }, 1},
      {"layer_norm", [&] { at::layer_norm(rows, {64}, bias, bias); }, 1},
      {"linear", [&] { at::linear(rows, weight, bias); }, 1},
      {"linear of bfloat16", [&] { at::linear(h, h_weight, h_bias); }, 1},
  };
  for (const Row& row : table) {
    const double cost = cost_of(row.call) / row.launches;
    std::printf("%-24s %6.2f us\n", row.name, cost);
    EXPECT_LE(cost, kMost) << row.name;
  }
  EXPECT_EQ(cuda_standin::misuse(), "");
}

}  // namespace
