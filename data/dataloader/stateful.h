#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "data/dataloader/base.h"

namespace torch::data {

/// The loader of datasets that keep their own place. All workers use the one dataset, whose get_batch must be safe to
/// call from several threads then.
///
/// What a saved loader goes on with: without workers, the dataset's own save() and load(). With workers the dataset is
/// ahead of what was delivered; then it is reset, and as many batches as were delivered are made again and dropped.
template <typename Dataset>
class StatefulDataLoader
    : public DataLoaderBase<Dataset, typename Dataset::BatchType::value_type, typename Dataset::BatchRequestType> {
 public:
  using super = DataLoaderBase<Dataset, typename Dataset::BatchType::value_type, typename Dataset::BatchRequestType>;
  using typename super::BatchRequestType;

  StatefulDataLoader(Dataset dataset, const DataLoaderOptions& options) : super(options) {
    this->main_thread_dataset_ = std::make_unique<Dataset>(std::move(dataset));
    if constexpr (requires { this->main_thread_dataset_->set_drop_last(true); }) {
      this->main_thread_dataset_->set_drop_last(options.drop_last());
    }
  }
  ~StatefulDataLoader() override { this->join(); }

  /// Not known.
  std::optional<size_t> size() const { return std::nullopt; }

 private:
  void reset_source() override { this->main_thread_dataset_->reset(); }

  void save_source(serialize::OutputArchive& archive) const override {
    if constexpr (requires { this->main_thread_dataset_->save(archive); }) {
      if (this->options_.workers == 0) this->main_thread_dataset_->save(archive);
    }
  }
  void load_source(serialize::InputArchive* archive, const detail::LoaderState& state) override {
    if (!state.in_pass) return;
    Dataset& dataset = *this->main_thread_dataset_;
    dataset.reset();
    if constexpr (requires { dataset.load(*archive); }) {
      if (archive != nullptr && state.requests.empty()) return dataset.load(*archive);
    }
    for (size_t i = 0; i < state.delivered; ++i) dataset.get_batch(this->options_.batch_size);
  }

  std::thread start_worker(int64_t id) override {
    return std::thread([this, info = this->info_of(id)] { this->worker_thread(*this->main_thread_dataset_, info); });
  }

  std::optional<BatchRequestType> get_batch_request() override { return this->options_.batch_size; }
};

}  // namespace torch::data
