// Processes that begin anew, pools, pipes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "autograd/factories.h"
#include "c10/testing/message_of.h"
#include "utils/multiprocessing/multiprocessing.h"

namespace torch::multiprocessing {
namespace {

using c10::IValue;
using c10::testing::message_of;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

// What a forked process has of this one, and a new one has not.
int of_this_process = 0;

void work(int rank, at::Tensor results, Queue queue, Connection end) {
  results.data_ptr<float>()[rank] = static_cast<float>(rank + 1);
  queue.put(std::make_tuple(int64_t{rank}, static_cast<int64_t>(of_this_process), torch::full({2}, rank, at::kFloat)));
  if (rank == 0) end.send(IValue(end.recv().toStringRef() + " there"));
}
const Function kWork("work", work);

void fail(int rank, const std::string& how) {
  if (rank == 0 && how != "all") {
    for (;;) ::pause();
  }
  if (how == "kill") ::raise(SIGKILL);
  TORCH_CHECK_VALUE(false, "no data for rank ", rank);
}
const Function kFail("fail", fail);

at::Tensor twice(const at::Tensor& x) { return at::mul(x, 2); }
const Function kTwice("twice", twice);

int64_t add(int64_t a, int b) {
  TORCH_CHECK_VALUE(b >= 0, "a negative number: ", b);
  return a + b;
}
const Function kAdd("add", add);

void sleep_for(int64_t ms) { std::this_thread::sleep_for(milliseconds(ms)); }
const Function kSleep("sleep", sleep_for);

int64_t pid_or_end(bool ends) {
  if (ends) ::raise(SIGKILL);
  return ::getpid();
}
const Function kPid("pid", pid_or_end);

at::Tensor no_leaf() { return at::mul(torch::ones({2}).requires_grad_(), 2); }
const Function kNoLeaf("no_leaf", no_leaf);

class FreezeSupport : public ::testing::Environment {
  void SetUp() override { freeze_support(); }
};
[[maybe_unused]] ::testing::Environment* const kFreezeSupport =
    ::testing::AddGlobalTestEnvironment(new FreezeSupport);  // NOLINT(cert-err58-cpp)

class Methods : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, Methods, ::testing::Values("spawn", "fork"));

TEST_P(Methods, ArgumentsArriveAndTensorsAreShared) {
  const at::Tensor results = torch::zeros({3});
  at::Tensor shared = results;
  share_memory_(shared);
  Queue queue;
  auto [here, there] = Pipe();
  of_this_process = 7;
  ProcessContext context = start_processes(kWork, {shared, queue, there}, 3, /*join=*/false, false, GetParam());
  of_this_process = 0;
  here.send(IValue(std::string("hello")));
  EXPECT_EQ(here.recv().toStringRef(), "hello there");
  while (!context.join()) {
  }
  std::set<int64_t> ranks;
  for (int i = 0; i < 3; ++i) {
    const IValue value = queue.get();
    const auto& parts = value.toTupleRef().elementsArrayRef();
    ranks.insert(parts[0].toInt());
    EXPECT_EQ(parts[1].toInt(), std::string(GetParam()) == "fork" ? 7 : 0);
    EXPECT_EQ(parts[2].toTensor().const_data_ptr<float>()[1], static_cast<float>(parts[0].toInt()));
  }
  EXPECT_EQ(ranks, (std::set<int64_t>{0, 1, 2}));
  EXPECT_TRUE(queue.empty());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(shared.const_data_ptr<float>()[i], static_cast<float>(i + 1));
}

TEST_P(Methods, ErrorsNameTheRank) {
  try {
    spawn(kFail, {std::string("throw")}, 2, true, false, GetParam());
    FAIL();
  } catch (const ProcessRaisedException& e) {
    EXPECT_EQ(e.error_index, 1);
    EXPECT_THAT(e.msg(), HasSubstr("Process 1 terminated with the following error:\n"));
    EXPECT_THAT(e.msg(), HasSubstr("no data for rank 1"));
  }
  try {
    spawn(kFail, {std::string("kill")}, 2, true, false, GetParam());
    FAIL();
  } catch (const ProcessExitedException& e) {
    EXPECT_EQ(e.msg(), "process 1 terminated with signal SIGKILL");
  }
  EXPECT_THAT(message_of<ProcessRaisedException>([] { spawn(kFail, {}, 1, true, false, GetParam()); }),
              HasSubstr("fail() takes 2 arguments, got 1"));
}

TEST(SpawnedAnew, WhatIsRefused) {
  EXPECT_EQ(message_of<c10::ValueError>([] { spawn(kWork, {}, 1, true, false, "forkserver"); }),
            "start_processes: the start methods are \"spawn\" and \"fork\", got \"forkserver\"");
  EXPECT_THROW(spawn(kWork, {}, -1), c10::ValueError);
  EXPECT_TRUE(spawn(kWork, {}, 0).join());
  EXPECT_THAT(message_of<c10::ValueError>([] { const Function again("work", fail); }), HasSubstr("\"work\" already"));
  EXPECT_THROW(spawn(kFail, {torch::ones({2}, at::kMeta)}, 1), c10::NotImplementedError);
}

TEST(Pipes, BothWaysAndOneWay) {
  auto [a, b] = Pipe();
  EXPECT_FALSE(b.poll());
  a.send(torch::ones({2}));
  EXPECT_TRUE(b.poll(seconds(1)));
  const at::Tensor got = b.recv().toTensor();
  EXPECT_TRUE(is_shared(got));
  b.send(IValue(int64_t{3}));
  EXPECT_EQ(a.recv().toInt(), 3);
  b.close();
  EXPECT_TRUE(b.closed());
  EXPECT_EQ(b.fileno(), -1);
  EXPECT_TRUE(a.poll());
  EXPECT_EQ(message_of([&, &end = a] { end.recv(); }), "multiprocessing: the other end of the socket is closed");
  EXPECT_EQ(message_of([&, &end = b] { end.send(IValue(1)); }), "Connection: this end is closed");
  auto [receives, sends] = Pipe(/*duplex=*/false);
  sends.send(IValue(int64_t{4}));
  EXPECT_EQ(receives.recv().toInt(), 4);
  EXPECT_THAT(message_of([&, &end = receives] { end.send(IValue(1)); }), HasSubstr("cannot send"));
}

TEST_P(Methods, PoolsCallFunctions) {
  Pool pool(2, GetParam());
  const std::vector<pid_t> pids = pool.pids();
  ASSERT_EQ(pids.size(), 2u);
  std::vector<IValue> items;
  for (int i = 0; i < 20; ++i) items.push_back(torch::full({3}, i, at::kFloat));
  const std::vector<IValue> doubled = pool.map(kTwice, items);
  ASSERT_EQ(doubled.size(), 20u);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(doubled[static_cast<size_t>(i)].toTensor().const_data_ptr<float>()[2], static_cast<float>(2 * i));
    EXPECT_TRUE(is_shared(doubled[static_cast<size_t>(i)].toTensor()));
  }
  EXPECT_TRUE(pool.map(kTwice, {}).empty());
  EXPECT_EQ(pool.apply(kAdd, {int64_t{2}, int64_t{3}}).toInt(), 5);
  EXPECT_EQ(pool.starmap(kAdd, {{int64_t{1}, int64_t{2}}, {int64_t{3}, int64_t{4}}})[1].toInt(), 7);
  const int64_t pid = pool.apply(kPid, {false}).toInt();
  EXPECT_THAT(pids, ::testing::Contains(static_cast<pid_t>(pid)));
  // In order, though the first takes longest.
  ResultIterator ordered = pool.imap(kAdd, {int64_t{0}, int64_t{1}});
  EXPECT_THAT(message_of<ProcessRaisedException>([&] { ordered.next(); }), HasSubstr("add() takes 2 arguments"));
  EXPECT_THROW(ordered.next(), ProcessRaisedException);
  EXPECT_FALSE(ordered.next().has_value());
  ResultIterator as_they_come = pool.imap_unordered(kSleep, {int64_t{300}, int64_t{0}});
  EXPECT_TRUE(as_they_come.next(seconds(20)).has_value());
  EXPECT_TRUE(as_they_come.next(seconds(20)).has_value());
  EXPECT_FALSE(as_they_come.next().has_value());
  std::atomic<int64_t> called{0};
  AsyncResult sum = pool.apply_async(kAdd, {int64_t{4}, int64_t{5}}, [&](const IValue& v) { called = v.toInt(); });
  EXPECT_EQ(sum.get().toInt(), 9);
  EXPECT_TRUE(sum.ready() && sum.successful());
  pool.close();
  EXPECT_EQ(message_of([&] { pool.apply(kAdd, {}); }), "Pool: it is closed");
  pool.join();
  EXPECT_EQ(called, 9);
  for (const pid_t worker : pids) EXPECT_EQ(::kill(worker, 0), -1);
}

TEST_P(Methods, ErrorsInPools) {
  Pool pool(2, GetParam());
  EXPECT_THROW(pool.join(), c10::ValueError);
  std::atomic<bool> told{false};
  AsyncResult bad =
      pool.apply_async(kAdd, {int64_t{1}, int64_t{-1}}, nullptr, [&](std::exception_ptr) { told = true; });
  EXPECT_THAT(message_of<ProcessRaisedException>([&] { bad.get(); }), HasSubstr("a negative number: -1"));
  EXPECT_FALSE(bad.successful());
  EXPECT_THAT(message_of([&] { pool.apply(kNoLeaf); }), HasSubstr("send tensor.detach()"));
  EXPECT_THROW(pool.map(kTwice, {torch::ones({2}, at::kMeta)}), c10::NotImplementedError);
  // A worker that ends is named, and there is another one.
  const std::vector<pid_t> before = pool.pids();
  try {
    pool.apply(kPid, {true});
    FAIL();
  } catch (const ProcessExitedException& e) {
    EXPECT_EQ(e.signal_name, "SIGKILL");
    EXPECT_EQ(before[static_cast<size_t>(e.error_index)], e.pid);
  }
  for (int i = 0; i < 4; ++i) EXPECT_GT(pool.apply(kPid, {false}).toInt(), 0);
  AsyncResult slow = pool.apply_async(kSleep, {int64_t{60000}});
  EXPECT_FALSE(slow.ready());
  EXPECT_THROW(slow.successful(), c10::ValueError);
  EXPECT_THAT(message_of([&] { slow.get(milliseconds(20)); }), HasSubstr("not done within 20 ms"));
  MapResult waiting = pool.map_async(kSleep, std::vector<IValue>(8, int64_t{60000}));
  pool.terminate();
  pool.join();
  EXPECT_THAT(message_of([&] { slow.get(); }), HasSubstr("it was terminated"));
  EXPECT_THAT(message_of([&] { waiting.get(); }), HasSubstr("it was terminated"));
  EXPECT_TRUE(told);
}

// Workers end with their pool, however that ends, and leave nothing.
TEST(Pools, EndWithTheirProcess) {
  at::Tensor pids = torch::zeros({2}, at::kInt);
  share_memory_(pids);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    ::alarm(60);
    auto* pool = new Pool(2);
    pool->map(kTwice, {torch::ones({1000}), torch::ones({1000})});
    for (int i = 0; i < 2; ++i) pids.data_ptr<int>()[i] = pool->pids()[static_cast<size_t>(i)];
    (void)!::write(ready[1], "x", 1);
    for (;;) ::pause();
  }
  char byte;
  ::close(ready[1]);
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::close(ready[0]);
  ::kill(owner, SIGKILL);
  ASSERT_EQ(::waitpid(owner, nullptr, 0), owner);
  for (int i = 0; i < 2; ++i) {
    char state = 'R';
    for (int tries = 0; tries < 500 && state != 'X' && state != 'Z'; ++tries) {
      std::this_thread::sleep_for(milliseconds(10));
      state = 'X';
      if (std::FILE* file = std::fopen(c10::str("/proc/", pids.const_data_ptr<int>()[i], "/stat").c_str(), "r")) {
        (void)!std::fscanf(file, "%*d (%*[^)]) %c", &state);
        std::fclose(file);
      }
    }
    EXPECT_TRUE(state == 'X' || state == 'Z') << state;
  }
}

}  // namespace
}  // namespace torch::multiprocessing
