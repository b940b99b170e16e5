// Sparse tensors: sums, products and quotients.
#include <algorithm>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/view.h"
#include "aten/ops/binary/kernels.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/reduce/kernels.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/kernels.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/sparse/sparse_parts.h"

namespace at::native {
namespace {

bool is_sparse(const Tensor& t) {
  return t.layout() == Layout::Sparse;
}

Tensor as_type(const Tensor& t, ScalarType dtype) {
  return at::to(t, dtype);
}

// The places of both, where they go in step named once; see merged().
struct Merge {
  std::vector<int64_t> of_a, of_b;  // the element of each result, -1: none
};

Merge merge(const Tensor& a, const Tensor& b) {
  const int64_t rows = a.size(0), na = a.size(1), nb = b.size(1);
  const int64_t *ia = a.data_ptr<int64_t>(), *ib = b.data_ptr<int64_t>();
  Merge result;
  for (int64_t i = 0, j = 0; i < na || j < nb;) {
    int order = i == na ? 1 : j == nb ? -1 : 0;
    for (int64_t d = 0; order == 0 && d < rows && i < na && j < nb; ++d) {
      const int64_t x = ia[d * na + i], y = ib[d * nb + j];
      if (x != y) order = x < y ? -1 : 1;
    }
    result.of_a.push_back(order <= 0 ? i++ : -1);
    result.of_b.push_back(order >= 0 ? j++ : -1);
  }
  return result;
}

// Rows of `values` where `places` names one, zeros elsewhere.
Tensor spread(const Tensor& values, const std::vector<int64_t>& places) {
  std::vector<int64_t> from, to;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0) continue;
    from.push_back(places[i]);
    to.push_back(static_cast<int64_t>(i));
  }
  DimVector sizes(values.sizes().begin(), values.sizes().end());
  sizes[0] = static_cast<int64_t>(places.size());
  Tensor result = at::zeros(sizes, values.options());
  at::index_copy_(result, 0, sparse::long_tensor(to), at::index_select(values, 0, sparse::long_tensor(from)));
  return result;
}

// a + alpha * b of two lists of elements that lie densely: gone through in step, so that sums of coalesced ones are.
Tensor merged(const Tensor& a, const Tensor& b, const Scalar& alpha, ScalarType dtype) {
  const SparseTensorImpl &x = sparse::impl_of("add", a), &y = sparse::impl_of("add", b);
  const Tensor ia = dense(x.indices()), ib = dense(y.indices());
  const Merge both = merge(ia, ib);
  const Tensor values =
      at::add(spread(as_type(x.values(), dtype), both.of_a), spread(as_type(y.values(), dtype), both.of_b), alpha);
  std::vector<int64_t> columns(both.of_a.size());
  for (size_t i = 0; i < columns.size(); ++i) columns[i] = both.of_a[i] >= 0 ? both.of_a[i] : x.nnz() + both.of_b[i];
  const std::vector<Tensor> lists{ia, ib};
  return sparse::make_sparse(a.sizes(), at::index_select(at::cat(lists, 1), 1, sparse::long_tensor(columns)), values,
                             x.coalesced() && y.coalesced());
}

Tensor appended(const Tensor& a, const Tensor& b, const Scalar& alpha, ScalarType dtype) {
  const SparseTensorImpl &x = sparse::impl_of("add", a), &y = sparse::impl_of("add", b);
  const std::vector<Tensor> indices{x.indices(), y.indices()};
  const std::vector<Tensor> values{as_type(x.values(), dtype), at::mul(as_type(y.values(), dtype), alpha)};
  return sparse::make_sparse(a.sizes(), at::cat(indices, 1), at::cat(values, 0), false);
}

Tensor add_both_sparse(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  TORCH_CHECK(a.sizes() == b.sizes(), "add: expected sizes of 'self' and 'other' to match, but ", a.sizes(),
              " != ", b.sizes());
  const SparseTensorImpl &x = sparse::impl_of("add", a), &y = sparse::impl_of("add", b);
  TORCH_CHECK(x.dense_dim() == y.dense_dim(),
              "add: expected 'self' and 'other' to have same number of sparse dimensions, but ", x.sparse_dim(),
              " != ", y.sparse_dim());
  const ScalarType dtype = promoteTypes(a.scalar_type(), b.scalar_type());
  const bool dense_values = x.values().is_contiguous() && y.values().is_contiguous();
  return dense_values ? merged(a, b, alpha, dtype) : appended(a, b, alpha, dtype);
}

void check_same_size_as_dense(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(self.sizes() == other.sizes(), "add: expected 'self' and 'other' to have same size, but self has size ",
              self.sizes(), " while other has size ", other.sizes(),
              " (FYI: dense-sparse addition does not currently support broadcasting)");
}

void check_cast(ScalarType from, ScalarType to) {
  TORCH_CHECK(canCast(from, to), "result type ", from, " can't be cast to the desired output type ", to);
}

}  // namespace

Tensor add_sparse(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  if (is_sparse(self) && is_sparse(other)) return add_both_sparse(self, other, alpha);
  TORCH_CHECK(!is_sparse(self), "add(sparse, dense) is not supported. Use add(dense, sparse) instead.");
  check_same_size_as_dense(self, other);
  const ScalarType dtype = promoteTypes(self.scalar_type(), other.scalar_type());
  const Tensor result = at::_to_copy(self, TensorOptions().dtype(dtype), false, MemoryFormat::Contiguous);
  sparse::add_elements(result, other, alpha);
  return fresh(result);
}

Tensor& add_sparse_(Tensor& self, const Tensor& other, const Scalar& alpha) {
  if (is_sparse(self)) {
    const Tensor sum = add_sparse(self, other, alpha);
    sparse::assign(self, sum);
    return self;
  }
  check_same_size_as_dense(self, other);
  check_cast(promoteTypes(self.scalar_type(), other.scalar_type()), self.scalar_type());
  if (self.is_contiguous()) {
    sparse::add_elements(self, other, alpha);
    return self;
  }
  return at::copy_(self, add_sparse(self, other, alpha));
}

Tensor& add_out_sparse(const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  if (out.is_same(self)) return add_sparse_(out, other, alpha);
  const Tensor sum = add_sparse(self, other, alpha);
  TORCH_CHECK(out.layout() == sum.layout(), "add: expected an output of layout ", sum.layout(), ", but got ",
              out.layout());
  check_cast(sum.scalar_type(), out.scalar_type());
  if (is_sparse(out)) {
    sparse::assign(out, sum);
    return out;
  }
  resize_output(out, sum.sizes());
  return at::copy_(out, sum);
}

Tensor sub_sparse(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return add_sparse(self, other, -alpha);
}
Tensor& sub_sparse_(Tensor& self, const Tensor& other, const Scalar& alpha) {
  return add_sparse_(self, other, -alpha);
}

// --- products ---
namespace {

// The product at the places of `self` that `other` names, too.
Tensor mul_both_sparse(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(self.sizes() == other.sizes(), "mul: expected 'self' and 'other' to have same sizes, but ", self.sizes(),
              " != ", other.sizes());
  const SparseTensorImpl& x = sparse::impl_of("mul", self);
  const Tensor once = sparse::coalesced(other);
  const SparseTensorImpl& y = sparse::impl_of("mul", once);
  TORCH_CHECK(x.sparse_dim() == y.sparse_dim(),
              "mul: expected 'self' and 'other' to have same number of sparse dimensions, but ", x.sparse_dim(),
              " != ", y.sparse_dim());
  const IntArrayRef sizes = sparse::sparse_sizes(self, x);
  const Tensor of_x = sparse::flat_places(x.indices(), sizes), of_y = sparse::flat_places(y.indices(), sizes);
  const int64_t *places = of_x.data_ptr<int64_t>(), *sorted = of_y.data_ptr<int64_t>();
  std::vector<int64_t> from_x, from_y;
  for (int64_t i = 0; i < x.nnz(); ++i) {
    const int64_t* const found = std::lower_bound(sorted, sorted + y.nnz(), places[i]);
    if (found == sorted + y.nnz() || *found != places[i]) continue;
    from_x.push_back(i);
    from_y.push_back(found - sorted);
  }
  const Tensor chosen = sparse::long_tensor(from_x);
  return sparse::make_sparse(
      self.sizes(), at::index_select(x.indices(), 1, chosen),
      at::mul(at::index_select(x.values(), 0, chosen), at::index_select(y.values(), 0, sparse::long_tensor(from_y))),
      x.coalesced());
}

// By one number, or by the elements of a dense tensor at the places.
Tensor mul_by_dense(const Tensor& sparse_one, const Tensor& dense) {
  const SparseTensorImpl& impl = sparse::impl_of("mul", sparse_one);
  if (dense.dim() == 0) return sparse::with_values(sparse_one, at::mul(impl.values(), dense));
  TORCH_CHECK(IntArrayRef(broadcast_shapes(sparse_one.sizes(), dense.sizes())) == sparse_one.sizes(),
              "mul(sparse, dense): the dense tensor must broadcast to the size of the sparse one, ", sparse_one.sizes(),
              ", but has size ", dense.sizes());
  const Tensor whole = at::expand(dense, sparse_one.sizes());
  return sparse::with_values(sparse_one,
                             at::mul(impl.values(), sparse::gather_places(whole, impl.indices(), impl.sparse_dim())));
}

}  // namespace

Tensor mul_sparse(const Tensor& self, const Tensor& other) {
  if (is_sparse(self) && is_sparse(other)) return mul_both_sparse(self, other);
  return is_sparse(self) ? mul_by_dense(self, other) : mul_by_dense(other, self);
}
Tensor& mul_sparse_(Tensor& self, const Tensor& other) {
  TORCH_CHECK(is_sparse(self), "mul_: a dense tensor cannot be multiplied by a sparse one in place");
  const Tensor product = mul_sparse(self, other);
  sparse::assign(self, product);
  return self;
}
Tensor mul_scalar_sparse(const Tensor& self, const Scalar& other) {
  return sparse::with_values(self, at::mul(sparse::impl_of("mul", self).values(), other));
}
Tensor& mul_scalar_sparse_(Tensor& self, const Scalar& other) {
  sparse::assign(self, mul_scalar_sparse(self, other));
  return self;
}

// --- quotients ---
Tensor div_sparse(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(is_sparse(self) && !is_sparse(other) && other.dim() == 0,
              "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape ", other.sizes(),
              " for divisor)");
  return sparse::with_values(self, at::div(sparse::impl_of("div", self).values(), other));
}
Tensor& div_sparse_(Tensor& self, const Tensor& other) {
  const Tensor quotient = div_sparse(self, other);
  sparse::assign(self, quotient);
  return self;
}
Tensor div_scalar_sparse(const Tensor& self, const Scalar& other) {
  return sparse::with_values(self, at::div(sparse::impl_of("div", self).values(), other));
}
Tensor& div_scalar_sparse_(Tensor& self, const Scalar& other) {
  sparse::assign(self, div_scalar_sparse(self, other));
  return self;
}

// --- of one tensor ---
Tensor neg_sparse(const Tensor& self) {
  return sparse::with_values(self, at::neg(sparse::impl_of("neg", self).values()));
}
Tensor& neg_sparse_(Tensor& self) {
  sparse::assign(self, neg_sparse(self));
  return self;
}

Tensor sum_sparse(const Tensor& self, std::optional<ScalarType> dtype) {
  return at::sum(sparse::impl_of("sum", self).values(), dtype);
}

Tensor sum_dim_sparse(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  const SparseTensorImpl& impl = sparse::impl_of("sum", self);
  std::vector<bool> summed(static_cast<size_t>(self.dim()), !dim.has_value() || dim->empty());
  for (const int64_t d : dim.value_or(IntArrayRef())) {
    const int64_t wrapped = maybe_wrap_dim(d, self.dim());
    TORCH_CHECK(self.dim() == 0 || !summed[wrapped], "dim ", wrapped, " appears multiple times in the list of dims");
    if (self.dim() > 0) summed[wrapped] = true;
  }
  DimVector sizes;
  std::vector<int64_t> kept_rows, dense;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (!summed[d]) sizes.push_back(self.size(d));
    if (summed[d] && keepdim) sizes.push_back(1);
    if (d < impl.sparse_dim() && !summed[d]) kept_rows.push_back(d);
    if (d >= impl.sparse_dim() && summed[d]) dense.push_back(d - impl.sparse_dim() + 1);
  }
  Tensor values = dtype.has_value() ? at::to(impl.values(), *dtype) : impl.values();
  if (!dense.empty()) values = at::sum(values, dense, keepdim);
  const bool no_row_is_left = kept_rows.empty();
  if (no_row_is_left && !keepdim) return at::sum(values, IntArrayRef({0}));
  Tensor indices = impl.indices();
  std::vector<Tensor> rows;
  for (int64_t d = 0; d < impl.sparse_dim(); ++d) {
    if (!summed[d]) rows.push_back(at::select(indices, 0, d));
    if (summed[d] && keepdim) rows.push_back(at::zeros({impl.nnz()}, indices.options()));
  }
  indices = at::stack(rows);
  const bool all_rows = kept_rows.size() == static_cast<size_t>(impl.sparse_dim());
  const Tensor parts = sparse::make_sparse(sizes, indices, values, all_rows && impl.coalesced());
  return sparse::coalesced(parts);
}

}  // namespace at::native
