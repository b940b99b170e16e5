#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "c10/util/exception.h"
#include "data/dataloader/iterator.h"
#include "data/dataloader/options.h"
#include "data/dataloader/state.h"
#include "data/dataloader/worker_info.h"
#include "data/detail/data_shuttle.h"
#include "data/detail/sequencers.h"
#include "data/detail/tensors_of.h"
#include "data/worker_exception.h"

namespace torch::data {

/// Iterates over the batches of a dataset, with threads that get them ahead of time.
///
///   for (torch::data::Example<>& batch : *loader) train(batch.data, batch.target);
///
/// With workers, up to max_jobs batches are under way or waiting; an exception of a worker reaches the iterating thread
/// as a WorkerException in place of its batch, and iteration can go on after it. One thread iterates. A pass that was
/// not finished keeps the loader busy: begin() throws then.
///
/// Its place can be saved in the middle of a pass, torch::save(*loader, path), and a loader that was made in the same
/// way and loads it goes on with the batches that were still to come, whatever the number of workers is then.
template <typename Dataset, typename Batch, typename BatchRequest>
class DataLoaderBase {
 public:
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;

  DataLoaderBase(const DataLoaderBase&) = delete;
  DataLoaderBase& operator=(const DataLoaderBase&) = delete;
  /// Derived destructors have called join().
  virtual ~DataLoaderBase() { join(); }

  /// Begins a pass over the dataset, or goes on with the one that load() brought.
  Iterator<Batch> begin() {
    TORCH_CHECK(options_.workers == 0 || pending_.empty(),
                "Attempted to get a new DataLoader iterator while another iterator is not yet exhausted");
    TORCH_CHECK(!joined_ || options_.workers == 0, "Attempted to get a DataLoader iterator after join()");
    reset();
    return Iterator<Batch>(std::make_unique<detail::ValidIterator<Batch>>([this] { return next(); }));
  }
  Iterator<Batch> end() { return Iterator<Batch>(std::make_unique<detail::SentinelIterator<Batch>>()); }

  /// Ends the workers, after the batches they are working on. Called by the destructor.
  void join() {
    if (joined_) return;
    joined_ = true;
    end_workers();
    pending_.clear();
  }

  const FullDataLoaderOptions& options() const noexcept { return options_; }

  /// Place and order, so that a pass can go on in another process.
  void save(serialize::OutputArchive& archive) const {
    detail::LoaderState state = state_;
    for (const auto& [sequence_number, one] : pending_)
      state.requests.emplace_back(one.first, detail::encode_request(one.second));
    for (const auto& [number, request] : resumed_) state.requests.emplace_back(number, detail::encode_request(request));
    detail::write_state(archive, state, options_.generator);
    detail::write_nested(archive, "source", [this](serialize::OutputArchive& nested) { save_source(nested); });
  }
  /// The next begin() goes on where the other loader stood. Throws in the middle of a pass with workers.
  void load(serialize::InputArchive& archive) {
    TORCH_CHECK(options_.workers == 0 || pending_.empty(), "DataLoader: load() while an iterator is not yet exhausted");
    const detail::LoaderState state = detail::read_state(archive, options_.generator);
    detail::read_nested(archive, "source", [&](serialize::InputArchive* nested) { load_source(nested, state); });
    pending_.clear();
    resumed_.clear();
    for (const auto& [number, numbers] : state.requests)
      resumed_.emplace_back(number, detail::decode_request<BatchRequest>(numbers));
    state_ = state;
    state_.requests.clear();
    resume_ = state.in_pass;
  }

 protected:
  struct Sequenced {
    Sequenced() = default;
    explicit Sequenced(size_t number) : sequence_number(number) {}
    size_t sequence_number = 0;
  };
  struct Job : Sequenced {
    Job() = default;
    Job(size_t sequence_number, size_t number, BatchRequest r)
        : Sequenced(sequence_number), number(number), batch_request(std::move(r)) {}
    size_t number = 0;                          // of the batch, in the pass
    std::optional<BatchRequest> batch_request;  // none: the worker's life ends
  };
  struct Result : Sequenced {
    explicit Result(size_t number) : Sequenced(number) {}
    std::optional<Batch> batch;  // none: an exception, or a stateful dataset's end
    std::exception_ptr exception;
  };

  explicit DataLoaderBase(const DataLoaderOptions& options) : options_((detail::check_options(options), options)) {}

  /// What to ask the dataset for next; nullopt at the end of the pass.
  virtual std::optional<BatchRequest> get_batch_request() = 0;
  /// Begins a pass at its source, the sampler or the dataset.
  virtual void reset_source() = 0;
  /// Starts a worker that calls worker_thread with its dataset.
  virtual std::thread start_worker(int64_t id) = 0;
  /// All workers have started and none is to come.
  virtual void workers_started() {}
  virtual void save_source(serialize::OutputArchive& archive) const = 0;
  /// `archive` is null where save_source wrote nothing.
  virtual void load_source(serialize::InputArchive* archive, const detail::LoaderState& state) = 0;

  virtual void reset() {
    if (!resume_) {
      state_ = {true, state_.pass + 1, state_.base_seed, 0, 0, {}};
      resumed_.clear();
      pending_.clear();
      state_.base_seed = detail::base_seed(options_.generator, state_.pass);
      reset_source();
    }
    resume_ = false;
    if (options_.workers == 0) return;
    next_sequence_number_ = 0;
    if (options_.enforce_ordering) {
      sequencer_ = std::make_unique<detail::sequencers::OrderedSequencer<Result>>(options_.max_jobs);
    } else {
      sequencer_ = std::make_unique<detail::sequencers::NoSequencer<Result>>();
    }
    if (workers_.empty()) start_workers();
    prefetch(options_.max_jobs);
  }

  /// A worker's life.
  void worker_thread(Dataset& dataset, const WorkerInfo& info) {
    detail::WorkerScope worker(info);
    std::exception_ptr failed;
    try {
      if (options_.worker_init_fn) options_.worker_init_fn(info.id);
    } catch (...) {
      failed = std::current_exception();
    }
    while (true) {
      Job job = shuttle_->pop_job();
      if (!job.batch_request) break;
      Result result(job.sequence_number);
      result.exception = failed;
      try {
        if (!failed) result.batch = make_batch(dataset, std::move(*job.batch_request), job.number, true);
      } catch (...) {
        result.exception = std::current_exception();
      }
      shuttle_->push_result(std::move(result));
    }
  }
  WorkerInfo info_of(int64_t id) const {
    return {id, static_cast<int64_t>(options_.workers), state_.base_seed + static_cast<uint64_t>(id)};
  }

  const FullDataLoaderOptions options_;
  /// What the iterating thread asks itself, without workers; and what workers get copies of.
  std::unique_ptr<Dataset> main_thread_dataset_;

 private:
  using Numbered = std::pair<size_t, BatchRequest>;

  void start_workers() {
    shuttle_ = std::make_unique<detail::DataShuttle<Job, Result>>();
    try {
      for (size_t i = 0; i < options_.workers; ++i) workers_.push_back(start_worker(static_cast<int64_t>(i)));
    } catch (...) {
      end_workers();
      throw;
    }
    if (options_.persistent_workers) workers_started();
  }

  void end_workers() {
    if (shuttle_ == nullptr) return;
    shuttle_->drain();
    for (size_t i = 0; i < workers_.size(); ++i) shuttle_->push_job(Job{});
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
    shuttle_.reset();
    sequencer_.reset();
  }

  void end_pass() {
    state_.in_pass = false;
    if (!options_.persistent_workers) end_workers();
  }

  auto make_batch(Dataset& dataset, BatchRequest request, size_t number, bool in_worker) {
    std::optional<detail::BatchScope> stream;
    if (in_worker || options_.generator) stream.emplace(state_.base_seed, number);
    auto batch = dataset.get_batch(std::move(request));
    if (options_.pin_memory) detail::pin(batch, pinning_);
    return batch;
  }

  // With its number: first what load() brought, then from the source.
  std::optional<Numbered> next_request() {
    if (!resumed_.empty()) {
      Numbered first = std::move(resumed_.front());
      resumed_.pop_front();
      return first;
    }
    std::optional<BatchRequest> request = get_batch_request();
    if (!request) return std::nullopt;
    return Numbered(state_.next_number++, std::move(*request));
  }

  void prefetch(size_t count) {
    for (; count > 0; --count) {
      std::optional<Numbered> request = next_request();
      if (!request) return;
      const size_t sequence_number = next_sequence_number_++;
      pending_.emplace(sequence_number, *request);
      shuttle_->push_job(Job(sequence_number, request->first, std::move(request->second)));
    }
  }

  std::optional<Batch> next() {
    if (options_.workers == 0) {
      if (!state_.in_pass) return std::nullopt;
      std::optional<Numbered> request = next_request();
      std::optional<Batch> batch;
      if (request) batch = make_batch(*main_thread_dataset_, std::move(request->second), request->first, false);
      if (batch) ++state_.delivered;
      if (!batch) end_pass();
      return batch;
    }
    while (std::optional<Result> result = pop_result()) {
      pending_.erase(result->sequence_number);
      if (result->exception) {
        prefetch(1);
        throw WorkerException(result->exception);
      }
      if (result->batch) {
        ++state_.delivered;
        prefetch(1);
        return std::move(result->batch);
      }
    }
    if (state_.in_pass) end_pass();
    return std::nullopt;
  }

  std::optional<Result> pop_result() {
    if (pending_.empty()) return std::nullopt;
    return sequencer_->next([this] { return shuttle_->pop_result(options_.timeout); });
  }

  const detail::TensorFunction pinning_ = detail::pinning(options_.pin_memory_device);
  std::unique_ptr<detail::DataShuttle<Job, Result>> shuttle_;  // while there are workers
  std::unique_ptr<detail::sequencers::Sequencer<Result>> sequencer_;
  std::vector<std::thread> workers_;
  detail::LoaderState state_;
  size_t next_sequence_number_ = 0;
  std::map<size_t, Numbered> pending_;      // by sequence number: handed to workers and not delivered
  std::deque<Numbered> resumed_;            // from load(), not yet handed on
  bool resume_ = false;
  bool joined_ = false;
};

/// torch::save(*loader, path) and torch::load(*loader, path).
template <typename Dataset, typename Batch, typename BatchRequest>
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive,
                                     const DataLoaderBase<Dataset, Batch, BatchRequest>& loader) {
  loader.save(archive);
  return archive;
}
template <typename Dataset, typename Batch, typename BatchRequest>
serialize::InputArchive& operator>>(serialize::InputArchive& archive,
                                    DataLoaderBase<Dataset, Batch, BatchRequest>& loader) {
  loader.load(archive);
  return archive;
}

}  // namespace torch::data
