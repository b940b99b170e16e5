// A loader's place, saved in the middle of a pass and found again by a new loader.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aten/ops/random/ops.h"
#include "c10/core/cpu_generator.h"
#include "data/dataloader/dataloader.h"
#include "data/datasets/iterable.h"
#include "data/samplers/python.h"
#include "utils/serialize/archive.h"

namespace torch::data {
namespace {

using Batches = std::vector<std::vector<int64_t>>;

struct Numbers : datasets::Dataset<Numbers, int64_t> {
  int64_t get(size_t i) override {
    // The index, and a random number that the batch brings along.
    return static_cast<int64_t>(i) +
           1000 * static_cast<int64_t>(random_generator().get<at::CPUGeneratorImpl>()->random() % 1000);
  }
  std::optional<size_t> size() const override { return 23; }
};

at::Generator seeded(uint64_t seed) { return at::make_generator<at::CPUGeneratorImpl>(seed); }

template <class Loader>
std::string saved(const Loader& loader) {
  serialize::OutputArchive archive;
  archive << *loader;
  return archive.to_bytes();
}
template <class Loader>
void load(const Loader& loader, const std::string& bytes) {
  serialize::InputArchive archive;
  archive.load_from(bytes.data(), bytes.size());
  archive >> *loader;
}

// Two passes of a loader; and for every place in the first one, the passes of a second loader that goes on from there.
template <class Make>
void expect_resumes(const Make& make, size_t save_workers, size_t load_workers) {
  Batches all;
  std::vector<std::string> states;
  {
    auto loader = make(save_workers);
    states.push_back(saved(loader));
    for (int pass = 0; pass < 2; ++pass)
      for (auto& batch : *loader) {
        all.push_back(batch);
        if (pass == 0) states.push_back(saved(loader));
      }
  }
  for (size_t k = 0; k < states.size(); ++k) {
    auto loader = make(load_workers);
    load(loader, states[k]);
    Batches rest(all.begin(), all.begin() + static_cast<int64_t>(k));
    for (int pass = 0; pass < 2; ++pass)
      for (auto& batch : *loader) rest.push_back(batch);
    EXPECT_EQ(rest, all) << "after " << k << " batches, " << save_workers << " then " << load_workers << " workers";
  }
}

template <class Make>
void expect_resumes(const Make& make) {
  for (const auto& [from, to] : {std::pair<size_t, size_t>{0, 0}, {0, 2}, {3, 0}, {3, 1}, {2, 4}})
    expect_resumes(make, from, to);
}

TEST(Resume, GoesOnWithTheSameBatches) {
  expect_resumes([](size_t workers) {
    return make_data_loader(Numbers(),
                            samplers::RandomSampler(23, samplers::RandomSamplerOptions().generator(seeded(5))),
                            DataLoaderOptions(3).workers(workers).generator(seeded(6)));
  });
  expect_resumes([](size_t workers) {
    return make_data_loader(Numbers(), samplers::WeightedRandomSampler({1, 2, 3, 4}, 13, true, seeded(5)),
                            DataLoaderOptions(3).workers(workers).drop_last(true).generator(seeded(6)));
  });
  expect_resumes([](size_t workers) {
    return make_data_loader(
        Numbers(), samplers::BatchSampler(samplers::SubsetRandomSampler({1, 3, 5, 7, 9, 11, 13}, seeded(2)), 2, false),
        DataLoaderOptions()
            .workers(workers)
            .persistent_workers(workers == 0 ? std::nullopt : std::optional(false))
            .generator(seeded(6)));
  });
}

TEST(Resume, OneGeneratorForOrderAndSeeds) {
  expect_resumes([](size_t workers) {
    at::Generator both = seeded(8);
    return make_data_loader(Numbers(), samplers::RandomSampler(23, samplers::RandomSamplerOptions().generator(both)),
                            DataLoaderOptions(4).workers(workers).generator(both));
  });
}

// Its first batch comes late: without order others overtake it.
struct SlowFirst : Numbers {
  int64_t get(size_t i) override {
    if (i == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return Numbers::get(i);
  }
};

TEST(Resume, WithoutOrderNothingIsLostOrTwice) {
  for (size_t k = 0; k <= 12; ++k) {
    const auto make = [](bool in_order = false) {
      return make_data_loader<samplers::SequentialSampler>(SlowFirst(),
                                                           DataLoaderOptions(2).workers(3).enforce_ordering(in_order));
    };
    std::vector<int> seen(23);
    std::string state;
    {
      auto loader = make();
      state = saved(loader);
      size_t count = 0;
      for (auto& batch : *loader) {
        if (count++ == k) break;  // this batch is on its way, and not delivered before the state was saved
        for (const int64_t x : batch) ++seen[static_cast<size_t>(x % 1000)];
        state = saved(loader);
      }
    }
    for (const bool in_order : {false, true}) {
      auto loader = make(in_order);
      load(loader, state);
      std::vector<int> all = seen;
      for (auto& batch : *loader)
        for (const int64_t x : batch) ++all[static_cast<size_t>(x % 1000)];
      EXPECT_EQ(all, std::vector<int>(23, 1)) << "after " << k << " batches, in order: " << in_order;
    }
  }
}

struct Counter : datasets::IterableDataset<Counter, int64_t> {
  explicit Counter(bool exact) : exact(exact) {}
  std::optional<int64_t> next() override { return i < 23 ? std::optional(i++) : std::nullopt; }
  void restart() override { i = 0; }
  void save(serialize::OutputArchive& archive) const override {
    if (exact) archive.write("i", i);
  }
  void load(serialize::InputArchive& archive) override {
    archive.read("i", i);
    ++loads;
  }
  bool exact;
  int64_t i = 0;
  int loads = 0;
};

TEST(Resume, IterableDatasets) {
  for (const bool exact : {false, true})
    for (const auto& [from, to] : {std::pair<size_t, size_t>{0, 0}, {0, 1}, {1, 1}, {1, 0}})
      expect_resumes(
          [&](size_t workers) { return make_data_loader(Counter(exact), DataLoaderOptions(4).workers(workers)); }, from,
          to);
}

TEST(Resume, RefusesWhatNoLoaderWrote) {
  const auto make = [](size_t workers) {
    return make_data_loader<samplers::SequentialSampler>(Numbers(), DataLoaderOptions(2).workers(workers));
  };
  EXPECT_THROW(load(make(0), [] {
                 serialize::OutputArchive archive;
                 archive.write("requests", int64_t{1});
                 return archive.to_bytes();
               }()),
               c10::Error);
  auto busy = make(1);
  const std::string state = saved(busy);
  auto it = busy->begin();
  EXPECT_THROW(load(busy, state), c10::Error);
}

}  // namespace
}  // namespace torch::data
