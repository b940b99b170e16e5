#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "data/datasets/base.h"

namespace torch::data::datasets {

/// One dataset used by several owners: the workers of a loader then share it instead of each having a copy. Its
/// get_batch must be safe to call from several threads at once.
template <typename UnderlyingDataset>
class SharedBatchDataset : public BatchDataset<
                               SharedBatchDataset<UnderlyingDataset>,
                               typename UnderlyingDataset::BatchType,
                               typename UnderlyingDataset::BatchRequestType> {
 public:
  using BatchType = typename UnderlyingDataset::BatchType;
  using BatchRequestType = typename UnderlyingDataset::BatchRequestType;

  /* implicit */ SharedBatchDataset(std::shared_ptr<UnderlyingDataset> shared_dataset)
      : dataset_(std::move(shared_dataset)) {}

  BatchType get_batch(BatchRequestType request) override { return dataset_->get_batch(std::move(request)); }
  std::optional<size_t> size() const override { return dataset_->size(); }

  UnderlyingDataset& operator*() { return *dataset_; }
  const UnderlyingDataset& operator*() const { return *dataset_; }
  UnderlyingDataset* operator->() { return dataset_.get(); }
  const UnderlyingDataset* operator->() const { return dataset_.get(); }
  void reset() { dataset_->reset(); }
  void save(serialize::OutputArchive& archive) const
    requires requires(const UnderlyingDataset& d, serialize::OutputArchive& a) { d.save(a); }
  {
    dataset_->save(archive);
  }
  void load(serialize::InputArchive& archive)
    requires requires(UnderlyingDataset& d, serialize::InputArchive& a) { d.load(a); }
  {
    dataset_->load(archive);
  }
  void set_drop_last(bool drop_last)
    requires requires(UnderlyingDataset& d) { d.set_drop_last(true); }
  {
    dataset_->set_drop_last(drop_last);
  }

 private:
  std::shared_ptr<UnderlyingDataset> dataset_;
};

template <typename UnderlyingDataset, typename... Args>
SharedBatchDataset<UnderlyingDataset> make_shared_dataset(Args&&... args) {
  return std::make_shared<UnderlyingDataset>(std::forward<Args>(args)...);
}

}  // namespace torch::data::datasets
