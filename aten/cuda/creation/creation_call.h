// What kernels of creation operators get; results are contiguous.
#pragma once

#include <cstdint>

#include "c10/core/scalar_type.h"
#include "c10/util/complex.h"

namespace at::cuda {

/// to[i] = first + i * step: of integers in int64, which wrap, else in double.
void launch_progression(const char* name, void* to, c10::ScalarType dtype, int64_t n, int64_t first, int64_t step);
void launch_progression(const char* name, void* to, c10::ScalarType dtype, int64_t n, double first, double step);

/// `n` equally spaced numbers, each counted from the nearer end, as powers of `base` where there is one.
struct SpaceCall {
  const char* name;
  void* to;
  c10::ScalarType dtype;
  int64_t n;
  bool powers;
  double base;
  c10::complex<double> first, last;
};
/// `compute`: Float, Double or ComplexDouble.
void launch_space(const SpaceCall& call, c10::ScalarType compute);

/// The rows, then the columns, of the elements of a rows x columns matrix on or below the diagonal `offset`, or on or
/// above it.
struct TriangleIndicesCall {
  const char* name;
  void* to;
  c10::ScalarType dtype;
  int64_t n;  // elements
  int64_t rows, columns, offset;
  bool lower;
};
void launch_triangle_indices(const TriangleIndicesCall& call);

/// The part of each matrix on and above the diagonal, or on and below it; 0 elsewhere.
struct TriangleCall {
  const char* name;
  char* to;
  const char* from;
  int64_t matrices, rows, columns, diagonal;
  bool upper;
  int item_size;
};
void launch_triangle(const TriangleCall& call);

}  // namespace at::cuda
