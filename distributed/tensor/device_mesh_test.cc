#include "distributed/tensor/device_mesh.h"

#include <gtest/gtest.h>

#include "distributed/tensor/placement.h"
#include "distributed/tensor/run_mesh.h"
#include "distributed/tensor/spec.h"

namespace torch::distributed::tensor {
namespace {

TEST(Placement, SaysWhatItIs) {
  EXPECT_TRUE(Replicate().is_replicate());
  EXPECT_TRUE(Shard(1).is_shard());
  EXPECT_TRUE(Shard(1).is_shard(1));
  EXPECT_FALSE(Shard(1).is_shard(0));
  EXPECT_FALSE(StridedShard(0, 2).is_shard());
  EXPECT_TRUE(Partial().is_partial("sum"));
  EXPECT_FALSE(Partial("max").is_partial("sum"));
  EXPECT_EQ(str({Replicate(), Shard(0), StridedShard(1, 4), Partial("avg")}),
            "[Replicate(), Shard(dim=0), StridedShard(dim=1, sf=4), Partial(avg)]");
  EXPECT_EQ(Placement(), Placement(Replicate()));
  EXPECT_NE(Placement(Shard(0)), Placement(Shard(1)));
  EXPECT_NE(Placement(Partial("sum")), Placement(Partial("avg")));
  EXPECT_THROW(Partial("median"), c10::ValueError);
  EXPECT_THROW(StridedShard(0, 0), c10::ValueError);
}

TEST(Placement, PiecesAreChunks) {
  const auto sizes = [](int64_t n, int64_t parts) {
    std::vector<int64_t> all;
    for (int64_t q = 0; q < parts; ++q) all.push_back(piece_of(n, parts, q).size);
    return all;
  };
  EXPECT_EQ(sizes(8, 4), (std::vector<int64_t>{2, 2, 2, 2}));
  EXPECT_EQ(sizes(7, 4), (std::vector<int64_t>{2, 2, 2, 1}));
  EXPECT_EQ(sizes(5, 4), (std::vector<int64_t>{2, 2, 1, 0}));
  EXPECT_EQ(sizes(0, 3), (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(piece_of(5, 4, 3).offset, 5);
}

TEST(DeviceMesh, CoordinatesGroupsAndSlices) {
  testing::run_mesh({2, 3},
                    [](const DeviceMesh& mesh) {
                      const std::vector<int64_t>& at = *mesh.get_coordinate();
                      EXPECT_EQ(at[0] * 3 + at[1], mesh.get_rank());
                      EXPECT_EQ(mesh.size(), 6);
                      EXPECT_EQ(mesh.size(1), 3);
                      EXPECT_EQ(mesh.get_group("tp")->getSize(), 3);
                      EXPECT_EQ(mesh.get_local_rank("dp"), at[0]);
                      const DeviceMesh row = mesh["tp"];
                      EXPECT_EQ(row.ndim(), 1);
                      EXPECT_EQ(row.mesh(), (std::vector<int64_t>{at[0] * 3, at[0] * 3 + 1, at[0] * 3 + 2}));
                      EXPECT_EQ(row.get_group(), mesh.get_group(1));
                      EXPECT_EQ(mesh.slice({"tp", "dp"}).shape(), (std::vector<int64_t>{3, 2}));
                      EXPECT_NE(row, mesh);
                      EXPECT_EQ(row, mesh["tp"]);
                      EXPECT_EQ(mesh.str(), "DeviceMesh((dp=2, tp=3), device: 'cpu', [0, 1, 2, 3, 4, 5])");
                      EXPECT_THROW(mesh["pp"], c10::Error);
                      EXPECT_THROW(mesh.get_group(), c10::Error);
                      EXPECT_THROW(mesh.size(2), c10::IndexError);
                    },
                    {"dp", "tp"});
}

TEST(DeviceMesh, RefusesWhatIsNone) {
  const auto group = c10::make_intrusive<c10d::ProcessGroup>(0, 2);
  EXPECT_THROW(DeviceMesh(c10::kCPU, {2}, {0, 1, 2}, 0, {group}), c10::ValueError);
  EXPECT_THROW(DeviceMesh(c10::kCPU, {2}, {0, 0}, 0, {group}), c10::ValueError);
  EXPECT_THROW(DeviceMesh(c10::kCPU, {2}, {1, 0}, 0, {group}), c10::ValueError);
  EXPECT_THROW(DeviceMesh(c10::kCPU, {2}, {0, 1}, 0, {}), c10::ValueError);
  EXPECT_THROW(DeviceMesh(c10::kCPU, {2}, {0, 1}, 0, {group}, {"a", "b"}), c10::ValueError);
  const DeviceMesh without(c10::kCPU, {2}, {0, 1}, 5, {nullptr});
  EXPECT_FALSE(without.get_coordinate().has_value());
  EXPECT_EQ(DeviceMesh::from_group(group, c10::kCPU, "dp").get_group("dp"), group);
}

}  // namespace
}  // namespace torch::distributed::tensor
