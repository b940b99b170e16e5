// A product as the descriptors say it, and what the library documents of those that it does not compute.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <string>

#include "tests/cuda_on_host/blas/state.h"

namespace cublas_standin {

struct Matrix {
  int type = 0, order = CUBLASLT_ORDER_COL, batches = 1;
  int64_t rows = 0, columns = 0, ld = 0, batch_stride = 0;

  int64_t at(int64_t batch, int64_t row, int64_t column) const {
    return batch * batch_stride + (order == CUBLASLT_ORDER_COL ? row + column * ld : column + row * ld);
  }
  // From the first element to behind the last one.
  size_t span_bytes() const;
};

struct Problem {
  int compute = 0, scale = 0, pointer_mode = 0, trans_a = 0, trans_b = 0, trans_c = 0, fill = 0;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  Matrix a, b, c, d;
  int64_t m = 0, n = 0, k = 0;
  void* bias = nullptr;
  int bias_type = 0;
  int64_t bias_stride = 0;
  void* aux = nullptr;
  int aux_type = 0;
  int64_t aux_ld = 0, aux_stride = 0;
  const void* scale_pointers[4] = {};  // of A, B, C, D
  int scale_modes[4] = {};
  void* amax = nullptr;
  bool fast_accumulation = false;

  bool has_bias() const { return (epilogue & CUBLASLT_EPILOGUE_BIAS) != 0; }
  bool has_aux() const { return (epilogue & 128) != 0; }
  bool aux_is_mask() const { return (epilogue & (CUBLASLT_EPILOGUE_RELU | 8)) != 0; }
  // Whether the bias pointer is where the sums of a gradient go.
  bool writes_bias() const { return (epilogue & (16 | CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB)) != 0; }
  int64_t bias_length() const { return epilogue == CUBLASLT_EPILOGUE_BGRADB ? n : m; }
  size_t aux_bytes() const;
};

Problem read_problem(const Descriptor& operation, const Descriptor& a, const Descriptor& b, const Descriptor& c,
                     const Descriptor& d);

// What makes no sense, "" if nothing: sizes that do not fit, missing pointers, leading dimensions.
std::string contradiction(const Problem& problem);
// What the library does not compute, "" if it does.
std::string unsupported(const Problem& problem);
// Of everything that decides about an algorithm, but alignments.
uint64_t fingerprint(const Problem& problem);

}  // namespace cublas_standin
