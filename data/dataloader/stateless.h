#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "data/dataloader/base.h"

namespace torch::data {

/// The loader of datasets that are asked by index (or by what the sampler gives). Each worker has a copy of the dataset; wrap
/// it with make_shared_dataset to share one.
template <typename Dataset, typename Sampler>
class StatelessDataLoader
    : public DataLoaderBase<Dataset, typename Dataset::BatchType, typename Sampler::BatchRequestType> {
 public:
  using super = DataLoaderBase<Dataset, typename Dataset::BatchType, typename Sampler::BatchRequestType>;
  using typename super::BatchRequestType;

  StatelessDataLoader(Dataset dataset, Sampler sampler, const DataLoaderOptions& options)
      : super(options), sampler_(std::move(sampler)) {
    if (this->options_.workers == 0) {
      this->main_thread_dataset_ = std::make_unique<Dataset>(std::move(dataset));
    } else {
      this->start_workers([&] { return [this, copy = dataset]() mutable { this->worker_thread(copy); }; });
    }
  }
  ~StatelessDataLoader() override { this->join(); }

  Sampler& sampler() { return sampler_; }

 private:
  void reset() override {
    sampler_.reset(std::nullopt);
    super::reset();
  }

  std::optional<BatchRequestType> get_batch_request() override {
    auto request = sampler_.next(this->options_.batch_size);
    if (!request || (this->options_.drop_last && request->size() < this->options_.batch_size)) return std::nullopt;
    return request;
  }

  Sampler sampler_;
};

}  // namespace torch::data
