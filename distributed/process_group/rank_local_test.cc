#include "distributed/process_group/rank_local.h"

#include <gtest/gtest.h>

#include <thread>

#include "aten/core/thread_local_state.h"

namespace c10d {
namespace {

struct Count {
  int value = 0;
};
int& count() {
  return RankLocal<Count>::get().value;
}
void on_thread(const std::function<void()>& body) {
  std::thread(body).join();
}

TEST(RankLocal, OfTheProcess) {
  count() = 3;
  on_thread([] { EXPECT_EQ(count(), 3); });
}

TEST(RankLocal, OfAScope) {
  count() = 1;
  const RankContextPtr process = current_rank();
  {
    const RankScope scope;
    EXPECT_EQ(count(), 0);
    count() = 2;
    const RankContextPtr rank = current_rank();
    EXPECT_NE(rank, process);
    on_thread([&] {
      EXPECT_EQ(count(), 1);
      const RankScope same(rank);
      EXPECT_EQ(count(), 2);
    });
    const RankScope inner;
    EXPECT_EQ(count(), 0);
  }
  EXPECT_EQ(count(), 1);
}

TEST(RankLocal, CarriedToOtherThreads) {
  const RankScope scope;
  count() = 5;
  const at::ThreadLocalState state;
  on_thread([&] {
    {
      const at::ThreadLocalStateGuard guard(state);
      EXPECT_EQ(count(), 5);
    }
    EXPECT_NE(count(), 5);
  });
}

TEST(RankLocal, IsolatedThreads) {
  count() = 7;
  set_thread_isolation_mode(true);
  EXPECT_TRUE(get_thread_isolation_mode());
  on_thread([] {
    EXPECT_EQ(count(), 0);
    count() = 8;
    EXPECT_EQ(count(), 8);
    const at::ThreadLocalState state;
    on_thread([&] {
      EXPECT_EQ(count(), 0);
      const at::ThreadLocalStateGuard guard(state);
      EXPECT_EQ(count(), 8);
    });
  });
  set_thread_isolation_mode(false);
  EXPECT_EQ(count(), 7);
}

// What a rank keeps goes with it.
TEST(RankLocal, Ends) {
  struct Last {
    std::shared_ptr<int> kept;
  };
  const auto kept = std::make_shared<int>(1);
  {
    const RankScope scope;
    RankLocal<Last>::get().kept = kept;
    EXPECT_EQ(kept.use_count(), 2);
  }
  EXPECT_EQ(kept.use_count(), 1);
}

TEST(RankEnvironment, OverTheProcess) {
  ::setenv("KD_RANK_TEST", "process", 1);
  EXPECT_EQ(rank_environment("KD_RANK_TEST"), "process");
  const RankScope scope;
  set_rank_environment("KD_RANK_TEST", "rank");
  EXPECT_EQ(rank_environment("KD_RANK_TEST"), "rank");
  on_thread([] { EXPECT_EQ(rank_environment("KD_RANK_TEST"), "process"); });
  set_rank_environment("KD_RANK_TEST", std::nullopt);
  EXPECT_EQ(rank_environment("KD_RANK_TEST"), std::nullopt);
  EXPECT_EQ(rank_environment("KD_RANK_TEST_NOT_SET"), std::nullopt);
}

}  // namespace
}  // namespace c10d
