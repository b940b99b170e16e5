// Sparse tensors: sums, products and quotients, element by element.
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
#include "aten/ops/view/ops.h"
#include "aten/sparse/compressed_parts.h"
#include "aten/sparse/sparse_parts.h"

namespace at::native {
namespace {

bool is_sparse(const Tensor& t) {
  return t.layout() != Layout::Strided;
}

// The result in the layout of two compressed tensors, of their blocks, with indices of their dtype.
Tensor compressed_as(const char* op, const Tensor& a, const Tensor& b, const Tensor& coordinates) {
  const SparseCsrTensorImpl &x = sparse::compressed_impl_of(op, a), &y = sparse::compressed_impl_of(op, b);
  const Tensor result = sparse::compress(op, sparse::coalesced(coordinates), a.layout(), x.block());
  return sparse::with_index_type(result, promoteTypes(x.plain().scalar_type(), y.plain().scalar_type()));
}

// Whether two tensors of one size are compressed alike.
bool are_compressed(const char* op, const Tensor& a, const Tensor& b) {
  if (!sparse::is_compressed(a) && !sparse::is_compressed(b)) return false;
  TORCH_CHECK(a.layout() == b.layout(), op, ": expected 'self' and 'other' to have the same layout, but got ",
              a.layout(), " and ", b.layout());
  TORCH_CHECK(a.sizes() == b.sizes(), op, ": expected sizes of 'self' and 'other' to match, but ", a.sizes(),
              " != ", b.sizes());
  TORCH_CHECK(sparse::compressed_impl_of(op, a).block() == sparse::compressed_impl_of(op, b).block(), op,
              ": expected 'self' and 'other' to have blocks of one size");
  return true;
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

// a + alpha * b of two lists of elements that lie densely: gone through in step, so that sums of coalesced ones are.
Tensor merged(const Tensor& a, const Tensor& b, const Scalar& alpha, ScalarType dtype) {
  const SparseTensorImpl &x = sparse::impl_of("add", a), &y = sparse::impl_of("add", b);
  const Tensor ia = dense(x.indices()), ib = dense(y.indices());
  const Merge both = merge(ia, ib);
  const Tensor values = at::add(sparse::spread(as_type(x.values(), dtype), both.of_a),
                                sparse::spread(as_type(y.values(), dtype), both.of_b), alpha);
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
  if (are_compressed("add", a, b)) {
    return compressed_as("add", a, b, add_both_sparse(sparse::coordinates(a), sparse::coordinates(b), alpha));
  }
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
  if (sparse::is_compressed(self)) {
    check_same_size_as_dense(other, self);
    return at::add(at::mul(other, alpha), self);
  }
  TORCH_CHECK(!is_sparse(self), "add(sparse, dense) is not supported. Use add(dense, sparse) instead.");
  check_same_size_as_dense(self, other);
  const ScalarType dtype = promoteTypes(self.scalar_type(), other.scalar_type());
  const Tensor result = at::_to_copy(self, TensorOptions().dtype(dtype), false, MemoryFormat::Contiguous);
  sparse::add_elements(result, sparse::in_coordinates(other), alpha);
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
    sparse::add_elements(self, sparse::in_coordinates(other), alpha);
    return self;
  }
  return at::copy_(self, add_sparse(self, other, alpha));
}

Tensor& add_out_sparse(const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  if (out.is_same(self)) return add_sparse_(out, other, alpha);
  return sparse::write_out("add", out, add_sparse(self, other, alpha));
}

Tensor sub_sparse(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return add_sparse(self, other, -alpha);
}
Tensor& sub_sparse_(Tensor& self, const Tensor& other, const Scalar& alpha) {
  return add_sparse_(self, other, -alpha);
}
Tensor& sub_out_sparse(const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  return add_out_sparse(self, other, -alpha, out);
}

// --- products ---
namespace {

// The product at the places that both name. Of one that is not coalesced all elements stay, with products of 0 where
// the other has none; of two such the one with less elements.
Tensor mul_both_sparse(const Tensor& self, const Tensor& other) {
  if (are_compressed("mul", self, other)) {
    return compressed_as("mul", self, other, mul_both_sparse(sparse::coordinates(self), sparse::coordinates(other)));
  }
  const SparseTensorImpl &a = sparse::impl_of("mul", self), &b = sparse::impl_of("mul", other);
  TORCH_CHECK(self.dim() == other.dim() && a.sparse_dim() == b.sparse_dim() &&
                  sparse::sparse_sizes(self, a) == sparse::sparse_sizes(other, b),
              "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, number of sparse "
              "dimensions, and shape of sparse dimensions");
  const bool keeps_other = !b.coalesced() && (a.coalesced() || a.nnz() >= b.nnz());
  const Tensor &kept = keeps_other ? other : self, once = sparse::coalesced(keeps_other ? self : other);
  const SparseTensorImpl &x = sparse::impl_of("mul", kept), &y = sparse::impl_of("mul", once);
  const std::vector<int64_t> found = sparse::find_places(once, sparse::places_of(kept));
  const DimVector sizes = broadcast_shapes(self.sizes(), other.sizes());
  if (!x.coalesced()) {
    return sparse::make_sparse(sizes, x.indices(), at::mul(x.values(), sparse::spread(y.values(), found)), false);
  }
  std::vector<int64_t> from_x, from_y;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] < 0) continue;
    from_x.push_back(static_cast<int64_t>(i));
    from_y.push_back(found[i]);
  }
  const Tensor chosen = sparse::long_tensor(from_x);
  return sparse::make_sparse(
      sizes, at::index_select(x.indices(), 1, chosen),
      at::mul(at::index_select(x.values(), 0, chosen), at::index_select(y.values(), 0, sparse::long_tensor(from_y))),
      true);
}

// By one number, or by the elements of a dense tensor at the places.
Tensor mul_by_dense(const Tensor& sparse_one, const Tensor& dense) {
  const Tensor& values = sparse::values_of(sparse_one);
  if (dense.dim() == 0) return sparse::with_values(sparse_one, at::mul(values, dense));
  TORCH_CHECK(IntArrayRef(broadcast_shapes(sparse_one.sizes(), dense.sizes())) == sparse_one.sizes(),
              "mul(sparse, dense): the dense tensor must broadcast to the size of the sparse one, ", sparse_one.sizes(),
              ", but has size ", dense.sizes());
  const Tensor in_places = sparse::in_coordinates(sparse_one);
  const SparseTensorImpl& impl = sparse::impl_of("mul", in_places);
  const Tensor factors = sparse::gather_expanded(dense, in_places.sizes(), impl.indices());
  if (!sparse::is_compressed(sparse_one)) return sparse::with_values(sparse_one, at::mul(values, factors));
  return sparse::with_values(sparse_one, sparse::values_from_elements(sparse_one, at::mul(impl.values(), factors)));
}

}  // namespace

Tensor mul_sparse(const Tensor& self, const Tensor& other) {
  if (is_sparse(self) && is_sparse(other)) return mul_both_sparse(self, other);
  return is_sparse(self) ? mul_by_dense(self, other) : mul_by_dense(other, self);
}
Tensor& mul_sparse_(Tensor& self, const Tensor& other) {
  TORCH_CHECK(is_sparse(self), "mul_: a dense tensor cannot be multiplied by a sparse one in place");
  sparse::assign(self, mul_sparse(self, other));
  return self;
}
Tensor& mul_out_sparse(const Tensor& self, const Tensor& other, Tensor& out) {
  return sparse::write_out("mul", out, mul_sparse(self, other));
}
Tensor mul_scalar_sparse(const Tensor& self, const Scalar& other) {
  return sparse::with_values(self, at::mul(sparse::values_of(self), other));
}
Tensor& mul_scalar_sparse_(Tensor& self, const Scalar& other) {
  sparse::assign(self, mul_scalar_sparse(self, other));
  return self;
}

// --- quotients ---
namespace {

void check_divisor(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(is_sparse(self) && !is_sparse(other) && other.dim() == 0,
              "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape ", other.sizes(),
              " for divisor)");
}

// Quotients that are rounded are not those of the parts of a sum.
Tensor named_once(const Tensor& t) {
  return t.layout() == Layout::Sparse ? sparse::coalesced(t) : t;
}

}  // namespace

Tensor div_sparse(const Tensor& self, const Tensor& other) {
  check_divisor(self, other);
  return sparse::with_values(self, at::div(sparse::values_of(self), other));
}
Tensor& div_sparse_(Tensor& self, const Tensor& other) {
  sparse::assign(self, div_sparse(self, other));
  return self;
}
Tensor& div_out_sparse(const Tensor& self, const Tensor& other, Tensor& out) {
  return sparse::write_out("div", out, div_sparse(self, other));
}
Tensor div_mode_sparse(const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode) {
  check_divisor(self, other);
  const Tensor elements = rounding_mode.has_value() ? named_once(self) : self;
  return sparse::with_values(elements, at::div(sparse::values_of(elements), other, rounding_mode));
}
Tensor& div_mode_sparse_(Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode) {
  sparse::assign(self, div_mode_sparse(self, other, rounding_mode));
  return self;
}
Tensor& div_mode_out_sparse(const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode,
                            Tensor& out) {
  return sparse::write_out("div", out, div_mode_sparse(self, other, rounding_mode));
}
Tensor div_scalar_sparse(const Tensor& self, const Scalar& other) {
  return sparse::with_values(self, at::div(sparse::values_of(self), other));
}
Tensor& div_scalar_sparse_(Tensor& self, const Scalar& other) {
  sparse::assign(self, div_scalar_sparse(self, other));
  return self;
}

Tensor floor_divide_sparse(const Tensor& self, const Tensor& other) {
  check_divisor(self, other);
  const Tensor elements = named_once(self);
  return sparse::with_values(elements, at::floor_divide(sparse::values_of(elements), other));
}
Tensor& floor_divide_sparse_(Tensor& self, const Tensor& other) {
  sparse::assign(self, floor_divide_sparse(self, other));
  return self;
}
Tensor& floor_divide_out_sparse(const Tensor& self, const Tensor& other, Tensor& out) {
  return sparse::write_out("floor_divide", out, floor_divide_sparse(self, other));
}
Tensor floor_divide_scalar_sparse(const Tensor& self, const Scalar& other) {
  const Tensor elements = named_once(self);
  return sparse::with_values(elements, at::floor_divide(sparse::values_of(elements), other));
}
Tensor& floor_divide_scalar_sparse_(Tensor& self, const Scalar& other) {
  sparse::assign(self, floor_divide_scalar_sparse(self, other));
  return self;
}

}  // namespace at::native
