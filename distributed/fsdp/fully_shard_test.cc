#include "distributed/fsdp/fully_shard.h"

#include <gtest/gtest.h>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "distributed/ddp/testing/group.h"
#include "distributed/fsdp/clip_grad.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/run_mesh.h"
#include "nn/layers/layers.h"
#include "nn/module/sequential.h"
#include "optim/optim.h"

namespace torch::distributed::fsdp {
namespace {

using at::Tensor;
using c10d::testing::expect_equal;
using c10d::testing::fill;
using c10d::testing::numbers;
using tensor::DeviceMesh;
using tensor::DTensor;
using tensor::testing::run_mesh;

struct NetImpl : nn::Module {
  NetImpl() {
    first = register_module("first", nn::Linear(6, 8));
    blocks = register_module("blocks", nn::Sequential(nn::Linear(8, 8), nn::Linear(8, 7)));
    last = register_module("last", nn::Linear(7, 3));
  }
  Tensor forward(const Tensor& x) { return last(at::tanh(blocks->forward(at::tanh(first(x))))); }
  nn::Linear first{nullptr}, last{nullptr};
  nn::Sequential blocks{nullptr};
};
TORCH_MODULE(Net);

TEST(FullyShard, TrainsAsOneProcess) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    Net net, twin;
    fill(*net, 1);
    fill(*twin, 1);
    fully_shard(net->first, {mesh});
    for (const auto& block : *net->blocks) fully_shard(block.ptr(), {mesh});
    fully_shard(net, {mesh});
    optim::AdamW mine(net->parameters(), optim::AdamWOptions(0.01)), theirs(twin->parameters(), optim::AdamWOptions(0.01));
    for (int step = 0; step < 5; ++step) {
      mine.zero_grad();
      theirs.zero_grad();
      const Tensor x = numbers({4, 6}, step);
      net(x.narrow(0, 2 * mesh.get_rank(), 2)).square().mean().backward();
      for (int half = 0; half < 2; ++half) (twin(x.narrow(0, 2 * half, 2)).square().mean() * 0.5).backward();
      for (const auto& item : net->named_parameters()) {
        ASSERT_TRUE(DTensor::is(item.value())) << item.key();
        expect_equal(DTensor(item.value().grad()).full_tensor(), twin->named_parameters()[item.key()].grad(), 0, item.key() + ".grad");
      }
      mine.step();
      theirs.step();
      for (const auto& item : net->named_parameters()) {
        expect_equal(DTensor(item.value()).full_tensor(), twin->named_parameters()[item.key()], 0, item.key());
      }
    }
  });
}

}  // namespace
}  // namespace torch::distributed::fsdp
