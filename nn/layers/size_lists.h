// Lists of sizes as layers of one's own make them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "c10/util/array_ref.h"
#include "c10/util/exception.h"

namespace torch::nn::modules::utils {

/// Each number `n` times, the last one first: what F::pad takes for the paddings of a convolution's dimensions.
///
///   _reverse_repeat_vector({1, 2}, 2)    // {2, 2, 1, 1}
inline std::vector<int64_t> _reverse_repeat_vector(c10::ArrayRef<int64_t> t, int64_t n) {
  TORCH_INTERNAL_ASSERT(n >= 0);
  std::vector<int64_t> repeated;
  for (size_t i = t.size(); i-- > 0;) repeated.insert(repeated.end(), static_cast<size_t>(n), t[i]);
  return repeated;
}

/// `out_size` with the numbers that are absent taken from the end of `defaults`. Throws c10::Error where `defaults` is not
/// longer.
///
///   _list_with_default({std::nullopt, 5}, /*defaults=*/{8, 3, 7, 9})    // {7, 5}
inline std::vector<int64_t> _list_with_default(c10::ArrayRef<std::optional<int64_t>> out_size,
                                               c10::IntArrayRef defaults) {
  TORCH_CHECK(defaults.size() > out_size.size(), "Input dimension should be at least ", out_size.size() + 1);
  std::vector<int64_t> sizes(defaults.end() - out_size.size(), defaults.end());
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = out_size[i].value_or(sizes[i]);
  return sizes;
}

}  // namespace torch::nn::modules::utils
