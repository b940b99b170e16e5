#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

// How packed layers hold their weights: output channels are cut into strips, whose numbers lie side by side.

namespace at::matrix::internal {

/// Floats, 64-byte aligned, uninitialised. Not of the caching allocator, which programs that do nothing else need not
/// link.
class Floats {
 public:
  /// Throws std::bad_alloc.
  explicit Floats(int64_t count)
      : data_(static_cast<float*>(::operator new(static_cast<size_t>(count) * sizeof(float), kAlignment))) {}
  float* data() const { return data_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(float* p) const { ::operator delete(p, kAlignment); }
  };
  std::unique_ptr<float, Free> data_;
};

constexpr int64_t rounded_up(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

/// Writes weights [outer, inner, places]: strip after strip of `strip` output channels, for each place and input
/// channel theirs, those of the last strip filled up to a multiple of `vector` with zeros. Returns what lies behind:
/// rounded_up(outer, vector) * inner * places floats are written.
float* pack_strips(const float* weights, int64_t outer, int64_t inner, int64_t places, int64_t strip, int64_t vector,
                   float* to);

/// What the tiles of packed layers (packed_tile-inl.h) know of one.
struct PackedLayer {
  const float* weights;  ///< strips
  const float* bias;     ///< filled up like them
  int64_t numbers;       ///< that an output channel has weights for
  int64_t channels;      ///< of the output
  const float* add;      ///< lies like the output, or null
  float low, high;
  float* output;
};

/// Writes bias[outer], zeros where it is null, filled up likewise. Returns what lies behind.
float* pack_bias(const float* bias, int64_t outer, int64_t vector, float* to);

}  // namespace at::matrix::internal
