#pragma once
// The layouts that normalisation by channel walks: contiguous channels ([N, C, *] as it is) or contiguous positions
// (channels last, and [N, C]).

#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/norm/channels.h"

namespace at::native {

inline constexpr int64_t kGrain = 16384;  // elements worth a thread

inline ScalarType statistics_dtype(ScalarType type) { return isReducedFloatingType(type) ? ScalarType::Float : type; }

// Whether the channels are the innermost dimension of dense memory.
inline bool channels_innermost(const Tensor& t) {
  int64_t expected = t.size(1);
  if (t.stride(1) != 1 && t.size(1) != 1) return false;
  for (int64_t d = t.dim() - 1; d >= 0; --d) {
    if (d == 1) continue;
    if (t.size(d) != 1 && t.stride(d) != expected) return false;
    expected *= t.size(d);
  }
  return true;
}

// A tensor of `like`'s sizes and dtype in the layout that is walked.
inline Tensor walked(const Tensor& like, ScalarType dtype, bool innermost) {
  if (!innermost) return empty_contiguous(like.sizes(), dtype, like.device());
  DimVector strides(static_cast<size_t>(like.dim()), 1);
  int64_t next = like.size(1);
  for (int64_t d = like.dim() - 1; d >= 0; --d) {
    if (d == 1) continue;
    strides[static_cast<size_t>(d)] = next;
    next *= like.size(d);
  }
  return empty_with_strides(like.sizes(), strides, dtype, like.device());
}
inline bool is_walked(const Tensor& t, bool innermost) {
  return innermost ? channels_innermost(t) && is_aligned(t) : is_dense(t);
}
// `t` itself where it has that layout, else a copy.
inline Tensor as_walked(const Tensor& t, ScalarType dtype, bool innermost) {
  if (t.scalar_type() == dtype && is_walked(t, innermost)) return t;
  Tensor copy = walked(t, dtype, innermost);
  return at::copy_(copy, t);
}

inline std::vector<double> numbers_of(const Tensor& t) {
  const Tensor wide = dense(t, ScalarType::Double);
  const double* data = static_cast<const double*>(wide.const_data_ptr());
  return std::vector<double>(data, data + wide.numel());
}
inline std::vector<double> numbers_or(const std::optional<Tensor>& t, int64_t channels, double otherwise) {
  return given(t) ? numbers_of(*t) : std::vector<double>(static_cast<size_t>(channels), otherwise);
}

}  // namespace at::native
