#include "aten/cuda/sort/histogram.h"

#include "aten/core/empty.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::cuda {

Tensor column_extremes(const Tensor& points) {
  Tensor extremes = empty_contiguous({2, points.size(1)}, ScalarType::Double, points.device());
  Tensor least = at::select(extremes, 0, 0), greatest = at::select(extremes, 0, 1);
  at::copy_(least, at::amin(points, {0}));
  at::copy_(greatest, at::amax(points, {0}));
  return at::to(extremes, Device(DeviceType::CPU));
}

Tensor histogram(const Tensor& points, TensorList edges, IntArrayRef sizes, const Tensor& weights, bool density) {
  const int64_t n = points.size(0), dims = points.size(1);
  const auto counts = TensorOptions().dtype(ScalarType::Double).device(points.device());
  // What lies in no bin goes behind the last one.
  Tensor places = at::zeros({n}, counts.dtype(ScalarType::Long)), outside = at::zeros({n}, counts.dtype(ScalarType::Bool));
  int64_t total = 1;
  for (int64_t d = 0; d < dims; ++d) {
    const Tensor& edge = edges[static_cast<size_t>(d)];
    const int64_t bins = sizes[static_cast<size_t>(d)];
    const Tensor x = at::contiguous(at::select(points, 1, d));
    const Tensor place = at::sub(at::searchsorted(edge, x, false, true), 1);
    // NaN is in no bin; the last edge is in the last one.
    const Tensor inside = at::logical_and(at::ge(x, at::select(edge, 0, 0)), at::le(x, at::select(edge, 0, bins)));
    outside = at::logical_or(outside, at::logical_not(inside));
    places = at::add(at::mul(places, bins), at::clamp_max(place, bins - 1));
    total *= bins;
  }
  places = at::masked_fill(places, outside, total);
  Tensor sums = at::zeros({total + 1}, counts);
  const Tensor each = weights.defined() ? at::to(weights, ScalarType::Double) : at::ones({n}, counts);
  at::index_add_(sums, 0, places, each);
  Tensor hist = at::view(at::slice(sums, 0, 0, total), sizes);
  if (density) {
    Tensor volume = at::sum(hist);
    for (int64_t d = 0; d < dims; ++d) {
      DimVector along(static_cast<size_t>(dims), 1);
      along[static_cast<size_t>(d)] = sizes[static_cast<size_t>(d)];
      const Tensor edge = at::to(edges[static_cast<size_t>(d)], ScalarType::Double);
      const int64_t bins = sizes[static_cast<size_t>(d)];
      volume = at::mul(volume, at::view(at::sub(at::slice(edge, 0, 1), at::slice(edge, 0, 0, bins)), along));
    }
    hist = at::div(hist, volume);
  }
  return at::_to_copy(hist, TensorOptions().dtype(points.scalar_type()));
}

}  // namespace at::cuda
