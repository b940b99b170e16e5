// histogram and histogramdd: counts or weights of points in a grid of bins. The last bin of a dimension holds its upper
// edge.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/cpu/rows/rows.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/cuda/sort/histogram.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/sort/kernels.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/view/ops.h"

namespace at {
namespace cuda {
// There in programs that link //aten/cuda.
[[gnu::weak]] Tensor column_extremes(const Tensor& points);
[[gnu::weak]] Tensor histogram(const Tensor& points, TensorList edges, IntArrayRef sizes, const Tensor& weights,
                               bool density);
}  // namespace cuda

namespace native {
namespace {

void check_input(const Tensor& self) {
  TORCH_CHECK(self.dim() >= 2, "torch.histogramdd: input tensor should have at least 2 dimensions, but got ",
              self.dim());
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(self.scalar_type()),
                              "\"histogramdd\" not implemented for '", self.scalar_type(), "'");
}

// What a call asks for: numbers of equal bins, which may lie over `range` (two numbers a dimension), or edges.
struct Bins {
  const IntArrayRef* counts = nullptr;
  TensorList edges = {};
  std::optional<ArrayRef<double>> range = std::nullopt;
};

// Checks all but the elements. Returns the sizes of the histogram.
DimVector checked_sizes(const Tensor& self, const Bins& bins, const std::optional<Tensor>& weight) {
  check_input(self);
  const int64_t dims = self.size(-1);
  TORCH_CHECK(dims <= 1024, "torch.histogramdd: expected at most 1024 dimensions, but got ", dims);
  if (weight.has_value() && weight->defined()) {
    TORCH_CHECK(weight->sizes() == self.sizes().slice(0, static_cast<size_t>(self.dim() - 1)),
                "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
                "excluding its innermost "
                "dimension, but got input with shape ",
                self.sizes(), " and weight with shape ", weight->sizes());
    TORCH_CHECK(weight->scalar_type() == self.scalar_type(),
                "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor "
                "should have the same dtype, but got input(",
                self.scalar_type(), "), and weight(", weight->scalar_type(), ")");
  }
  DimVector sizes;
  if (bins.counts == nullptr) {
    TORCH_CHECK(static_cast<int64_t>(bins.edges.size()) == dims, "torch.histogramdd: expected ", dims,
                " sequences of bin edges for a ", dims, "-dimensional histogram but got ", bins.edges.size());
    for (size_t d = 0; d < bins.edges.size(); ++d) {
      const Tensor& e = bins.edges[d];
      TORCH_CHECK(e.scalar_type() == self.scalar_type(),
                  "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got "
                  "input with dtype ",
                  self.scalar_type(), " and bins for dimension ", d, " with dtype ", e.scalar_type());
      TORCH_CHECK(e.dim() == 1, "torch.histogramdd: bins tensor should have one dimension, but got ", e.dim(),
                  " dimensions for dimension ", d);
      TORCH_CHECK(e.numel() > 1, "torch.histogramdd: bins tensor should have at least 2 elements, but got ", e.numel(),
                  " for dimension ", d);
      sizes.push_back(e.numel() - 1);
    }
  } else {
    const std::optional<ArrayRef<double>>& range = bins.range;
    TORCH_CHECK(static_cast<int64_t>(bins.counts->size()) == dims, "torch.histogramdd: expected ", dims,
                " sequences of bin edges or bin counts for a ", dims, "-dimensional histogram but got ",
                bins.counts->size());
    TORCH_CHECK(!range.has_value() || static_cast<int64_t>(range->size()) == 2 * dims, "torch.histogramdd: for a ",
                dims, "-dimensional histogram range should have ", 2 * dims, " elements, but got ",
                range.has_value() ? range->size() : 0);
    for (int64_t d = 0; d < dims; ++d) {
      const int64_t count = (*bins.counts)[static_cast<size_t>(d)];
      TORCH_CHECK(count > 0 && count < std::numeric_limits<int64_t>::max() / 64,
                  "torch.histogram(): bins must be > 0, but got ", count, " for dimension ", d);
      sizes.push_back(count);
    }
  }
  int64_t total = 1;
  for (const int64_t size : sizes) {
    TORCH_CHECK(!__builtin_mul_overflow(total, size, &total), "torch.histogramdd: too many bins");
  }
  return sizes;
}

struct Span {
  double low, high;
};

// From the least to the greatest element of each column; NaN where there is one.
template <class T>
std::vector<Span> spans_of(const Tensor& points) {
  const int64_t n = points.size(0), dims = points.size(1);
  std::vector<Span> spans(static_cast<size_t>(dims), Span{0, 1});
  if (n == 0) return spans;
  if (!points.is_cpu()) {
    const Tensor extremes = cuda::column_extremes(points);
    for (int64_t d = 0; d < dims; ++d) {
      const double* of = extremes.const_data_ptr<double>() + d;
      spans[static_cast<size_t>(d)] = {of[0], of[dims]};
    }
    return spans;
  }
  const T* x = points.const_data_ptr<T>();
  for (int64_t d = 0; d < dims; ++d) {
    auto& [low, high] = spans[static_cast<size_t>(d)];
    low = high = static_cast<double>(x[d]);
    if (dims == 1) {
      low = static_cast<double>(cpu::row_min(x, n));
      high = static_cast<double>(cpu::row_max(x, n));
    }
    for (int64_t i = 1; dims > 1 && i < n; ++i) {
      const auto v = static_cast<double>(x[i * dims + d]);
      low = v < low || v != v ? v : low;
      high = v > high || v != v ? v : high;
    }
  }
  return spans;
}

// The edges of `counts` equal bins in each dimension, over `range` or from the least to the greatest element.
template <class T>
std::vector<Tensor> equal_bins(const Tensor& points, IntArrayRef counts, const std::optional<ArrayRef<double>>& range) {
  const int64_t dims = points.size(1);
  std::vector<Span> spans;
  if (range.has_value()) {
    for (size_t d = 0; d < static_cast<size_t>(dims); ++d) spans.push_back({(*range)[2 * d], (*range)[2 * d + 1]});
  } else {
    spans = spans_of<T>(points);
  }
  std::vector<Tensor> edges;
  for (int64_t d = 0; d < dims; ++d) {
    const int64_t count = counts[static_cast<size_t>(d)];
    auto [low, high] = spans[static_cast<size_t>(d)];
    TORCH_CHECK(std::isfinite(low) && std::isfinite(high), "torch.histogramdd: dimension ", d, "'s range [", low, ", ",
                high, "] is not finite");
    TORCH_CHECK(low <= high, "torch.histogramdd: min should not exceed max, but got min ", low, " max ", high,
                " for dimension ", d);
    if (low == high) low -= 0.5, high += 0.5;
    Tensor e = empty_contiguous({count + 1}, points.scalar_type());
    for (int64_t i = 0; i <= count; ++i) {
      e.data_ptr<T>()[i] =
          static_cast<T>(i == count ? high : low + (high - low) * static_cast<double>(i) / static_cast<double>(count));
    }
    edges.push_back(points.is_cpu() ? e : at::to(e, points.device()));
  }
  return edges;
}

template <class T>
Tensor counted(const Tensor& points, const std::vector<Tensor>& edges, IntArrayRef sizes, bool equal,
               const Tensor& weights, bool density) {
  const int64_t n = points.size(0), dims = points.size(1);
  const Tensor totals = empty_contiguous(sizes, kDouble);
  const int64_t total = totals.numel();
  double* sums = totals.data_ptr<double>();
  std::memset(sums, 0, totals.nbytes());
  const T* x = points.data_ptr<T>();
  const T* w = weights.defined() ? weights.data_ptr<T>() : nullptr;
  struct Axis {
    const T* edges;
    int64_t bins;
    double low, scale;  // bins a unit, where all are equal
  };
  std::vector<Axis> axes;
  for (const Tensor& e : edges) {
    const T* first = e.data_ptr<T>();
    const int64_t bins = e.size(0) - 1;
    const double low = static_cast<double>(first[0]),
                 scale = static_cast<double>(bins) / (static_cast<double>(first[bins]) - low);
    axes.push_back({first, bins, low, scale});
    equal = equal && std::isfinite(scale) && scale > 0;
  }
  for (int64_t i = 0; i < n; ++i) {
    int64_t bin = 0;
    for (int64_t d = 0; d < dims; ++d) {
      const Axis& axis = axes[static_cast<size_t>(d)];
      const T v = x[i * dims + d];
      if (!(v >= axis.edges[0] && v <= axis.edges[axis.bins])) {
        bin = -1;
        break;
      }
      int64_t place;
      if (equal) {
        // About there; the edges decide.
        place = std::min(static_cast<int64_t>((static_cast<double>(v) - axis.low) * axis.scale), axis.bins - 1);
        while (v < axis.edges[place]) --place;
        while (place + 1 < axis.bins && v >= axis.edges[place + 1]) ++place;
      } else {
        const T* end = axis.edges + axis.bins + 1;
        place = std::min<int64_t>(std::upper_bound(axis.edges, end, v) - axis.edges - 1, axis.bins - 1);
      }
      bin = bin * axis.bins + place;
    }
    if (bin >= 0) sums[bin] += w != nullptr ? static_cast<double>(w[i]) : 1.0;
  }
  Tensor result = empty_contiguous(sizes, points.scalar_type());
  if (density) {
    double sum = 0;
    for (int64_t bin = 0; bin < total; ++bin) sum += sums[bin];
    for (int64_t bin = 0; bin < total; ++bin) {
      double volume = 1;
      int64_t rest = bin;
      for (int64_t d = dims - 1; d >= 0; --d) {
        const T* e = edges[static_cast<size_t>(d)].data_ptr<T>() + rest % sizes[static_cast<size_t>(d)];
        volume *= static_cast<double>(e[1]) - static_cast<double>(e[0]);
        rest /= sizes[static_cast<size_t>(d)];
      }
      sums[bin] /= sum * volume;
    }
  }
  for (int64_t bin = 0; bin < total; ++bin) result.data_ptr<T>()[bin] = static_cast<T>(sums[bin]);
  return result;
}

std::tuple<Tensor, std::vector<Tensor>> run(const Tensor& self, const Bins& bins, const std::optional<Tensor>& weight,
                                            bool density) {
  const DimVector sizes = checked_sizes(self, bins, weight);
  const int64_t dims = self.size(-1);
  const Tensor points = dense(at::reshape(self, {dims == 0 ? 0 : self.numel() / dims, dims}));
  const bool weighted = weight.has_value() && weight->defined();
  const Tensor weights = weighted ? dense(at::reshape(*weight, {points.size(0)})) : Tensor();
  std::vector<Tensor> edges;
  for (const Tensor& e : bins.edges) edges.push_back(at::clone(dense(e)));
  Tensor hist;
  cpu::visit_floating(self.scalar_type(), "histogramdd", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (bins.counts != nullptr) edges = equal_bins<T>(points, *bins.counts, bins.range);
    hist = points.is_cpu() ? counted<T>(points, edges, sizes, bins.counts != nullptr, weights, density)
                           : cuda::histogram(points, edges, sizes, weights, density);
  });
  return {hist, edges};
}

TensorSpec histogram_spec(const Tensor& self, const Bins& bins, const std::optional<Tensor>& weight) {
  return {checked_sizes(self, bins, weight), {}, self.scalar_type(), self.device()};
}

// What `run` gives on meta.
std::tuple<Tensor, std::vector<Tensor>> run_meta(const Tensor& self, const Bins& bins,
                                                 const std::optional<Tensor>& weight) {
  const TensorSpec spec = histogram_spec(self, bins, weight);
  std::vector<Tensor> edges;
  for (const int64_t size : spec.sizes) edges.push_back(empty_contiguous({size + 1}, spec.dtype, spec.device));
  return {empty_spec(spec), std::move(edges)};
}

Tensor column(const Tensor& t) {
  return at::reshape(t, {t.numel(), 1});
}
std::optional<Tensor> flat(const std::optional<Tensor>& weight, const Tensor& self) {
  if (!weight.has_value() || !weight->defined()) return std::nullopt;
  TORCH_CHECK(weight->numel() == self.numel(),
              "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
              "excluding its innermost dimension, but got input with shape [",
              self.numel(), ", 1] and weight with shape ", weight->sizes());
  return at::reshape(*weight, {weight->numel()});
}

// Of the elements of self as numbers.
std::array<TensorSpec, 2> flat_specs(const Tensor& self, const Bins& bins, const std::optional<Tensor>& weight) {
  TensorSpec hist = histogram_spec(column(self), bins, flat(weight, self));
  TensorSpec edges = hist;
  edges.sizes[0] += 1;
  return {std::move(hist), std::move(edges)};
}
void run_flat(const Tensor& self, const Bins& bins, const std::optional<Tensor>& weight, bool density, Tensor& hist,
              Tensor& bin_edges) {
  const auto [counts, edges] = run(column(self), bins, flat(weight, self), density);
  at::copy_(hist, counts);
  at::copy_(bin_edges, edges[0]);
}

// The same number of bins in each dimension.
DimVector same_counts(const Tensor& self, int64_t bins) {
  check_input(self);
  TORCH_CHECK(self.size(-1) <= 1024, "torch.histogramdd: expected at most 1024 dimensions, but got ", self.size(-1));
  return DimVector(static_cast<size_t>(self.size(-1)), bins);
}

}  // namespace

std::array<TensorSpec, 2> histogram_tensor_meta(const Tensor& self, const Tensor& bins,
                                                const std::optional<Tensor>& weight, bool) {
  return flat_specs(self, {.edges = {bins}}, weight);
}
void histogram_tensor_kernel(const Tensor& self, const Tensor& bins, const std::optional<Tensor>& weight, bool density,
                          Tensor& hist, Tensor& bin_edges) {
  run_flat(self, {.edges = {bins}}, weight, density, hist, bin_edges);
}
std::array<TensorSpec, 2> histogram_count_meta(const Tensor& self, int64_t bins, std::optional<ArrayRef<double>> range,
                                               const std::optional<Tensor>& weight, bool) {
  const IntArrayRef counts(bins);
  return flat_specs(self, {.counts = &counts, .range = range}, weight);
}
void histogram_count_kernel(const Tensor& self, int64_t bins, std::optional<ArrayRef<double>> range,
                         const std::optional<Tensor>& weight, bool density, Tensor& hist, Tensor& bin_edges) {
  const IntArrayRef counts(bins);
  run_flat(self, {.counts = &counts, .range = range}, weight, density, hist, bin_edges);
}

using Histogram = std::tuple<Tensor, std::vector<Tensor>>;

Histogram histogramdd(const Tensor& self, IntArrayRef bins, std::optional<ArrayRef<double>> range,
                      const std::optional<Tensor>& weight, bool density) {
  return run(self, {.counts = &bins, .range = range}, weight, density);
}
Histogram histogramdd_meta(const Tensor& self, IntArrayRef bins, std::optional<ArrayRef<double>> range,
                           const std::optional<Tensor>& weight, bool) {
  return run_meta(self, {.counts = &bins, .range = range}, weight);
}
Histogram histogramdd_int(const Tensor& self, int64_t bins, std::optional<ArrayRef<double>> range,
                          const std::optional<Tensor>& weight, bool density) {
  return native::histogramdd(self, same_counts(self, bins), range, weight, density);
}
Histogram histogramdd_int_meta(const Tensor& self, int64_t bins, std::optional<ArrayRef<double>> range,
                               const std::optional<Tensor>& weight, bool density) {
  return native::histogramdd_meta(self, same_counts(self, bins), range, weight, density);
}
Histogram histogramdd_tensors(const Tensor& self, TensorList bins, std::optional<ArrayRef<double>> range,
                              const std::optional<Tensor>& weight, bool density) {
  return run(self, {.edges = bins, .range = range}, weight, density);
}
Histogram histogramdd_tensors_meta(const Tensor& self, TensorList bins, std::optional<ArrayRef<double>>,
                                   const std::optional<Tensor>& weight, bool) {
  return run_meta(self, {.edges = bins}, weight);
}

// The two results of histogramdd, each by itself.
std::vector<Tensor> histogramdd_bin_edges(const Tensor& self, IntArrayRef bins, std::optional<ArrayRef<double>> range,
                                          const std::optional<Tensor>& weight, bool density) {
  return std::get<1>(native::histogramdd(self, bins, range, weight, density));
}
std::vector<Tensor> histogramdd_bin_edges_meta(const Tensor& self, IntArrayRef bins,
                                               std::optional<ArrayRef<double>> range,
                                               const std::optional<Tensor>& weight, bool density) {
  return std::get<1>(native::histogramdd_meta(self, bins, range, weight, density));
}
TensorSpec histogramdd_from_counts_meta(const Tensor& self, IntArrayRef bins, std::optional<ArrayRef<double>> range,
                                        const std::optional<Tensor>& weight, bool) {
  return histogram_spec(self, {.counts = &bins, .range = range}, weight);
}
void histogramdd_from_counts_kernel(const Tensor& self, IntArrayRef bins, std::optional<ArrayRef<double>> range,
                                 const std::optional<Tensor>& weight, bool density, Tensor& out) {
  at::copy_(out, std::get<0>(native::histogramdd(self, bins, range, weight, density)));
}
TensorSpec histogramdd_from_edges_meta(const Tensor& self, TensorList bins, const std::optional<Tensor>& weight, bool) {
  return histogram_spec(self, {.edges = bins}, weight);
}
void histogramdd_from_edges_kernel(const Tensor& self, TensorList bins, const std::optional<Tensor>& weight, bool density,
                                Tensor& out) {
  at::copy_(out, std::get<0>(run(self, {.edges = bins}, weight, density)));
}

}  // namespace native
}  // namespace at
