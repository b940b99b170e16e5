// Operators give what they give without a graph when they are captured and replayed.
#include <gtest/gtest.h>

#include <optional>

#include "aten/core/tensor.h"
#include "aten/cuda/graph.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "c10/cuda/device.h"
#include "c10/cuda/frontend.h"
#include "c10/cuda/testing.h"

namespace {

using at::ScalarType;
using at::Tensor;
using at::cuda::CUDAGraph;
using at::testing::expect_error;
using at::testing::values;
using c10::cuda::testing::in_all_orders;

const c10::Device kDevice(c10::kCUDA, 0);

Tensor sample(unsigned seed) {
  return at::testing::sample({5, 7}, ScalarType::Float, seed).to(kDevice);
}

Tensor work(const Tensor& x, const Tensor& y) {
  Tensor sum = at::add(x, y, 2);
  at::mul_(sum, x);
  Tensor turned = at::t(at::empty({7, 5}, x.options()));
  at::copy_(turned, sum);
  at::fill_(sum, 3);
  const Tensor wide = at::to(at::add(turned, sum), ScalarType::Double);
  Tensor zeros = at::empty({5, 7}, x.options());
  at::zero_(zeros);
  return at::add(at::mul(wide, at::exp(y)), zeros);
}

TEST(GraphOperators, ReplaysGiveWhatCallsGive) {
  in_all_orders([] {
    Tensor x = sample(1), y = sample(2);
    c10::cuda::device_synchronize();
    CUDAGraph graph;
    Tensor out;
    {
      torch::cuda::graph capture(graph);
      out = work(x, y);
    }
    for (unsigned seed = 1; seed < 4; ++seed) {
      at::copy_(x, sample(2 * seed));
      at::copy_(y, sample(2 * seed + 1));
      graph.replay();
      EXPECT_EQ(values(out), values(work(x, y)));
    }
  });
}

TEST(GraphOperators, InPlaceWorkGoesOnFromReplayToReplay) {
  in_all_orders([] {
    Tensor weight = at::full({3}, 10.0, at::TensorOptions().device(kDevice)),
           gradient = at::full({3}, 1.0, weight.options());
    c10::cuda::device_synchronize();
    CUDAGraph graph;
    {
      torch::cuda::graph capture(graph);
      at::add_(weight, gradient, -0.5);
    }
    EXPECT_EQ(values(weight), (std::vector<double>{10, 10, 10}));
    for (int step = 0; step < 4; ++step) graph.replay();
    EXPECT_EQ(values(weight), (std::vector<double>{8, 8, 8}));
  });
}

TEST(GraphOperators, RandomNumbersGoOnFromReplayToReplay) {
  in_all_orders([] {
    const auto options = at::TensorOptions().device(kDevice);
    const auto draw = [&] { return std::pair(at::rand({300}, options), at::randn({5}, options)); };
    torch::cuda::manual_seed(3);
    std::vector<std::vector<double>> expected;
    for (int i = 0; i < 3; ++i) {
      const auto [u, z] = draw();
      expected.push_back(values(u));
      expected.push_back(values(z));
    }
    torch::cuda::manual_seed(3);
    c10::cuda::device_synchronize();
    CUDAGraph graph;
    std::optional<std::pair<Tensor, Tensor>> drawn;
    {
      torch::cuda::graph capture(graph);
      drawn = draw();
    }
    for (size_t i = 0; i < 6; i += 2) {
      graph.replay();
      EXPECT_EQ(values(drawn->first), expected[i]);
      EXPECT_EQ(values(drawn->second), expected[i + 1]);
    }
  });
}

TEST(GraphOperators, WhatWaitsForTheDeviceEndsTheCapture) {
  in_all_orders([] {
    Tensor x = sample(1);
    Tensor on_host = at::empty({5, 7});
    c10::cuda::device_synchronize();
    for (const bool reads_one : {true, false}) {
      CUDAGraph graph;
      const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
      graph.capture_begin();
      at::add_(x, 1);
      expect_error<c10::AcceleratorError>(
          [&] {
            if (reads_one) {
              at::item(at::reshape(at::slice(at::slice(x, 0, 0, 1), 1, 0, 1), {}));
            } else {
              at::copy_(on_host, x);
            }
          },
          "cudaErrorStreamCapture");
      expect_error<c10::AcceleratorError>([&] { graph.capture_end(); }, "cudaErrorStreamCaptureInvalidated");
    }
  });
}

}  // namespace
