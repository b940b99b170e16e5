// Names for what a program does, for NVIDIA's profilers. Without one that listens, a call costs a few nanoseconds.
//
//   const c10::cuda::nvtx::Range range("backward");
#pragma once

#include <cstdint>

namespace c10::cuda::nvtx {

/// An instant.
void mark(const char* message);
/// A range of the calling thread. Ranges nest; push and pop give the depth from 0 on, or a negative number where nobody
/// listens.
int range_push(const char* message);
int range_pop();
/// A range that may begin and end anywhere.
uint64_t range_start(const char* message);
void range_end(uint64_t range);

/// A range for a scope.
class Range {
 public:
  explicit Range(const char* message) { range_push(message); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range() { range_pop(); }
};

}  // namespace c10::cuda::nvtx
