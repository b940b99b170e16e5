#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "c10/core/generator.h"
#include "c10/core/scalar_type.h"
#include "c10/util/arg.h"
#include "data/samplers/base.h"

namespace torch::data::samplers {

/// What Python's RandomSampler is given.
struct RandomSamplerOptions {
  /// Whether an example may come more than once.
  TORCH_ARG(bool, replacement) = false;
  /// Examples an epoch; by default all. Without replacement and with more, whole orders follow each other.
  TORCH_ARG(std::optional<int64_t>, num_samples);
  /// By default each epoch has a generator of its own, seeded by one number of the default one.
  TORCH_ARG(std::optional<at::Generator>, generator);
};

/// A new random order each epoch, without replacement: that of torch::randperm with the default generator, so that
/// torch::manual_seed decides it. As in libtorch, the constructor draws an order and reset() draws another.
///
/// With options the numbers are those of Python's torch.utils.data.RandomSampler: an order is drawn when the epoch's
/// first batch is asked for.
class RandomSampler : public Sampler<> {
 public:
  explicit RandomSampler(int64_t size, at::ScalarType index_dtype = at::kLong);
  /// ValueError unless size and num_samples are positive.
  RandomSampler(int64_t size, RandomSamplerOptions options);

  void reset(std::optional<size_t> new_size = std::nullopt) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

  /// How many examples of this epoch were given out.
  size_t index() const noexcept { return index_; }
  /// Examples an epoch.
  size_t num_samples() const noexcept;

 private:
  void draw();

  std::vector<int64_t> indices_;
  size_t index_ = 0;
  int64_t size_;
  bool drawn_;
  std::optional<RandomSamplerOptions> options_;
};

/// 0, 1, 2 ...
class SequentialSampler : public Sampler<> {
 public:
  explicit SequentialSampler(size_t size) : size_(size) {}

  void reset(std::optional<size_t> new_size = std::nullopt) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

  size_t index() const noexcept { return index_; }
  size_t num_samples() const noexcept { return size_; }

 private:
  size_t size_;
  size_t index_ = 0;
};

/// How many examples a stream shall give.
struct BatchSize : public CustomBatchRequest {
  explicit BatchSize(size_t size) : size_(size) {}
  size_t size() const noexcept override { return size_; }
  operator size_t() const noexcept { return size_; }

 private:
  size_t size_;
};

/// For streams: sizes that add up to `epoch_size`.
class StreamSampler : public Sampler<BatchSize> {
 public:
  explicit StreamSampler(size_t epoch_size) : epoch_size_(epoch_size) {}

  void reset(std::optional<size_t> new_size = std::nullopt) override;
  std::optional<BatchSize> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  size_t examples_retrieved_so_far_ = 0;
  size_t epoch_size_;
};

/// One process's share of a dataset: `num_replicas` processes that use the same epoch see disjoint parts of equal size.
/// With `allow_duplicates` all examples come, and the first ones once more where it does not come out even; without,
/// the last size % num_replicas are left out. ValueError unless 0 <= rank < num_replicas.
template <typename BatchRequest = std::vector<size_t>>
class DistributedSampler : public Sampler<BatchRequest> {
 public:
  DistributedSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true);

  /// Call it with the same number in all processes before an epoch; it decides the order.
  void set_epoch(size_t epoch) { epoch_ = epoch; }
  size_t epoch() const { return epoch_; }

 protected:
  /// The samples of this rank, and where the first one stands in the order of all ranks.
  size_t local_sample_count() const;
  size_t first_sample() const { return rank_ * local_sample_count(); }

  size_t size_;
  size_t num_replicas_;
  size_t rank_;
  size_t epoch_ = 0;
  bool allow_duplicates_;
};

/// In a random order that the epoch alone decides: randperm of a generator seeded with the epoch's number, each rank
/// taking every num_replicas-th. DistributedIndexSampler has the numbers of Python's.
class DistributedRandomSampler : public DistributedSampler<> {
 public:
  DistributedRandomSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true);

  void reset(std::optional<size_t> new_size = std::nullopt) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  /// The place of the next sample in the order of all ranks.
  size_t index() const noexcept;

 private:
  void populate_indices();

  size_t index_ = 0;
  std::vector<size_t> indices_;
};

/// In order, each rank a contiguous part.
class DistributedSequentialSampler : public DistributedSampler<> {
 public:
  DistributedSequentialSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true);

  void reset(std::optional<size_t> new_size = std::nullopt) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  /// The place of the next sample in the order of all ranks.
  size_t index() const noexcept;

 private:
  void populate_indices();

  size_t index_ = 0;
  std::vector<size_t> indices_;
};

}  // namespace torch::data::samplers
