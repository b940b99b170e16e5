// A scan of a dense CUDA tensor as kernels get it.
#pragma once

#include <cstdint>

#include "c10/core/scalar_type.h"

namespace at::cuda {

/// Rows of `size` elements, `inner` elements apart: row r begins at r / inner * size * inner + r % inner.
struct ScanCall {
  const char* name;
  c10::ScalarType dtype;
  const char* in;
  char* out;
  int64_t* indices;  // of cummax and cummin
  int64_t rows, size, inner;
  bool vectors;  // every row begins at a multiple of 16 bytes, or of 4 elements where those are less, and inner is 1
  // Rows that several blocks share: the length of what each takes, and a state for each piece.
  int64_t pieces, piece_length;
  char* states;
};

// What the host needs to know of a scan's kernels.
struct ScanLaunchers {
  int64_t state_size;
  bool one_by_one;                        // results depend on how elements are grouped: a thread takes a row alone
  void (*columns)(const ScanCall& call);  // a thread for each row
  void (*rows)(const ScanCall& call);     // a block for each row or piece
};

ScanLaunchers cumsum_launchers(c10::ScalarType dtype);
ScanLaunchers cumprod_launchers(c10::ScalarType dtype);
ScanLaunchers cummax_launchers(c10::ScalarType dtype);
ScanLaunchers cummin_launchers(c10::ScalarType dtype);
ScanLaunchers logcumsumexp_launchers(c10::ScalarType dtype);

}  // namespace at::cuda
