#pragma once

#include <cstdint>

#include "c10/core/scalar_type.h"

// Conversion, gathering and filling of runs of elements, type-erased. Converted are the numbers: integers of eight bits and
// more, bool, floating-point types of eight bits and more, complex types.
//
// Conversions: to bool is x != 0 (NaN is true); from complex the real part counts, but to bool either part; a floating
// value that an integer cannot hold gives the smallest integer of the width converted through (int64 for int64 and
// uint8, int32 else; unsigned types beyond uint8: uint64, through int64 where it is negative), cut to size; the floating-point
// types below float round to nearest even from float.

namespace at::cpu {

/// One step: n contiguous elements from src to dst.
using ConvertRun = void (*)(void* dst, const void* src, int64_t n);

/// A conversion as a short chain of steps (few loops serve all pairs of types). No step: the types are equal.
struct Conversion {
  static constexpr int kMaxSteps = 5;
  int steps = 0;
  int64_t from_size = 0;
  int64_t to_size = 0;
  ConvertRun run[kMaxSteps] = {};
  int64_t size_after[kMaxSteps] = {};
};

/// The step from one type to the other, or null.
ConvertRun find_common_step(c10::ScalarType to, c10::ScalarType from);

/// The rarer types: unsigned ones beyond uint8, floating-point ones of eight bits, complex numbers of halves. Their steps are in
/// //aten/cpu:cast_rare. What makes a tensor of any type says so, and brings them into the program by that.
constexpr bool is_rare(c10::ScalarType t) {
  return c10::isBarebonesUnsignedType(t) || c10::isFloat8Type(t) || t == c10::ScalarType::ComplexHalf || t == c10::ScalarType::BComplex32;
}
void use_rare_types();
inline void prepare_type(c10::ScalarType t) {
  if (C10_UNLIKELY(is_rare(t))) use_rare_types();
}
namespace detail {
using FindStep = ConvertRun (*)(c10::ScalarType to, c10::ScalarType from);
extern FindStep find_rare_step;  // null before use_rare_types()
}  // namespace detail

/// Throws NotImplementedError for types that are no numbers: quantized ones, bits, parts of bytes.
Conversion find_conversion(c10::ScalarType to, c10::ScalarType from);

/// n contiguous elements from src to dst, which may not overlap.
void convert(const Conversion& conversion, void* dst, const void* src, int64_t n);

/// dst[i] (contiguous) = the item at src + i * byte_stride. Item sizes 1, 2, 4, 8, 16.
void gather_run(void* dst, const void* src, int64_t byte_stride, int64_t n, int64_t item_size);
/// The item at dst + i * byte_stride = src[i] (contiguous).
void scatter_run(void* dst, int64_t byte_stride, const void* src, int64_t n, int64_t item_size);
/// Both strided.
void copy_run(void* dst, int64_t dst_stride, const void* src, int64_t src_stride, int64_t n, int64_t item_size);
/// dst[i] (contiguous) = *item.
void fill_run(void* dst, const void* item, int64_t n, int64_t item_size);

/// Like memcpy, past the caches. For results that nobody finds in a cache anyway; followed by stream_fence(). Meanwhile
/// the `bytes` bytes at each of next[0 .. count), which the caller reads later, are prefetched: otherwise nothing is read
/// while a piece is written. They may lie beyond the end of what they belong to.
void stream_copy(void* dst, const void* src, int64_t bytes, const void* const* next = nullptr, int count = 0);
/// Orders streamed stores before what follows.
void stream_fence();
/// Results of at least so many bytes are written past the caches: half of the last-level cache, at most 8 MiB for each
/// processor that is online.
int64_t stream_threshold_bytes();

}  // namespace at::cpu
