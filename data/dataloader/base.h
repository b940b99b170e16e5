#pragma once

#include <cstddef>
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
#include "data/dataloader/queue.h"
#include "data/worker_exception.h"

namespace torch::data {

/// Iterates over the batches of a dataset, with threads that get them ahead of time.
///
///   for (torch::data::Example<>& batch : *loader) train(batch.data, batch.target);
///
/// With workers, up to max_jobs batches are under way or waiting; an exception of a worker reaches the iterating thread as a
/// WorkerException in place of its batch, and iteration can go on after it. One thread iterates. A pass that was not
/// finished keeps the loader busy: begin() throws then.
template <typename Dataset, typename Batch, typename BatchRequest>
class DataLoaderBase {
 public:
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;

  DataLoaderBase(const DataLoaderBase&) = delete;
  DataLoaderBase& operator=(const DataLoaderBase&) = delete;
  /// Derived destructors have called join().
  virtual ~DataLoaderBase() { join(); }

  /// Begins a pass over the dataset.
  Iterator<Batch> begin() {
    TORCH_CHECK(in_flight_ == 0, "Attempted to get a new DataLoader iterator while another iterator is not yet exhausted");
    TORCH_CHECK(!joined_ || options_.workers == 0, "Attempted to get a DataLoader iterator after join()");
    reset();
    return Iterator<Batch>([this] { return next(); });
  }
  Iterator<Batch> end() { return Iterator<Batch>(); }

  /// Ends the workers, after the batches they are working on. Called by the destructor.
  void join() {
    if (joined_) return;
    joined_ = true;
    jobs_.clear();
    for (size_t i = 0; i < workers_.size(); ++i) jobs_.push(Job{});
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
    results_.clear();
    waiting_.clear();
    in_flight_ = 0;
  }

  const FullDataLoaderOptions& options() const noexcept { return options_; }

 protected:
  explicit DataLoaderBase(const DataLoaderOptions& options) : options_(options) {
    TORCH_CHECK_VALUE(options_.batch_size > 0, "DataLoader: expected a positive batch_size, but got 0");
    TORCH_CHECK_VALUE(options_.workers == 0 || options_.max_jobs > 0, "DataLoader: expected a positive max_jobs, but got 0");
  }

  virtual std::optional<BatchRequest> get_batch_request() = 0;

  virtual void reset() {
    next_number_ = 0;
    next_wanted_ = 0;
    waiting_.clear();
    if (options_.workers > 0) prefetch(options_.max_jobs);
  }

  /// A worker's life.
  void worker_thread(Dataset& dataset) {
    while (true) {
      Job job = jobs_.pop();
      if (!job.request) break;
      Result result{job.number, std::nullopt, nullptr};
      try {
        result.batch = dataset.get_batch(std::move(*job.request));
      } catch (...) {
        result.exception = std::current_exception();
      }
      results_.push(std::move(result));
    }
  }

  /// Starts the workers; each calls `life()`, made by `make_life` in this thread.
  template <typename MakeLife>
  void start_workers(const MakeLife& make_life) {
    try {
      for (size_t i = 0; i < options_.workers; ++i) workers_.emplace_back(make_life());
    } catch (...) {
      join();
      throw;
    }
  }

  const FullDataLoaderOptions options_;
  /// What the iterating thread asks itself, without workers.
  std::unique_ptr<Dataset> main_thread_dataset_;

 private:
  struct Job {
    size_t number = 0;
    std::optional<BatchRequest> request;  // none: the worker's life ends
  };
  struct Result {
    size_t number;
    std::optional<Batch> batch;  // none: an exception, or a stateful dataset's end
    std::exception_ptr exception;
  };

  void prefetch(size_t count) {
    for (; count > 0; --count) {
      std::optional<BatchRequest> request = get_batch_request();
      if (!request) return;
      jobs_.push(Job{next_number_++, std::move(request)});
      ++in_flight_;
    }
  }

  // The next result, in order if that is asked for.
  Result pop_result() {
    if (options_.enforce_ordering) {
      while (true) {
        const auto found = waiting_.find(next_wanted_);
        if (found != waiting_.end()) {
          Result result = std::move(found->second);
          waiting_.erase(found);
          ++next_wanted_;
          --in_flight_;
          return result;
        }
        Result result = results_.pop(options_.timeout);
        const size_t number = result.number;
        waiting_.emplace(number, std::move(result));
      }
    }
    Result result = results_.pop(options_.timeout);
    --in_flight_;
    return result;
  }

  std::optional<Batch> next() {
    if (options_.workers == 0) {
      std::optional<BatchRequest> request = get_batch_request();
      if (!request) return std::nullopt;
      return main_thread_dataset_->get_batch(std::move(*request));
    }
    while (in_flight_ > 0) {
      Result result = pop_result();
      if (result.exception) {
        prefetch(1);
        throw WorkerException(result.exception);
      }
      if (result.batch) {
        prefetch(1);
        return std::move(result.batch);
      }
    }
    return std::nullopt;
  }

  detail::Queue<Job> jobs_;
  detail::Queue<Result> results_;
  std::vector<std::thread> workers_;
  std::map<size_t, Result> waiting_;  // results that came before their turn
  size_t next_number_ = 0;
  size_t next_wanted_ = 0;
  size_t in_flight_ = 0;
  bool joined_ = false;
};

}  // namespace torch::data
