#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "data/dataloader/base.h"

namespace torch::data {

/// The loader of datasets that keep their own place. All workers use the one dataset.
template <typename Dataset>
class StatefulDataLoader : public DataLoaderBase<Dataset, typename Dataset::BatchType::value_type, typename Dataset::BatchRequestType> {
 public:
  using super = DataLoaderBase<Dataset, typename Dataset::BatchType::value_type, typename Dataset::BatchRequestType>;
  using typename super::BatchRequestType;

  StatefulDataLoader(Dataset dataset, const DataLoaderOptions& options) : super(options) {
    this->main_thread_dataset_ = std::make_unique<Dataset>(std::move(dataset));
    this->start_workers([this] { return [this] { this->worker_thread(*this->main_thread_dataset_); }; });
  }
  ~StatefulDataLoader() override { this->join(); }

 private:
  void reset() override {
    this->main_thread_dataset_->reset();
    super::reset();
  }

  std::optional<BatchRequestType> get_batch_request() override { return this->options_.batch_size; }
};

}  // namespace torch::data
