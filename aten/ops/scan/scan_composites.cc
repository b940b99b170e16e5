// diff, the trapezoid rules.
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/scan/kernels.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {

// The n-th differences along dim; prepend and append are joined on before.
Tensor diff(
    const Tensor& self, int64_t n, int64_t dim, const std::optional<Tensor>& prepend, const std::optional<Tensor>& append) {
  TORCH_CHECK(self.dim() >= 1, "diff expects input to be at least one-dimensional");
  TORCH_CHECK(n >= 0, "order must be non-negative but got ", n);
  dim = maybe_wrap_dim(dim, self.dim());
  if (n == 0) return at::clone(self);  // what would be joined on plays no part
  std::vector<Tensor> parts;
  const auto add = [&](const char* name, const std::optional<Tensor>& t) {
    if (!t || !t->defined()) return;
    TORCH_CHECK(
        t->dim() == self.dim(), "diff expects prepend or append to be the same dimension as input; got ", t->dim(), " for ", name);
    parts.push_back(*t);
  };
  add("prepend", prepend);
  parts.push_back(self);
  add("append", append);
  Tensor x = parts.size() == 1 ? self : at::cat(parts, dim);
  if (n > x.size(dim)) n = x.size(dim);
  if (x.numel() == 0) return at::narrow(x, dim, 0, x.size(dim) - n);  // however long it says it is
  for (int64_t i = 0; i < n; ++i) {
    const int64_t size = x.size(dim);
    if (size == 0) break;
    const Tensor later = at::narrow(x, dim, 1, size - 1), earlier = at::narrow(x, dim, 0, size - 1);
    x = x.scalar_type() == ScalarType::Bool ? at::logical_xor(later, earlier) : at::sub(later, earlier);
  }
  return x;
}

namespace {

Tensor neighbours(const Tensor& y, int64_t dim) {
  const int64_t n = y.size(dim);
  return at::add(at::narrow(y, dim, 1, n - 1), at::narrow(y, dim, 0, n - 1));
}

// Spacings of sample points x of y along dim: x is one row, or broadcasts with y.
Tensor spacings(const Tensor& y, const Tensor& x, int64_t dim) {
  if (x.dim() != 1) {
    Tensor points = x;
    while (points.dim() < y.dim()) points = at::unsqueeze(points, 0);
    return at::sub(at::slice(points, dim, 1), at::slice(points, dim, 0, -1));
  }
  TORCH_CHECK(
      y.size(dim) == x.size(0), "trapezoid: There must be one `x` value for each sample point, got ", x.size(0), " for ", y.size(dim));
  std::vector<int64_t> shape(static_cast<size_t>(y.dim()), 1);
  shape[static_cast<size_t>(dim)] = x.size(0) - 1;
  return at::reshape(at::diff(x), shape);
}

Tensor zero_area(const Tensor& y, int64_t dim) { return at::mul(at::sum(y, IntArrayRef(dim)), Scalar(0)); }

}  // namespace

Tensor trapezoid_x(const Tensor& y, const Tensor& x, int64_t dim) {
  dim = maybe_wrap_dim(dim, y.dim());
  if (y.size(dim) == 0) return zero_area(y, dim);
  TORCH_CHECK(y.scalar_type() != ScalarType::Bool && x.scalar_type() != ScalarType::Bool, "trapezoid: received a bool input");
  return at::div(at::sum(at::mul(spacings(y, x, dim), neighbours(y, dim)), IntArrayRef(dim)), Scalar(2.0));
}
Tensor trapezoid_dx(const Tensor& y, const Scalar& dx, int64_t dim) {
  dim = maybe_wrap_dim(dim, y.dim());
  if (y.size(dim) == 0) return zero_area(y, dim);
  TORCH_CHECK(y.scalar_type() != ScalarType::Bool, "trapezoid: received a bool input for `y`");
  // All values count whole but the first and the last.
  const Tensor ends = at::add(at::select(y, dim, 0), at::select(y, dim, -1));
  return at::mul(at::sub(at::sum(y, IntArrayRef(dim)), at::mul(ends, Scalar(0.5))), dx);
}
Tensor trapz_dx(const Tensor& y, double dx, int64_t dim) { return at::trapezoid(y, Scalar(dx), dim); }

Tensor cumulative_trapezoid_x(const Tensor& y, const Tensor& x, int64_t dim) {
  dim = maybe_wrap_dim(dim, y.dim());
  TORCH_CHECK(y.scalar_type() != ScalarType::Bool && x.scalar_type() != ScalarType::Bool, "cumulative_trapezoid: received a bool input");
  if (y.size(dim) == 0) return at::div(y, Scalar(2.0));
  return at::div(at::cumsum(at::mul(spacings(y, x, dim), neighbours(y, dim)), dim), Scalar(2.0));
}
Tensor cumulative_trapezoid_dx(const Tensor& y, const Scalar& dx, int64_t dim) {
  dim = maybe_wrap_dim(dim, y.dim());
  TORCH_CHECK(y.scalar_type() != ScalarType::Bool, "cumulative_trapezoid: received a bool input for `y`");
  if (y.size(dim) == 0) return at::mul(y, Scalar(dx.toDouble() / 2));
  return at::mul(at::cumsum(neighbours(y, dim), dim), Scalar(dx.toDouble() / 2));
}

}  // namespace at::native
