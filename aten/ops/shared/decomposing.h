#pragma once

#include <optional>
#include <vector>

#include "aten/core/reduction.h"
#include "aten/core/result_spec.h"
#include "aten/core/tensor.h"
#include "aten/extension/accumulate_type.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

// What the decompositions of several families are made of. They compute in the types that kernels compute in.
namespace at::decompositions {

using pointwise::promoted_type;
using pointwise::to_floating;

inline Tensor cast(const Tensor& t, ScalarType type) {
  return t.scalar_type() == type ? t : at::_to_copy(t, TensorOptions().dtype(type));
}
inline Tensor widened(const Tensor& t) {
  return cast(t, toOpMathType(t.scalar_type()));
}

/// f of the tensors, computed in toOpMathType(type), as `type`.
template <class F, class... T>
Tensor in_wide(ScalarType type, const F& f, const T&... tensors) {
  return cast(f(cast(tensors, toOpMathType(type))...), type);
}

/// `t` where the mask is true, elsewhere a number; in the dtype of `t`.
inline Tensor kept_where(const Tensor& mask, const Tensor& t, const Scalar& otherwise) {
  return at::where(mask, t, at::scalar_tensor(otherwise, t.options()));
}

/// factor * log(other) for a logarithm `log`, but 0 where the factor is, and NaN where `other` is.
template <class F>
Tensor times_logarithm(const F& log, ScalarType type, const Tensor& factor, const Tensor& other) {
  return in_wide(
      to_floating(type),
      [&](const Tensor& x, const Tensor& y) {
        const Tensor product = at::where(at::eq(x, 0), at::scalar_tensor(0, x.options()), at::mul(x, log(y)));
        return at::where(at::isnan(y), y, product);
      },
      factor, other);
}

/// 0, ..., n - 1.
inline Tensor places(int64_t n, const Tensor& like, ScalarType type = ScalarType::Long) {
  return at::arange(0, n, 1, TensorOptions().dtype(type).device(like.device()));
}

/// A tensor of that value like `t`, but for its sizes.
inline Tensor filled(IntArrayRef sizes, const Scalar& value, const Tensor& like) {
  return at::full(sizes, value, like.options());
}

/// All, their average or their sum.
inline Tensor reduced(const Tensor& loss, int64_t reduction) {
  TORCH_CHECK(reduction >= Reduction::None && reduction <= Reduction::Sum, reduction,
              " is not a valid value for reduction");
  if (reduction == Reduction::None) return loss;
  return reduction == Reduction::Mean ? at::mean(loss) : at::sum(loss, IntArrayRef());
}

/// A line of numbers as a tensor of `dims` dimensions, that lies along `dim`.
inline Tensor along(const Tensor& line, int64_t dim, int64_t dims) {
  std::vector<int64_t> sizes(static_cast<size_t>(dims), 1);
  sizes[static_cast<size_t>(dim)] = line.numel();
  return at::reshape(line, sizes);
}

}  // namespace at::decompositions
