// What links threads.
#include <algorithm>

#include "c10/parallel/parallel.h"
#include "compile/aot/runtime/groups.h"

namespace torch::aot {

void run_group(const GroupTable& kernel, char* const* data, const GroupNest& nest) {
  at::parallel_for(0, detail::numel(nest), kFewElements,
                   [&](int64_t begin, int64_t end) { detail::run_elements(kernel, data, nest, begin, end); });
}

void run_rows(const RowGroup& group, char* const* data, const GroupNest& nest) {
  const int64_t elements = detail::numel(nest);
  if (elements == 0) return;
  at::parallel_for(0, elements / group.row, std::max<int64_t>(1, kFewElementsOfRows / group.row),
                   [&](int64_t begin, int64_t end) { detail::run_some_rows(group, data, nest, begin, end); });
}

}  // namespace torch::aot
