#include "distributed/process_group/process_group_wrapper.h"

#include <gtest/gtest.h>

#include "aten/ops/creation/ops.h"
#include "c10/testing/message_of.h"
#include "distributed/process_group/collectives.h"
#include "distributed/process_group/debug.h"
#include "distributed/process_group/init.h"
#include "distributed/store/hash_store.h"
#include "distributed/testing/run_ranks.h"

namespace c10d {
namespace {

using c10::testing::message_of;
using std::chrono::milliseconds;

[[maybe_unused]] const bool is_local = ::setenv("GLOO_SOCKET_IFNAME", "lo", 1) == 0;

TEST(DebugLevel, OfEnvironment) {
  EXPECT_EQ(debug_level(), DebugLevel::Off);
  ::setenv("TORCH_DISTRIBUTED_DEBUG", "info", 1);
  EXPECT_EQ(debug_level(), DebugLevel::Off);
  setDebugLevelFromEnvironment();
  EXPECT_EQ(debug_level(), DebugLevel::Info);
  ::setenv("TORCH_DISTRIBUTED_DEBUG", "DETAIL", 1);
  setDebugLevelFromEnvironment();
  EXPECT_EQ(debug_level(), DebugLevel::Detail);
  ::setenv("TORCH_DISTRIBUTED_DEBUG", "much", 1);
  EXPECT_EQ(message_of([] { setDebugLevelFromEnvironment(); }),
            "The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL, but is 'MUCH'.");
  EXPECT_EQ(debug_level(), DebugLevel::Detail);
  ::unsetenv("TORCH_DISTRIBUTED_DEBUG");
  setDebugLevel(DebugLevel::Off);
}

class Wrapper : public ::testing::Test {
 protected:
  void SetUp() override { setDebugLevel(DebugLevel::Detail); }
  void TearDown() override { setDebugLevel(DebugLevel::Off); }

  // What each rank's body threw; the groups go on.
  static std::vector<std::string> with_ranks(int size, const std::function<void(int)>& body) {
    const auto store = c10::make_intrusive<HashStore>();
    std::vector<std::string> texts(static_cast<size_t>(size));
    testing::run_ranks(size, [&](int rank) {
      init_process_group("gloo", {.timeout = milliseconds(20000), .world_size = size, .rank = rank, .store = store});
      texts[static_cast<size_t>(rank)] = message_of([&] { body(rank); });
      // Nothing has moved, and all goes on.
      const at::Tensor t = at::ones({2});
      torch::distributed::all_reduce(t);
      EXPECT_EQ(t.data_ptr<float>()[1], static_cast<float>(size));
      destroy_process_group();
    });
    return texts;
  }
  static void expect_all(const std::vector<std::string>& texts, const std::string& part) {
    for (const std::string& text : texts) EXPECT_NE(text.find(part), std::string::npos) << text;
  }
};

TEST_F(Wrapper, WhatDiffers) {
  namespace td = torch::distributed;
  expect_all(with_ranks(3,
                        [](int rank) {
                          td::all_reduce(at::ones({2, rank == 1 ? 3 : 4}));
                        }),
             "process group 0: Detected mismatch between collectives on ranks: ALLREDUCE number 0 of [2, 3] Float on "
             "cpu (SUM) on rank 1; ALLREDUCE number 0 of [2, 4] Float on cpu (SUM) on ranks 0, 2");
  // As many elements all the same.
  expect_all(with_ranks(2,
                        [](int rank) {
                          td::all_reduce(rank == 0 ? at::ones({2, 3}) : at::ones({3, 2}));
                        }),
             "ALLREDUCE number 0 of [2, 3] Float on cpu (SUM) on rank 0; ALLREDUCE number 0 of [3, 2] Float");
  expect_all(with_ranks(2, [](int rank) { rank == 0 ? td::barrier() : td::broadcast(at::ones({1}), 0); }),
             "BARRIER number 0 on rank 0; BROADCAST number 0 of [1] Float on cpu with root 0 on rank 1");
  expect_all(with_ranks(2, [](int rank) { td::reduce(at::ones({1}), rank); }), "with root 1 on rank 1");
  expect_all(with_ranks(2, [](int rank) { td::all_reduce(at::ones({1}, rank == 0 ? at::kInt : at::kLong)); }),
             "of [1] Long on cpu (SUM) on rank 1");
  expect_all(with_ranks(2, [](int rank) { td::all_reduce(at::ones({1}), rank == 0 ? ReduceOp::MAX : ReduceOp::MIN); }),
             "(MIN) on rank 1");
}

TEST_F(Wrapper, AllForms) {
  namespace td = torch::distributed;
  using Tensors = std::vector<at::Tensor>;
  const auto texts = with_ranks(2, [](int rank) {
    EXPECT_NE(dynamic_cast<ProcessGroupWrapper*>(get_default_group()->getBackend(at::kCPU).get()), nullptr);
    EXPECT_EQ(get_backend(), "gloo");
    const at::Tensor one = at::ones({1}), two = at::ones({2}), other = at::ones({1});
    td::broadcast(one, 1);
    td::reduce(one, 0);
    td::all_reduce_coalesced({one, two});
    td::all_gather({one, other}, at::ones({1}));
    td::all_gather_into_tensor(two, one);
    td::gather(one, rank == 0 ? Tensors{one, other} : Tensors{});
    td::scatter(one, rank == 0 ? Tensors{other, other} : Tensors{});
    td::reduce_scatter(one, {other, other});
    td::reduce_scatter_tensor(one, two);
    td::all_to_all({one, other}, {other, one});
    // Of sizes that are each rank's own.
    td::all_to_all_single(at::ones({rank == 0 ? 1 : 3}), at::ones({rank == 0 ? 1 : 3}),
                          rank == 0 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{1, 2},
                          rank == 0 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{1, 2});
    rank == 0 ? td::send(one, 1) : (void)td::recv(one, 0);
    td::barrier();
    td::monitored_barrier();
    td::all_reduce(one, ReduceOp::SUM, new_group({{0, 1}}));
    EXPECT_EQ(get_default_group()->getSequenceNumberForGroup(), 12u);
  });
  expect_all(texts, "no error");
}

TEST_F(Wrapper, ARankThatDoesNotCall) {
  const auto store = c10::make_intrusive<HashStore>();
  const auto errors = testing::errors_of_ranks(2, [&](int rank) {
    init_process_group("gloo", {.timeout = milliseconds(20000), .world_size = 2, .rank = rank, .store = store});
    get_default_group()->setTimeout(milliseconds(300));
    if (rank == 0) torch::distributed::barrier();
    if (rank == 1) std::this_thread::sleep_for(milliseconds(700));
  });
  EXPECT_NE(errors[0].find("timed out waiting for rank 1"), std::string::npos) << errors[0];
}

}  // namespace
}  // namespace c10d
