// Products of matrices in device memory, by cuBLASLt. Matrices are described by strides, whatever their order; which of
// them the library takes where they lie, takes_layout() says.
//
//   at::cuda::blas::Product p;                      // out[2, 3] = a[2, 4] * b[4, 3], all by rows
//   p.name = "mm";
//   p.m = 2, p.n = 3, p.k = 4;
//   p.a = {a, 4, 1}, p.b = {b, 3, 1};
//   p.out = {out, 3, 1};
//   at::cuda::blas::multiply(p);
#pragma once

#include <cstddef>
#include <cstdint>

#include "c10/core/scalar_type.h"
#include "c10/util/complex.h"

namespace at::cuda::blas {

using c10::ScalarType;

/// Element (i, j) of batch number l lies at data + i * row + j * column + l * batch elements.
struct Operand {
  const void* data = nullptr;
  int64_t row = 0, column = 1, batch = 0;
};

/// What becomes of each element at last. GELU is the approximation by tanh.
enum class Activation : uint8_t { kNone, kRelu, kGeluTanh };

/// out = activation(alpha * a * b + beta * add + bias), for each of `batches` pairs of matrices.
struct Product {
  const char* name = "mm";              // the operator's, for errors
  ScalarType type = ScalarType::Float;  // of a, and of b unless b_type says otherwise
  ScalarType b_type = ScalarType::Undefined;
  ScalarType out_type = ScalarType::Undefined;  // of out, add and bias; Undefined: as `type`
  int64_t batches = 1, m = 0, n = 0, k = 0;     // at least 1 each
  Operand a;                                    // m x k
  Operand b;                                    // k x n
  Operand
      add;  // m x n; data null: nothing is added. It may be `out` with its strides, and shares no other memory with it
  Operand out;  // m x n, written; shares no memory with a and b
  c10::complex<double> alpha = 1;
  c10::complex<double> beta = 1;
  /// n numbers, one after the other, which are added to every row; null: none.
  const void* bias = nullptr;
  /// Where the sums of a's rows go, m numbers of the result's type; the result lies by rows then, and nothing is added.
  void* a_sums = nullptr;
  Activation activation = Activation::kNone;
  /// 8-bit floats: factors of a and b in device memory, float32, null for 1; one each, or with `scale_lines` one for
  /// each row of a and column of b.
  const void *scale_a = nullptr, *scale_b = nullptr;
  bool scale_lines = false;
  bool fast_accumulation = false;
  /// Sums made in parts are not added in a 16-bit type of the result, whatever the context allows.
  bool wide_parts = false;
};

/// Whether matrices of these sizes and strides are taken: rows or columns that lie without gaps between their elements,
/// one after the other or further apart.
bool takes_layout(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride);

/// Whether `add` lies in such an order that product.add can be it, given the other members: in that of the result, and
/// not one matrix for the whole batch.
bool takes_addend(const Product& product, const Operand& add);

/// Queues the product on the current stream of the current device. Layouts must be such as takes_layout() allows.
/// float32 products are computed as at::globalContext() allows (float32MatmulPrecision), sums of 16-bit numbers in
/// float32 unless it allows less (allowFP16AccumulationCuBLAS, allowFP16ReductionCuBLAS, allowBF16ReductionCuBLAS).
/// Throws NotImplementedError where the library has no algorithm for it, and c10::Error with call, sizes and dtype
/// where a call fails.
void multiply(const Product& product);

/// The same; false, with nothing done, where the library has no algorithm for it.
bool try_multiply(const Product& product);

/// Bytes that CUBLAS_WORKSPACE_CONFIG says (":4096:2:16:8": 2 * 4096 + 8 * 16 KiB), else 32 MiB from compute capability
/// 9.0 on and 8,320 KiB before.
size_t configured_workspace_bytes(int device);

/// Bytes that products may use beside their operands: CUBLASLT_WORKSPACE_SIZE in KiB, else the same. They are allocated
/// on the stream for each product whose algorithm wants them.
size_t workspace_bytes(int device);

/// What the choice of algorithms has cost, for tests and diagnosis: products are remembered by all that decides about
/// them, the least recently used are forgotten when they would take more than `limit` bytes (2 MiB).
struct CacheStats {
  size_t entries = 0, bytes = 0, limit = 0;
  uint64_t hits = 0, misses = 0;
};
CacheStats cache_stats();
void set_cache_limit(size_t bytes);
void clear_cache();

}  // namespace at::cuda::blas
