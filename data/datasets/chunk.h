#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "c10/util/arg.h"
#include "c10/util/exception.h"
#include "data/datasets/stateful.h"
#include "data/samplers/samplers.h"
#include "data/worker_exception.h"

namespace torch::data::datasets {

/// Reads a dataset in chunks (files, parts of one), for ChunkDataset. With more than one preloader, read_chunk is
/// called from several threads at once.
template <typename ExampleType_, typename ChunkType_ = std::vector<ExampleType_>>
class ChunkDataReader {
 public:
  using ChunkType = ChunkType_;
  using ExampleType = ExampleType_;
  virtual ~ChunkDataReader() = default;

  virtual ChunkType read_chunk(size_t chunk_index) = 0;
  virtual size_t chunk_count() = 0;
  /// Called before each pass.
  virtual void reset() = 0;
};

/// Settings of a ChunkDataset.
struct ChunkDatasetOptions {
  ChunkDatasetOptions() = delete;
  /// ValueError for a zero, and for a cache that does not hold a batch.
  ChunkDatasetOptions(size_t preloader_count, size_t batch_size, size_t cache_size = 2048,
                      size_t cross_chunk_shuffle_count = 1);

  /// Threads that read chunks.
  TORCH_ARG(size_t, preloader_count);
  /// Examples a batch; get_batch is asked for this number.
  TORCH_ARG(size_t, batch_size);
  /// Preloaders wait while so many examples or more are ready.
  TORCH_ARG(size_t, cache_size) = 2048;
  /// How many chunks are read together, so that their examples mix.
  TORCH_ARG(size_t, cross_chunk_shuffle_count) = 1;
};

namespace detail {

/// Batches that are ready or being filled, between the preloaders and who asks for batches.
template <typename UnwrappedBatch, typename ExampleSampler>
class BatchDataBuffer {
 public:
  BatchDataBuffer(size_t batch_size, ExampleSampler& example_sampler, size_t capacity)
      : batch_size_(batch_size), capacity_(capacity), example_sampler_(example_sampler) {}

  /// The next batch, once it is full or no more examples come; nullopt at the end. Throws what a preloader threw.
  std::optional<UnwrappedBatch> get_batch() {
    std::unique_lock<std::mutex> lock(mutex_);
    readable_.wait(lock, [this] {
      return stopped_ || batches_.size() > 1 || (!batches_.empty() && batches_.front().ready(batch_size_));
    });
    if (batches_.empty()) return std::nullopt;
    Entry entry = std::move(batches_.front());
    batches_.pop_front();
    examples_ -= entry.batch.size();
    lock.unlock();
    writable_.notify_all();
    if (entry.exception) throw WorkerException(entry.exception);
    return std::move(entry.batch);
  }

  /// Deals out a chunk's examples in the sampler's order; waits while the cache is full.
  void add_chunk_data(UnwrappedBatch data) {
    std::unique_lock<std::mutex> lock(mutex_);
    writable_.wait(lock, [this] { return stopped_ || examples_ < capacity_; });
    if (stopped_) return;
    size_t left = data.size();
    example_sampler_.reset(left);
    while (left > 0) {
      if (batches_.empty() || batches_.back().ready(batch_size_)) batches_.emplace_back();
      UnwrappedBatch& batch = batches_.back().batch;
      const auto indices = example_sampler_.next(std::min(left, batch_size_ - batch.size()));
      TORCH_CHECK(indices && !indices->empty(), "ChunkDataset: the example sampler gave no index, and ", left,
                  " examples are left");
      for (const size_t i : *indices) {
        TORCH_CHECK_INDEX(i < data.size(), "ChunkDataset: the example sampler gave index ", i, " for ", data.size(),
                          " examples");
        batch.emplace_back(std::move(data[i]));
        ++examples_;
      }
      left -= indices->size();
    }
    lock.unlock();
    readable_.notify_all();
  }

  /// For whoever asks for the batch that would have been next.
  void add_chunk_data(std::exception_ptr exception) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      writable_.wait(lock, [this] { return stopped_ || examples_ < capacity_; });
      if (stopped_) return;
      batches_.emplace_back();
      batches_.back().exception = std::move(exception);
    }
    readable_.notify_all();
  }

  /// No more examples come, and nobody waits any longer.
  void stop() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopped_ = true;
    }
    readable_.notify_all();
    writable_.notify_all();
  }

 private:
  struct Entry {
    UnwrappedBatch batch;
    std::exception_ptr exception;
    bool ready(size_t batch_size) const { return exception != nullptr || batch.size() >= batch_size; }
  };

  const size_t batch_size_;
  const size_t capacity_;
  ExampleSampler& example_sampler_;  // used under the mutex
  std::deque<Entry> batches_;
  size_t examples_ = 0;
  bool stopped_ = false;
  std::mutex mutex_;
  std::condition_variable readable_, writable_;
};

}  // namespace detail

/// A dataset that is read chunk by chunk, by threads of its own, and gives batches of examples: for data that does not
/// fit memory. `chunk_sampler` orders the chunks, `example_sampler` the examples of those that are read together
/// (RandomSampler: a shuffle in two levels). `preprocessing_policy` may change these before.
///
///   auto set = make_shared_dataset<ChunkDataset<Reader>>(
///       reader, RandomSampler(0), RandomSampler(0), ChunkDatasetOptions(/*preloader_count=*/2, /*batch_size=*/64));
///   auto loader = make_data_loader(set, DataLoaderOptions(64).workers(2));
///
/// With one preloader and without workers the order is that of the samplers. What read_chunk throws comes as a
/// WorkerException in place of a batch.
template <typename ChunkReader, typename ChunkSampler = samplers::RandomSampler,
          typename ExampleSampler = samplers::RandomSampler>
class ChunkDataset final : public StatefulDataset<ChunkDataset<ChunkReader, ChunkSampler, ExampleSampler>,
                                                  typename ChunkReader::ChunkType, size_t> {
 public:
  using UnwrappedBatchType = typename ChunkReader::ChunkType;
  using BatchType = std::optional<UnwrappedBatchType>;
  using BatchRequestType = size_t;
  using ChunkSamplerType = ChunkSampler;
  using ExampleSamplerType = ExampleSampler;

  ChunkDataset(
      ChunkReader chunk_reader, ChunkSampler chunk_sampler, ExampleSampler example_sampler, ChunkDatasetOptions options,
      std::function<void(UnwrappedBatchType&)> preprocessing_policy = std::function<void(UnwrappedBatchType&)>())
      : chunk_reader_(std::move(chunk_reader)),
        chunk_sampler_(std::move(chunk_sampler)),
        example_sampler_(std::move(example_sampler)),
        options_(std::move(options)),
        preprocessing_policy_(std::move(preprocessing_policy)) {}
  ~ChunkDataset() override { end_preloaders(); }

  /// The next batch, nullopt at the end. Throws c10::Error before the first reset() and for another size than the
  /// options'.
  BatchType get_batch(size_t batch_size) override {
    TORCH_CHECK(buffer_ != nullptr, "Dataset needs to call reset() before calling get_batch().");
    TORCH_CHECK(
        batch_size == options_.batch_size(),
        "The requested batch size does not match with the initialized batch size.\n The requested batch size is ",
        batch_size, ", while the dataset is created with batch size equal to ", options_.batch_size());
    return buffer_->get_batch();
  }
  BatchType get_batch() { return get_batch(options_.batch_size()); }

  /// Begins a pass: the preloaders start reading. After load() the chunks that were read then are left out of it.
  void reset() override {
    end_preloaders();
    chunk_reader_.reset();
    if (!loaded_) chunk_sampler_.reset(chunk_reader_.chunk_count());
    loaded_ = false;
    buffer_ = std::make_unique<Buffer>(options_.batch_size(), example_sampler_, options_.cache_size());
    running_ = options_.preloader_count();
    quit_ = false;
    try {
      for (size_t i = 0; i < options_.preloader_count(); ++i) preloaders_.emplace_back([this] { preload(); });
    } catch (...) {
      end_preloaders();
      throw;
    }
  }

  /// Not known.
  std::optional<size_t> size() const override { return std::nullopt; }

  /// The preloaders use it: look at it between passes.
  ChunkSamplerType& chunk_sampler() { return chunk_sampler_; }

  /// Which chunks were begun, in the chunk sampler's form. What they hold that was not given out yet is lost.
  void save(serialize::OutputArchive& archive) const override {
    std::lock_guard<std::mutex> lock(sampler_mutex_);
    chunk_sampler_.save(archive);
  }
  void load(serialize::InputArchive& archive) override {
    const bool running = buffer_ != nullptr;
    end_preloaders();
    chunk_sampler_.load(archive);
    loaded_ = true;
    if (running) reset();
  }

 private:
  using Buffer = detail::BatchDataBuffer<UnwrappedBatchType, ExampleSampler>;

  std::optional<std::vector<size_t>> next_chunks() {
    std::lock_guard<std::mutex> lock(sampler_mutex_);
    if (quit_) return std::nullopt;
    return chunk_sampler_.next(options_.cross_chunk_shuffle_count());
  }

  // A preloader's life.
  void preload() {
    bool more_chunks = true;
    while (more_chunks) {
      std::exception_ptr thrown;  // handed over when this thread is done with it
      try {
        more_chunks = false;  // should the sampler throw
        const std::optional<std::vector<size_t>> chunks = next_chunks();
        if (!chunks || chunks->empty()) break;
        more_chunks = true;
        UnwrappedBatchType data = chunk_reader_.read_chunk(chunks->front());
        for (size_t i = 1; i < chunks->size(); ++i) {
          UnwrappedBatchType more = chunk_reader_.read_chunk((*chunks)[i]);
          std::move(more.begin(), more.end(), std::back_inserter(data));
        }
        if (preprocessing_policy_) preprocessing_policy_(data);
        if (!data.empty()) buffer_->add_chunk_data(std::move(data));
      } catch (...) {
        thrown = std::current_exception();
      }
      if (thrown) buffer_->add_chunk_data(std::move(thrown));
    }
    std::lock_guard<std::mutex> lock(sampler_mutex_);
    if (--running_ == 0) buffer_->stop();
  }

  void end_preloaders() {
    {
      std::lock_guard<std::mutex> lock(sampler_mutex_);
      quit_ = true;
    }
    if (buffer_) buffer_->stop();
    for (std::thread& preloader : preloaders_) preloader.join();
    preloaders_.clear();
    buffer_.reset();
  }

  ChunkReader chunk_reader_;
  ChunkSampler chunk_sampler_;
  ExampleSampler example_sampler_;
  const ChunkDatasetOptions options_;
  std::function<void(UnwrappedBatchType&)> preprocessing_policy_;
  std::unique_ptr<Buffer> buffer_;
  std::vector<std::thread> preloaders_;
  mutable std::mutex sampler_mutex_;  // also for running_ and quit_
  size_t running_ = 0;
  bool quit_ = false;
  bool loaded_ = false;
};

}  // namespace torch::data::datasets
