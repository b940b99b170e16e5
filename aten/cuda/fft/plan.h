// cuFFT: one call of the library, and the plans that are kept for further calls.
#pragma once

#include <cufftXt.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "c10/core/scalar_type.h"

namespace at::cuda::fft {

enum class Kind : int64_t { kComplex, kRealToHalf, kHalfToReal };

/// Where the numbers of equally shaped blocks of one to three dimensions lie, counted in numbers of their own type:
/// number (i, j, k) of block b at b * distance + ((i * embed[1] + j) * embed[2] + k) * stride. embed[0] does not count.
struct Layout {
  int64_t embed[3] = {1, 1, 1};
  int64_t stride = 1;
  int64_t distance = 1;
};

/// What a plan is made for. Only 64-bit members: two that are alike have the same bytes.
struct Geometry {
  Kind kind = Kind::kComplex;
  int64_t real = 0;  ///< the ScalarType of real numbers: Float, Double, Half
  int64_t rank = 1;
  int64_t sizes[3] = {1, 1, 1};  ///< of the whole signal, also where only half of it is there
  int64_t blocks = 1;
  Layout in, out;
};

/// Transforms `in` to `out` on the current stream, unscaled; kHalfToReal destroys what `in` holds. The plan comes from
/// the current device's cache, the work area from the caching allocator. Throws c10::Error with cuFFT's status and the
/// geometry where a call fails.
void execute(const Geometry& geometry, void* in, void* out, bool forward);

/// What the cache of a device's plans holds and may hold; what was used longest ago goes first. Plans that a graph was
/// captured with stay until the process ends. Throw c10::Error for a device that does not exist, the third one for a
/// negative number.
int64_t plan_cache_size(int64_t device);
int64_t plan_cache_max_size(int64_t device);
void set_plan_cache_max_size(int64_t device, int64_t max_size);
void clear_plan_cache(int64_t device);

}  // namespace at::cuda::fft
