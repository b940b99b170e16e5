#include "func/argnums.h"

#include <algorithm>

namespace torch::func::detail {

size_t checked_argnum(int64_t position, size_t count) {
  const auto n = static_cast<int64_t>(count);
  TORCH_CHECK(position >= -n && position < n, "Got argnum=", position, ", but only ", count, " positional inputs");
  return static_cast<size_t>(position < 0 ? position + n : position);
}

std::vector<size_t> checked_argnums(const std::vector<int64_t>& positions, size_t count) {
  TORCH_CHECK(!positions.empty(), "argnums must be non-empty");
  std::vector<size_t> places;
  for (const int64_t position : positions) {
    const size_t place = checked_argnum(position, count);
    TORCH_CHECK(std::find(places.begin(), places.end(), place) == places.end(), "argnums elements must be unique, got ",
                position, " again");
    places.push_back(place);
  }
  return places;
}

}  // namespace torch::func::detail
