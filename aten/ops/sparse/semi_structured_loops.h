#pragma once

#include <cstdint>

#include "c10/core/scalar_type.h"

// Matrices of which each group of neighbours in a row has places for some of its elements only: two of four of 16 and 8
// bits, one of two of 32 bits. Kept are the elements of these places, one behind the other, and for each group a number
// of four bits that names the places: of two, the first in the low two bits and the second, which is greater, in the
// high ones; of one, 4 for the first and 14 for the second, which are those of its halves. Numbers of a row stand in
// words, the first in the lowest bits; the last word may be filled in part. Memory is row-major.

namespace at::semi_structured {

struct Format {
  int64_t group;     // elements of a group
  int64_t kept;      // of them
  int64_t per_word;  // groups of a word
  ScalarType word;

  int64_t kept_of(int64_t columns) const { return columns / group * kept; }
  int64_t columns_of(int64_t kept_elements) const { return kept_elements / kept * group; }
  int64_t words_of(int64_t columns) const { return (columns / group + per_word - 1) / per_word; }
};

/// Throws c10::Error for another dtype than Half, BFloat16, Float and Char.
Format format_of(const char* op, ScalarType dtype);

/// A matrix of `rows` x `columns` dense elements, kept.
struct Kept {
  Format format;
  int64_t rows, columns;
  const void* values;
  const void* words;
};

/// Keeps the elements of `dense` that are not 0, and others of their groups where there are fewer than places. Throws
/// c10::Error
/// "<op>: row 3, group 2 (columns 8 to 11) has 3 elements that are not 0, at most 2 may be" for a group with more.
void compress(const char* op, const Format& format, int64_t rows, int64_t columns, const void* dense, void* values,
              void* words);

/// The elements of rows [row, row_end) and columns [column, column_end) with zeros between them, a matrix of its own in
/// `dense`. Columns begin where two groups do. Throws c10::Error for a word that names no places.
void expand(const char* op, const Kept& matrix, int64_t row, int64_t row_end, int64_t column, int64_t column_end,
            void* dense);

/// The elements of `dense` at the places that `words` name, one behind the other.
void gather(const char* op, const Format& format, int64_t rows, int64_t columns, const void* dense, const void* words,
            void* values);

/// 1 at two places of each row and column of a tile of 4 x 4 floats, at most, chosen one after the other from the
/// greatest (of equal ones the first, row by row) where there is still room in both: bit 4 * row + column. NaN is the
/// greatest.
uint16_t greedy_tile(const float (&tile)[16]);

}  // namespace at::semi_structured
