#pragma once

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "c10/util/array_ref.h"
#include "data/example.h"

namespace torch::serialize {
class InputArchive;
class OutputArchive;
}  // namespace torch::serialize

namespace torch::data::datasets {

template <typename S, typename T>
class MapDataset;
template <typename D, typename T>
MapDataset<D, T> map(D dataset, T transform);

namespace detail {
template <typename T>
struct is_optional : std::false_type {};
template <typename T>
struct is_optional<std::optional<T>> : std::true_type {};
}  // namespace detail

/// Gives batches on request. `Self` is the deriving class (CRTP).
template <typename Self, typename Batch = std::vector<Example<>>, typename BatchRequest = c10::ArrayRef<size_t>>
class BatchDataset {
 public:
  using SelfType = Self;
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;
  /// Whether batches come one after another, to an end, rather than by index.
  static constexpr bool is_stateful = detail::is_optional<BatchType>::value;

  virtual ~BatchDataset() = default;

  virtual Batch get_batch(BatchRequest request) = 0;
  /// The number of examples, or nullopt if it is not known.
  virtual std::optional<size_t> size() const = 0;

  /// This dataset with a transform after it.
  template <typename TransformType>
  MapDataset<Self, TransformType> map(TransformType transform) & {
    return datasets::map(static_cast<Self&>(*this), std::move(transform));
  }
  template <typename TransformType>
  MapDataset<Self, TransformType> map(TransformType transform) && {
    return datasets::map(std::move(static_cast<Self&>(*this)), std::move(transform));
  }
};

/// Gives examples by index.
///
///   struct Squares : torch::data::datasets::Dataset<Squares> {
///     torch::data::Example<> get(size_t i) override { return {torch::tensor(float(i)), torch::tensor(float(i * i))}; }
///     std::optional<size_t> size() const override { return 100; }
///   };
template <typename Self, typename SingleExample = Example<>>
class Dataset : public BatchDataset<Self, std::vector<SingleExample>> {
 public:
  using ExampleType = SingleExample;

  virtual ExampleType get(size_t index) = 0;

  std::vector<ExampleType> get_batch(c10::ArrayRef<size_t> indices) override {
    std::vector<ExampleType> batch;
    batch.reserve(indices.size());
    for (const size_t i : indices) batch.push_back(get(i));
    return batch;
  }
};

/// A dataset that is asked for sizes, not indices.
template <typename Self, typename Batch = std::vector<Example<>>>
using StreamDataset = BatchDataset<Self, Batch, /*BatchRequest=*/size_t>;

namespace detail {
template <bool kOptional, typename T>
using optional_if_t = std::conditional_t<kOptional, std::optional<T>, T>;
}  // namespace detail

/// A dataset and a transform of its batches.
template <typename SourceDataset, typename AppliedTransform>
class MapDataset : public BatchDataset<
                       MapDataset<SourceDataset, AppliedTransform>,
                       detail::optional_if_t<SourceDataset::is_stateful, typename AppliedTransform::OutputBatchType>,
                       typename SourceDataset::BatchRequestType> {
 public:
  using DatasetType = SourceDataset;
  using TransformType = AppliedTransform;
  using BatchRequestType = typename SourceDataset::BatchRequestType;
  using OutputBatchType = detail::optional_if_t<SourceDataset::is_stateful, typename AppliedTransform::OutputBatchType>;

  MapDataset(DatasetType dataset, TransformType transform)
      : dataset_(std::move(dataset)), transform_(std::move(transform)) {}

  OutputBatchType get_batch(BatchRequestType request) override {
    if constexpr (SourceDataset::is_stateful) {
      if (auto batch = dataset_.get_batch(std::move(request))) return transform_.apply_batch(std::move(*batch));
      return std::nullopt;
    } else {
      return transform_.apply_batch(dataset_.get_batch(std::move(request)));
    }
  }

  std::optional<size_t> size() const noexcept override { return dataset_.size(); }

  /// For stateful datasets.
  void reset() { dataset_.reset(); }
  void save(serialize::OutputArchive& archive) const
    requires requires(const SourceDataset& d, serialize::OutputArchive& a) { d.save(a); }
  {
    dataset_.save(archive);
  }
  void load(serialize::InputArchive& archive)
    requires requires(SourceDataset& d, serialize::InputArchive& a) { d.load(a); }
  {
    dataset_.load(archive);
  }
  void set_drop_last(bool drop_last)
    requires requires(SourceDataset& d) { d.set_drop_last(true); }
  {
    dataset_.set_drop_last(drop_last);
  }

  const SourceDataset& dataset() noexcept { return dataset_; }
  const AppliedTransform& transform() noexcept { return transform_; }

 private:
  SourceDataset dataset_;
  AppliedTransform transform_;
};

template <typename DatasetType, typename TransformType>
MapDataset<DatasetType, TransformType> map(DatasetType dataset, TransformType transform) {
  static_assert(
      std::is_same_v<
          std::conditional_t<
              DatasetType::is_stateful,
              std::optional<typename TransformType::InputBatchType>,
              typename TransformType::InputBatchType>,
          typename DatasetType::BatchType>,
      "BatchType type of dataset does not match input type of transform");
  return {std::move(dataset), std::move(transform)};
}

}  // namespace torch::data::datasets
