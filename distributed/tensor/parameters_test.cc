// Distributed tensors as parameters: converted in place, and stepped by optimizers.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/run_mesh.h"
#include "optim/optim.h"

namespace torch::distributed::tensor {
namespace {

using at::Tensor;
using testing::run_mesh;

Tensor sample(at::IntArrayRef sizes, double first) {
  return at::sin(at::arange(at::empty(sizes, at::kMeta).numel()).mul(1.7).add(first)).view(sizes);
}

TEST(DistributedParameters, StayShardedWhereTheyAreConverted) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    const Tensor whole = sample({5, 3}, 1);
    const DTensor t = distribute_tensor(whole, mesh, {Shard(0)});
    const Tensor wide = t.to(at::kDouble), moved = t.to(at::Device(at::kCPU), at::kDouble);
    for (const Tensor& converted : {wide, moved}) {
      EXPECT_EQ(DTensor(converted).placements(), t.placements());
      EXPECT_TRUE(at::equal(DTensor(converted).full_tensor(), whole.to(at::kDouble)));
    }
    Tensor p = t.detach();
    p.set_requires_grad(true);
    p.set_data(wide);
    EXPECT_EQ(p.scalar_type(), at::kDouble);
    EXPECT_TRUE(p.requires_grad());
    ASSERT_TRUE(DTensor::is(p));
    EXPECT_EQ(DTensor(p).placements(), t.placements());
    EXPECT_THROW(p.set_data(whole), c10::Error);  // of another kind
  });
}

// By the kernel that one device has: the same bits.
TEST(DistributedParameters, AreSteppedAsOnOneDevice) {
  run_mesh({3}, [](const DeviceMesh& mesh) {
    const std::vector<std::vector<Placement>> placements{{Shard(0)}, {Shard(1)}, {Replicate()}};
    std::vector<Tensor> parts, wholes;
    for (size_t i = 0; i < placements.size(); ++i) {
      wholes.push_back(sample({7, 10}, static_cast<double>(i)));
      parts.push_back(distribute_tensor(wholes[i], mesh, placements[i]));
      wholes[i].set_requires_grad(true);
      parts[i].set_requires_grad(true);
    }
    const auto compare = [&](auto& of_parts, auto& of_wholes) {
      for (int step = 0; step < 3; ++step) {
        for (size_t i = 0; i < wholes.size(); ++i) {
          const Tensor gradient = sample({7, 10}, 10.0 * step + static_cast<double>(i));
          wholes[i].mutable_grad() = gradient;
          // Also where the gradient lies otherwise than its parameter.
          parts[i].mutable_grad() = distribute_tensor(gradient, mesh, step == 2 ? placements[0] : placements[i]);
        }
        of_parts.step();
        of_wholes.step();
        for (size_t i = 0; i < wholes.size(); ++i) {
          EXPECT_EQ(DTensor(parts[i]).placements(), placements[i]);
          const Tensor difference = DTensor(parts[i].detach()).full_tensor() - wholes[i].detach();
          EXPECT_LE(difference.abs().max().item<double>(), step == 2 ? 1e-6 : 0) << i;
        }
      }
    };
    optim::AdamW adam_of_parts(parts, optim::AdamWOptions(0.01)), adam_of_wholes(wholes, optim::AdamWOptions(0.01));
    compare(adam_of_parts, adam_of_wholes);
  });
}

}  // namespace
}  // namespace torch::distributed::tensor
