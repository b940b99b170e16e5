// Arithmetic and geometric progressions, identities and index grids.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cpu/cast.h"
#include "aten/cpu/pointwise.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/kernels.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "c10/core/default_dtype.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

bool all_integral(const Scalar& a, const Scalar& b, const Scalar& c) {
  return a.isIntegral(true) && b.isIntegral(true) && c.isIntegral(true);
}

void check_real_range(const char* name, const Scalar& start, const Scalar& end, const Scalar& step) {
  TORCH_CHECK(
      !start.isComplex() && !end.isComplex() && !step.isComplex(), name, ": complex bounds are not supported");
  const double first = start.toDouble();
  const double last = end.toDouble();
  const double stride = step.toDouble();
  TORCH_CHECK(stride != 0 && !std::isnan(stride), "step must be nonzero");
  TORCH_CHECK(
      std::isfinite(first) && std::isfinite(last), "unsupported range: ", first, " -> ", last);
  TORCH_CHECK(
      (stride > 0 && last >= first) || (stride < 0 && last <= first),
      "upper bound and lower bound inconsistent with step sign");
}

int64_t checked_count(const char* name, double count) {
  TORCH_CHECK(count >= 0 && count < 9.2e18, name, ": invalid size, possible overflow? ", count, " elements");
  return static_cast<int64_t>(count);
}

TensorOptions options_for_range(
    const TensorOptions& options, const Scalar& start, const Scalar& end, const Scalar& step) {
  if (options.has_dtype()) return options;
  return options.dtype(all_integral(start, end, step) ? ScalarType::Long : get_default_dtype_as_scalartype());
}

// start + i * step, i < count: in int64 for integers, in double otherwise.
void fill_progression(Tensor& out, const char* name, const Scalar& start, const Scalar& step) {
  DenseOut result(out);
  cpu::visit_real(out.scalar_type(), name, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* data = result.data<T>();
    const auto fill = [&](auto first, auto stride) {
      at::parallel_for(0, out.numel(), at::internal::GRAIN_SIZE, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          data[i] = static_cast<T>(first + static_cast<decltype(first)>(i) * stride);
        }
      });
    };
    if constexpr (cpu::kIsIntegral<T>) {
      fill(static_cast<uint64_t>(start.to<int64_t>()), static_cast<uint64_t>(step.to<int64_t>()));
    } else {
      fill(start.toDouble(), step.toDouble());
    }
  });
  result.commit();
}

TensorSpec spec_of(const TensorOptions& options, std::initializer_list<int64_t> sizes) {
  checked_numel(IntArrayRef(sizes.begin(), sizes.size()));
  return {DimVector(sizes.begin(), sizes.end()), {}, options.scalar_type(), options.device()};
}

}  // namespace

TensorSpec arange_meta(const Scalar& start, const Scalar& end, const Scalar& step, TensorOptions options) {
  check_real_range("arange", start, end, step);
  const TensorOptions chosen = options_for_range(options, start, end, step);
  int64_t count;
  if (all_integral(start, end, step)) {
    const __int128 span = static_cast<__int128>(end.to<int64_t>()) - start.to<int64_t>();
    const __int128 stride = step.to<int64_t>();
    const __int128 wanted = (span + stride + (stride > 0 ? -1 : 1)) / stride;
    TORCH_CHECK(wanted >= 0 && wanted <= INT64_MAX, "arange: invalid size, possible overflow?");
    count = static_cast<int64_t>(wanted);
  } else {
    count = checked_count("arange", std::ceil((end.toDouble() - start.toDouble()) / step.toDouble()));
  }
  return spec_of(chosen, {count});
}

void arange_cpu(const Scalar& start, const Scalar& end, const Scalar& step, TensorOptions options, Tensor& out) {
  fill_progression(out, "arange", start, step);
}

Tensor arange_start(const Scalar& start, const Scalar& end, TensorOptions options) {
  return at::arange(start, end, 1, options);
}

Tensor arange(const Scalar& end, TensorOptions options) {
  return at::arange(0, end, 1, options);
}

TensorSpec range_meta(const Scalar& start, const Scalar& end, const Scalar& step, TensorOptions options) {
  KD_WARN_DEPRECATION_ONCE("torch.range is deprecated and will be removed in a future release because its behavior is inconsistent "
                           "with Python's range builtin. Instead, use torch.arange, which produces values in [start, end).");
  check_real_range("range", start, end, step);
  const double count = std::floor((end.toDouble() - start.toDouble()) / step.toDouble()) + 1;
  return spec_of(options, {checked_count("range", count)});
}

void range_cpu(const Scalar& start, const Scalar& end, const Scalar& step, TensorOptions options, Tensor& out) {
  fill_progression(out, "range", start, step);
}

Tensor range(const Scalar& start, const Scalar& end, TensorOptions options) {
  return at::range(start, end, 1, options);
}

namespace {

TensorOptions options_for_space(const TensorOptions& options, const Scalar& start, const Scalar& end) {
  if (options.has_dtype()) return options;
  return options.dtype(
      start.isComplex() || end.isComplex() ? get_default_complex_dtype() : get_default_dtype_as_scalartype());
}

}  // namespace

namespace {

// A number of the range as an element. What does not fit an integer type is what its lowest bits say of the smallest int64, as
// when a tensor is converted.
template <class T, class F>
T rounded_to(F x) {
  if constexpr (std::is_integral_v<T>) {
    const bool fits = x >= static_cast<F>(-0x1p63) && x < static_cast<F>(0x1p63);
    return static_cast<T>(fits ? static_cast<int64_t>(x) : std::numeric_limits<int64_t>::min());
  } else {
    return static_cast<T>(x);
  }
}

// An end of the interval; that of integers is an integer, too.
template <class T, class Compute>
Compute bound_of(const Scalar& bound) {
  if constexpr (isComplexType(CppTypeToScalarType<T>::value)) {
    return bound.toComplexDouble();
  } else if constexpr (cpu::kIsIntegral<T>) {
    return std::trunc(static_cast<Compute>(bound.toDouble()));
  } else {
    return static_cast<Compute>(bound.toDouble());
  }
}

double power_of(double base, double exponent) {
  return std::pow(base, exponent);
}
c10::complex<double> power_of(double base, const c10::complex<double>& exponent) {
  if (exponent.imag() == 0) return std::pow(base, exponent.real());
  const std::complex<double> power =
      std::pow(std::complex<double>(base), std::complex<double>(exponent.real(), exponent.imag()));
  return {power.real(), power.imag()};
}

// data[i] = map(x_i) of `steps` equally spaced numbers, each counted from the nearer end.
template <class T, class Compute, class Map>
void fill_space(T* data, int64_t steps, const Compute& first, const Compute& last, const Map& map) {
  using Real = std::conditional_t<std::is_same_v<Compute, float>, float, double>;
  const Compute step = steps > 1 ? (last - first) / static_cast<Real>(steps - 1) : Compute(0);
  const int64_t middle = steps > 1 ? steps / 2 : 1;
  at::parallel_for(0, steps, at::internal::GRAIN_SIZE, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < std::min(end, middle); ++i) data[i] = map(first + step * static_cast<Real>(i));
    for (int64_t i = std::max(begin, middle); i < end; ++i) data[i] = map(last - step * static_cast<Real>(steps - 1 - i));
  });
}

}  // namespace

TensorSpec linspace_meta(const Scalar& start, const Scalar& end, int64_t steps, TensorOptions options) {
  TORCH_CHECK(steps >= 0, "number of steps must be non-negative");
  return spec_of(options_for_space(options, start, end), {steps});
}

void linspace_cpu(const Scalar& start, const Scalar& end, int64_t steps, TensorOptions options, Tensor& out) {
  DenseOut result(out);
  cpu::visit_all(out.scalar_type(), "linspace", [&](auto tag) {
    using T = typename decltype(tag)::type;
    // The step has the precision of the result, as does each end of the interval.
    using Compute = std::conditional_t<isComplexType(CppTypeToScalarType<T>::value), c10::complex<double>,
                                       std::conditional_t<std::is_same_v<T, double> || cpu::kIsIntegral<T>, double, float>>;
    fill_space(result.data<T>(), steps, bound_of<T, Compute>(start), bound_of<T, Compute>(end),
               [](const Compute& x) { return rounded_to<T>(x); });
  });
  result.commit();
}

TensorSpec logspace_meta(const Scalar& start, const Scalar& end, int64_t steps, double base, TensorOptions options) {
  TORCH_CHECK(steps >= 0, "number of steps must be non-negative");
  return spec_of(options_for_space(options, start, end), {steps});
}

void logspace_cpu(const Scalar& start, const Scalar& end, int64_t steps, double base, TensorOptions options, Tensor& out) {
  DenseOut result(out);
  cpu::visit_all(out.scalar_type(), "logspace", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Compute = std::conditional_t<isComplexType(CppTypeToScalarType<T>::value), c10::complex<double>, double>;
    fill_space(result.data<T>(), steps, bound_of<T, Compute>(start), bound_of<T, Compute>(end),
               [base](const Compute& x) { return rounded_to<T>(power_of(base, x)); });
  });
  result.commit();
}

namespace {

// A bound on meta has no value, which one of the result there does not need.
Scalar end_of_space(const char* name, const Tensor& bound, const TensorOptions& options) {
  TORCH_CHECK(
      bound.dim() == 0, name, " only supports 0-dimensional start and end tensors, but got a tensor of ",
      bound.dim(), " dimensions.");
  if (bound.is_meta() && options.device().is_meta())
    return bound.is_complex() ? Scalar(c10::complex<double>(0)) : Scalar(0);
  return at::item(bound);
}

}  // namespace

Tensor linspace_tensor_tensor(const Tensor& start, const Tensor& end, int64_t steps, TensorOptions options) {
  return at::linspace(end_of_space("linspace", start, options), end_of_space("linspace", end, options), steps, options);
}

Tensor linspace_tensor_scalar(const Tensor& start, const Scalar& end, int64_t steps, TensorOptions options) {
  return at::linspace(end_of_space("linspace", start, options), end, steps, options);
}

Tensor linspace_scalar_tensor(const Scalar& start, const Tensor& end, int64_t steps, TensorOptions options) {
  return at::linspace(start, end_of_space("linspace", end, options), steps, options);
}

Tensor logspace_tensor_tensor(
    const Tensor& start, const Tensor& end, int64_t steps, double base, TensorOptions options) {
  return at::logspace(end_of_space("logspace", start, options), end_of_space("logspace", end, options), steps, base,
                      options);
}

Tensor logspace_tensor_scalar(
    const Tensor& start, const Scalar& end, int64_t steps, double base, TensorOptions options) {
  return at::logspace(end_of_space("logspace", start, options), end, steps, base, options);
}

Tensor logspace_scalar_tensor(
    const Scalar& start, const Tensor& end, int64_t steps, double base, TensorOptions options) {
  return at::logspace(start, end_of_space("logspace", end, options), steps, base, options);
}

TensorSpec eye_meta(int64_t n, int64_t m, TensorOptions options) {
  TORCH_CHECK(n >= 0, "n must be greater or equal to 0, got ", n);
  TORCH_CHECK(m >= 0, "m must be greater or equal to 0, got ", m);
  return spec_of(options, {n, m});
}

void eye_cpu(int64_t n, int64_t m, TensorOptions options, Tensor& out) {
  DenseOut result(out);
  result.clear();
  alignas(16) char one[16];
  pointwise::store_element(Scalar(1), out.scalar_type(), one);
  const auto size = static_cast<int64_t>(out.itemsize());
  if (out.numel() > 0) cpu::copy_run(result.data<char>(), (m + 1) * size, one, 0, std::min(n, m), size);
  result.commit();
}

Tensor eye(int64_t n, TensorOptions options) {
  return at::eye(n, n, options);
}

namespace {

void check_grid(const char* name, int64_t row, int64_t col) {
  TORCH_CHECK(row >= 0, name, ": row must be non-negative, got ", row);
  TORCH_CHECK(col >= 0, name, ": col must be non-negative, got ", col);
}

using Wide = __int128;

// How many elements of a row x col matrix lie on or below the diagonal `offset`.
Wide elements_below(int64_t row, int64_t col, Wide offset) {
  const Wide first = std::clamp<Wide>(-offset, 0, row);               // the first row that has any
  const Wide full = std::clamp<Wide>(col - offset - 1, first, row);  // the first row that has all
  return (full - first) * (first + full + 2 * offset + 1) / 2 + (row - full) * col;
}

TensorSpec triangle_spec(const char* name, bool lower, int64_t row, int64_t col, int64_t offset, const TensorOptions& options) {
  check_grid(name, row, col);
  const Wide elements = lower ? elements_below(row, col, offset) : Wide{row} * col - elements_below(row, col, Wide{offset} - 1);
  TORCH_CHECK_VALUE(elements <= std::numeric_limits<int64_t>::max() / 2, name, ": the number of indices overflows");
  return spec_of(options, {2, static_cast<int64_t>(elements)});
}

// Rows first, then columns, of the elements on or below (above) a diagonal.
void triangle_indices(const char* name, bool lower, int64_t row, int64_t col, int64_t offset, Tensor& result) {
  if (result.numel() == 0) return;
  const int64_t first_row = lower ? static_cast<int64_t>(std::clamp<Wide>(-Wide{offset}, 0, row)) : 0;
  const int64_t last_row = lower ? row : static_cast<int64_t>(std::clamp<Wide>(Wide{col} - offset, 0, row));
  DenseOut out(result);
  cpu::visit_real(result.scalar_type(), name, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* rows = out.data<T>();
    T* cols = rows + result.size(1);
    for (int64_t r = first_row; r < last_row; ++r) {
      const int64_t first = lower ? 0 : static_cast<int64_t>(std::clamp<Wide>(Wide{r} + offset, 0, col));
      const int64_t last = lower ? static_cast<int64_t>(std::clamp<Wide>(Wide{r} + offset + 1, 0, col)) : col;
      for (int64_t c = first; c < last; ++c) {
        *rows++ = static_cast<T>(r);
        *cols++ = static_cast<T>(c);
      }
    }
  });
  out.commit();
}

}  // namespace

TensorSpec tril_indices_meta(int64_t row, int64_t col, int64_t offset, TensorOptions options) {
  return triangle_spec("tril_indices", true, row, col, offset, options);
}
void tril_indices_cpu(int64_t row, int64_t col, int64_t offset, TensorOptions options, Tensor& out) {
  triangle_indices("tril_indices", true, row, col, offset, out);
}

TensorSpec triu_indices_meta(int64_t row, int64_t col, int64_t offset, TensorOptions options) {
  return triangle_spec("triu_indices", false, row, col, offset, options);
}
void triu_indices_cpu(int64_t row, int64_t col, int64_t offset, TensorOptions options, Tensor& out) {
  triangle_indices("triu_indices", false, row, col, offset, out);
}

namespace {

void check_triangle(const char* name, const Tensor& self) {
  TORCH_CHECK(self.dim() >= 2, name, ": input tensor must have at least 2 dimensions");
}

// Copies the part of each matrix that `keep_from <= col < keep_to` names and zeroes the rest.
void copy_triangle(const Tensor& self, Tensor& out, int64_t diagonal, bool upper) {
  if (self.numel() == 0) return;
  const int64_t rank = self.dim();
  const int64_t rows = self.size(-2);
  const int64_t cols = self.size(-1);
  const int64_t matrices = self.numel() / (rows * cols);
  diagonal = std::clamp(diagonal, -rows, cols);
  if (C10_UNLIKELY(!is_aligned(self) || !is_aligned(out))) {
    Tensor work = aligned(out);
    copy_triangle(aligned(self), work, diagonal, upper);
    if (!work.is_same(out)) at::copy_(out, work);
    return;
  }
  cpu::visit_item_size(static_cast<int64_t>(self.itemsize()), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = static_cast<const T*>(self.data_ptr());
    T* to = static_cast<T*>(out.data_ptr());
    const bool dense_rows = self.stride(-1) == 1 && out.stride(-1) == 1;
    const auto copy_row = [&](int64_t r, const T* in, T* result) {
      const int64_t edge = std::clamp<int64_t>(upper ? r + diagonal : r + diagonal + 1, 0, cols);
      const int64_t first = upper ? edge : 0, last = upper ? cols : edge;
      if (dense_rows) {
        if (in != result) std::copy(in + first, in + last, result + first);
        std::fill(result, result + first, T{});
        std::fill(result + last, result + cols, T{});
        return;
      }
      for (int64_t c = 0; c < cols; ++c) {
        result[c * out.stride(-1)] = c >= first && c < last ? in[c * self.stride(-1)] : T{};
      }
    };
    const int64_t grain = std::max<int64_t>(1, at::internal::GRAIN_SIZE / cols);
    at::parallel_for(0, matrices * rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end;) {
        int64_t in_offset = 0, out_offset = 0, rest = row / rows;
        for (int64_t d = rank - 3; d >= 0; rest /= self.size(d), --d) {
          in_offset += rest % self.size(d) * self.stride(d);
          out_offset += rest % self.size(d) * out.stride(d);
        }
        int64_t r = row % rows;
        for (; r < rows && row < end; ++r, ++row) {
          copy_row(r, from + in_offset + r * self.stride(-2), to + out_offset + r * out.stride(-2));
        }
      }
    });
  });
}

}  // namespace

TensorSpec tril_meta(const Tensor& self, int64_t diagonal) {
  check_triangle("tril", self);
  return {DimVector(self.sizes().begin(), self.sizes().end()), {}, self.scalar_type(), self.device()};
}

void tril_cpu(const Tensor& self, int64_t diagonal, Tensor& out) {
  copy_triangle(self, out, diagonal, false);
}

TensorSpec triu_meta(const Tensor& self, int64_t diagonal) {
  check_triangle("triu", self);
  return {DimVector(self.sizes().begin(), self.sizes().end()), {}, self.scalar_type(), self.device()};
}

void triu_cpu(const Tensor& self, int64_t diagonal, Tensor& out) {
  copy_triangle(self, out, diagonal, true);
}

}  // namespace at::native
