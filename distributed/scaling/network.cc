#include "distributed/scaling/network.h"

#include <algorithm>
#include <bit>

#include "c10/util/exception.h"

namespace torch::distributed::scaling {

double Network::all_gather(double bytes, int64_t ranks, int64_t stride) const {
  TORCH_CHECK_VALUE(ranks > 0 && stride > 0, "all_gather: expected positive numbers of ranks and stride, but got ",
                    ranks, " and ", stride);
  if (ranks == 1) return 0;
  const auto doublings = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(ranks - 1)));
  const double steps = static_cast<double>(is_ring ? ranks - 1 : doublings);
  // The ranks of a node share what comes into it: each part comes once, through all their interfaces, and is passed on
  // within. The slower of the two ways decides.
  const int64_t together = stride >= ranks_per_node ? 1 : std::min(ranks, ranks_per_node / stride);
  const int64_t nodes = (ranks + together - 1) / together;
  const double part = [](int64_t n) { return static_cast<double>(n - 1) / static_cast<double>(n); }(ranks);
  const double inside = together > 1 ? bytes * part / within : 0;
  const double outside =
      nodes > 1 ? bytes * (1 - 1 / static_cast<double>(nodes)) / (across * static_cast<double>(together)) : 0;
  return steps * message() + std::max(inside, outside);
}

}  // namespace torch::distributed::scaling
