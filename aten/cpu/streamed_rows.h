#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "aten/cpu/cast.h"
#include "aten/cpu/strided_loop.h"

namespace at::cpu {

/// A piece of an element-wise result on its way past the caches. The piece is short enough for the stores to wait in the
/// processor while the next one is computed, and what is read kAhead bytes later is prefetched meanwhile: otherwise the times
/// of reading, computing and writing add up.
class StreamedPiece {
 public:
  static constexpr int64_t kBytes = 512;

  /// An input, contiguous from `at` on.
  void reads(const char* at) { next_[count_++] = at + kAhead; }
  void write(char* to, const char* from, int64_t bytes) {
    stream_copy(to, from, bytes, next_, count_);
    count_ = 0;
  }

 private:
  static constexpr int64_t kAhead = 4096;
  const void* next_[kMaxOperands];
  int count_ = 0;
};

/// Where a thread computes the rows of a result, which go past the caches if the result is too large for them:
///
///   StreamedRows<float> rows(width, elements_of_the_result);
///   float* at = rows.begin(to);   // compute the row there
///   rows.end(to, width, {from + width});  // the row that is read next
template <class T>
class StreamedRows {
 public:
  /// Rows of at most `width` elements.
  StreamedRows(int64_t width, int64_t elements)
      : streams_(elements * kItem >= stream_threshold_bytes() && width * kItem <= kWidest),
        buffer_(streams_ ? static_cast<size_t>(width) : 0) {}
  StreamedRows(const StreamedRows&) = delete;
  StreamedRows& operator=(const StreamedRows&) = delete;
  ~StreamedRows() {
    if (streams_) stream_fence();
  }

  T* begin(T* to) { return streams_ ? buffer_.data() : to; }
  void end(T* to, int64_t n, std::initializer_list<const void*> next = {}) {
    if (streams_) stream_copy(to, buffer_.data(), n * kItem, next.begin(), static_cast<int>(next.size()));
  }

 private:
  static constexpr int64_t kItem = sizeof(T);
  // Bytes; wider rows would leave the first-level cache on their way.
  static constexpr int64_t kWidest = 16384;
  const bool streams_;
  std::vector<T> buffer_;
};

}  // namespace at::cpu
