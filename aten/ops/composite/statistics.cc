// quantile, cov, corrcoef: differentiable through what they call.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/composite/kernels.h"
#include "aten/ops/composite/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/shared/arguments.h"
#include "aten/ops/shared/value_checks.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

// values [rows, quantiles] of the rows of self with the reduced dimension last, in the result's shape; `one`: without a
// dimension of quantiles.
Tensor shaped(Tensor values, const Tensor& self, bool one, std::optional<int64_t> dim, bool keepdim) {
  const int64_t rank = self.dim(), d = dim.has_value() ? maybe_wrap_dim(*dim, rank) : 0, quantiles = values.size(1);
  // The quantiles first, then the dimensions that are left, of which the reduced one has changed places with the last.
  values = at::transpose(values, 0, 1);
  if (dim.has_value() && rank > 0) {
    DimVector sizes(self.sizes().begin(), self.sizes().end());
    std::swap(sizes[static_cast<size_t>(d)], sizes[static_cast<size_t>(rank - 1)]);
    sizes.back() = 1;
    sizes.insert(sizes.begin(), quantiles);
    values = at::transpose(at::reshape(values, sizes), d + 1, rank);
    if (!keepdim) values = at::squeeze(values, d + 1);
  } else {
    DimVector sizes(keepdim ? static_cast<size_t>(rank) + 1 : 1, 1);
    sizes[0] = quantiles;
    values = at::reshape(values, sizes);
  }
  return one ? at::squeeze(values, 0) : values;
}

void check_input(const Tensor& self) {
  TORCH_CHECK(self.numel() > 0, "quantile() input tensor must be non-empty");
  TORCH_CHECK(self.scalar_type() == kFloat || self.scalar_type() == kDouble,
              "quantile() input tensor must be either float or double dtype");
}
void check_interpolation(std::string_view interpolation) {
  TORCH_CHECK(interpolation == "linear" || interpolation == "midpoint" || interpolation == "lower" ||
                  interpolation == "higher" || interpolation == "nearest",
              "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got ",
              interpolation);
}

// [rows, elements]: the reduced dimension last.
Tensor rows_of(const Tensor& self, std::optional<int64_t> dim) {
  const int64_t rank = self.dim(), d = dim.has_value() ? maybe_wrap_dim(*dim, rank) : 0;
  if (!dim.has_value() || rank == 0) return at::reshape(self, {1, self.numel()});
  return at::reshape(at::transpose(self, d, rank - 1), {-1, self.size(d)});
}

// The quantiles q of self along dim: elements between which a rank falls are joined as `interpolation` says.
Tensor quantiles(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                 std::string_view interpolation, bool ignore_nan) {
  check_input(self);
  TORCH_CHECK(q.dim() <= 1, "quantile() q must be a scalar or 1D tensor");
  TORCH_CHECK(self.scalar_type() == q.scalar_type(), "quantile() q tensor must be same dtype as the input tensor");
  TORCH_CHECK(self.device() == q.device(), "quantile() q tensor must be on the same device as the input tensor");
  check_interpolation(interpolation);
  if (q.is_cpu()) {
    TORCH_CHECK(holds(at::logical_and(at::ge(q, Scalar(0)), at::le(q, Scalar(1)))),
                "quantile() q values must be in the range [0, 1]");
  }
  const Tensor x = std::get<0>(at::sort(rows_of(self, dim), 1));
  const int64_t last = x.size(1) - 1;
  const Tensor row = at::reshape(q, {1, q.numel()});
  // NaN are sorted last. Ranks [rows, quantiles] within the numbers, or that of the NaN where there is one.
  Tensor ranks;
  if (ignore_nan) {
    const Tensor numbers = at::to(at::sum(at::logical_not(at::isnan(x)), IntArrayRef{1}, true), x.scalar_type());
    ranks = at::mul(row, at::clamp_min(at::sub(numbers, Scalar(1)), Scalar(0)));
  } else {
    const Tensor has_nan = at::isnan(at::narrow(x, 1, last, 1));
    ranks = at::masked_fill(at::mul(at::expand(row, {x.size(0), q.numel()}), Scalar(last)), has_nan, Scalar(last));
  }
  if (interpolation == "lower") ranks = at::floor(ranks);
  if (interpolation == "higher") ranks = at::ceil(ranks);
  if (interpolation == "nearest") ranks = at::round(ranks);
  const Tensor below = at::to(ranks, kLong);
  Tensor values = at::gather(x, 1, below);
  const bool linear = interpolation == "linear";
  if (linear || interpolation == "midpoint") {
    const Tensor above = at::gather(x, 1, at::to(at::ceil(ranks), kLong));
    values = linear ? at::lerp(values, above, at::sub(ranks, at::to(below, ranks.scalar_type())))
                    : at::lerp(values, above, Scalar(0.5));
  }
  return shaped(values, self, q.dim() == 0, dim, keepdim);
}

// One quantile needs the one or two elements between which its rank falls, in no order of the others.
Tensor one_quantile(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                    std::string_view interpolation, bool ignore_nan) {
  TORCH_CHECK(q >= 0 && q <= 1, "quantile() q must be in the range [0, 1] but got ", q);
  if (ignore_nan || !self.is_cpu()) {
    return quantiles(self, at::scalar_tensor(Scalar(q), self.options()), dim, keepdim, interpolation, ignore_nan);
  }
  check_input(self);
  check_interpolation(interpolation);
  const Tensor x = rows_of(self, dim);
  const auto last = static_cast<double>(x.size(1) - 1);
  // Rounded as the dtype's product is.
  double rank =
      x.scalar_type() == kFloat ? static_cast<double>(static_cast<float>(q) * static_cast<float>(last)) : q * last;
  rank = std::min(rank, last);
  if (interpolation == "lower") rank = std::floor(rank);
  if (interpolation == "higher") rank = std::ceil(rank);
  if (interpolation == "nearest") rank = std::nearbyint(rank);
  const double low = std::floor(rank), high = std::ceil(rank);
  const auto element = [&](double place) {
    return std::get<0>(at::kthvalue(x, static_cast<int64_t>(place) + 1, 1, true));
  };
  Tensor values = element(low);
  if (high > low) {
    values = at::lerp(values, element(high), Scalar(interpolation == "midpoint" ? 0.5 : rank - low));
  }
  // NaN, where there is one, is every quantile, and the greatest element.
  const Tensor has_nan = at::isnan(at::amax(at::detach(x), IntArrayRef{1}, true));
  values = at::masked_fill(values, has_nan, Scalar(std::numeric_limits<double>::quiet_NaN()));
  return shaped(values, self, true, dim, keepdim);
}

}  // namespace

Tensor quantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                std::string_view interpolation) {
  return quantiles(self, q, dim, keepdim, interpolation, false);
}
Tensor quantile_scalar(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                       std::string_view interpolation) {
  return one_quantile(self, q, dim, keepdim, interpolation, false);
}
Tensor nanquantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                   std::string_view interpolation) {
  return quantiles(self, q, dim, keepdim, interpolation, true);
}
Tensor nanquantile_scalar(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                          std::string_view interpolation) {
  return one_quantile(self, q, dim, keepdim, interpolation, true);
}

namespace {

// a b^T, some rows of the result at a time. Not a matrix product, so that programs that only add numbers link no such library.
Tensor products_of_rows(const Tensor& a, const Tensor& b) {
  const int64_t rows = a.size(0), work = a.numel() > 0 ? a.numel() : 1;
  const int64_t step = (int64_t{1} << 22) / work > 1 ? (int64_t{1} << 22) / work : 1;
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < rows; i += step) {
    const Tensor some = at::narrow(a, 0, i, rows - i < step ? rows - i : step);
    parts.push_back(at::sum(at::mul(at::unsqueeze(some, 1), at::unsqueeze(b, 0)), IntArrayRef{2}));
  }
  return parts.empty() ? at::zeros({rows, rows}, a.options()) : at::cat(parts, 0);
}

}  // namespace

// Rows are variables, columns observations.
Tensor cov(const Tensor& self, int64_t correction, const std::optional<Tensor>& fweights,
           const std::optional<Tensor>& aweights) {
  TORCH_CHECK(self.dim() <= 2, "cov(): expected input to have two or fewer dimensions but got an input with ",
              self.dim(), " dimensions");
  TORCH_CHECK(self.scalar_type() != kBool, "cov(): bool dtype is not supported for input");
  const Tensor in = self.dim() < 2 ? at::reshape(self, {1, self.numel()}) : self;
  const int64_t observations = in.size(1);
  const auto check = [&](const char* name, const Tensor& w, bool right_dtype, const char* kind) {
    TORCH_CHECK(w.dim() <= 1, "cov(): expected ", name, " to have one or fewer dimensions but got ", name, " with ",
                w.dim(), " dimensions");
    TORCH_CHECK(right_dtype, "cov(): expected ", name, " to have ", kind, " dtype but got ", name, " with ",
                w.scalar_type(), " dtype");
    TORCH_CHECK(w.numel() == observations, "cov(): expected ", name,
                " to have the same numel as there are observations in the input but got ", w.numel(),
                " != ", observations);
    TORCH_CHECK(observations == 0 || holds(at::ge(w, Scalar(0))), "cov(): ", name, " cannot be negative");
  };
  Tensor w;
  if (given(fweights)) {
    check("fweights", *fweights, isIntegralType(fweights->scalar_type(), false), "integral");
    w = *fweights;
  }
  if (given(aweights)) {
    check("aweights", *aweights, isFloatingType(aweights->scalar_type()), "floating point");
    w = w.defined() ? at::mul(w, *aweights) : *aweights;
  }
  const Tensor total = w.defined()
                           ? at::sum(w)
                           : at::scalar_tensor(Scalar(observations), TensorOptions().dtype(kLong).device(in.device()));
  TORCH_CHECK(!w.defined() || holds(at::ne(total, Scalar(0))), "cov(): weights sum to zero, can't be normalized");
  const Tensor mean = at::div(at::sum(w.defined() ? at::mul(in, w) : in, IntArrayRef{1}), total);
  Tensor freedom = given(aweights) && correction != 0
                       ? at::sub(total, at::div(at::mul(at::sum(at::mul(w, *aweights)), Scalar(correction)), total))
                       : at::sub(total, Scalar(correction));
  if (!freedom.is_meta() && !freedom.key_set().has(DispatchKey::FuncTorchBatched) &&
      at::item(at::le(freedom, Scalar(0))).toBool()) {
    TORCH_WARN("cov(): degrees of freedom is <= 0");
    freedom = at::zeros_like(freedom);
  }
  const Tensor centered = at::sub(in, at::unsqueeze(mean, 1));
  const Tensor weighted = w.defined() ? at::mul(centered, w) : centered;
  return at::squeeze(at::div(products_of_rows(centered, at::conj(weighted)), freedom));
}

Tensor corrcoef(const Tensor& self) {
  TORCH_CHECK(self.dim() <= 2, "corrcoef(): expected input to have two or fewer dimensions but got an input with ",
              self.dim(), " dimensions");
  const Tensor c = at::cov(self);
  if (c.dim() == 0) return at::div(c, c);  // 1 or NaN
  const Tensor variances = at::diagonal(c);
  const Tensor deviations = at::sqrt(c.is_complex() ? at::real(variances) : variances);
  const Tensor scaled = at::div(at::div(c, at::unsqueeze(deviations, 1)), at::unsqueeze(deviations, 0));
  if (!c.is_complex()) return at::clamp(scaled, Scalar(-1), Scalar(1));
  return at::complex(at::clamp(at::real(scaled), Scalar(-1), Scalar(1)),
                     at::clamp(at::imag(scaled), Scalar(-1), Scalar(1)));
}

}  // namespace at::native
