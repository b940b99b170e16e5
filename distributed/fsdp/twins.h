// A net that is sharded, and a twin that one process trains.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "aten/aten.h"
#include "c10/core/grad_mode.h"
#include "distributed/ddp/testing/group.h"
#include "distributed/fsdp/fully_shard.h"
#include "distributed/tensor/dtensor.h"
#include "nn/layers/layers.h"
#include "nn/module/sequential.h"

namespace torch::distributed::fsdp::testing {

using at::Tensor;
using c10d::testing::expect_equal;
using c10d::testing::fill;
using c10d::testing::numbers;
using tensor::DTensor;

// Sizes that two or four ranks do not divide, among others that they do.
struct NetImpl : nn::Module {
  NetImpl() {
    first = register_module("first", nn::Linear(6, 8));
    blocks =
        register_module("blocks", nn::Sequential(nn::Linear(8, 8), nn::Tanh(), nn::Linear(8, 7), nn::Linear(7, 5)));
    last = register_module("last", nn::Linear(5, 3));
  }
  Tensor forward(const Tensor& x) { return last(at::tanh(blocks->forward(at::tanh(first(x))))); }
  Tensor begin(const Tensor& x) { return first(x); }
  nn::Linear first{nullptr}, last{nullptr};
  nn::Sequential blocks{nullptr};
};
TORCH_MODULE(Net);

inline void shard(Net& net, const FullyShardOptions& options) {
  fully_shard(net->first, options);
  for (size_t i : {0, 2, 3}) fully_shard(net->blocks->ptr(i), options);
  fully_shard(net, options);
}

inline Tensor whole(const Tensor& t) {
  const c10::NoGradGuard no_grad;
  return t.defined() && DTensor::is(t) ? DTensor(t).full_tensor() : t;
}

inline void expect_twins(const nn::Module& mine, const nn::Module& twin, double tolerance, bool gradients = false) {
  const auto theirs = twin.named_parameters();
  for (const auto& item : mine.named_parameters()) {
    const Tensor other = whole(theirs[item.key()]);
    ASSERT_TRUE(DTensor::is(item.value())) << item.key();
    expect_equal(whole(item.value()), other, tolerance, item.key());
    if (gradients) expect_equal(whole(item.value().grad()), other.grad(), tolerance, item.key() + ".grad");
  }
}

// The gradient of the mean over `parts` parts of a batch. Halving is exact, so that the bits are those of ranks.
inline void backward_of_parts(Net& twin, const Tensor& x, int64_t parts) {
  for (const Tensor& part : x.chunk(parts)) (twin(part).square().mean() / static_cast<double>(parts)).backward();
}

}  // namespace torch::distributed::fsdp::testing
