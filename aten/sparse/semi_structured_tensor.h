// Matrices with two of four elements: of each group of four neighbours in a row at most two are not 0, of float32 one
// of two. They take half the memory of dense ones and two bits for each element that is kept (four of float32), and
// products read them as they are: one part after the other is unpacked, half a million elements or 64 rows.
//
//   torch::Tensor weight = ...;                                         // [out, in], pruned
//   auto sparse = torch::sparse::to_sparse_semi_structured(weight);
//   auto y = torch::sparse::linear(x, sparse, bias);                    // x weight^T + bias
//   auto z = torch::sparse::mm(sparse, b);                              // weight b
//
// Gradients flow to dense factors, and through the kept elements to the tensor that was converted: there they are those
// of the dense product at the places that are kept, and 0 elsewhere.
#pragma once

#include <cstdint>
#include <optional>

#include "aten/core/tensor.h"

namespace torch::sparse {

/// A matrix that to_sparse_semi_structured() made, or its transpose. A value: copies share the parts.
class SparseSemiStructuredTensor {
 public:
  /// Of parts as values() and indices() give them. Throws c10::Error for parts that do not fit each other.
  SparseSemiStructuredTensor(at::Tensor values, at::Tensor indices);

  /// The size of the matrix, transposed where it is.
  int64_t size(int64_t dim) const;
  at::ScalarType scalar_type() const { return values_.scalar_type(); }
  /// The kept elements, [rows, columns / 2] of the matrix that was converted, of its dtype: those that are not 0, and
  /// others of their group where there are fewer than places.
  const at::Tensor& values() const { return values_; }
  /// Which they are: for each group of a row, from left to right, a number of four bits, the first in the lowest bits
  /// of a word. Of four elements two are kept, and the number is place + 4 * next_place; of two float32 it is 4 for the
  /// first and 14 for the second. Words are int16 of four groups, int32 of eight for int8; the last of a row may be
  /// filled in part.
  const at::Tensor& indices() const { return indices_; }
  bool is_transposed() const { return transposed_; }
  /// Bytes of both parts.
  size_t nbytes() const { return values_.nbytes() + indices_.nbytes(); }

  /// The transpose, over the same parts.
  SparseSemiStructuredTensor t() const;
  /// The same without its history.
  SparseSemiStructuredTensor detach() const;
  /// The strided tensor of all elements.
  at::Tensor to_dense() const;

 private:
  at::Tensor values_, indices_;
  bool transposed_ = false;
};

/// The kept elements of `dense`, a matrix of dtype float16, bfloat16, int8 or float32.
///
///     auto a = torch::sparse::to_sparse_semi_structured(torch::tensor({{0.f, 1.f, 2.f, 0.f}}));
///     a.values();      // {{1, 2}}
///     a.indices();     // {{0x4e}}: the second of the first pair, the first of the second
///     a.to_dense();    // {{0, 1, 2, 0}}
///
/// Throws c10::Error "to_sparse_semi_structured: row 3, group 2 (columns 8 to 11) has 3 elements that are not 0, at
/// most 2 may be" for a group with more, and for another number of dimensions, another dtype and columns that groups do
/// not divide.
SparseSemiStructuredTensor to_sparse_semi_structured(const at::Tensor& dense);

/// sparse dense, [m, k] and [k, n] to [m, n]. The dtype is that of both factors, accumulated in float32; of int8 the
/// sum, computed in int32, is cut to [-128, 127] unless `dtype` is kInt. Throws c10::Error for sizes that do not fit
/// and other dtypes.
at::Tensor mm(const SparseSemiStructuredTensor& sparse, const at::Tensor& dense,
              std::optional<at::ScalarType> dtype = std::nullopt);
/// dense sparse, [m, k] and [k, n] to [m, n], as above.
at::Tensor mm(const at::Tensor& dense, const SparseSemiStructuredTensor& sparse,
              std::optional<at::ScalarType> dtype = std::nullopt);

/// beta * input + alpha * (dense sparse), of which `input` broadcasts to the product. Throws as mm().
at::Tensor addmm(const at::Tensor& input, const at::Tensor& dense, const SparseSemiStructuredTensor& sparse,
                 const at::Scalar& beta = 1, const at::Scalar& alpha = 1);
/// The same of sparse dense.
at::Tensor addmm(const at::Tensor& input, const SparseSemiStructuredTensor& sparse, const at::Tensor& dense,
                 const at::Scalar& beta = 1, const at::Scalar& alpha = 1);

/// input weight^T + bias, [..., in] and [out, in] to [..., out]; `bias`, of `out` elements, has the dtype of the
/// result.
///
///     auto w = torch::sparse::to_sparse_semi_structured(torch::tensor({{0.f, 1.f, 2.f, 0.f}}));
///     torch::sparse::linear(torch::ones({2, 4}), w);   // {{3}, {3}}
///
/// Throws c10::Error for an input without dimensions, sizes that do not fit and other dtypes.
at::Tensor linear(const at::Tensor& input, const SparseSemiStructuredTensor& weight,
                  const std::optional<at::Tensor>& bias = std::nullopt,
                  std::optional<at::ScalarType> dtype = std::nullopt);

}  // namespace torch::sparse
