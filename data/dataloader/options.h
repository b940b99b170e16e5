#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>

#include "c10/core/generator.h"
#include "c10/util/arg.h"
#include "c10/util/exception.h"

namespace torch::data {

/// Settings of a DataLoader. What Python's loader is given besides: `collate_fn` is a transform of the dataset
/// (transforms::Collate, Stack, DefaultCollate), `sampler` and `batch_sampler` (samplers::BatchSampler) are the second
/// argument of make_data_loader, `in_order` is enforce_ordering, and batch_size=None is transforms::Unbatched.
struct DataLoaderOptions {
  DataLoaderOptions() = default;
  /// Of any integer type; braces around a variable are no narrowing then. ValueError for a negative number.
  template <std::integral Integer>
  /* implicit */ DataLoaderOptions(Integer batch_size) : batch_size_(static_cast<size_t>(batch_size)) {
    if constexpr (std::is_signed_v<Integer>) {
      TORCH_CHECK_VALUE(batch_size >= 0,
                        "batch_size should be a positive integer value, but got batch_size=", batch_size);
    }
  }

  /// Examples a batch.
  TORCH_ARG(size_t, batch_size) = 1;
  /// Threads that get batches; 0: the iterating thread does it.
  TORCH_ARG(size_t, workers) = 0;
  /// How many batches may be under way or waiting; by default prefetch_factor times the number of workers.
  TORCH_ARG(std::optional<size_t>, max_jobs);
  /// How long to wait for a batch; for ever by default.
  TORCH_ARG(std::optional<std::chrono::milliseconds>, timeout);
  /// Whether batches come in the order of the sampler, or as they get ready.
  TORCH_ARG(bool, enforce_ordering) = true;
  /// Whether to leave out a last batch that is not full.
  TORCH_ARG(bool, drop_last) = false;

  /// Whether to put the tensors of a batch into pinned memory, from which an accelerator copies by itself; nothing
  /// happens without one. Tensors are found in examples, vectors, arrays, optionals, pairs, tuples, maps and
  /// c10::IValue; a class of its own is asked for its pin_memory(). Workers do it; torch::data::to_device copies from
  /// there.
  TORCH_ARG(bool, pin_memory) = false;
  /// The type of devices to pin for, as "cuda"; the accelerator, by default. Without pin_memory it means nothing.
  TORCH_ARG(std::string, pin_memory_device);
  /// Called in each worker, with its number, before its first batch. What it throws comes in place of each of its
  /// batches.
  TORCH_ARG(std::function<void(int64_t)>, worker_init_fn);
  /// Whether workers (and their copies of the dataset) live as long as the loader, which is the default, or as long as
  /// a pass.
  TORCH_ARG(std::optional<bool>, persistent_workers);
  /// Batches under way a worker; 2 by default.
  TORCH_ARG(std::optional<size_t>, prefetch_factor);
  /// From which the seed of each pass is drawn, as Python's loader does it: one number a pass, before the sampler
  /// draws. Worker k has the seed base + k (worker_info), and random_generator() gives streams that depend on it and on
  /// the number of the batch alone, with any number of workers.
  TORCH_ARG(std::optional<at::Generator>, generator);
};

/// The same with defaults filled in.
struct FullDataLoaderOptions {
  explicit FullDataLoaderOptions(const DataLoaderOptions& options)
      : batch_size(options.batch_size()),
        workers(options.workers()),
        max_jobs(options.max_jobs().value_or(options.prefetch_factor().value_or(2) * options.workers())),
        timeout(options.timeout()),
        enforce_ordering(options.enforce_ordering()),
        drop_last(options.drop_last()),
        pin_memory(options.pin_memory()),
        pin_memory_device(options.pin_memory_device()),
        worker_init_fn(options.worker_init_fn()),
        persistent_workers(options.persistent_workers().value_or(true)),
        generator(options.generator()) {}

  size_t batch_size;
  size_t workers;
  size_t max_jobs;
  std::optional<std::chrono::milliseconds> timeout;
  bool enforce_ordering;
  bool drop_last;
  bool pin_memory;
  std::string pin_memory_device;
  std::function<void(int64_t)> worker_init_fn;
  bool persistent_workers;
  std::optional<at::Generator> generator;
};

namespace detail {
/// ValueError for settings that contradict each other or mean nothing.
void check_options(const DataLoaderOptions& options);
}  // namespace detail

}  // namespace torch::data
