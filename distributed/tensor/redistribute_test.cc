#include "distributed/tensor/redistribute.h"

#include <gtest/gtest.h>

#include <random>

#include "aten/aten.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/run_mesh.h"

namespace torch::distributed::tensor {
namespace {

using at::Tensor;

Tensor sample(at::IntArrayRef sizes) {
  return at::arange(at::empty(sizes, at::kMeta).numel(), at::kDouble).view(sizes).add(1);
}

std::vector<Placement> random_placements(std::mt19937& random, size_t count, int64_t ndim, bool partial) {
  std::vector<Placement> placements;
  for (size_t i = 0; i < count; ++i) {
    switch (random() % (partial ? 6 : 5)) {
      case 0:
        placements.push_back(Replicate());
        break;
      case 1:
      case 2:
        placements.push_back(Shard(static_cast<int64_t>(random() % static_cast<size_t>(ndim))));
        break;
      case 3:
        placements.push_back(Shard(0));
        break;
      case 4:
        placements.push_back(StridedShard(static_cast<int64_t>(random() % static_cast<size_t>(ndim)), 2));
        break;
      default:
        placements.push_back(Partial());
        break;
    }
  }
  return placements;
}

// Any two placements, with dimensions that do not divide, shards within shards and parts without elements.
void any_to_any(const std::vector<int64_t>& mesh_shape, int rounds) {
  testing::run_mesh(mesh_shape, [&](const DeviceMesh& mesh) {
    std::mt19937 random(7);
    for (int round = 0; round < rounds; ++round) {
      std::vector<int64_t> sizes;
      for (int d = 0; d < 3; ++d) sizes.push_back(static_cast<int64_t>(1 + random() % 7));
      const Tensor whole = sample(sizes);
      const size_t n = mesh_shape.size();
      const auto from = random_placements(random, n, 3, false), over = random_placements(random, n, 3, true);
      const auto to = random_placements(random, n, 3, false);
      DTensor t = distribute_tensor(whole, mesh, from);
      for (const auto& next : {over, to, std::vector<Placement>(n)}) {
        t = t.redistribute(next);
        ASSERT_EQ(t.placements(), next);
        ASSERT_EQ(t.sizes(), whole.sizes());
        ASSERT_EQ(t.to_local().sizes(), at::IntArrayRef(t.spec()->local_sizes())) << str(from) << str(over) << str(to);
      }
      ASSERT_TRUE(at::equal(t.to_local(), whole))
          << str(from) << " " << str(over) << " " << str(to) << " " << whole.sizes();
    }
  });
}

TEST(Redistribute, AnyToAnyOnARow) {
  any_to_any({3}, 80);
}
TEST(Redistribute, AnyToAnyOnAGrid) {
  any_to_any({2, 3}, 120);
}
TEST(Redistribute, AnyToAnyOnThreeDimensions) {
  any_to_any({2, 2, 2}, 80);
}

TEST(Redistribute, UsesTheCollectiveThatMovesLeast) {
  testing::run_mesh({4}, [](const DeviceMesh& mesh) {
    const Tensor whole = sample({8, 8});
    const auto counts = [&](const std::vector<Placement>& from, const std::vector<Placement>& to) {
      const DTensor t = DTensor(
          detail::wrap(redistribute_local(whole,
                                          *c10::make_intrusive<Spec>(mesh, std::vector<Placement>{Replicate()},
                                                                     whole.sizes(), whole.strides(), at::kDouble),
                                          from),
                       c10::make_intrusive<Spec>(mesh, from, whole.sizes(), whole.strides(), at::kDouble)));
      const CommDebugMode counted;
      EXPECT_TRUE(at::equal(t.redistribute(to).redistribute(to).full_tensor(), whole));
      return counted.get_comm_counts();
    };
    using Counts = std::map<std::string, int64_t>;
    EXPECT_EQ(counts({Shard(0)}, {Replicate()}), (Counts{{"all_gather", 1}}));
    EXPECT_EQ(counts({Shard(0)}, {Shard(1)}), (Counts{{"all_to_all", 1}, {"all_gather", 1}}));
    EXPECT_EQ(counts({Partial()}, {Replicate()}), (Counts{{"all_reduce", 1}}));
    EXPECT_EQ(counts({Partial()}, {Shard(1)}), (Counts{{"reduce_scatter", 1}, {"all_gather", 1}}));
    EXPECT_EQ(counts({Replicate()}, {Shard(1)}), (Counts{{"all_gather", 1}}));
    EXPECT_EQ(counts({Replicate()}, {Replicate()}), Counts{});
  });
}

TEST(Redistribute, ReductionsOfPartialValues) {
  testing::run_mesh({3}, [](const DeviceMesh& mesh) {
    const double mine = static_cast<double>(mesh.get_rank() + 1);
    const auto reduced = [&](const char* op, const std::vector<Placement>& to) {
      const DTensor t = DTensor::from_local(at::full({3}, mine, at::kDouble), mesh, {Partial(op)});
      return t.redistribute(to).full_tensor()[1].item<double>();
    };
    for (const std::vector<Placement>& to : {std::vector<Placement>{Replicate()}, std::vector<Placement>{Shard(0)}}) {
      EXPECT_EQ(reduced("sum", to), 6);
      EXPECT_EQ(reduced("avg", to), 2);
      EXPECT_EQ(reduced("min", to), 1);
      EXPECT_EQ(reduced("max", to), 3);
      EXPECT_EQ(reduced("product", to), 6);
    }
    const DTensor sum = DTensor::from_local(at::ones({2}), mesh, {Partial()});
    EXPECT_THROW(sum.redistribute({Partial("max")}), c10::Error);
    EXPECT_THROW(sum.redistribute({Shard(1)}), c10::ValueError);
    EXPECT_THROW(sum.redistribute({Shard(0), Shard(0)}), c10::ValueError);
  });
}

}  // namespace
}  // namespace torch::distributed::tensor
