#include "distributed/tensor/visualize_sharding.h"

#include <gtest/gtest.h>

#include "aten/aten.h"
#include "distributed/tensor/run_mesh.h"

namespace torch::distributed::tensor::debug {
namespace {

TEST(VisualizeSharding, Tables) {
  testing::run_mesh({2, 2}, [](const DeviceMesh& mesh) {
    const auto text = [&](at::IntArrayRef sizes, const Placement& a, const Placement& b, const char* header = "") {
      return visualize_sharding(zeros(sizes, mesh, {a, b}), header);
    };
    EXPECT_EQ(text({3, 6}, Shard(0), Shard(1), "weight"),
              "weight\n"
              "         Col 0-2  Col 3-5\n"
              "Row 0-1  cpu:0    cpu:1\n"
              "Row 2    cpu:2    cpu:3\n");
    EXPECT_EQ(text({4, 6}, Replicate(), Shard(1)),
              "         Col 0-2       Col 3-5\n"
              "Row 0-3  cpu:0, cpu:2  cpu:1, cpu:3\n");
    EXPECT_EQ(text({4}, Shard(0), Shard(0)),
              "       Col 0  Col 1  Col 2  Col 3\n"
              "Row 0  cpu:0  cpu:1  cpu:2  cpu:3\n");
    // A rank may have nothing.
    EXPECT_EQ(text({1}, Shard(0), Replicate()),
              "       Col 0\n"
              "Row 0  cpu:0, cpu:1\n");
    EXPECT_EQ(text({0, 3}, Replicate(), Shard(1)), "");
    EXPECT_THROW(text({2, 2, 2}, Replicate(), Shard(1)), c10::ValueError);
    EXPECT_THROW(text({4, 4}, StridedShard(0, 2), Shard(0)), c10::NotImplementedError);
  });
}

}  // namespace
}  // namespace torch::distributed::tensor::debug
