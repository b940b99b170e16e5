#include "c10/parallel/parallel.h"
#include "c10/parallel/pool.h"

namespace at::internal {

ThreadLease::ThreadLease(int wanted) {
  const int width = wanted > 0 ? wanted : get_num_threads();
  helpers_ = in_parallel_region() || !library_may_use_threads() ? 0 : borrow_helpers(width - 1);
  previous_ = set_library_threads(helpers_ + 1);
}

ThreadLease::~ThreadLease() {
  set_library_threads(previous_);
  return_helpers(helpers_);
}

}  // namespace at::internal
