#include "examples/serve/batcher.h"

#include <gtest/gtest.h>

#include <future>
#include <random>
#include <set>

#include "examples/serve/testing.h"

namespace serve {
namespace {

using namespace std::chrono_literals;
using Status = Outcome::Status;
using testing::floats;
using testing::values_of;

// Sees how runs are made.
struct Counter final : BatchListener {
  void ran(int64_t rows, size_t requests, std::chrono::nanoseconds) override {
    const std::lock_guard<std::mutex> lock(mutex);
    runs.emplace_back(rows, requests);
  }
  std::mutex mutex;
  std::vector<std::pair<int64_t, size_t>> runs;
};

// A model that waits until it is let go.
class Gate {
 public:
  void open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    ++entered_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void wait_for_entry() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return entered_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int entered_ = 0;
};

std::vector<NamedTensor> same(std::vector<at::Tensor> inputs) {
  return {{"y", inputs.at(0)}};
}
Clock::time_point soon() {
  return Clock::now() + 20s;
}

void wait_until_queued(const Batcher& batcher, size_t count) {
  while (batcher.waiting() < count) std::this_thread::sleep_for(100us);
}

TEST(Batcher, AnswersOneRequest) {
  Batcher batcher(same, {.most_rows = 8});
  const Outcome outcome = batcher.run({floats({1, 2}, {1, 2})}, soon());
  ASSERT_EQ(outcome.status, Status::kDone);
  EXPECT_EQ(values_of(outcome.outputs.at(0).tensor), (std::vector<float>{1, 2}));
}

TEST(Batcher, JoinsWhatWaitsAndGivesEachItsRows) {
  Gate gate;
  Counter counter;
  bool first = true;
  Batcher batcher(
      [&](std::vector<at::Tensor> inputs) {
        if (std::exchange(first, false)) gate.pass();
        return same(std::move(inputs));
      },
      {.most_rows = 4}, &counter);
  std::vector<std::future<Outcome>> asked;
  const auto ask = [&](std::vector<float> rows) {
    const auto count = static_cast<int64_t>(rows.size());
    asked.push_back(
        std::async(std::launch::async, [&batcher, x = floats(rows, {count, 1})] { return batcher.run({x}, soon()); }));
  };
  ask({0});
  gate.wait_for_entry();
  // In this order: 1 + 2 rows fit together, 3 more do not, the single one behind them does.
  ask({1});
  wait_until_queued(batcher, 1);
  ask({2, 3});
  wait_until_queued(batcher, 2);
  ask({4, 5, 6});
  wait_until_queued(batcher, 3);
  ask({7});
  wait_until_queued(batcher, 4);
  gate.open();
  const std::vector<std::vector<float>> wanted = {{0}, {1}, {2, 3}, {4, 5, 6}, {7}};
  for (size_t i = 0; i < asked.size(); ++i) {
    const Outcome outcome = asked[i].get();
    ASSERT_EQ(outcome.status, Status::kDone) << outcome.error;
    EXPECT_EQ(values_of(outcome.outputs.at(0).tensor), wanted[i]);
  }
  batcher.stop();
  EXPECT_EQ(counter.runs, (std::vector<std::pair<int64_t, size_t>>{{1, 1}, {4, 3}, {3, 1}}));
}

TEST(Batcher, JoinsOnlyEqualSizes) {
  Gate gate;
  Counter counter;
  bool first = true;
  Batcher batcher(
      [&](std::vector<at::Tensor> inputs) {
        if (std::exchange(first, false)) gate.pass();
        return same(std::move(inputs));
      },
      {.most_rows = 8}, &counter);
  std::vector<std::future<Outcome>> asked;
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{1, 2}, {1, 3}, {1, 2}, {1, 2, 1}, {}}) {
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    const at::Tensor x = floats(std::vector<float>(static_cast<size_t>(count), 1.0f), sizes);
    asked.push_back(std::async(std::launch::async, [&batcher, x] { return batcher.run({x}, soon()); }));
    if (asked.size() == 1) {
      gate.wait_for_entry();
    } else {
      wait_until_queued(batcher, asked.size() - 1);
    }
  }
  gate.open();
  for (auto& one : asked) EXPECT_EQ(one.get().status, Status::kDone);
  batcher.stop();
  // Behind the first: [1, 3], then [1, 2] alone, [1, 2, 1], and a scalar, which has no rows.
  EXPECT_EQ(counter.runs.size(), 5u);
}

TEST(Batcher, WaitsForOthersAsLongAsItIsTold) {
  Counter counter;
  Batcher batcher(same, {.most_rows = 4, .most_delay = 10s}, &counter);
  std::vector<std::future<Outcome>> asked;
  const auto begin = Clock::now();
  for (int i = 0; i < 4; ++i) {
    asked.push_back(std::async(std::launch::async, [&] {
      return batcher.run({floats({1}, {1, 1})}, Clock::now() + 60s);
    }));
  }
  for (auto& one : asked) EXPECT_EQ(one.get().status, Status::kDone);
  // Four rows are enough: it did not wait for ten seconds.
  EXPECT_LT(Clock::now() - begin, 8s);
  EXPECT_EQ(counter.runs, (std::vector<std::pair<int64_t, size_t>>{{4, 4}}));

  Batcher short_wait(same, {.most_rows = 4, .most_delay = 30ms});
  const auto alone = Clock::now();
  EXPECT_EQ(short_wait.run({floats({1}, {1, 1})}, soon()).status, Status::kDone);
  EXPECT_GE(Clock::now() - alone, 30ms);
}

TEST(Batcher, AFailedBatchRunsOneByOne) {
  Gate gate;
  bool first = true;
  Batcher batcher(
      [&](std::vector<at::Tensor> inputs) {
        if (std::exchange(first, false)) gate.pass();
        for (const float value : values_of(inputs.at(0))) {
          if (value == 666) throw Refused("666 is not wanted");
          if (value == 777) throw std::runtime_error("777 breaks it");
          if (value == 888) throw std::bad_alloc();
        }
        return same(std::move(inputs));
      },
      {.most_rows = 8});
  std::vector<std::future<Outcome>> asked;
  for (const float value : {0.0f, 1.0f, 666.0f, 2.0f, 777.0f, 888.0f}) {
    asked.push_back(
        std::async(std::launch::async, [&batcher, x = floats({value}, {1, 1})] { return batcher.run({x}, soon()); }));
    if (asked.size() == 1) gate.wait_for_entry();
    if (asked.size() > 1) wait_until_queued(batcher, asked.size() - 1);
  }
  gate.open();
  const Status wanted[] = {Status::kDone, Status::kDone,   Status::kRefused,
                           Status::kDone, Status::kFailed, Status::kNoMemory};
  for (size_t i = 0; i < asked.size(); ++i) {
    const Outcome outcome = asked[i].get();
    EXPECT_EQ(outcome.status, wanted[i]) << i << ": " << outcome.error;
    if (outcome.status == Status::kRefused) {
      EXPECT_EQ(outcome.error, "666 is not wanted");
    }
  }
}

TEST(Batcher, OutputsWithoutTheRowsAreMadeOneByOne) {
  Gate gate;
  bool first = true;
  Batcher batcher(
      [&](std::vector<at::Tensor> inputs) -> std::vector<NamedTensor> {
        if (std::exchange(first, false)) gate.pass();
        float sum = 0;
        for (const float value : values_of(inputs.at(0))) sum += value;
        return {{"sum", floats({sum}, {1})}};
      },
      {.most_rows = 8});
  std::vector<std::future<Outcome>> asked;
  for (const float value : {1.0f, 2.0f, 3.0f}) {
    asked.push_back(std::async(std::launch::async,
                               [&batcher, x = floats({value, value}, {2, 1})] { return batcher.run({x}, soon()); }));
    if (asked.size() == 1) gate.wait_for_entry();
    if (asked.size() > 1) wait_until_queued(batcher, asked.size() - 1);
  }
  gate.open();
  for (size_t i = 0; i < asked.size(); ++i) {
    EXPECT_EQ(values_of(asked[i].get().outputs.at(0).tensor)[0], 2.0f * static_cast<float>(i + 1));
  }
}

TEST(Batcher, RefusesWhatDoesNotFitIntoTheQueue) {
  Gate gate;
  Batcher batcher(
      [&](std::vector<at::Tensor> inputs) {
        gate.pass();
        return same(std::move(inputs));
      },
      {.most_waiting = 2});
  std::vector<std::future<Outcome>> asked;
  for (int i = 0; i < 3; ++i) {
    asked.push_back(std::async(std::launch::async, [&] { return batcher.run({floats({1}, {1, 1})}, soon()); }));
    if (i == 0) gate.wait_for_entry();
    if (i > 0) wait_until_queued(batcher, static_cast<size_t>(i));
  }
  const Outcome refused = batcher.run({floats({1}, {1, 1})}, soon());
  EXPECT_EQ(refused.status, Status::kQueueFull);
  EXPECT_EQ(refused.error, "the queue is full: 2 requests wait");
  gate.open();
  for (auto& one : asked) EXPECT_EQ(one.get().status, Status::kDone);
}

TEST(Batcher, LateOnesAreNotRun) {
  Gate gate;
  std::atomic<int> runs{0};
  Batcher batcher(
      [&](std::vector<at::Tensor> inputs) {
        ++runs;
        gate.pass();
        return same(std::move(inputs));
      },
      {});
  auto begun = std::async(std::launch::async, [&] { return batcher.run({floats({1}, {1})}, Clock::now() + 40ms); });
  gate.wait_for_entry();
  const Outcome queued = batcher.run({floats({2}, {1})}, Clock::now() + 20ms);
  EXPECT_EQ(queued.status, Status::kTimedOut);
  EXPECT_EQ(batcher.waiting(), 0u);
  // One that runs already is not waited for either.
  EXPECT_EQ(begun.get().status, Status::kTimedOut);
  gate.open();
  batcher.stop();
  EXPECT_EQ(runs, 1);
}

TEST(Batcher, StopAnswersWhatIsInTheQueue) {
  Gate gate;
  Batcher batcher(
      [&](std::vector<at::Tensor> inputs) {
        gate.pass();
        return same(std::move(inputs));
      },
      {});
  std::vector<std::future<Outcome>> asked;
  for (int i = 0; i < 5; ++i) {
    asked.push_back(std::async(std::launch::async, [&] { return batcher.run({floats({1}, {1})}, soon()); }));
  }
  gate.wait_for_entry();
  wait_until_queued(batcher, 4);
  auto stopped = std::async(std::launch::async, [&] { batcher.stop(); });
  while (batcher.run({floats({1}, {1})}, Clock::now()).status != Status::kStopped) std::this_thread::yield();
  EXPECT_EQ(stopped.wait_for(0s), std::future_status::timeout);
  gate.open();
  stopped.get();
  for (auto& one : asked) EXPECT_EQ(one.get().status, Status::kDone);
  EXPECT_EQ(batcher.run({floats({1}, {1})}, soon()).status, Status::kStopped);
}

// Many threads, drawn sizes and deadlines, faults among them: each gets its own rows or its own error.
TEST(Batcher, DrawnRequestsOfManyThreads) {
  for (const int workers : {1, 3}) {
    Counter counter;
    std::atomic<bool> too_many{false};
    Batcher batcher(
        [&](std::vector<at::Tensor> inputs) -> std::vector<NamedTensor> {
          const at::Tensor& x = inputs.at(0);
          too_many = too_many || x.sizes()[0] > 8;
          std::vector<float> twice = values_of(x);
          for (float& value : twice) {
            if (value < 0) throw Refused("negative");
            value *= 2;
          }
          return {{"y", floats(twice, x.sizes().vec())}, {"x", x}};
        },
        {.most_rows = 8, .most_delay = 50us, .most_waiting = 1000, .workers = workers}, &counter);
    std::atomic<int> done{0}, refused{0}, late{0}, wrong{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(100 * t + static_cast<unsigned>(workers));
        for (int i = 0; i < 400; ++i) {
          const auto rows = static_cast<int64_t>(1 + random() % 5), columns = static_cast<int64_t>(1 + random() % 2);
          std::vector<float> values(static_cast<size_t>(rows * columns));
          for (float& value : values) value = static_cast<float>(random() % 100000);
          const bool bad = random() % 20 == 0, hurried = random() % 20 == 0;
          if (bad) values.back() = -1;
          const auto deadline = Clock::now() + (hurried ? 0us : 20000000us);
          const Outcome outcome = batcher.run({floats(values, {rows, columns})}, deadline);
          if (outcome.status == Status::kTimedOut) {
            wrong += hurried ? 0 : 1;
            ++late;
            continue;
          }
          if (outcome.status == Status::kRefused) {
            wrong += bad ? 0 : 1;
            ++refused;
            continue;
          }
          ++done;
          std::vector<float> twice = values;
          for (float& value : twice) value *= 2;
          const bool right = !bad && outcome.status == Status::kDone && outcome.outputs.size() == 2 &&
                             outcome.outputs[0].tensor.sizes().vec() == std::vector<int64_t>{rows, columns} &&
                             values_of(outcome.outputs[0].tensor) == twice &&
                             values_of(outcome.outputs[1].tensor) == values;
          wrong += right ? 0 : 1;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    batcher.stop();
    EXPECT_EQ(wrong, 0);
    EXPECT_FALSE(too_many);
    EXPECT_EQ(done + refused + late, 8 * 400);
    EXPECT_GT(refused, 50);
    size_t joined = 0;
    for (const auto& [rows, requests] : counter.runs) joined += requests > 1 ? 1 : 0;
    EXPECT_GT(joined, 0u);
  }
}

}  // namespace
}  // namespace serve
