#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

// How packed layers hold their weights: output channels are cut into strips, whose numbers lie side by side.

namespace at::matrix::internal {

/// Memory, 64-byte aligned. Large blocks lie in large pages where the system has them: weights are read once a run,
/// each page anew. Throws std::bad_alloc.
void* new_packed(size_t bytes);
void delete_packed(void* memory);

/// Numbers, 64-byte aligned, uninitialised. Not of the caching allocator, which programs that do nothing else need not
/// link.
template <class T>
class Aligned {
 public:
  /// Throws std::bad_alloc.
  explicit Aligned(int64_t count) : data_(static_cast<T*>(new_packed(static_cast<size_t>(count) * sizeof(T)))) {}
  T* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(T* p) const { delete_packed(p); }
  };
  std::unique_ptr<T, Free> data_;
};
using Floats = Aligned<float>;

constexpr int64_t rounded_up(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

/// Writes weights [outer, inner, places], of any type: strip after strip of `strip` output channels, for each place and
/// input channel theirs, those of the last strip filled up to a multiple of `vector` with zeros. Returns what lies
/// behind: rounded_up(outer, vector) * inner * places floats are written.
template <class T>
T* pack_strips(const T* weights, int64_t outer, int64_t inner, int64_t places, int64_t strip, int64_t vector, T* to) {
  const int64_t filled = rounded_up(outer, vector);
  for (int64_t first = 0; first < filled; first += strip) {
    const int64_t last = filled < first + strip ? filled : first + strip;
    for (int64_t place = 0; place < places; ++place) {
      for (int64_t i = 0; i < inner; ++i) {
        for (int64_t j = first; j < last; ++j) {
          *to++ = j < outer ? weights[(j * inner + i) * places + place] : T(0);
        }
      }
    }
  }
  return to;
}

/// What the tiles of packed layers (packed_tile-inl.h) know of one.
struct PackedLayer {
  const void* weights;  ///< strips
  const float* scale;   ///< that the sums of an output channel are multiplied by, filled up like the strips; or null
  const float* bias;    ///< filled up likewise
  int64_t numbers;      ///< that an output channel has weights for
  int64_t channels;     ///< of the output
  const float* add;     ///< lies like the output, or null
  float low, high;
  float* output;
};

/// Writes bias[outer], zeros where it is null, filled up likewise. Returns what lies behind.
float* pack_bias(const float* bias, int64_t outer, int64_t vector, float* to);

}  // namespace at::matrix::internal
