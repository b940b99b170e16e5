#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "c10/core/generator.h"
#include "c10/util/arg.h"
#include "c10/util/exception.h"
#include "data/samplers/base.h"

// The samplers of torch.utils.data that libtorch has not, with Python's numbers from the same seed.

namespace torch::data::samplers {

namespace detail {

// An order that each epoch makes anew when its first batch is asked for.
class OrderedSampler : public Sampler<> {
 public:
  void reset(std::optional<size_t> new_size = std::nullopt) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

  /// How many examples of this epoch were given out.
  size_t index() const noexcept { return index_; }

 protected:
  virtual std::vector<int64_t> draw() = 0;
  /// A size from outside: most of these samplers have none.
  virtual void resize(size_t new_size) = 0;
  virtual const std::optional<at::Generator>* generator() const { return nullptr; }

 private:
  std::vector<int64_t> order_;
  size_t index_ = 0;
  bool drawn_ = false;
};

}  // namespace detail

/// Given indices, in the given order.
class IndexSampler : public detail::OrderedSampler {
 public:
  explicit IndexSampler(std::vector<size_t> indices) : indices_(std::move(indices)) {}
  size_t num_samples() const noexcept { return indices_.size(); }

 private:
  std::vector<int64_t> draw() override { return {indices_.begin(), indices_.end()}; }
  void resize(size_t new_size) override;

  std::vector<size_t> indices_;
};

/// Given indices, in a random order: randperm with `generator` or the default one.
class SubsetRandomSampler : public detail::OrderedSampler {
 public:
  explicit SubsetRandomSampler(std::vector<size_t> indices, std::optional<at::Generator> generator = std::nullopt)
      : indices_(std::move(indices)), generator_(std::move(generator)) {}
  size_t num_samples() const noexcept { return indices_.size(); }

 private:
  std::vector<int64_t> draw() override;
  void resize(size_t new_size) override;
  const std::optional<at::Generator>* generator() const override { return &generator_; }

  std::vector<size_t> indices_;
  std::optional<at::Generator> generator_;
};

/// Indices 0 ... weights.size() - 1, drawn with probabilities in proportion to their weights: torch::multinomial in
/// double.
class WeightedRandomSampler : public detail::OrderedSampler {
 public:
  /// ValueError unless num_samples is positive and `weights`, if a tensor, has one dimension.
  WeightedRandomSampler(const std::vector<double>& weights, int64_t num_samples, bool replacement = true,
                        std::optional<at::Generator> generator = std::nullopt);
  WeightedRandomSampler(const at::Tensor& weights, int64_t num_samples, bool replacement = true,
                        std::optional<at::Generator> generator = std::nullopt);
  size_t num_samples() const noexcept { return static_cast<size_t>(num_samples_); }

 private:
  std::vector<int64_t> draw() override;
  void resize(size_t new_size) override;
  const std::optional<at::Generator>* generator() const override { return &generator_; }

  at::Tensor weights_;
  int64_t num_samples_;
  bool replacement_;
  std::optional<at::Generator> generator_;
};

/// Settings of a DistributedIndexSampler.
struct DistributedIndexSamplerOptions {
  DistributedIndexSamplerOptions(int64_t num_replicas, int64_t rank) : num_replicas_(num_replicas), rank_(rank) {}
  TORCH_ARG(int64_t, num_replicas);
  TORCH_ARG(int64_t, rank);
  /// Whether epochs have random orders, which seed + epoch decides.
  TORCH_ARG(bool, shuffle) = true;
  TORCH_ARG(uint64_t, seed) = 0;
  /// Whether what does not come out even is left out; else the first indices come twice.
  TORCH_ARG(bool, drop_last) = false;
};

/// Python's torch.utils.data.DistributedSampler: one process's share of a dataset, every num_replicas-th index from its
/// rank on.
///
///   DistributedIndexSampler sampler(n, DistributedIndexSamplerOptions(world_size, rank).seed(3));
///   sampler.set_epoch(epoch);   // before each epoch, the same in all processes
class DistributedIndexSampler : public detail::OrderedSampler {
 public:
  /// ValueError "Invalid rank 2, rank should be in the interval [0, 1]".
  DistributedIndexSampler(size_t size, const DistributedIndexSamplerOptions& options);

  void set_epoch(size_t epoch) { epoch_ = epoch; }
  size_t epoch() const noexcept { return epoch_; }
  /// This rank's, and all ranks'.
  size_t num_samples() const noexcept;
  size_t total_size() const noexcept { return num_samples() * static_cast<size_t>(options_.num_replicas()); }

  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  std::vector<int64_t> draw() override;
  void resize(size_t new_size) override { size_ = new_size; }

  size_t size_;
  DistributedIndexSamplerOptions options_;
  size_t epoch_ = 0;
};

/// Batches of a sampler's indices, of a size of their own. A loader takes it with batch_size(1), its default.
///
///   auto loader = torch::data::make_data_loader(set, BatchSampler(SubsetRandomSampler(odd), 4, /*drop_last=*/true));
template <typename IndexSampler>
class BatchSampler : public Sampler<> {
 public:
  static constexpr bool makes_batches = true;

  /// ValueError for a batch_size of 0.
  BatchSampler(IndexSampler sampler, size_t batch_size, bool drop_last)
      : sampler_(std::move(sampler)), batch_size_(batch_size), drop_last_(drop_last) {
    TORCH_CHECK_VALUE(batch_size > 0, "batch_size should be a positive integer value, but got batch_size=", batch_size);
  }

  void reset(std::optional<size_t> new_size = std::nullopt) override { sampler_.reset(new_size); }
  /// Of the size that the constructor was given, whatever is asked for.
  std::optional<std::vector<size_t>> next(size_t = 0) override {
    auto batch = sampler_.next(batch_size_);
    if (batch && drop_last_ && batch->size() < batch_size_) return std::nullopt;
    return batch;
  }
  void save(serialize::OutputArchive& archive) const override { sampler_.save(archive); }
  void load(serialize::InputArchive& archive) override { sampler_.load(archive); }

  /// The number of batches.
  size_t size() const {
    const size_t n = sampler_.num_samples();
    return n / batch_size_ + (!drop_last_ && n % batch_size_ != 0);
  }
  IndexSampler& sampler() { return sampler_; }

 private:
  IndexSampler sampler_;
  size_t batch_size_;
  bool drop_last_;
};

/// Given batches, in the given order.
class FixedBatchSampler : public Sampler<> {
 public:
  static constexpr bool makes_batches = true;

  explicit FixedBatchSampler(std::vector<std::vector<size_t>> batches) : batches_(std::move(batches)) {}

  void reset(std::optional<size_t> new_size = std::nullopt) override;
  std::optional<std::vector<size_t>> next(size_t = 0) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  size_t size() const noexcept { return batches_.size(); }

 private:
  std::vector<std::vector<size_t>> batches_;
  size_t index_ = 0;
};

}  // namespace torch::data::samplers
