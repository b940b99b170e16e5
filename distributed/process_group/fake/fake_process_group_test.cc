#include "distributed/process_group/fake/fake_process_group.h"

#include <gtest/gtest.h>

#include "aten/ops/creation/ops.h"
#include "distributed/process_group/collectives.h"
#include "distributed/process_group/init.h"
#include "distributed/store/hash_store.h"

namespace c10d {
namespace {

namespace td = torch::distributed;
using Tensors = std::vector<at::Tensor>;

c10::intrusive_ptr<FakeProcessGroup> fake_of(const GroupArg& group = std::nullopt) {
  auto backend = (group ? *group : get_default_group())->getBackend(at::kCPU);
  return c10::intrusive_ptr<FakeProcessGroup>::reclaim_copy(dynamic_cast<FakeProcessGroup*>(backend.get()));
}

void init(int rank, int size) {
  init_process_group("fake", {.world_size = size, .rank = rank, .store = c10::make_intrusive<HashStore>()});
}

TEST(FakeProcessGroup, NotesWhatIsCalled) {
  const RankScope scope;
  init(1, 4);
  const at::Tensor one = at::ones({3}), four = at::zeros({12});
  td::all_reduce(one);
  td::broadcast(one, 2);
  td::all_gather_into_tensor(four, one);
  td::reduce_scatter_tensor(one, four);
  td::all_to_all_single(four, at::ones({12}));
  td::send(one, 3);
  EXPECT_EQ(td::recv(one, 0), 0);
  td::gather(one, {}, 3);
  td::scatter(one, {}, 3);
  td::reduce(one, 0);
  td::barrier();
  const std::vector<FakeCall> calls = fake_of()->calls();
  const std::vector<std::tuple<OpType, size_t, int>> expected{
      {OpType::ALLREDUCE, 12, -1}, {OpType::BROADCAST, 12, 2},
      {OpType::ALLGATHER, 12, -1}, {OpType::REDUCE_SCATTER, 48, -1},
      {OpType::ALLTOALL, 48, -1},  {OpType::SEND, 12, 3},
      {OpType::RECV, 12, 0},       {OpType::GATHER, 12, 3},
      {OpType::SCATTER, 12, 3},    {OpType::REDUCE, 12, 0},
      {OpType::BARRIER, 0, -1}};
  ASSERT_EQ(calls.size(), expected.size());
  for (size_t i = 0; i < calls.size(); ++i)
    EXPECT_EQ(std::tuple(calls[i].type, calls[i].bytes, calls[i].peer), expected[i]) << i;
  EXPECT_EQ(four.data_ptr<float>()[11], 0.0f);
  // Arguments are checked all the same.
  EXPECT_THROW(td::all_gather_into_tensor(one, four), c10::Error);
  EXPECT_THROW(td::all_reduce(at::ones({1}, at::kBool), ReduceOp::AVG), c10::Error);
  fake_of()->clear_calls();
  EXPECT_TRUE(fake_of()->calls().empty());
  destroy_process_group();
}

// All ranks of a job one after the other, with groups of rows and columns.
TEST(FakeProcessGroup, ThousandsOfRanks) {
  constexpr int kSize = 1024, kRow = 8;
  size_t bytes = 0;
  for (int rank = 0; rank < kSize; rank += 31) {
    const RankScope scope;
    init(rank, kSize);
    std::vector<std::vector<int64_t>> rows(kSize / kRow), columns(kRow);
    for (int r = 0; r < kSize; ++r) {
      rows[static_cast<size_t>(r / kRow)].push_back(r);
      columns[static_cast<size_t>(r % kRow)].push_back(r);
    }
    const auto row = split_group(std::nullopt, rows), column = split_group(std::nullopt, columns);
    EXPECT_EQ(get_rank(row), rank % kRow);
    EXPECT_EQ(get_rank(column), rank / kRow);
    EXPECT_EQ(get_world_size(column), kSize / kRow);
    td::all_reduce(at::ones({2}), ReduceOp::SUM, column);
    // A name that a store takes as a key.
    EXPECT_LT(new_group(std::nullopt, {.use_local_synchronization = true})->getGroupName().size(), 100u);
    bytes += fake_of(column)->calls().at(0).bytes;
    destroy_process_group();
  }
  EXPECT_EQ(bytes, 34u * 8);
  std::vector<c10::intrusive_ptr<FakeProcessGroup>> all;
  Tensors t{at::ones({2})};
  for (int rank = 0; rank < 4096; ++rank) {
    all.push_back(c10::make_intrusive<FakeProcessGroup>(rank, 4096));
    all.back()->allreduce(t)->wait();
  }
}

TEST(FakeProcessGroup, Failing) {
  const auto options = FakeProcessGroup::Options::create();
  options->error_on_collective = true;
  FakeProcessGroup group(0, 2, options);
  Tensors t{at::ones({2})};
  EXPECT_THROW(group.allreduce(t)->wait(), c10::DistBackendError);
  EXPECT_THROW(group.allreduce(t), c10::DistBackendError);
}

}  // namespace
}  // namespace c10d
