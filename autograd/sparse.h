// torch::sparse: functions of sparse tensors by Python's names, a guard of their checks, and gradient checks of
// functions that take them.
//
//   torch::Tensor a = torch::eye(3).to_sparse();
//   torch::sparse::mm(a, torch::ones({3, 2}));                   // 3 x 2
//   torch::sparse::sum(a, 0);                                    // sparse, of 3
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "aten/core/tensor.h"
#include "aten/ops/sparse/ops.h"
#include "autograd/gradcheck/gradcheck.h"

namespace torch::sparse {

/// mat1 mat2 of a sparse and a dense or sparse matrix; gradients of sparse factors are sparse.
inline at::Tensor mm(const at::Tensor& mat1, const at::Tensor& mat2) {
  return at::_sparse_mm(mat1, mat2);
}
/// With "sum", "mean", "amax" or "amin" in the sum's place, of a CSR matrix and a dense one.
inline at::Tensor mm(const at::Tensor& mat1, const at::Tensor& mat2, std::string_view reduce) {
  return at::_sparse_mm(mat1, mat2, reduce);
}
/// beta mat + alpha mat1 mat2, with a gradient for a sparse mat1.
inline at::Tensor addmm(const at::Tensor& mat, const at::Tensor& mat1, const at::Tensor& mat2,
                        const at::Scalar& beta = 1, const at::Scalar& alpha = 1) {
  return at::_sparse_addmm(mat, mat1, mat2, beta, alpha);
}
/// alpha mat1 mat2 + beta input at the places of `input`, a CSR matrix.
inline at::Tensor sampled_addmm(const at::Tensor& input, const at::Tensor& mat1, const at::Tensor& mat2,
                                const at::Scalar& beta = 1, const at::Scalar& alpha = 1) {
  return at::sparse_sampled_addmm(input, mat1, mat2, beta, alpha);
}
/// Of all elements, or along dimensions: sparse where sparse dimensions are left, else dense.
inline at::Tensor sum(const at::Tensor& input, at::OptionalIntArrayRef dim = std::nullopt,
                      std::optional<at::ScalarType> dtype = std::nullopt) {
  if (!dim.has_value()) return dtype.has_value() ? at::_sparse_sum(input, *dtype) : at::_sparse_sum(input);
  return dtype.has_value() ? at::_sparse_sum(input, *dim, *dtype) : at::_sparse_sum(input, *dim);
}
/// Of the specified elements; the others count as minus infinity.
inline at::Tensor softmax(const at::Tensor& input, int64_t dim, std::optional<at::ScalarType> dtype = std::nullopt) {
  return at::_sparse_softmax(input, dim, dtype);
}
inline at::Tensor log_softmax(const at::Tensor& input, int64_t dim,
                              std::optional<at::ScalarType> dtype = std::nullopt) {
  return at::_sparse_log_softmax(input, dim, dtype);
}
/// A matrix of these diagonals, row i of `diagonals` at offsets[i].
inline at::Tensor spdiags(const at::Tensor& diagonals, const at::Tensor& offsets, at::IntArrayRef shape,
                          std::optional<at::Layout> layout = std::nullopt) {
  return at::_spdiags(diagonals, offsets, shape, layout);
}
/// While it lives, sparse tensors are checked as they are made, of the whole process, or not; its end restores what
/// was.
///
///   torch::sparse::check_sparse_tensor_invariants guard;
class check_sparse_tensor_invariants {
 public:
  explicit check_sparse_tensor_invariants(bool enable = true);
  ~check_sparse_tensor_invariants();
  check_sparse_tensor_invariants(const check_sparse_tensor_invariants&) = delete;
  check_sparse_tensor_invariants& operator=(const check_sparse_tensor_invariants&) = delete;

  static bool is_enabled();
  static void enable();
  static void disable();

 private:
  const bool before_;
};

using Gradcheck = std::function<torch::autograd::GradcheckResult(const torch::autograd::GradcheckFunction&,
                                                                 const torch::autograd::variable_list&,
                                                                 const torch::autograd::GradcheckOptions&)>;
/// gradcheck, or gradgradcheck, of functions that take or give sparse tensors, COO or compressed: of inputs the
/// specified elements alone are changed, and results are compared as dense tensors. Other tensors are handed on as they
/// are.
///
///   auto check = torch::sparse::as_sparse_gradcheck(torch::autograd::gradcheck);
///   TORCH_CHECK(check(f, {torch::eye(3, torch::kDouble).to_sparse().requires_grad_()}, {}));
Gradcheck as_sparse_gradcheck(Gradcheck check);

}  // namespace torch::sparse
