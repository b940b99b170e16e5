#include "data/datasets/combine.h"

#include <cmath>

#include "aten/ops/random/ops.h"

namespace torch::data::datasets {

namespace detail {

size_t find_part(const std::vector<size_t>& ends, size_t index) {
  const auto found = std::upper_bound(ends.begin(), ends.end(), index);
  TORCH_CHECK_INDEX(found != ends.end(), "ConcatDataset: index ", index, " is out of range for ", ends.back(),
                    " examples");
  return static_cast<size_t>(found - ends.begin());
}

std::vector<size_t> ends_of(const std::vector<std::optional<size_t>>& sizes) {
  TORCH_CHECK_VALUE(!sizes.empty(), "ConcatDataset: datasets should not be an empty iterable");
  std::vector<size_t> ends;
  size_t end = 0;
  for (const std::optional<size_t>& size : sizes) {
    TORCH_CHECK_VALUE(size.has_value(), "ConcatDataset: dataset ", ends.size(), " does not know its size");
    ends.push_back(end += *size);
  }
  return ends;
}

void throw_size_mismatch() { TORCH_CHECK_VALUE(false, "StackDataset: Size mismatch between datasets"); }

}  // namespace detail

std::vector<std::vector<size_t>> random_split_indices(
    size_t size, const std::vector<int64_t>& lengths, const std::optional<at::Generator>& generator) {
  size_t sum = 0;
  for (const int64_t length : lengths) {
    TORCH_CHECK_VALUE(length >= 0 && static_cast<uint64_t>(length) <= size - sum,
                      "random_split: Sum of input lengths does not equal the length of the input dataset! Got ",
                      lengths, " for ", size);
    sum += static_cast<size_t>(length);
  }
  TORCH_CHECK_VALUE(sum == size,
                    "random_split: Sum of input lengths does not equal the length of the input dataset! Got ", lengths,
                    " for ", size);
  const at::Tensor order = at::randperm(static_cast<int64_t>(size), generator);
  const int64_t* next = order.data_ptr<int64_t>();
  std::vector<std::vector<size_t>> parts;
  for (const int64_t length : lengths) {
    parts.emplace_back(next, next + length);
    next += length;
  }
  return parts;
}

std::vector<std::vector<size_t>> random_split_indices(
    size_t size, const std::vector<double>& fractions, const std::optional<at::Generator>& generator) {
  double sum = 0;
  for (const double fraction : fractions) sum += fraction;
  TORCH_CHECK_VALUE(
      std::abs(sum - 1) <= 1e-9 && sum <= 1,
      "random_split: Sum of input lengths does not equal the length of the input dataset! The fractions add up to ",
      sum);
  std::vector<int64_t> lengths;
  int64_t left = static_cast<int64_t>(size);
  for (size_t i = 0; i < fractions.size(); ++i) {
    TORCH_CHECK_VALUE(fractions[i] >= 0 && fractions[i] <= 1, "random_split: Fraction at index ", i,
                      " is not between 0 and 1, got ", fractions[i]);
    lengths.push_back(static_cast<int64_t>(std::floor(static_cast<double>(size) * fractions[i])));
    left -= lengths.back();
  }
  for (size_t i = 0; left > 0; --left, ++i) ++lengths[i % lengths.size()];
  return random_split_indices(size, lengths, generator);
}

}  // namespace torch::data::datasets
