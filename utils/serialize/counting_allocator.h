// For tests: link counting_allocator.cc to count what operator new hands out.
#pragma once

#include <cstddef>

namespace torch::serialize::testing {

struct AllocationCounts {
  size_t live = 0;      // bytes now
  size_t peak = 0;      // the most since the last reset
  size_t largest = 0;   // the largest single request since the last reset
};

// Of the calling thread.
AllocationCounts allocation_counts();
// Peak and largest start anew; returns the live bytes.
size_t reset_allocation_counts();

}  // namespace torch::serialize::testing
