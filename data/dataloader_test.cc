#include "data/dataloader/dataloader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "c10/core/cpu_generator.h"
#include "data/datasets/base.h"
#include "data/datasets/shared.h"
#include "data/datasets/stateful.h"
#include "data/samplers/python.h"
#include "data/transforms/transforms.h"

namespace torch::data {
namespace {

using std::chrono::milliseconds;

// Numbers instead of tensors: the loader does not care.
struct Numbers : datasets::Dataset<Numbers, int> {
  explicit Numbers(size_t n) : n(n) {}
  int get(size_t i) override { return static_cast<int>(i) * 10; }
  std::optional<size_t> size() const override { return n; }
  size_t n;
};

template <class Loader>
std::vector<std::vector<int>> collect(Loader& loader) {
  std::vector<std::vector<int>> batches;
  for (std::vector<int>& batch : loader) batches.push_back(batch);
  return batches;
}

template <class E, class F>
std::string message(const F& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "nothing was thrown";
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(DataLoader, GivesEveryBatchInOrder) {
  for (size_t workers : {0, 1, 3}) {
    auto loader = make_data_loader<samplers::SequentialSampler>(Numbers(10), DataLoaderOptions(4).workers(workers));
    for (int pass = 0; pass < 3; ++pass) {
      EXPECT_EQ(collect(*loader), (std::vector<std::vector<int>>{{0, 10, 20, 30}, {40, 50, 60, 70}, {80, 90}}))
          << workers;
    }
  }
}

TEST(DataLoader, DropsAShortLastBatchIfAsked) {
  for (size_t workers : {0, 2}) {
    auto loader = make_data_loader<samplers::SequentialSampler>(Numbers(10),
                                                                DataLoaderOptions(4).workers(workers).drop_last(true));
    EXPECT_EQ(collect(*loader).size(), 2u);
    auto whole = make_data_loader<samplers::SequentialSampler>(Numbers(8),
                                                               DataLoaderOptions(4).workers(workers).drop_last(true));
    EXPECT_EQ(collect(*whole).size(), 2u);
    auto empty = make_data_loader<samplers::SequentialSampler>(Numbers(0), DataLoaderOptions(4).workers(workers));
    EXPECT_EQ(collect(*empty).size(), 0u);
  }
}

TEST(DataLoader, RandomOrderFollowsTheSeedWithAnyNumberOfWorkers) {
  std::vector<std::vector<std::vector<int>>> results;
  for (size_t workers : {0, 1, 4}) {
    at::manual_seed(7);
    auto loader = make_data_loader(Numbers(100), DataLoaderOptions(9).workers(workers));
    results.push_back(collect(*loader));
    for (auto& batch : collect(*loader)) results.back().push_back(batch);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
  std::multiset<int> seen;
  for (size_t i = 0; i < 12; ++i) seen.insert(results[0][i].begin(), results[0][i].end());
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_EQ(std::set<int>(seen.begin(), seen.end()).size(), 100u);
  EXPECT_NE(results[0][0], results[0][12]) << "each pass has an order of its own";
}

// Its first example is ready only when the other worker has handed one in (and begun with its second).
struct Slow : datasets::Dataset<Slow, int> {
  int get(size_t i) override {
    if (i == 0) {
      while (*others < 2) std::this_thread::yield();
    } else {
      ++*others;
    }
    return static_cast<int>(i);
  }
  std::optional<size_t> size() const override { return 6; }
  std::shared_ptr<std::atomic<int>> others = std::make_shared<std::atomic<int>>(0);
};

TEST(DataLoader, OrderIsKeptOrNotAsAsked) {
  auto ordered = make_data_loader<samplers::SequentialSampler>(Slow(), DataLoaderOptions(1).workers(2));
  EXPECT_EQ(collect(*ordered), (std::vector<std::vector<int>>{{0}, {1}, {2}, {3}, {4}, {5}}));
  auto unordered =
      make_data_loader<samplers::SequentialSampler>(Slow(), DataLoaderOptions(1).workers(2).enforce_ordering(false));
  auto batches = collect(*unordered);
  EXPECT_NE(batches.front(), (std::vector<int>{0}));
  std::sort(batches.begin(), batches.end());
  EXPECT_EQ(batches, (std::vector<std::vector<int>>{{0}, {1}, {2}, {3}, {4}, {5}}));
}

// Counts how far it is ahead of the consumer.
struct Counting : datasets::Dataset<Counting, int> {
  explicit Counting(std::atomic<int>* made) : made(made) {}
  int get(size_t i) override {
    ++*made;
    return static_cast<int>(i);
  }
  std::optional<size_t> size() const override { return 100; }
  std::atomic<int>* made;
};

TEST(DataLoader, PrefetchIsBounded) {
  std::atomic<int> made{0};
  auto loader =
      make_data_loader<samplers::SequentialSampler>(Counting(&made), DataLoaderOptions(1).workers(2).max_jobs(5));
  int consumed = 0;
  for (std::vector<int>& batch : *loader) {
    ++consumed;
    if (consumed < 20) std::this_thread::sleep_for(milliseconds(2));
    // Five ahead at most, and the one that this batch made room for.
    ASSERT_LE(made.load(), consumed + 5);
    ASSERT_EQ(batch[0], consumed - 1);
  }
  EXPECT_EQ(consumed, 100);
}

struct Throwing : datasets::Dataset<Throwing, int> {
  int get(size_t i) override {
    if (i == 2) throw std::invalid_argument("example two is bad");
    return static_cast<int>(i);
  }
  std::optional<size_t> size() const override { return 5; }
};

TEST(DataLoader, ExceptionsReachTheIteratingThread) {
  auto alone = make_data_loader<samplers::SequentialSampler>(Throwing(), DataLoaderOptions(1));
  EXPECT_EQ(message<std::invalid_argument>([&] { collect(*alone); }), "example two is bad");
  auto loader = make_data_loader<samplers::SequentialSampler>(Throwing(), DataLoaderOptions(1).workers(2));
  auto it = loader->begin();
  EXPECT_EQ((*it)[0], 0);
  ++it;
  EXPECT_EQ((*it)[0], 1);
  try {
    ++it;
    FAIL() << "expected a WorkerException";
  } catch (const WorkerException& e) {
    EXPECT_STREQ(e.what(), "Caught exception in DataLoader worker thread. Original message: example two is bad");
    EXPECT_THROW(std::rethrow_exception(e.original_exception), std::invalid_argument);
  }
  // The batches after it still come.
  ++it;
  EXPECT_EQ((*it)[0], 3);
  ++it;
  EXPECT_EQ((*it)[0], 4);
  ++it;
  EXPECT_TRUE(it == loader->end());
  EXPECT_THROW(collect(*loader), WorkerException) << "and the loader can be used again";
}

struct Sleeping : datasets::Dataset<Sleeping, int> {
  int get(size_t) override {
    std::this_thread::sleep_for(milliseconds(200));
    return 1;
  }
  std::optional<size_t> size() const override { return 1; }
};

TEST(DataLoader, TimeoutIsAnError) {
  auto loader = make_data_loader(Sleeping(), DataLoaderOptions(1).workers(1).timeout(milliseconds(10)));
  EXPECT_TRUE(has(message<c10::Error>([&] { collect(*loader); }),
                  "Timeout in DataLoader queue while waiting for next batch (timeout was 10 ms)"));
}

TEST(DataLoader, OneIteratorAtATimeWithWorkers) {
  auto loader = make_data_loader(Numbers(10), DataLoaderOptions(1).workers(1));
  auto it = loader->begin();
  EXPECT_TRUE(has(message<c10::Error>([&] { loader->begin(); }),
                  "Attempted to get a new DataLoader iterator while another iterator is not yet exhausted"));
  while (it != loader->end()) ++it;
  loader->begin();
}

TEST(DataLoader, IteratorsAreChecked) {
  auto loader = make_data_loader<samplers::SequentialSampler>(Numbers(2), DataLoaderOptions(1));
  auto it = loader->begin();
  EXPECT_EQ((*it)[0], 0);
  EXPECT_EQ(it->size(), 1u);
  EXPECT_TRUE(it == it);
  EXPECT_TRUE(it != loader->end());
  EXPECT_TRUE(loader->end() == loader->end());
  ++it;
  ++it;
  EXPECT_TRUE(it == loader->end());
  EXPECT_TRUE(has(message<c10::Error>([&] { ++it; }), "Attempted to increment iterator past the end"));
  EXPECT_TRUE(has(message<c10::Error>([&] { *it; }), "Attempted to dereference iterator that was past the end"));
  auto end = loader->end();
  EXPECT_TRUE(
      has(message<c10::Error>([&] { ++end; }), "Incrementing the DataLoader's past-the-end iterator is not allowed"));
  EXPECT_TRUE(
      has(message<c10::Error>([&] { *end; }), "Dereferencing the DataLoader's past-the-end iterator is not allowed"));
}

struct Unsized : datasets::Dataset<Unsized, int> {
  int get(size_t) override { return 0; }
  std::optional<size_t> size() const override { return std::nullopt; }
};

TEST(DataLoader, RefusesBadSettings) {
  EXPECT_TRUE(has(message<c10::Error>([] { make_data_loader(Unsized()); }),
                  "Expected the dataset to be sized in order to construct the Sampler"));
  EXPECT_THROW(make_data_loader(Numbers(3), DataLoaderOptions(0)), c10::ValueError);
  EXPECT_THROW(make_data_loader(Numbers(3), DataLoaderOptions(1).workers(1).max_jobs(0)), c10::ValueError);
  EXPECT_THROW(make_data_loader(Numbers(3), DataLoaderOptions(-1)), c10::ValueError);
  EXPECT_THROW(make_data_loader(Numbers(3), DataLoaderOptions(1).workers(static_cast<size_t>(-1))), c10::ValueError);
  EXPECT_THROW(make_data_loader(Numbers(3), DataLoaderOptions(1).timeout(milliseconds(-1))), c10::ValueError);
  EXPECT_THROW(make_data_loader(Numbers(3), DataLoaderOptions(1).prefetch_factor(2)), c10::ValueError);
  EXPECT_THROW(make_data_loader(Numbers(3), DataLoaderOptions(1).persistent_workers(true)), c10::ValueError);
  samplers::BatchSampler batches(samplers::SequentialSampler(3), 2, false);
  EXPECT_THROW(make_data_loader(Numbers(3), batches, DataLoaderOptions(2)), c10::ValueError);
  EXPECT_THROW(make_data_loader(Numbers(3), batches, DataLoaderOptions(1).drop_last(true)), c10::ValueError);
}

TEST(DataLoader, KnowsItsLength) {
  EXPECT_EQ(make_data_loader(Numbers(10), 3)->size(), 4u);
  EXPECT_EQ(make_data_loader(Numbers(10), DataLoaderOptions(3).drop_last(true))->size(), 3u);
  EXPECT_EQ(make_data_loader(Numbers(10), samplers::BatchSampler(samplers::SequentialSampler(10), 4, false))->size(),
            3u);
}

TEST(DataLoader, TakesSamplersOfBatches) {
  auto loader = make_data_loader(Numbers(5), samplers::FixedBatchSampler({{4, 0}, {1}}));
  for (int pass = 0; pass < 2; ++pass) EXPECT_EQ(collect(*loader), (std::vector<std::vector<int>>{{40, 0}, {10}}));
  auto listed = make_data_loader(Numbers(5), samplers::IndexSampler({3, 1, 1}), DataLoaderOptions(2).workers(2));
  for (int pass = 0; pass < 2; ++pass) EXPECT_EQ(collect(*listed), (std::vector<std::vector<int>>{{30, 10}, {10}}));
}

// Says who asked.
struct Informed : datasets::Dataset<Informed, int64_t> {
  int64_t get(size_t) override {
    const std::optional<WorkerInfo> info = worker_info();
    return info ? info->id + 100 * info->num_workers : -1;
  }
  std::optional<size_t> size() const override { return 40; }
};

TEST(DataLoader, WorkersKnowWhoTheyAre) {
  auto alone = make_data_loader(Informed(), DataLoaderOptions(1));
  for (auto& batch : *alone) EXPECT_EQ(batch[0], -1);
  EXPECT_FALSE(worker_info());
  auto loader = make_data_loader(Informed(), DataLoaderOptions(1).workers(3));
  for (auto& batch : *loader) {
    EXPECT_GE(batch[0], 300);
    EXPECT_LT(batch[0], 303);
  }
}

TEST(DataLoader, WorkersHaveSeedsAsInPython) {
  for (const bool persistent : {true, false}) {
    std::mutex mutex;
    std::set<std::pair<uint64_t, int64_t>> noted;
    const auto note = [&](int64_t id) {
      std::lock_guard<std::mutex> lock(mutex);
      EXPECT_EQ(worker_info()->id, id);
      EXPECT_TRUE(noted.emplace(worker_info()->seed, id).second);
    };
    auto loader = make_data_loader<samplers::SequentialSampler>(
        Numbers(8), DataLoaderOptions(1)
                        .workers(2)
                        .persistent_workers(persistent)
                        .worker_init_fn(note)
                        .generator(at::make_generator<at::CPUGeneratorImpl>(594611152)));
    for (int pass = 0; pass < 3; ++pass) collect(*loader);
    loader->join();
    // Base seeds that PyTorch draws from this generator.
    std::set<std::pair<uint64_t, int64_t>> expected;
    for (const uint64_t seed : {3232467729703745861u, 8019356296835195234u, 3497601802945440973u}) {
      for (int64_t id = 0; id < 2; ++id) expected.emplace(seed + static_cast<uint64_t>(id), id);
      if (persistent) break;
    }
    EXPECT_EQ(noted, expected);
  }
}

TEST(DataLoader, WhatWorkerInitThrowsComesInPlaceOfBatches) {
  auto loader = make_data_loader(
      Numbers(2), DataLoaderOptions(1).workers(1).worker_init_fn([](int64_t) { throw std::invalid_argument("no"); }));
  EXPECT_THROW(collect(*loader), WorkerException);
}

// Draws a number for each example.
struct Drawing : datasets::Dataset<Drawing, int> {
  int get(size_t) override { return static_cast<int>(random_generator().get<at::CPUGeneratorImpl>()->random() >> 1); }
  std::optional<size_t> size() const override { return 30; }
};

TEST(DataLoader, RandomnessDoesNotDependOnWorkers) {
  std::vector<std::vector<std::vector<int>>> results;
  for (size_t workers : {0, 1, 4}) {
    auto loader = make_data_loader<samplers::SequentialSampler>(
        Drawing(), DataLoaderOptions(4).workers(workers).generator(at::make_generator<at::CPUGeneratorImpl>(3)));
    results.push_back(collect(*loader));
    const auto second = collect(*loader);
    EXPECT_NE(second, results.back());
    results.back().insert(results.back().end(), second.begin(), second.end());
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
  std::set<int> all;
  for (auto& batch : results[0]) all.insert(batch.begin(), batch.end());
  EXPECT_EQ(all.size(), 60u);
}

struct Pinnable {
  bool pinned = false;
  Pinnable pin_memory() const { return {true}; }
};
struct Pinnables : datasets::Dataset<Pinnables, std::pair<Pinnable, int>> {
  std::pair<Pinnable, int> get(size_t i) override { return {Pinnable(), static_cast<int>(i)}; }
  std::optional<size_t> size() const override { return 4; }
};

TEST(DataLoader, PinsWhatCanBePinned) {
  for (const size_t workers : {0, 2})
    for (const bool pin : {false, true}) {
      auto loader = make_data_loader(Pinnables(), DataLoaderOptions(2).workers(workers).pin_memory(pin));
      for (auto& batch : *loader)
        for (auto& [value, i] : batch) EXPECT_EQ(value.pinned, pin) << i;
    }
}

struct MoveOnly : Numbers {
  using Numbers::Numbers;
  MoveOnly(MoveOnly&&) = default;
};

TEST(DataLoader, DatasetsThatCanNotBeCopiedNeedNoWorkers) {
  EXPECT_EQ(collect(*make_data_loader<samplers::SequentialSampler>(MoveOnly(2), 2)),
            (std::vector<std::vector<int>>{{0, 10}}));
  auto loader = make_data_loader(MoveOnly(2), DataLoaderOptions(1).workers(1));
  EXPECT_THROW(loader->begin(), c10::ValueError);
}

TEST(DataLoader, JoinsInTheMiddleOfAPass) {
  for (int i = 0; i < 20; ++i) {
    auto loader = make_data_loader(Numbers(1000), DataLoaderOptions(1).workers(3));
    auto it = loader->begin();
    for (int k = 0; k < i; ++k) ++it;
    if (i % 2) loader->join();
  }
}

// Keeps a counter of its own: shared by all workers, or copied.
struct Shared : datasets::Dataset<Shared, int> {
  int get(size_t i) override {
    ++calls;
    return static_cast<int>(i);
  }
  std::optional<size_t> size() const override { return 50; }
  std::atomic<int> calls{0};
};

TEST(DataLoader, SharedDatasetsAreNotCopied) {
  auto dataset = datasets::make_shared_dataset<Shared>();
  auto loader = make_data_loader(dataset, DataLoaderOptions(5).workers(3));
  EXPECT_EQ(collect(*loader).size(), 10u);
  EXPECT_EQ(dataset->calls, 50);
  EXPECT_EQ((*dataset).calls, 50);
}

struct Stream : datasets::StreamDataset<Stream, std::vector<int>> {
  std::vector<int> get_batch(size_t size) override { return std::vector<int>(size, 7); }
  std::optional<size_t> size() const override { return std::nullopt; }
};

TEST(DataLoader, StreamsAreAskedForSizes) {
  auto loader = make_data_loader(Stream(), samplers::StreamSampler(10), DataLoaderOptions(4));
  std::vector<size_t> sizes;
  for (std::vector<int>& batch : *loader) sizes.push_back(batch.size());
  EXPECT_EQ(sizes, (std::vector<size_t>{4, 4, 2}));
}

// Counts down to its end; several threads ask at once.
struct CountDown : datasets::StatefulDataset<CountDown, std::vector<int>> {
  std::optional<std::vector<int>> get_batch(size_t size) override {
    const int mine = left->fetch_sub(1);
    if (mine <= 0) return std::nullopt;
    return std::vector<int>(size, mine);
  }
  std::optional<size_t> size() const override { return std::nullopt; }
  void reset() override { *left = 20; }
  void save(serialize::OutputArchive&) const override {}
  void load(serialize::InputArchive&) override {}
  std::shared_ptr<std::atomic<int>> left = std::make_shared<std::atomic<int>>(0);
};

TEST(DataLoader, StatefulDatasetsGoToTheirEnd) {
  for (size_t workers : {0, 1, 3}) {
    auto loader = make_data_loader(CountDown(), DataLoaderOptions(2).workers(workers));
    for (int pass = 0; pass < 2; ++pass) {
      std::multiset<int> seen;
      for (std::vector<int>& batch : *loader) {
        EXPECT_EQ(batch.size(), 2u);
        seen.insert(batch[0]);
      }
      EXPECT_EQ(seen.size(), 20u);
      EXPECT_EQ(*seen.begin(), 1);
      EXPECT_EQ(*seen.rbegin(), 20);
    }
  }
}

TEST(Map, AppliesTransformsInTurn) {
  auto doubled = Numbers(5).map(transforms::Lambda<int>([](int x) { return x * 2; }));
  auto summed =
      doubled.map(transforms::Collate<int>([](std::vector<int> v) { return std::accumulate(v.begin(), v.end(), 0); }));
  EXPECT_EQ(*summed.size(), 5u);
  for (size_t workers : {0, 2}) {
    auto loader = make_data_loader<samplers::SequentialSampler>(summed, DataLoaderOptions(3).workers(workers));
    std::vector<int> sums;
    for (int& batch : *loader) sums.push_back(batch);
    EXPECT_EQ(sums, (std::vector<int>{60, 140}));
  }
  auto counted =
      CountDown().map(transforms::BatchLambda<std::vector<int>, int>([](std::vector<int> v) { return v[0]; }));
  auto loader = make_data_loader(counted, DataLoaderOptions(1));
  int first = 0, count = 0;
  for (int& x : *loader) {
    if (count++ == 0) first = x;
  }
  EXPECT_EQ(first, 20);
  EXPECT_EQ(count, 20);
}

}  // namespace
}  // namespace torch::data
