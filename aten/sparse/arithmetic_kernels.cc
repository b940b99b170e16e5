// Sparse tensors: sums, products and quotients, element by element.
#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/view.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/binary/kernels.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/sparse/compressed_parts.h"
#include "aten/sparse/order.h"
#include "aten/sparse/device_parts.h"
#include "aten/sparse/sparse_parts.h"
#include "c10/parallel/parallel.h"

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

// Where the elements of two lists stand, as rows that can be gone through in step.
struct Lists {
  int64_t rows = 0;
  Tensor begin_a, places_a, begin_b, places_b;

  sparse::Merged merge(bool common) const {
    return sparse::merge_rows(rows, begin_a.const_data_ptr<int64_t>(), places_a.const_data_ptr<int64_t>(),
                              begin_b.const_data_ptr<int64_t>(), places_b.const_data_ptr<int64_t>(), common);
  }
};

// Of tensors in coordinates, by a number for each place. Where both are in order a row for each thread, else one. Who
// marked them as coalesced may be wrong: rows do not overlap then, either.
Lists lists_of(std::pair<Tensor, Tensor> keys, bool in_order) {
  Lists lists{1, Tensor(), std::move(keys.first), Tensor(), std::move(keys.second)};
  const int64_t na = lists.places_a.numel(), nb = lists.places_b.numel();
  const int64_t* places = lists.places_a.const_data_ptr<int64_t>();
  if (in_order) lists.rows = std::clamp<int64_t>(na / 16384, 1, get_num_threads());
  std::vector<int64_t> begin_a, begin_b;
  for (int64_t row = 0; row < lists.rows; ++row) {
    const int64_t at = na / lists.rows * row;
    const int64_t* other = lists.places_b.const_data_ptr<int64_t>();
    begin_a.push_back(at);
    begin_b.push_back(row == 0 ? 0 : std::lower_bound(other + begin_b.back(), other + nb, places[at]) - other);
  }
  begin_a.push_back(na);
  begin_b.push_back(nb);
  lists.begin_a = sparse::long_tensor(begin_a), lists.begin_b = sparse::long_tensor(begin_b);
  return lists;
}

// Of compressed matrices without blocks that name no place twice; none of others.
std::optional<Lists> lists_of_lines(const char* op, const Tensor& a, const Tensor& b) {
  const SparseCsrTensorImpl &x = sparse::compressed_impl_of(op, a), &y = sparse::compressed_impl_of(op, b);
  if (x.batch_dim() != 0 || y.batch_dim() != 0 || x.block_dim() != 0) return std::nullopt;
  const sparse::Lines p = sparse::lines_of(a), q = sparse::lines_of(b);
  if (!sparse::go_up(p.count, p.pointers(0), p.places(0)) || !sparse::go_up(q.count, q.pointers(0), q.places(0))) {
    return std::nullopt;
  }
  return Lists{p.count, p.compressed, p.plain, q.compressed, q.plain};
}

// The numbers that `of_a` chooses of a's, else those that `of_b` chooses of b's.
Tensor chosen(const Tensor& a, const Tensor& b, const sparse::Merged& merged) {
  const int64_t n = merged.of_a.numel(), dims = a.dim() == 2 ? a.size(0) : 1, na = a.size(-1), nb = b.size(-1);
  Tensor result = empty_contiguous(a.dim() == 2 ? IntArrayRef({dims, n}) : IntArrayRef(n), ScalarType::Long);
  const int64_t *x = a.const_data_ptr<int64_t>(), *y = b.const_data_ptr<int64_t>();
  const int64_t *of_a = merged.of_a.const_data_ptr<int64_t>(), *of_b = merged.of_b.const_data_ptr<int64_t>();
  int64_t* out = result.mutable_data_ptr<int64_t>();
  for (int64_t d = 0; d < dims; ++d, x += na, y += nb, out += n) {
    at::parallel_for(0, n, internal::GRAIN_SIZE, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        // An address is chosen, not a way: which list it is cannot be foreseen.
        const int64_t* from = of_a[i] >= 0 ? x + of_a[i] : y + of_b[i];
        out[i] = *from;
      }
    });
  }
  return result;
}

// a + alpha * b, where there is no element of one it is 0. Numbers with a 0 before them, so that -1 names it.
template <class T>
Tensor sums(const Tensor& a, const Tensor& b, const sparse::Merged& merged, const Scalar& alpha) {
  using A = std::conditional_t<std::is_same_v<T, c10::Half> || std::is_same_v<T, c10::BFloat16>, float, T>;
  const int64_t n = merged.of_a.numel();
  const auto with_zero = [](const Tensor& values, A factor) {
    const Tensor from = dense(values);
    const T* x = static_cast<const T*>(from.const_data_ptr());
    std::vector<A> result(static_cast<size_t>(from.numel()) + 1);
    for (int64_t i = 0; i < from.numel(); ++i) result[i + 1] = static_cast<A>(x[i]) * factor;
    return result;
  };
  const std::vector<A> of_x = with_zero(a, A(1)), of_y = with_zero(b, alpha.to<A>());
  const int64_t *of_a = merged.of_a.const_data_ptr<int64_t>(), *of_b = merged.of_b.const_data_ptr<int64_t>();
  Tensor result = empty_contiguous({n}, a.scalar_type());
  T* out = static_cast<T*>(result.mutable_data_ptr());
  at::parallel_for(0, n, internal::GRAIN_SIZE, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = static_cast<T>(of_x[of_a[i] + 1] + of_y[of_b[i] + 1]);
  });
  return result;
}

std::vector<int64_t> as_vector(const Tensor& numbers) {
  const int64_t* from = numbers.const_data_ptr<int64_t>();
  return {from, from + numbers.numel()};
}

// The values a + alpha * b of dtype `dtype`.
Tensor merged_values(const Tensor& a, const Tensor& b, const sparse::Merged& merged, const Scalar& alpha,
                     ScalarType dtype) {
  const Tensor x = as_type(a, dtype), y = as_type(b, dtype);
  if (a.dim() == 1 && isFloatingType(dtype) && !alpha.isComplex() && !alpha.isBoolean()) {
    return cpu::visit_floating(dtype, "add", [&](auto tag) {
      return sums<typename decltype(tag)::type>(x, y, merged, alpha);
    });
  }
  return at::add(sparse::spread(x, as_vector(merged.of_a)), sparse::spread(y, as_vector(merged.of_b)), alpha);
}

// a + alpha * b of two lists of elements that lie densely: gone through in step, so that sums of coalesced ones are.
Tensor merged(const Tensor& a, const Tensor& b, const Scalar& alpha, ScalarType dtype) {
  const SparseTensorImpl &x = sparse::impl_of("add", a), &y = sparse::impl_of("add", b);
  const bool coalesced = x.coalesced() && y.coalesced();
  const sparse::Merged both = lists_of(sparse::common_keys(x.indices(), y.indices()), coalesced).merge(false);
  return sparse::make_sparse(a.sizes(), chosen(dense(x.indices()), dense(y.indices()), both),
                             merged_values(x.values(), y.values(), both, alpha, dtype), coalesced);
}

// A compressed tensor of the lines of a and b with these places and values.
Tensor with_lines(const char* op, const Tensor& a, const Tensor& b, const Tensor& pointers, const Tensor& places,
                  const Tensor& values) {
  const SparseCsrTensorImpl &x = sparse::compressed_impl_of(op, a), &y = sparse::compressed_impl_of(op, b);
  return sparse::with_index_type(sparse::make_compressed(a.layout(), a.sizes(), pointers, places, values),
                                 promoteTypes(x.plain().scalar_type(), y.plain().scalar_type()));
}

Tensor appended(const Tensor& a, const Tensor& b, const Scalar& alpha, ScalarType dtype) {
  const SparseTensorImpl &x = sparse::impl_of("add", a), &y = sparse::impl_of("add", b);
  const std::vector<Tensor> indices{x.indices(), y.indices()};
  const std::vector<Tensor> values{as_type(x.values(), dtype), at::mul(as_type(y.values(), dtype), alpha)};
  return sparse::make_sparse(a.sizes(), at::cat(indices, 1), at::cat(values, 0), false);
}

Tensor add_both_sparse(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  const ScalarType dtype = promoteTypes(a.scalar_type(), b.scalar_type());
  if (are_compressed("add", a, b)) {
    if (const std::optional<Lists> lists = a.is_cpu() ? lists_of_lines("add", a, b) : std::nullopt) {
      const sparse::Merged both = lists->merge(false);
      return with_lines("add", a, b, both.pointers, chosen(lists->places_a, lists->places_b, both),
                        merged_values(sparse::values_of(a), sparse::values_of(b), both, alpha, dtype));
    }
    return compressed_as("add", a, b, add_both_sparse(sparse::coordinates(a), sparse::coordinates(b), alpha));
  }
  TORCH_CHECK(a.sizes() == b.sizes(), "add: expected sizes of 'self' and 'other' to match, but ", a.sizes(),
              " != ", b.sizes());
  const SparseTensorImpl &x = sparse::impl_of("add", a), &y = sparse::impl_of("add", b);
  TORCH_CHECK(x.dense_dim() == y.dense_dim(),
              "add: expected 'self' and 'other' to have same number of sparse dimensions, but ", x.sparse_dim(),
              " != ", y.sparse_dim());
  const bool dense_values = a.is_cpu() && x.values().is_contiguous() && y.values().is_contiguous();
  return dense_values ? merged(a, b, alpha, dtype) : appended(a, b, alpha, dtype);
}

void check_same_size_as_dense(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(self.sizes() == other.sizes(), "add: expected 'self' and 'other' to have same size, but self has size ",
              self.sizes(), " while other has size ", other.sizes(),
              " (FYI: dense-sparse addition does not currently support broadcasting)");
}

// A sum of this dtype can be scaled by alpha.
void check_alpha(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  const ScalarType type = promoteTypes(self.scalar_type(), other.scalar_type());
  TORCH_CHECK(!alpha.isBoolean() || type == ScalarType::Bool, "Boolean alpha only supported for Boolean results.");
  TORCH_CHECK(!isIntegralType(type, true) || alpha.isIntegral(true),
              "For integral input tensors, argument alpha must not be a floating point number.");
  TORCH_CHECK(isComplexType(type) || !alpha.isComplex(),
              "For non-complex input tensors, argument alpha must not be a complex number.");
}

void check_not_bool(const Tensor& self, const Tensor& other) {
  const bool a = self.scalar_type() == ScalarType::Bool, b = other.scalar_type() == ScalarType::Bool;
  TORCH_CHECK_NOT_IMPLEMENTED(!a || !b,
                              "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                              "`logical_xor()` operator instead.");
  TORCH_CHECK_NOT_IMPLEMENTED(!a && !b,
                              "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
                              "to invert a mask, use the `~` or `logical_not()` operator instead.");
}

void check_cast(ScalarType from, ScalarType to) {
  TORCH_CHECK(canCast(from, to), "result type ", from, " can't be cast to the desired output type ", to);
}

}  // namespace

Tensor add_sparse(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  check_alpha(self, other, alpha);
  if (is_sparse(self) && is_sparse(other)) return add_both_sparse(self, other, alpha);
  if (sparse::is_compressed(self)) {
    check_same_size_as_dense(other, self);
    return at::add(at::mul(other, alpha), self);
  }
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
  check_alpha(self, other, alpha);
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
  return sparse::write_out("add", out, add_sparse(self, other, alpha));
}

Tensor sub_sparse(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  check_not_bool(self, other);
  return add_sparse(self, other, -alpha);
}
Tensor& sub_sparse_(Tensor& self, const Tensor& other, const Scalar& alpha) {
  check_not_bool(self, other);
  return add_sparse_(self, other, -alpha);
}
Tensor& sub_out_sparse(const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  check_not_bool(self, other);
  return add_out_sparse(self, other, -alpha, out);
}

// --- products ---
namespace {

// Products of the elements that stand at one place.
Tensor product_of(const Tensor& a, const Tensor& b, const sparse::Merged& common) {
  return at::mul(at::index_select(a, 0, common.of_a), at::index_select(b, 0, common.of_b));
}

// By a sparse tensor without dimensions: by the sum of its elements, which counts as a number for the dtype.
Tensor mul_by_number(const Tensor& self, const Tensor& number) {
  const Tensor values = sparse::values_of(sparse::coalesced(number));
  const Tensor factor = values.size(0) == 0 ? at::zeros({}, values.options()) : at::select(values, 0, 0);
  return sparse::with_values(self, at::mul(sparse::values_of(self), factor));
}

// The product at the places that both name. Of one that is not coalesced all elements stay, with products of 0 where
// the other has none; of two such the one with less elements.
Tensor mul_both_sparse(const Tensor& self, const Tensor& other) {
  if (are_compressed("mul", self, other)) {
    if (const std::optional<Lists> lists = self.is_cpu() ? lists_of_lines("mul", self, other) : std::nullopt) {
      const sparse::Merged both = lists->merge(true);
      return with_lines("mul", self, other, both.pointers, at::index_select(lists->places_a, 0, both.of_a),
                        product_of(sparse::values_of(self), sparse::values_of(other), both));
    }
    return compressed_as("mul", self, other, mul_both_sparse(sparse::coordinates(self), sparse::coordinates(other)));
  }
  if (other.dim() == 0) return mul_by_number(self, other);
  if (self.dim() == 0) return mul_by_number(other, self);
  const SparseTensorImpl &a = sparse::impl_of("mul", self), &b = sparse::impl_of("mul", other);
  TORCH_CHECK(self.dim() == other.dim() && a.sparse_dim() == b.sparse_dim() &&
                  sparse::sparse_sizes(self, a) == sparse::sparse_sizes(other, b),
              "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, number of sparse "
              "dimensions, and shape of sparse dimensions");
  const DimVector sizes = broadcast_shapes(self.sizes(), other.sizes());
  if (a.coalesced() && b.coalesced() && !self.is_cpu()) {
    const auto [of_a, of_b] = sparse::device::common(sparse::places_of(self), sparse::places_of(other));
    return sparse::make_sparse(
        sizes, at::index_select(a.indices(), 1, of_a),
        at::mul(at::index_select(a.values(), 0, of_a), at::index_select(b.values(), 0, of_b)), true);
  }
  if (a.coalesced() && b.coalesced()) {
    const sparse::Merged both = lists_of({sparse::places_of(self), sparse::places_of(other)}, true).merge(true);
    return sparse::make_sparse(sizes, at::index_select(a.indices(), 1, both.of_a),
                               product_of(a.values(), b.values(), both), true);
  }
  const bool keeps_other = !b.coalesced() && (a.coalesced() || a.nnz() >= b.nnz());
  const Tensor &kept = keeps_other ? other : self, once = sparse::coalesced(keeps_other ? self : other);
  const SparseTensorImpl& x = sparse::impl_of("mul", kept);
  return sparse::make_sparse(sizes, x.indices(), at::mul(x.values(), sparse::values_at(once, sparse::places_of(kept))),
                             false);
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
  if (!is_sparse(self)) {
    TORCH_CHECK(!sparse::is_compressed(other), "mul_: expected a dense or COO 'other' beside a dense 'self', but got ",
                other.layout());
    const bool same = self.sizes() == other.sizes();
    const Tensor product = mul_by_dense(same ? other : at::_sparse_broadcast_to(other, self.sizes()), self);
    check_cast(product.scalar_type(), self.scalar_type());
    return at::copy_(self, at::to_dense(product));
  }
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
