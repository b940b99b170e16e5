#include "distributed/tensor/init_device_mesh.h"

#include <gtest/gtest.h>

#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "distributed/process_group/init.h"
#include "distributed/store/hash_store.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/testing/run_ranks.h"

namespace torch::distributed::tensor {
namespace {

TEST(InitDeviceMesh, GroupsAlongEachDimensionReduce) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  c10d::testing::run_ranks(4, [&](int rank) {
    c10d::init_process_group("gloo",
                             {.timeout = std::chrono::seconds(20), .world_size = 4, .rank = rank, .store = store});
    {
      EXPECT_THROW(init_device_mesh(c10::kCPU, {3}), c10::ValueError);
      const DeviceMesh mesh = init_device_mesh(c10::kCPU, {2, 2}, {"dp", "tp"});
      const auto summed = [&](const char* name) {
        std::vector<at::Tensor> t{at::full({1}, static_cast<double>(rank))};
        mesh.get_group(name)->allreduce(t)->wait();
        return t[0].item<double>();
      };
      EXPECT_EQ(summed("dp"), rank % 2 * 2 + 2);  // ranks r and r + 2
      EXPECT_EQ(summed("tp"), rank / 2 * 4 + 1);  // 0 + 1, 2 + 3
      const DTensor t = distribute_tensor(at::arange(6), mesh, {Shard(0), Shard(0)});
      EXPECT_EQ(at::sum(t).item<int64_t>(), 15);
      EXPECT_EQ(init_device_mesh(c10::kCPU, {4}).get_group(), c10d::get_default_group());
    }
    c10d::destroy_process_group();
  });
}

}  // namespace
}  // namespace torch::distributed::tensor
