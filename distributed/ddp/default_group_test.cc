// Training without a word about groups: with the default group, and not without one.
#include <gtest/gtest.h>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "c10/testing/message_of.h"
#include "distributed/ddp/distributed_data_parallel.h"
#include "distributed/ddp/testing/group.h"
#include "distributed/process_group/init.h"
#include "distributed/store/hash_store.h"
#include "distributed/testing/run_ranks.h"
#include "nn/layers/linear.h"

namespace c10d {
namespace {

using torch::nn::parallel::DistributedDataParallel;

TEST(DefaultGroup, IsWhatTrainingUses) {
  const auto store = c10::make_intrusive<HashStore>();
  testing::run_ranks(2, [&](int rank) {
    torch::nn::Linear net(3, 2);
    EXPECT_NE(
        c10::testing::message_of([&] {
          DistributedDataParallel(net.ptr(), {});
        }).find("DistributedDataParallel: expected a process group: none was given, and there is no default group"),
        std::string::npos);
    torch::distributed::init_process_group("gloo", {.world_size = 2, .rank = rank, .store = store});
    {
      DistributedDataParallel ddp(net.ptr(), {});
      EXPECT_EQ(ddp->process_group(), torch::distributed::get_default_group());
      ddp(at::full({1, 3}, 1.0 + rank)).sum().backward();
      EXPECT_TRUE(at::equal(net->weight.grad(), at::full({2, 3}, 1.5f)));
    }
    torch::distributed::destroy_process_group();
  });
}

}  // namespace
}  // namespace c10d
