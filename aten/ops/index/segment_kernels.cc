// segment_reduce.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/core/view.h"
#include "aten/cpu/rows/rows.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/kernels.h"
#include "aten/ops/index/plan.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

enum class Reduce { kSum, kMean, kMax, kMin, kProd };

Reduce reduce_of(std::string_view name) {
  if (name == "sum") return Reduce::kSum;
  if (name == "mean") return Reduce::kMean;
  if (name == "max") return Reduce::kMax;
  if (name == "min") return Reduce::kMin;
  TORCH_CHECK(name == "prod", "segment_reduce(): unsupported reduction given! ", name);
  return Reduce::kProd;
}

bool given(const std::optional<Tensor>& t) {
  return t.has_value() && t->defined();
}

// The first element of a segment.
double start_of(Reduce reduce) {
  switch (reduce) {
    case Reduce::kMax:
      return -std::numeric_limits<double>::infinity();
    case Reduce::kMin:
      return std::numeric_limits<double>::infinity();
    case Reduce::kProd:
      return 1;
    default:
      return 0;
  }
}

// sums[j] joined with column j of x[lines][n]: a loop for each kind, of which the compiler makes vectors.
template <Reduce kind, class T, class C>
void join_lines(const T* x, int64_t lines, int64_t n, C* sums) {
  for (; lines > 0; --lines, x += n) {
    for (int64_t j = 0; j < n; ++j) {
      const C a = static_cast<C>(x[j]), b = sums[j];
      if constexpr (kind == Reduce::kMax) {
        sums[j] = std::isnan(a) || a > b ? a : b;
      } else if constexpr (kind == Reduce::kMin) {
        sums[j] = std::isnan(a) || a < b ? a : b;
      } else {
        sums[j] = kind == Reduce::kProd ? a * b : a + b;
      }
    }
  }
}

template <class T, class C>
auto lines_joiner(Reduce kind) {
  switch (kind) {
    case Reduce::kMax:
      return join_lines<Reduce::kMax, T, C>;
    case Reduce::kMin:
      return join_lines<Reduce::kMin, T, C>;
    case Reduce::kProd:
      return join_lines<Reduce::kProd, T, C>;
    default:
      return join_lines<Reduce::kSum, T, C>;
  }
}

}  // namespace

TensorSpec segment_reduce_meta(const Tensor& data, std::string_view reduce, const std::optional<Tensor>& lengths,
                               const std::optional<Tensor>& indices, const std::optional<Tensor>& offsets, int64_t axis,
                               bool, const std::optional<Scalar>& initial) {
  reduce_of(reduce);
  axis = maybe_wrap_dim(axis, data.dim());
  TORCH_CHECK(!given(indices), "segment_reduce(): indices based reduction is not supported yet.");
  TORCH_CHECK(given(lengths) != given(offsets),
              "segment_reduce(): Either lengths or offsets must be defined, and not both.");
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(data.scalar_type()), "\"segment_reduce\" not implemented for '",
                              data.scalar_type(), "'");
  TORCH_CHECK(!initial.has_value() || !initial->isComplex(), "segment_reduce(): expected initial to be real");
  TORCH_CHECK(data.dim() > 0 && data.numel() > 0, "segment_reduce(): expected data with elements, but got sizes ",
              data.sizes());
  const char* const name = given(lengths) ? "lengths" : "offsets";
  const Tensor& ends = given(lengths) ? *lengths : *offsets;
  TORCH_CHECK(ends.scalar_type() == ScalarType::Long || ends.scalar_type() == ScalarType::Int,
              "segment_reduce(): expected ", name, " of dtype Int or Long, but got ", ends.scalar_type());
  TORCH_CHECK(ends.dim() == axis + 1, "segment_reduce(): Expected axis to be the last dimension of ", name, " but got ",
              axis, ".");
  const auto last = static_cast<size_t>(axis);
  TORCH_CHECK(ends.sizes().slice(0, last) == data.sizes().slice(0, last), "segment_reduce(): expected ", name,
              " with the sizes of data before dimension ", axis, ", but got ", ends.sizes(), " and ", data.sizes());
  TORCH_CHECK(given(lengths) || ends.size(axis) >= 1, "segment_reduce(): expected at least one offset");
  DimVector sizes(data.sizes().begin(), data.sizes().end());
  sizes[last] = ends.size(axis) - (given(lengths) ? 0 : 1);
  return {sizes, {}, data.scalar_type(), data.device()};
}

void segment_reduce_cpu(const Tensor& data, std::string_view reduce, const std::optional<Tensor>& lengths,
                        const std::optional<Tensor>&, const std::optional<Tensor>& offsets, int64_t axis, bool unsafe,
                        const std::optional<Scalar>& initial, Tensor& out) {
  axis = maybe_wrap_dim(axis, data.dim());
  const Reduce kind = reduce_of(reduce);
  const DimSplit s = split_at_dim(data.sizes(), axis);
  const int64_t segments = out.size(axis);
  const std::vector<int64_t> bounds = segment_bounds(lengths, offsets, s.outer, segments, s.size, unsafe);
  if (out.numel() == 0) return;
  const Tensor x = dense(data);
  DenseOut y(out);
  cpu::visit_floating(data.scalar_type(), "segment_reduce", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = typename cpu::ComputeType<T>::type;
    const C start = static_cast<C>(initial.has_value() ? initial->toDouble() : start_of(kind));
    const T* from = static_cast<const T*>(x.const_data_ptr());
    T* to = y.data<T>();
    const auto join = lines_joiner<T, C>(kind);
    const int64_t work = s.inner * (s.size / std::max<int64_t>(segments, 1) + 1);
    at::parallel_for(0, s.outer * segments, std::max<int64_t>(1, 16384 / work), [&](int64_t begin, int64_t end) {
      std::vector<C> sums(static_cast<size_t>(s.inner));
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i / segments;
        const auto at = static_cast<size_t>(row * (segments + 1) + i % segments);
        const int64_t length = bounds[at + 1] - bounds[at];
        std::fill(sums.begin(), sums.end(), start);
        join(from + (row * s.size + bounds[at]) * s.inner, length, s.inner, sums.data());
        for (int64_t j = 0; j < s.inner; ++j) {
          C sum = sums[static_cast<size_t>(j)];
          if (kind == Reduce::kMean) {
            if (length > 0) sum /= static_cast<C>(length);
            if (length == 0 && !initial.has_value()) sum = std::numeric_limits<C>::quiet_NaN();
          }
          to[i * s.inner + j] = static_cast<T>(sum);
        }
      }
    });
  });
  y.commit();
}

}  // namespace at::native
