// Products of matrices and vectors of which one is sparse.
#include <algorithm>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/view.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/linalg/kernels.h"
#include "aten/ops/matmul/kernels.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/sparse/kernels.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/sparse/compressed_parts.h"
#include "aten/sparse/csr_rows.h"
#include "aten/sparse/device_parts.h"
#include "aten/sparse/order.h"
#include "aten/sparse/sparse_parts.h"

namespace at::native {
namespace {

bool is_sparse(const Tensor& t) {
  return t.layout() != Layout::Strided;
}

void check_same_type(const Tensor& left, const Tensor& right) {
  TORCH_CHECK(left.scalar_type() == right.scalar_type(), "expected scalar type ", left.scalar_type(), " but found ",
              right.scalar_type());
}

void check_matrices(const Tensor& left, const Tensor& right) {
  TORCH_CHECK(left.dim() == 2 && right.dim() == 2, "addmm: matrices expected, got ",
              left.dim() != 2 ? left.dim() : right.dim(), "D tensor");
  for (const Tensor* t : {&left, &right}) {
    if (t->layout() != Layout::Sparse) continue;
    const SparseTensorImpl& impl = sparse::impl_of("addmm", *t);
    TORCH_CHECK(impl.sparse_dim() == 2, "addmm: expected a sparse matrix of two sparse dimensions, got ",
                impl.sparse_dim());
  }
  if (left.layout() == Layout::Sparse) {
    TORCH_CHECK(left.size(1) == right.size(0), "addmm: Argument #3 (dense): Expected dim 0 size ", left.size(1),
                ", got ", right.size(0));
  }
  TORCH_CHECK(left.size(1) == right.size(0), "addmm: mat1 and mat2 shapes cannot be multiplied (", left.size(0), "x",
              left.size(1), " and ", right.size(0), "x", right.size(1), ")");
  check_same_type(left, right);
}

// As columns x rows, contiguous.
Tensor flipped(const Tensor& dense) {
  return at::clone(at::transpose(dense, -2, -1), MemoryFormat::Contiguous);
}

Tensor dense_by_sparse(const Tensor& left, const Tensor& right) {
  const sparse::Rows columns = sparse::rows_of("mm", right, true);
  return fresh(flipped(sparse::times_dense("addmm_sparse_dense", columns, flipped(left))));
}

// Whether most rows of a matrix in coordinates have no element: nothing is made for each of them then.
bool is_mostly_empty(const Tensor& t) {
  return t.size(0) / 4 > sparse::impl_of("mm", t).nnz() + 1024;
}

// What one row of indices names, in order, each once, and of each index its number among these.
struct Named {
  std::vector<int64_t> indices, numbers;
};
Named named(const Tensor& row) {
  const int64_t* own = row.const_data_ptr<int64_t>();
  const sparse::Order order = sparse::order_of(at::unsqueeze(row, 0));
  Named result{{}, std::vector<int64_t>(order.numbers.size())};
  for (int64_t g = 0; g < order.groups(); ++g) {
    result.indices.push_back(own[order.numbers[order.starts[g]]]);
    for (int64_t i = order.starts[g]; i < order.starts[g + 1]; ++i) result.numbers[order.numbers[i]] = g;
  }
  return result;
}

Tensor sparse_by_sparse(const Tensor& left, const Tensor& right);

// The same of matrices in coordinates of which only those rows are looked at that have elements.
Tensor few_by_few(const Tensor& left, const Tensor& right) {
  sparse::check_places_of(left);
  sparse::check_places_of(right);
  const SparseTensorImpl &x = sparse::impl_of("mm", left), &y = sparse::impl_of("mm", right);
  const auto row = [](const Tensor& indices, int64_t dim) { return dense(at::select(indices, 0, dim)); };
  const Named rows = named(row(x.indices(), 0)), inner = named(row(y.indices(), 0));
  // Elements of the left that meet none of the right have a row there that is empty.
  const Tensor of_left = row(x.indices(), 1);
  const int64_t none = static_cast<int64_t>(inner.indices.size());
  std::vector<int64_t> met;
  for (int64_t k = 0; k < x.nnz(); ++k) {
    const int64_t index = of_left.const_data_ptr<int64_t>()[k];
    const auto at = std::lower_bound(inner.indices.begin(), inner.indices.end(), index);
    met.push_back(at != inner.indices.end() && *at == index ? at - inner.indices.begin() : none);
  }
  const std::vector<Tensor> left_indices{sparse::long_tensor(rows.numbers), sparse::long_tensor(met)},
      right_indices{sparse::long_tensor(inner.numbers), at::select(y.indices(), 0, 1)};
  const int64_t count = static_cast<int64_t>(rows.indices.size());
  const Tensor product = sparse_by_sparse(
      sparse::make_sparse(IntArrayRef({count, none + 1}), at::stack(left_indices), x.values(), false),
      sparse::make_sparse(IntArrayRef({none + 1, right.size(1)}), at::stack(right_indices), y.values(), false));
  const SparseTensorImpl& impl = sparse::impl_of("mm", product);
  const std::vector<Tensor> indices{
      at::index_select(sparse::long_tensor(rows.indices), 0, at::select(impl.indices(), 0, 0)),
      at::select(impl.indices(), 0, 1)};
  return sparse::make_sparse(IntArrayRef({left.size(0), right.size(1)}), at::stack(indices), impl.values(), true);
}

// The elements of the product at places that a row of the left and the rows of the right that it names have together.
// In coordinates they are in order; those of a compressed one stand in each row as they come up, as PyTorch has them,
// except where the right one has mostly empty rows: they are in order then.
Tensor sparse_by_sparse(const Tensor& left, const Tensor& right) {
  const bool compressed = sparse::is_compressed(left) || sparse::is_compressed(right);
  if (!left.is_cpu()) {
    const sparse::Rows product = sparse::device::times_sparse(sparse::in_coordinates(left), right, !compressed);
    const Tensor csr = sparse::make_compressed(Layout::SparseCsr, {product.rows, product.columns}, product.pointers,
                                               product.places, product.values);
    return compressed ? csr : sparse::coordinates(csr);
  }
  const bool few = right.layout() == Layout::Sparse && is_mostly_empty(right);
  if (!compressed && (few || is_mostly_empty(left))) return few_by_few(left, right);
  if (few) {
    const Tensor product = few_by_few(sparse::in_coordinates(left), right);
    return sparse::compress("mm", product, Layout::SparseCsr);
  }
  const sparse::Rows product = sparse::times_sparse("sparse_matmul", sparse::ordered_rows("mm", left),
                                                    sparse::ordered_rows("mm", right), !compressed);
  const DimVector sizes{left.size(0), right.size(1)};
  if (compressed) {
    return sparse::make_compressed(Layout::SparseCsr, sizes, product.pointers, product.places, product.values);
  }
  const int64_t nnz = product.nnz();
  Tensor indices = empty_contiguous({2, nnz}, ScalarType::Long);
  int64_t* row = indices.mutable_data_ptr<int64_t>();
  for (int64_t i = 0; i < product.rows; ++i) {
    std::fill(row + product.begin()[i], row + product.begin()[i + 1], i);
  }
  std::copy_n(product.place(), nnz, row + nnz);
  return sparse::make_sparse(sizes, indices, product.values, true);
}

// A factor as an element of the product: integers have no fraction. Throws for a complex one of a real product.
Scalar factor_of(const Scalar& factor, ScalarType type) {
  if (isComplexType(type)) return factor;
  return isIntegralType(type, true) ? Scalar(factor.toLong()) : Scalar(factor.toDouble());
}

// factor * t of the dtype of t, where that can hold it.
Tensor times_factor(const Tensor& t, const Scalar& factor) {
  if (factor.equal(1)) return t;
  const Tensor result = at::mul(t, factor);
  TORCH_CHECK(canCast(result.scalar_type(), t.scalar_type()), "result type ", result.scalar_type(),
              " can't be cast to the desired output type ", t.scalar_type());
  return result;
}

// beta * self + alpha * product; self is not read where beta is 0.
Tensor combined(const Tensor& self, const Tensor& product, const Scalar& beta, const Scalar& alpha) {
  if (!is_sparse(self) && !is_sparse(product) && product.is_floating_point() && !alpha.isComplex() &&
      !beta.isComplex()) {
    // Nobody else has the product.
    const Tensor added = at::expand(self, product.sizes());
    Tensor sum = product;
    if (!alpha.equal(1)) at::mul_(sum, alpha);
    return fresh(beta.equal(0) ? sum : at::add_(sum, added, beta));
  }
  if (is_sparse(self)) {
    TORCH_CHECK(is_sparse(product), "addmm: expected a dense 'self' beside a dense product");
    const Tensor scaled = times_factor(product, alpha);
    if (beta.equal(0) && self.sizes() == product.sizes()) return scaled;
    return at::add(times_factor(self, beta), scaled);
  }
  const Tensor added = at::expand(self, product.sizes());
  const Scalar of_self = factor_of(beta, product.scalar_type());
  const Tensor scaled = times_factor(product, factor_of(alpha, product.scalar_type()));
  if (of_self.equal(0)) return is_sparse(scaled) ? at::to_dense(scaled) : scaled;
  return at::add(times_factor(added, of_self), scaled);
}

// Writes into a dense argument of the right size.
Tensor& replace(Tensor& self, const Tensor& result) {
  if (is_sparse(self)) {
    sparse::assign(self, result);
    return self;
  }
  TORCH_CHECK(self.sizes() == result.sizes(), "the output of size ", self.sizes(), " does not fit a result of size ",
              result.sizes());
  return at::copy_(self, result);
}

}  // namespace

Tensor mm_sparse(const Tensor& self, const Tensor& mat2) {
  check_matrices(self, mat2);
  if (!is_sparse(self)) return dense_by_sparse(self, mat2);
  if (is_sparse(mat2)) return sparse_by_sparse(self, mat2);
  return fresh(sparse::times_dense("addmm_sparse_dense", self, mat2));
}
Tensor& mm_out_sparse(const Tensor& self, const Tensor& mat2, Tensor& out) {
  const Tensor product = mm_sparse(self, mat2);
  if (sparse::is_compressed(out) && is_sparse(product)) {
    TORCH_CHECK(sparse::is_compressed(product), "addmm: computation on CPU is not implemented for ", out.layout(),
                " + ", self.layout(), " @ ", mat2.layout());
    return sparse::write_out(
        "mm", out, sparse::to_compressed("mm", product, out.layout(), sparse::compressed_impl_of("mm", out).block()));
  }
  return sparse::write_out("mm", out, product);
}

Tensor addmm_sparse(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                    const Scalar& alpha) {
  if (!is_sparse(mat1) && !is_sparse(mat2)) {
    TORCH_CHECK(false, "addmm: expected a dense 'self' beside two dense matrices");
  }
  check_matrices(mat1, mat2);
  check_same_type(mat1, self);
  return combined(self, mm_sparse(mat1, mat2), beta, alpha);
}
Tensor& addmm_sparse_(Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
  return replace(self, addmm_sparse(self, mat1, mat2, beta, alpha));
}
Tensor& addmm_out_sparse(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                         const Scalar& alpha, Tensor& out) {
  return sparse::write_out("addmm", out, addmm_sparse(self, mat1, mat2, beta, alpha));
}

Tensor _sparse_mm_sparse(const Tensor& sparse_one, const Tensor& dense) {
  return mm_sparse(sparse_one, dense);
}
Tensor _sparse_addmm_sparse(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                            const Scalar& alpha) {
  return addmm_sparse(self, mat1, mat2, beta, alpha);
}
Tensor _sparse_sparse_matmul_sparse(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(is_sparse(self) && is_sparse(other), "sparse_matmul: expected two sparse matrices, but got layouts ",
              self.layout(), " and ", other.layout());
  check_matrices(self, other);
  return sparse_by_sparse(self, other);
}

Tensor mv_sparse(const Tensor& self, const Tensor& vec) {
  TORCH_CHECK(self.dim() == 2 && vec.dim() == 1,
              "mv: two tensor dim should be 2 and 1, but got SparseTensor Dim: ", self.dim(),
              "Tensor Dim: ", vec.dim());
  if (!is_sparse(self)) return at::mv(self, at::to_dense(vec));
  TORCH_CHECK(!is_sparse(vec), "mv: expected a dense vector, but got one of layout ", vec.layout());
  TORCH_CHECK(vec.size(0) == self.size(1), "mv: expected self.size(-1) == vec.size(-1)");
  check_same_type(self, vec);
  const Tensor product = sparse::times_dense("addmv_sparse", self, at::unsqueeze(vec, 1));
  return fresh(at::reshape(product, {self.size(0)}));
}
Tensor& mv_out_sparse(const Tensor& self, const Tensor& vec, Tensor& out) {
  return sparse::write_out("mv", out, mv_sparse(self, vec));
}
Tensor addmv_sparse(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha) {
  TORCH_CHECK(!is_sparse(self), "addmv: expected a dense 'self', but got layout ", self.layout());
  const Tensor product = mv_sparse(mat, vec);
  check_same_type(mat, self);
  return combined(self, product, beta, alpha);
}
Tensor& addmv_sparse_(Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha) {
  return replace(self, addmv_sparse(self, mat, vec, beta, alpha));
}
Tensor& addmv_out_sparse(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
                         const Scalar& alpha, Tensor& out) {
  return sparse::write_out("addmv", out, addmv_sparse(self, mat, vec, beta, alpha));
}

// The matrices of a batch are the blocks of one.
// input @ weight^T + bias, of which one factor is sparse.
Tensor linear_sparse(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) {
  const bool with_bias = bias.has_value() && bias->defined();
  TORCH_CHECK(!with_bias || !is_sparse(*bias), "linear: expand is unsupported for ", bias->layout(), " tensors");
  TORCH_CHECK(input.dim() > 0 && weight.dim() > 0, "both arguments to linear need to be at least 1D, but they are ",
              input.dim(), "D and ", weight.dim(), "D");
  if (with_bias && input.dim() == 2 && weight.dim() == 2) {
    return at::addmm(at::expand(*bias, {input.size(0), weight.size(0)}), input, at::t(weight));
  }
  const Tensor product = at::matmul(input, weight.dim() < 2 ? weight : at::t(weight));
  return with_bias ? at::add(product, *bias) : product;
}

Tensor bmm_sparse(const Tensor& self, const Tensor& mat2) {
  TORCH_CHECK(self.dim() == 3 && mat2.dim() == 3,
              "bmm_sparse: Tensor 'self' and 'mat2' must have 3 dimensions, but got ", self.dim(), " and ", mat2.dim());
  TORCH_CHECK(self.size(0) == mat2.size(0), "bmm_sparse: 'self.size(0)' and 'mat2.size(0)' must match");
  TORCH_CHECK(self.size(2) == mat2.size(1), "bmm_sparse: 'self.size(2)' and 'mat2.size(1)' must match");
  TORCH_CHECK(is_sparse(self) != is_sparse(mat2), "bmm: expected one sparse and one dense tensor");
  check_same_type(self, mat2);
  const int64_t batch = self.size(0), rows = self.size(1), columns = mat2.size(2);
  if (is_sparse(self)) {
    const Tensor right = at::reshape(mat2, {batch * mat2.size(1), columns});
    return fresh(
        at::reshape(sparse::times_dense("bmm_sparse", sparse::rows_of("bmm", self), right), {batch, rows, columns}));
  }
  const Tensor left = at::reshape(flipped(self), {batch * self.size(2), rows});
  const Tensor product = sparse::times_dense("bmm_sparse", sparse::rows_of("bmm", mat2, true), left);
  return fresh(flipped(at::reshape(product, {batch, columns, rows})));
}
Tensor& bmm_out_sparse(const Tensor& self, const Tensor& mat2, Tensor& out) {
  return sparse::write_out("bmm", out, bmm_sparse(self, mat2));
}

// --- sparse results of a dense factor ---
namespace {

void check_hybrid(const char* op, const Tensor& mat1, const Tensor& mat2) {
  TORCH_CHECK(mat1.layout() == Layout::Sparse, op,
              ": expected 'mat1' to be a sparse tensor in coordinates, but got layout ", mat1.layout());
  TORCH_CHECK(mat1.dim() == 2 && sparse::impl_of(op, mat1).sparse_dim() == 2, op,
              ": Argument #2: matrix expected, got ", mat1.dim(), "D tensor");
  TORCH_CHECK(!is_sparse(mat2) && mat2.dim() == 2, op, ": Argument #3: matrix expected, got ", mat2.dim(), "D tensor");
  TORCH_CHECK(mat1.size(1) == mat2.size(0), op, ": Argument #3: Expected dim 0 size ", mat1.size(1), ", got ",
              mat2.size(0));
  check_same_type(mat1, mat2);
}

// The rows of a product that have elements, and their numbers.
struct StoredRows {
  Tensor numbers, rows;
};
StoredRows stored_rows(const char* op, const Tensor& mat1, const Tensor& mat2) {
  const Tensor once = sparse::coalesced(mat1);
  if (!once.is_cpu()) {
    const auto [rows, numbers] = sparse::device::stored_rows(once);
    return {numbers, sparse::times_dense(op, rows, mat2)};
  }
  const SparseTensorImpl& impl = sparse::impl_of(op, once);
  sparse::check_places_of(once);
  const Tensor indices = dense(impl.indices());
  const int64_t *row = indices.const_data_ptr<int64_t>(), nnz = impl.nnz();
  std::vector<int64_t> numbers, pointers;
  for (int64_t i = 0; i < nnz; ++i) {
    if (i > 0 && row[i] == row[i - 1]) continue;
    numbers.push_back(row[i]);
    pointers.push_back(i);
  }
  pointers.push_back(nnz);
  const sparse::Rows rows{static_cast<int64_t>(numbers.size()), mat1.size(1), sparse::long_tensor(pointers),
                          dense(at::select(indices, 0, 1)), dense(impl.values())};
  return {sparse::long_tensor(numbers), sparse::times_dense(op, rows, mat2)};
}

}  // namespace

Tensor hspmm_sparse(const Tensor& mat1, const Tensor& mat2) {
  check_hybrid("hspmm", mat1, mat2);
  const StoredRows product = stored_rows("hspmm", mat1, mat2);
  return sparse::make_sparse(IntArrayRef({mat1.size(0), mat2.size(1)}), at::unsqueeze(product.numbers, 0), product.rows,
                             true);
}
Tensor& hspmm_out_sparse(const Tensor& mat1, const Tensor& mat2, Tensor& out) {
  return sparse::write_out("hspmm", out, hspmm_sparse(mat1, mat2));
}

Tensor sspaddmm_sparse(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                       const Scalar& alpha) {
  check_hybrid("sspaddmm", mat1, mat2);
  TORCH_CHECK(self.layout() == Layout::Sparse && sparse::impl_of("sspaddmm", self).sparse_dim() == 2 && self.dim() == 2,
              "sspaddmm: Argument #1: expected a sparse matrix, got layout ", self.layout(), " and ", self.dim(),
              " dimensions");
  TORCH_CHECK(self.size(0) == mat1.size(0) && self.size(1) == mat2.size(1), "sspaddmm: Argument #1: Expected size ",
              mat1.size(0), "x", mat2.size(1), ", got ", self.size(0), "x", self.size(1));
  check_same_type(mat1, self);
  const StoredRows product = stored_rows("sspaddmm", mat1, mat2);
  const int64_t count = product.numbers.numel(), columns = mat2.size(1);
  const TensorOptions options = product.numbers.options();
  const std::vector<Tensor> index{
      at::reshape(at::expand(at::unsqueeze(product.numbers, 1), {count, columns}), {-1}),
      at::reshape(at::expand(at::unsqueeze(at::arange(columns, options), 0), {count, columns}), {-1})};
  const SparseTensorImpl& impl = sparse::impl_of("sspaddmm", self);
  const std::vector<Tensor> indices{impl.indices(), at::stack(index)},
      values{times_factor(impl.values(), beta), times_factor(at::reshape(product.rows, {-1}), alpha)};
  return sparse::make_sparse(self.sizes(), at::cat(indices, 1), at::cat(values, 0), false);
}
Tensor& sspaddmm_out_sparse(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                            const Scalar& alpha, Tensor& out) {
  return sparse::write_out("sspaddmm", out, sspaddmm_sparse(self, mat1, mat2, beta, alpha));
}
Tensor smm_sparse(const Tensor& self, const Tensor& mat2) {
  check_hybrid("smm", self, mat2);
  const Tensor none = sparse::make_sparse(IntArrayRef({self.size(0), mat2.size(1)}),
                                          at::empty({2, 0}, TensorOptions(self.device()).dtype(ScalarType::Long)),
                                          at::empty({0}, mat2.options()), true);
  return sspaddmm_sparse(none, self, mat2, 0, 1);
}

// --- triangular systems ---
Tensor linalg_solve_triangular_sparse(const Tensor& A, const Tensor& B, bool upper, bool left, bool unitriangular) {
  TORCH_CHECK(is_sparse(A) && !is_sparse(B),
              "linalg.solve_triangular: expected a dense right-hand side beside a sparse matrix");
  TORCH_CHECK(A.dim() == 2 && A.size(0) == A.size(1),
              "linalg.solve_triangular: A must be a square sparse matrix, but has size ", A.sizes());
  TORCH_CHECK(B.dim() == 2 && B.size(left ? 0 : 1) == A.size(0),
              "linalg.solve_triangular: Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B",
              " (", A.size(0), "x", A.size(1), " and ", B.sizes(), ")");
  check_same_type(A, B);
  if (!left) {
    // The transposed system.
    return at::transpose(
        linalg_solve_triangular_sparse(at::transpose(A, 0, 1), at::transpose(B, 0, 1), !upper, true, unitriangular), 0,
        1);
  }
  const sparse::Rows rows = sparse::rows_of("linalg.solve_triangular", A);
  Tensor result = at::clone(B, MemoryFormat::Contiguous);
  const int64_t n = rows.rows, columns = B.size(1);
  const ScalarType type = A.scalar_type(), real = toRealValueType(type);
  if (!A.is_cpu() && (real == ScalarType::Float || real == ScalarType::Double)) {
    sparse::device::solve_triangular("triangular_solve", rows, result, upper, unitriangular);
    return fresh(result);
  }
  const auto solve = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* values = static_cast<const T*>(rows.values.const_data_ptr());
    T* x = static_cast<T*>(result.mutable_data_ptr());
    for (int64_t step = 0; step < n && columns > 0; ++step) {
      const int64_t i = upper ? n - 1 - step : step;
      T diagonal = T(unitriangular ? 1 : 0);
      for (int64_t k = rows.begin()[i]; k < rows.begin()[i + 1]; ++k) {
        const int64_t j = rows.place()[k];
        if (j == i) {
          if (!unitriangular) diagonal = diagonal + values[k];
        } else if ((j > i) == upper) {
          for (int64_t c = 0; c < columns; ++c)
            x[i * columns + c] = x[i * columns + c] - values[k] * x[j * columns + c];
        }
      }
      for (int64_t c = 0; c < columns; ++c) x[i * columns + c] = x[i * columns + c] / diagonal;
    }
  };
  switch (type) {
    case ScalarType::Float:
      solve(cpu::TypeTag<float>{});
      break;
    case ScalarType::Double:
      solve(cpu::TypeTag<double>{});
      break;
    case ScalarType::ComplexFloat:
      solve(cpu::TypeTag<c10::complex<float>>{});
      break;
    case ScalarType::ComplexDouble:
      solve(cpu::TypeTag<c10::complex<double>>{});
      break;
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "\"triangular_solve\" not implemented for '", A.scalar_type(), "'");
  }
  return fresh(result);
}

}  // namespace at::native
