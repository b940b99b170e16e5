// Products of matrices of which one is sparse.
#include <algorithm>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/kernels.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/sparse/kernels.h"
#include "aten/ops/view/ops.h"
#include "aten/sparse/sparse_parts.h"

namespace at::native {
namespace {

bool is_sparse(const Tensor& t) {
  return t.layout() == Layout::Sparse;
}

void check_matrices(const Tensor& left, const Tensor& right) {
  TORCH_CHECK(left.dim() == 2 && right.dim() == 2, "addmm: matrices expected, got ",
              left.dim() != 2 ? left.dim() : right.dim(), "D tensor");
  for (const Tensor* t : {&left, &right}) {
    if (!is_sparse(*t)) continue;
    const SparseTensorImpl& impl = sparse::impl_of("addmm", *t);
    TORCH_CHECK(impl.sparse_dim() == 2, "addmm: expected a sparse matrix of two sparse dimensions, got ",
                impl.sparse_dim());
  }
  TORCH_CHECK(left.size(1) == right.size(0), "addmm: Argument #3 (dense): Expected dim 0 size ", left.size(1), ", got ",
              right.size(0));
  TORCH_CHECK(left.scalar_type() == right.scalar_type(), "expected scalar type ", left.scalar_type(), " but found ",
              right.scalar_type());
}

// Row or column numbers of the elements, each in its range.
Tensor line(const char* op, const Tensor& t, int64_t dim) {
  const SparseTensorImpl& impl = sparse::impl_of(op, t);
  return sparse::flat_places(at::slice(impl.indices(), 0, dim, dim + 1), t.sizes().slice(static_cast<size_t>(dim), 1));
}

// Row i of the product gathers rows of `right`, weighted by the elements of row i.
Tensor sparse_by_dense(const Tensor& left, const Tensor& right) {
  const SparseTensorImpl& impl = sparse::impl_of("mm", left);
  Tensor result = at::zeros({left.size(0), right.size(1)}, right.options());
  const Tensor rows = line("mm", left, 0), columns = line("mm", left, 1);
  const Tensor weighted = at::mul(at::index_select(right, 0, columns), at::unsqueeze(impl.values(), 1));
  return at::index_add_(result, 0, rows, weighted);
}

Tensor dense_by_sparse(const Tensor& left, const Tensor& right) {
  const SparseTensorImpl& impl = sparse::impl_of("mm", right);
  Tensor result = at::zeros({left.size(0), right.size(1)}, left.options());
  const Tensor rows = line("mm", right, 0), columns = line("mm", right, 1);
  const Tensor weighted = at::mul(at::index_select(left, 1, rows), impl.values());
  return at::index_add_(result, 1, columns, weighted);
}

// All pairs of an element (i, k) and one (k, j), and their sums by (i, j).
Tensor sparse_by_sparse(const Tensor& left, const Tensor& right) {
  const Tensor a = sparse::coalesced(left), b = sparse::coalesced(right);
  const SparseTensorImpl &x = sparse::impl_of("mm", a), &y = sparse::impl_of("mm", b);
  const Tensor rows = line("mm", a, 0), inner = line("mm", a, 1), outer = line("mm", b, 0), columns = line("mm", b, 1);
  const int64_t *k_of_x = inner.data_ptr<int64_t>(), *k_of_y = outer.data_ptr<int64_t>();
  std::vector<int64_t> from_x, from_y;
  for (int64_t i = 0; i < x.nnz(); ++i) {
    // Coalesced: the rows of b are in order.
    const int64_t* row = std::lower_bound(k_of_y, k_of_y + y.nnz(), k_of_x[i]);
    for (; row != k_of_y + y.nnz() && *row == k_of_x[i]; ++row) {
      from_x.push_back(i);
      from_y.push_back(row - k_of_y);
    }
  }
  const Tensor of_x = sparse::long_tensor(from_x), of_y = sparse::long_tensor(from_y);
  const std::vector<Tensor> indices{at::index_select(rows, 0, of_x), at::index_select(columns, 0, of_y)};
  const std::vector<int64_t> sizes{left.size(0), right.size(1)};
  return sparse::coalesced(sparse::make_sparse(
      sizes, at::stack(indices), at::mul(at::index_select(x.values(), 0, of_x), at::index_select(y.values(), 0, of_y)),
      false));
}

}  // namespace

Tensor mm_sparse(const Tensor& self, const Tensor& mat2) {
  check_matrices(self, mat2);
  if (is_sparse(self)) return is_sparse(mat2) ? sparse_by_sparse(self, mat2) : sparse_by_dense(self, mat2);
  return dense_by_sparse(self, mat2);
}

Tensor addmm_sparse(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                    const Scalar& alpha) {
  TORCH_CHECK(!is_sparse(self) && !(is_sparse(mat1) && is_sparse(mat2)),
              "addmm: expected a dense 'self' and one dense matrix beside the sparse one");
  check_matrices(mat1, mat2);
  const Tensor product = at::mul(mm_sparse(mat1, mat2), alpha);
  const Tensor scaled = at::mul(at::expand(self, product.sizes()), beta);
  return at::add(scaled, product);
}

Tensor _sparse_mm_sparse(const Tensor& sparse_one, const Tensor& dense) {
  return mm_sparse(sparse_one, dense);
}
Tensor _sparse_addmm_sparse(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                            const Scalar& alpha) {
  return addmm_sparse(self, mat1, mat2, beta, alpha);
}

}  // namespace at::native
