// Powers, exponentials and chains of matrices, products of vectors, systems of tensors.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "aten/core/view.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/linalg/kernels.h"
#include "aten/ops/linalg/matrices.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/matmul/chain.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {

using namespace linalg;

Tensor linalg_matrix_power(const Tensor& self, int64_t n) {
  check_square(self, "linalg.matrix_power");
  if (n == 0) {
    Tensor power = at::clone(self);
    at::zero_(power);
    Tensor diagonal = at::diagonal(power, 0, -2, -1);
    at::fill_(diagonal, Scalar(1));
    return power;
  }
  Tensor square = n < 0 ? at::linalg_inv(self) : self;
  // As an unsigned number the least integer has an absolute value, too.
  uint64_t left = n < 0 ? uint64_t{0} - static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
  if (left == 1) return n < 0 ? square : at::clone(square);
  Tensor power;
  while (true) {
    if (left & 1) power = power.defined() ? at::matmul(power, square) : square;
    left >>= 1;
    if (left == 0) return power;
    square = at::matmul(square, square);
  }
}

namespace {

// The polynomial sum of x^k / k! for k <= degree, which is one less than a multiple of four: four powers, then Horner's
// rule.
Tensor exponential_series(const Tensor& x, int64_t degree) {
  const Tensor square = at::matmul(x, x), cube = at::matmul(square, x), fourth = at::matmul(square, square);
  const Tensor unit = at::eye(x.size(-1), x.size(-1), x.options());
  std::vector<double> c(static_cast<size_t>(degree) + 1, 1);
  for (size_t k = 1; k < c.size(); ++k) c[k] = c[k - 1] / static_cast<double>(k);
  Tensor sum;
  for (size_t k = c.size(); k > 0;) {
    k -= 4;
    const Tensor low = at::add(at::mul(unit, Scalar(c[k])), at::mul(x, Scalar(c[k + 1])));
    const Tensor part = at::add(low, at::add(at::mul(square, Scalar(c[k + 2])), at::mul(cube, Scalar(c[k + 3]))));
    sum = sum.defined() ? at::add(part, at::matmul(fourth, sum)) : part;
  }
  return sum;
}

}  // namespace

TensorSpec linalg_matrix_exp_meta(const Tensor& self) {
  check_square(self, "linalg.matrix_exp");
  check_floating(self, "linalg.matrix_exp");
  return rows(DimVector(self.sizes().begin(), self.sizes().end()), self.scalar_type(), self);
}

// Matrices are halved until the series converges, and their exponentials squared as often. Those that need equally many
// halvings are taken together. Every squaring may double the rounding errors: of two ways of the same cost, a longer series and
// more halvings, the series is the better one.
void linalg_matrix_exp_kernel(const Tensor& self, Tensor& out) {
  if (self.numel() == 0) return;
  const int64_t n = self.size(-1);
  const ScalarType type = self.scalar_type(), real = toRealValueType(type);
  // Of a small matrix it is calls that cost, not the arithmetic: it is computed in double.
  const bool fine = real == kDouble || n <= 32;
  const ScalarType computed_real = fine ? kDouble : kFloat;
  const ScalarType computed = isComplexType(type) ? toComplexType(computed_real) : computed_real;
  const Tensor x = at::reshape(at::to(self, computed), {-1, n, n});
  const Tensor sizes = at::amax(at::sum(at::abs(x), IntArrayRef{-2}), IntArrayRef{-1});
  const Tensor norms = at::to(sizes, TensorOptions().dtype(kDouble).device(kCPU));
  // What the series of degree 19 leaves out is below the rounding: 1 / 20! in double, 3^20 / 20! in float.
  const double reach = fine ? 1 : 3;
  std::map<int64_t, std::vector<int64_t>> groups;
  bool beyond_one = false;
  for (int64_t i = 0; i < x.size(0); ++i) {
    const double norm = static_cast<const double*>(norms.const_data_ptr())[i];
    beyond_one |= !(norm <= 1);
    groups[std::isfinite(norm) && norm > reach ? static_cast<int64_t>(std::ceil(std::log2(norm / reach))) : 0].push_back(i);
  }
  const int64_t degree = fine || beyond_one ? 19 : 11;
  Tensor result = groups.size() == 1 ? Tensor() : at::empty(x.sizes(), x.options());
  for (const auto& [halvings, members] : groups) {
    const Tensor places = at::empty({static_cast<int64_t>(members.size())}, TensorOptions().dtype(kLong).device(kCPU));
    std::copy(members.begin(), members.end(), static_cast<int64_t*>(places.mutable_data_ptr()));
    const Tensor index = at::to(places, TensorOptions().device(x.device()));
    const Tensor some = groups.size() == 1 ? x : at::index_select(x, 0, index);
    Tensor power = exponential_series(at::mul(some, Scalar(std::ldexp(1.0, static_cast<int>(-halvings)))), degree);
    for (int64_t i = 0; i < halvings; ++i) power = at::matmul(power, power);
    if (result.defined()) {
      at::index_copy_(result, 0, index, power);
    } else {
      result = power;
    }
  }
  at::copy_(out, at::reshape(result, self.sizes()));
}

Tensor linalg_multi_dot(TensorList tensors) {
  const size_t n = tensors.size();
  TORCH_CHECK(n >= 2, "multi_dot(): expected at least 2 tensors but got ", n);
  const auto check_end = [](const Tensor& t, const char* which) {
    TORCH_CHECK(t.dim() == 1 || t.dim() == 2, "multi_dot(): the ", which, " tensor must be 1D or 2D but got ", t.dim(),
                "D");
  };
  check_end(tensors[0], "first");
  check_end(tensors[n - 1], "last");
  std::vector<Tensor> matrices(tensors.begin(), tensors.end());
  for (size_t i = 0; i < n; ++i) {
    const Tensor& t = tensors[i];
    TORCH_CHECK(i == 0 || i + 1 == n || t.dim() == 2, "multi_dot(): tensor ", i, " must be 2D but got ", t.dim(), "D");
    TORCH_CHECK(t.device() == tensors[0].device(),
                "multi_dot(): all tensors must be on the same device but tensor 0 is on ", tensors[0].device(),
                " and tensor ", i, " on ", t.device());
    TORCH_CHECK(t.scalar_type() == tensors[0].scalar_type(),
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is ", tensors[0].dtype(),
                " and tensor ", i, " ", t.dtype());
  }
  if (tensors[0].dim() == 1) matrices[0] = at::unsqueeze(tensors[0], 0);
  if (tensors[n - 1].dim() == 1) matrices[n - 1] = at::unsqueeze(tensors[n - 1], -1);
  for (size_t i = 0; i + 1 < n; ++i) {
    TORCH_CHECK(matrices[i].size(-1) == matrices[i + 1].size(0), "multi_dot(): tensors ", i, " and ", i + 1,
                " with shapes ", tensors[i].sizes(), " and ", tensors[i + 1].sizes(), " cannot be multiplied");
  }
  Tensor product = multiply_chain(matrices);
  if (tensors[0].dim() == 1) product = at::squeeze(product, 0);
  return tensors[n - 1].dim() == 1 ? at::squeeze(product, -1) : product;
}

Tensor linalg_cross(const Tensor& self, const Tensor& other, int64_t dim) {
  TORCH_CHECK(self.dim() == other.dim(), "linalg.cross: inputs must have the same number of dimensions.");
  const int64_t d = maybe_wrap_dim(dim, self.dim(), false);
  TORCH_CHECK(self.size(d) == 3 && other.size(d) == 3, "linalg.cross: inputs dimension ", dim,
              " must have length 3. Got ", self.size(d), " and ", other.size(d));
  return at::cross(self, other, d);
}

Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  check_floating(x, "linalg.vecdot");
  check_same("linalg.vecdot", x, "x", y, "y");
  if (x.dim() == 1 && y.dim() == 1) return at::vdot(x, y);
  return at::sum(at::mul(at::conj(x), y), IntArrayRef{dim});
}

Tensor linalg_vander(const Tensor& x, std::optional<int64_t> N) {
  const ScalarType type = x.scalar_type(), real = toRealValueType(type);
  TORCH_CHECK_NOT_IMPLEMENTED(real == kFloat || real == kDouble || isIntegralType(type, false),
                              "linalg.vander supports floating point, complex, and integer tensors, but got ", type);
  const Tensor column = x.dim() == 0 ? at::unsqueeze(x, -1) : x;
  const int64_t n = N.value_or(column.size(-1));
  TORCH_CHECK(n > 1, "N must be greater than 1.");
  const Tensor wide = at::unsqueeze(column, -1);
  const Tensor powers = at::cumprod(at::expand(wide, with(batch_of(wide.sizes(), 1), {n - 1})), -1);
  const Tensor ones = at::ones(with(batch_of(wide.sizes(), 1), {1}), powers.options());
  return at::cat({ones, powers}, -1);
}

Tensor linalg_diagonal(const Tensor& A, int64_t offset, int64_t dim1, int64_t dim2) {
  return at::diagonal(A, offset, dim1, dim2);
}

Tensor linalg_tensorinv(const Tensor& self, int64_t ind) {
  TORCH_CHECK(ind > 0, "Expected a strictly positive integer for 'ind', but got ", ind);
  const IntArrayRef sizes = self.sizes();
  const int64_t split = std::min(ind, self.dim());
  const IntArrayRef first = sizes.slice(0, static_cast<size_t>(split)), last = sizes.slice(static_cast<size_t>(split));
  const int64_t m = product(first), n = product(last);
  TORCH_CHECK(m == n,
              "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got ", n,
              " != ", m);
  DimVector turned(last.begin(), last.end());
  turned.insert(turned.end(), first.begin(), first.end());
  const auto [inverse, info] = at::linalg_inv_ex(at::reshape(self, {m, n}), false);
  check_info(info, "inv", Failure::kInverse);
  return at::reshape(inverse, turned);
}

Tensor linalg_tensorsolve(const Tensor& self, const Tensor& other, OptionalIntArrayRef dims) {
  Tensor moved = self;
  if (dims.has_value()) {
    std::vector<int64_t> ends(dims->size());
    const auto count = static_cast<int64_t>(dims->size());
    for (int64_t i = 0; i < count; ++i) ends[static_cast<size_t>(i)] = i - count;
    moved = at::movedim(self, *dims, ends);
  }
  const auto split = static_cast<size_t>(std::min(other.dim(), moved.dim()));
  const DimVector sizes(moved.sizes().begin(), moved.sizes().end());
  const DimVector unknowns(sizes.begin() + static_cast<std::ptrdiff_t>(split), sizes.end());
  const int64_t m = product(IntArrayRef(sizes).slice(0, split)), n = product(unknowns);
  TORCH_CHECK(m == n,
              "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
              "prod(self.shape[:other.ndim]), but got ",
              n, " != ", m);
  return at::reshape(at::linalg_solve(at::reshape(moved, {m, n}), at::reshape(other, {-1})), unknowns);
}

}  // namespace at::native
