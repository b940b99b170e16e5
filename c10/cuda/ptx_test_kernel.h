#pragma once

#include <cstdint>

namespace c10::cuda {

/// What each lane of a warp gets from `count` matrices of 8 x 8 elements, one after the other in memory: word m of lane
/// i is words[i * count + m].
void load_matrices(int count, bool transposed, const uint16_t* matrices, uint32_t* words);

enum class Multiplied { kHalf, kBFloat16, kTf32 };
/// d += a * b by a warp; lane i has a[4 * i ...], b[2 * i ...] and d[4 * i ...].
void multiply_matrices(Multiplied type, const uint32_t* a, const uint32_t* b, float* d);

/// 64 threads copy 16 bytes each to shared memory, the first half in a group of its own and of the others only `bytes`,
/// and 4 bytes each; to: thread i's is what thread 63 - i copied.
void copy_to_shared(const float* from, unsigned bytes, float* to, float* words_to);

/// Of each of n numbers x[i] and x[i + 1]: both as halves, both as bfloat16, x[i] as TF32, and the bits of 2^x[i].
void convert_numbers(const float* x, int n, uint32_t* halves, uint32_t* bfloats, uint32_t* tf32, float* powers);

/// sums[i] += the products of the four bytes of a[i] with the four signed bytes of b[i].
void add_products_of_bytes(int n, const uint32_t* a, const uint32_t* b, uint32_t* sums);

}  // namespace c10::cuda
