#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "data/dataloader/base.h"

namespace torch::data {

/// The loader of datasets that are asked by index (or by what the sampler gives). Each worker has a copy of the
/// dataset; wrap it with make_shared_dataset to share one.
template <typename Dataset, typename Sampler>
class StatelessDataLoader
    : public DataLoaderBase<Dataset, typename Dataset::BatchType, typename Sampler::BatchRequestType> {
 public:
  using super = DataLoaderBase<Dataset, typename Dataset::BatchType, typename Sampler::BatchRequestType>;
  using typename super::BatchRequestType;

  StatelessDataLoader(Dataset dataset, Sampler sampler, const DataLoaderOptions& options)
      : super(options), sampler_(std::move(sampler)) {
    if constexpr (kMakesBatches) {
      TORCH_CHECK_VALUE(this->options_.batch_size == 1 && !this->options_.drop_last,
                        "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last");
    }
    this->main_thread_dataset_ = std::make_unique<Dataset>(std::move(dataset));
  }
  ~StatelessDataLoader() override { this->join(); }

  Sampler& sampler() { return sampler_; }

  /// The number of batches of a pass, where the sampler knows its num_samples(); else nullopt.
  std::optional<size_t> size() const {
    if constexpr (kMakesBatches) {
      return sampler_.size();
    } else if constexpr (requires { sampler_.num_samples(); }) {
      const size_t n = sampler_.num_samples(), b = this->options_.batch_size;
      return this->options_.drop_last ? n / b : n / b + (n % b != 0);
    } else {
      return std::nullopt;
    }
  }

 private:
  // The sampler's batches are of its own size.
  static constexpr bool kMakesBatches = requires { Sampler::makes_batches; };

  void reset_source() override { sampler_.reset(std::nullopt); }
  void save_source(serialize::OutputArchive& archive) const override { sampler_.save(archive); }
  void load_source(serialize::InputArchive* archive, const detail::LoaderState&) override {
    if (archive != nullptr) sampler_.load(*archive);
  }

  std::thread start_worker(int64_t id) override {
    if constexpr (std::is_copy_constructible_v<Dataset>) {
      return std::thread([this, info = this->info_of(id), copy = *this->main_thread_dataset_]() mutable {
        this->worker_thread(copy, info);
      });
    } else {
      TORCH_CHECK_VALUE(false,
                        "DataLoader: workers need copies of the dataset, and this one can't be copied; wrap it with "
                        "make_shared_dataset");
    }
  }
  void workers_started() override { this->main_thread_dataset_.reset(); }

  std::optional<BatchRequestType> get_batch_request() override {
    auto request = sampler_.next(this->options_.batch_size);
    if (!request || (this->options_.drop_last && request->size() < this->options_.batch_size)) return std::nullopt;
    return request;
  }

  Sampler sampler_;
};

}  // namespace torch::data
