#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <type_traits>

#include "c10/util/arg.h"
#include "c10/util/exception.h"

namespace torch::data {

/// Settings of a DataLoader.
struct DataLoaderOptions {
  DataLoaderOptions() = default;
  /// Of any integer type; braces around a variable are no narrowing then. ValueError for a negative number.
  template <std::integral Integer>
  /* implicit */ DataLoaderOptions(Integer batch_size) : batch_size_(static_cast<size_t>(batch_size)) {
    if constexpr (std::is_signed_v<Integer>) {
      TORCH_CHECK_VALUE(batch_size >= 0, "DataLoader: expected a positive batch_size, but got ", batch_size);
    }
  }

  /// Examples a batch.
  TORCH_ARG(size_t, batch_size) = 1;
  /// Threads that get batches; 0: the iterating thread does it.
  TORCH_ARG(size_t, workers) = 0;
  /// How many batches may be under way or waiting; by default twice the number of workers.
  TORCH_ARG(std::optional<size_t>, max_jobs);
  /// How long to wait for a batch; for ever by default.
  TORCH_ARG(std::optional<std::chrono::milliseconds>, timeout);
  /// Whether batches come in the order of the sampler, or as they get ready.
  TORCH_ARG(bool, enforce_ordering) = true;
  /// Whether to leave out a last batch that is not full.
  TORCH_ARG(bool, drop_last) = false;
};

/// The same with defaults filled in.
struct FullDataLoaderOptions {
  explicit FullDataLoaderOptions(const DataLoaderOptions& options)
      : batch_size(options.batch_size()),
        workers(options.workers()),
        max_jobs(options.max_jobs().value_or(2 * options.workers())),
        timeout(options.timeout()),
        enforce_ordering(options.enforce_ordering()),
        drop_last(options.drop_last()) {}

  size_t batch_size;
  size_t workers;
  size_t max_jobs;
  std::optional<std::chrono::milliseconds> timeout;
  bool enforce_ordering;
  bool drop_last;
};

}  // namespace torch::data
