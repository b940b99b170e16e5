// How the elements of rows are given to threads: alike in the kernels of operators and in those that are compiled while
// a program runs (compile/cuda), so that both add up in the same order.
#pragma once

#include <cstdint>

namespace at::cuda {

/// Elements that a thread takes of a unit, which has as many for each thread of a row.
inline constexpr int kRowVector = 8;

/// Units that a thread keeps in registers where it computes in numbers of so many bytes.
constexpr int held_units(int64_t bytes) {
  return bytes > 4 ? 2 : 4;
}

/// Neighbours of a unit that one thread takes, in rows of `size`: 16 bytes of the widest operand, whose elements have so
/// many bytes.
constexpr int piece_of_rows(int64_t size, int64_t widest_bytes) {
  const int64_t piece = 16 / widest_bytes;
  return size % piece == 0 ? static_cast<int>(piece) : 1;
}

/// Threads that share one of `rows` rows side by side, computing in numbers of so many bytes: a warp, or a block where
/// rows are long, or few of them would not fill a device.
constexpr int lanes_of_rows(int64_t rows, int64_t size, int64_t bytes) {
  constexpr int64_t kUnit = 32 * kRowVector, kFewRows = 132 * 8;
  return size > kUnit * held_units(bytes) || (rows < kFewRows && size > kUnit) ? 256 : 32;
}

/// Whether a row fits in the registers of its threads.
constexpr bool holds_row(int64_t size, int lanes, int64_t bytes) {
  return size <= int64_t{lanes} * kRowVector * held_units(bytes);
}

}  // namespace at::cuda
