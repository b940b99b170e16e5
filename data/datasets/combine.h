#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "c10/core/generator.h"
#include "c10/util/exception.h"
#include "data/datasets/base.h"

namespace torch::data::datasets {

/// Some examples of a dataset, by index.
///
///   Subset<MNIST> tens(mnist, {0, 10, 20});
template <typename SourceDataset>
class Subset : public BatchDataset<Subset<SourceDataset>, typename SourceDataset::BatchType> {
 public:
  using BatchType = typename SourceDataset::BatchType;

  Subset(SourceDataset dataset, std::vector<size_t> indices)
      : dataset_(std::move(dataset)), indices_(std::move(indices)) {}

  /// IndexError out of range.
  BatchType get_batch(c10::ArrayRef<size_t> request) override {
    std::vector<size_t> there;
    there.reserve(request.size());
    for (const size_t i : request) there.push_back(index(i));
    return dataset_.get_batch(there);
  }
  decltype(auto) get(size_t i)
    requires requires(SourceDataset& d) { d.get(size_t{0}); }
  {
    return dataset_.get(index(i));
  }
  std::optional<size_t> size() const override { return indices_.size(); }

  SourceDataset& dataset() { return dataset_; }
  const std::vector<size_t>& indices() const { return indices_; }

 private:
  size_t index(size_t i) const {
    TORCH_CHECK_INDEX(i < indices_.size(), "Subset: index ", i, " is out of range for ", indices_.size(), " examples");
    return indices_[i];
  }

  SourceDataset dataset_;
  std::vector<size_t> indices_;
};

namespace detail {
/// Which of the datasets that end at `ends` the index falls into. IndexError "index out of range".
size_t find_part(const std::vector<size_t>& ends, size_t index);
/// The running sum of the sizes; ValueError for none, and for one that is not known.
std::vector<size_t> ends_of(const std::vector<std::optional<size_t>>& sizes);
[[noreturn]] void throw_size_mismatch();
}  // namespace detail

/// Several datasets of one kind, one after another. For datasets of different types wrap each with AnyDataset.
template <typename SourceDataset>
class ConcatDataset : public BatchDataset<ConcatDataset<SourceDataset>, typename SourceDataset::BatchType> {
 public:
  /// A vector of examples.
  using BatchType = typename SourceDataset::BatchType;

  /// ValueError for an empty list, and for a dataset that does not know its size.
  explicit ConcatDataset(std::vector<SourceDataset> datasets) : datasets_(std::move(datasets)) {
    std::vector<std::optional<size_t>> sizes;
    for (const SourceDataset& d : datasets_) sizes.push_back(d.size());
    ends_ = detail::ends_of(sizes);
  }

  /// IndexError out of range.
  BatchType get_batch(c10::ArrayRef<size_t> request) override {
    BatchType batch;
    batch.reserve(request.size());
    for (size_t begin = 0; begin < request.size();) {
      // Neighbours that one dataset has are asked for together.
      const size_t part = detail::find_part(ends_, request[begin]);
      std::vector<size_t> there;
      for (; begin < request.size() && detail::find_part(ends_, request[begin]) == part; ++begin)
        there.push_back(request[begin] - (part == 0 ? 0 : ends_[part - 1]));
      BatchType some = datasets_[part].get_batch(there);
      std::move(some.begin(), some.end(), std::back_inserter(batch));
    }
    return batch;
  }
  auto get(size_t index) {
    BatchType batch = get_batch(index);
    return std::move(batch.at(0));
  }
  std::optional<size_t> size() const override { return ends_.back(); }

  /// Where each dataset ends.
  const std::vector<size_t>& cumulative_sizes() const { return ends_; }

 private:
  std::vector<SourceDataset> datasets_;
  std::vector<size_t> ends_;
};

/// A dataset of examples of one type, whatever its own type; copies share it.
template <typename SingleExample = Example<>>
class AnyDataset : public Dataset<AnyDataset<SingleExample>, SingleExample> {
 public:
  using BatchType = std::vector<SingleExample>;

  template <typename SourceDataset>
  explicit AnyDataset(SourceDataset dataset) {
    auto shared = std::make_shared<SourceDataset>(std::move(dataset));
    size_ = [shared] { return shared->size(); };
    get_batch_ = [shared](c10::ArrayRef<size_t> request) { return shared->get_batch(request); };
  }

  SingleExample get(size_t index) override { return std::move(get_batch_(index).at(0)); }
  BatchType get_batch(c10::ArrayRef<size_t> request) override { return get_batch_(request); }
  std::optional<size_t> size() const override { return size_(); }

 private:
  std::function<std::optional<size_t>()> size_;
  std::function<BatchType(c10::ArrayRef<size_t>)> get_batch_;
};

/// Several datasets side by side: an example is the tuple of theirs.
///
///   StackDataset<Images, Captions> set(images, captions);   auto [image, caption] = set.get(7);
template <typename... Datasets>
class StackDataset
    : public Dataset<StackDataset<Datasets...>, std::tuple<decltype(std::declval<Datasets&>().get(size_t{0}))...>> {
 public:
  using ExampleType = std::tuple<decltype(std::declval<Datasets&>().get(size_t{0}))...>;

  /// ValueError "Size mismatch between datasets".
  explicit StackDataset(Datasets... datasets) : datasets_(std::move(datasets)...) {
    std::apply(
        [&](const auto& first, const auto&... rest) {
          if (((rest.size() != first.size()) || ...)) detail::throw_size_mismatch();
        },
        datasets_);
  }

  ExampleType get(size_t index) override {
    return std::apply([&](auto&... each) { return ExampleType{each.get(index)...}; }, datasets_);
  }
  std::optional<size_t> size() const override { return std::get<0>(datasets_).size(); }

 private:
  std::tuple<Datasets...> datasets_;
};

/// The indices 0 ... size - 1, shuffled and dealt out into parts of the given lengths, which add up to size; or, with
/// fractions that add up to 1, into parts of floor(fraction * size), of which the first ones get what is left, one
/// each. In the order of randperm with `generator` (default: the CPU's). ValueError for other sums.
std::vector<std::vector<size_t>> random_split_indices(
    size_t size, const std::vector<int64_t>& lengths, const std::optional<at::Generator>& generator = std::nullopt);
std::vector<std::vector<size_t>> random_split_indices(
    size_t size, const std::vector<double>& fractions, const std::optional<at::Generator>& generator = std::nullopt);

/// Subsets of the dataset, which each of them has a copy of (make_shared_dataset makes that cheap).
///
///   auto parts = torch::data::random_split(set, {0.8, 0.2}, generator);
template <typename SourceDataset, typename Number>
  requires(std::is_arithmetic_v<Number>)
std::vector<Subset<SourceDataset>> random_split(
    const SourceDataset& dataset, const std::vector<Number>& lengths,
    const std::optional<at::Generator>& generator = std::nullopt) {
  const std::optional<size_t> size = dataset.size();
  TORCH_CHECK_VALUE(size.has_value(), "random_split: the dataset does not know its size");
  using Length = std::conditional_t<std::is_floating_point_v<Number>, double, int64_t>;
  std::vector<Subset<SourceDataset>> parts;
  for (std::vector<size_t>& indices :
       random_split_indices(*size, std::vector<Length>(lengths.begin(), lengths.end()), generator))
    parts.emplace_back(dataset, std::move(indices));
  return parts;
}
template <typename SourceDataset, typename Number>
  requires(std::is_arithmetic_v<Number>)
std::vector<Subset<SourceDataset>> random_split(
    const SourceDataset& dataset, std::initializer_list<Number> lengths,
    const std::optional<at::Generator>& generator = std::nullopt) {
  return random_split(dataset, std::vector<Number>(lengths), generator);
}

}  // namespace torch::data::datasets

namespace torch::data {
using datasets::random_split;
}  // namespace torch::data
