#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "data/detail/queue.h"

namespace torch::data::detail {

/// Two queues between a thread that gives out jobs and those that work on them. The first thread also counts: it asks
/// for as many results as it pushed jobs.
template <typename Job, typename Result>
class DataShuttle {
 public:
  void push_job(Job job) {
    new_jobs_.push(std::move(job));
    ++in_flight_jobs_;
  }
  /// Called by workers.
  void push_result(Result result) { results_.push(std::move(result)); }
  /// Called by workers; waits.
  Job pop_job() { return new_jobs_.pop(); }

  /// The next result, or nullopt where none is to come. Throws c10::Error when `timeout` passes before.
  std::optional<Result> pop_result(std::optional<std::chrono::milliseconds> timeout = std::nullopt) {
    if (in_flight_jobs_ == 0) return std::nullopt;
    std::optional<Result> result = results_.pop(timeout);
    --in_flight_jobs_;
    return result;
  }

  /// Drops all jobs that nobody began, waits for the others and drops their results.
  void drain() {
    in_flight_jobs_ -= new_jobs_.clear();
    while (in_flight_jobs_ > 0) pop_result();
  }

  size_t in_flight_jobs() const noexcept { return in_flight_jobs_; }

 private:
  Queue<Job> new_jobs_;
  Queue<Result> results_;
  size_t in_flight_jobs_ = 0;
};

}  // namespace torch::data::detail
