#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "data/datasets/stateful.h"

namespace torch::data::datasets {

namespace detail {

// A mutex of its own for each copy.
struct OwnMutex {
  OwnMutex() = default;
  OwnMutex(const OwnMutex&) {}
  OwnMutex& operator=(const OwnMutex&) { return *this; }
  std::mutex mutex;
};

}  // namespace detail

/// Gives examples one after another, from a file, a socket, a generator: what derives from it says what the next one is
/// and how to begin again. The loader makes batches of them; workers take turns, so that each example comes once.
///
///   struct Count : IterableDataset<Count, int> {
///     std::optional<int> next() override { return i < 7 ? std::optional(i++) : std::nullopt; }
///     void restart() override { i = 0; }
///     int i = 0;
///   };
///   auto loader = torch::data::make_data_loader(Count(), 3);   // {0, 1, 2}, {3, 4, 5}, {6}
///
/// A loader's place can be saved and found again: by the dataset's save() and load() where it overrides them, else by
/// skipping.
template <typename Self, typename SingleExample = Example<>>
class IterableDataset : public StatefulDataset<Self, std::vector<SingleExample>> {
 public:
  using ExampleType = SingleExample;

  /// nullopt at the end. Never called by two threads at once.
  virtual std::optional<SingleExample> next() = 0;
  virtual void restart() = 0;

  std::optional<std::vector<SingleExample>> get_batch(size_t batch_size) override {
    std::lock_guard<std::mutex> lock(mutex_.mutex);
    std::vector<SingleExample> batch;
    while (batch.size() < batch_size && !ended_) {
      std::optional<SingleExample> example = next();
      if (example) batch.push_back(std::move(*example));
      ended_ = !example;
    }
    if (batch.empty() || (drop_last_ && batch.size() < batch_size)) return std::nullopt;
    return batch;
  }
  void reset() override {
    std::lock_guard<std::mutex> lock(mutex_.mutex);
    ended_ = false;
    restart();
  }
  std::optional<size_t> size() const override { return std::nullopt; }
  void save(serialize::OutputArchive&) const override {}
  void load(serialize::InputArchive&) override {}
  /// Called by the loader.
  void set_drop_last(bool drop_last) { drop_last_ = drop_last; }

 private:
  detail::OwnMutex mutex_;
  bool ended_ = false;
  bool drop_last_ = false;
};

/// Several iterable datasets of one type, one after another.
template <typename SourceDataset>
class ChainDataset : public IterableDataset<ChainDataset<SourceDataset>, typename SourceDataset::ExampleType> {
 public:
  explicit ChainDataset(std::vector<SourceDataset> datasets) : datasets_(std::move(datasets)) {}

  std::optional<typename SourceDataset::ExampleType> next() override {
    for (; current_ < datasets_.size(); ++current_) {
      if (auto example = datasets_[current_].next()) return example;
    }
    return std::nullopt;
  }
  void restart() override {
    for (SourceDataset& d : datasets_) d.restart();
    current_ = 0;
  }

 private:
  std::vector<SourceDataset> datasets_;
  size_t current_ = 0;
};

}  // namespace torch::data::datasets
