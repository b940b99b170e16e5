#pragma once

#include <cstdint>

// The arithmetic between raw random words and floats. Every rounding is part of the contract: equal seeds give equal bits on
// every instruction set (fused where std::fma is written, not elsewhere).

namespace at::cpu {

/// out[i] = fma((words[i] mod 2^24) * 2^-24, width, low).
void uniform_from_words(const uint32_t* words, float* out, int64_t n, float low, float width);

/// Box-Muller on blocks of sixteen uniform numbers u: for j < 8 and R = sqrt(-2 log(1 - u[j])), t = 2 pi u[j + 8] the results
/// are u[j] = fma(R cos t, std, mean) and u[j + 8] = fma(R sin t, std, mean), logarithm, sine and cosine by the polynomials of
/// the Cephes library (Moshier 1989) in float.
void normal_blocks(float* data, int64_t blocks, float mean, float std);

}  // namespace at::cpu
