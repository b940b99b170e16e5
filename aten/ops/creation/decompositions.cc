#include "aten/ops/creation/decompositions.h"

#include <cmath>

#include "aten/core/empty.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/shared/decomposing.h"
#include "aten/ops/unary/ops.h"

namespace at::decompositions {
namespace {

TensorOptions with_default_dtype(const TensorOptions& options) {
  return options.dtype(options.scalar_type());
}

// A line of places on the device that the options ask for.
Tensor line(int64_t n, const TensorOptions& options, ScalarType type = ScalarType::Long) {
  return at::arange(0, n, 1, TensorOptions().dtype(type).device(options.device()));
}

// How far elements lie above the main diagonal, [n, m].
Tensor above_diagonal(int64_t n, int64_t m, const TensorOptions& options) {
  return at::sub(line(m, options), at::unsqueeze(line(n, options), 1));
}

TensorOptions options_of_space(const TensorOptions& options, const Scalar& start, const Scalar& end) {
  if (options.has_dtype()) return options;
  const bool complex = start.isComplex() || end.isComplex();
  return options.dtype(complex ? get_default_complex_dtype() : get_default_dtype_as_scalartype());
}

// map of `steps` numbers from start to end, which are counted from the nearer end and computed in `compute`.
template <class Map>
Tensor space(const Scalar& start, const Scalar& end, int64_t steps, ScalarType compute, const TensorOptions& options,
             const Map& map) {
  const ScalarType type = options.scalar_type();
  const auto bound = [&](const Scalar& s) {
    return isIntegralType(type, true) ? c10::complex<double>(std::trunc(s.toDouble())) : s.toComplexDouble();
  };
  const c10::complex<double> first = bound(start), last = bound(end);
  const auto number = [&](const c10::complex<double>& z) {
    return isComplexType(compute) ? Scalar(z) : Scalar(z.real());
  };
  const c10::complex<double> step =
      steps > 1 ? (last - first) / static_cast<double>(steps - 1) : c10::complex<double>(0);
  const Tensor i = line(steps, options), from_start = cast(i, compute);
  const Tensor from_end = cast(at::sub(at::full_like(i, steps - 1), i), compute);
  const Tensor ahead = at::add(at::mul(from_start, number(step)), number(first));
  const Tensor back = at::add(at::mul(from_end, number(-step)), number(last));
  return cast(map(at::where(at::lt(i, std::max<int64_t>(steps / 2, 1)), ahead, back)), type);
}

ScalarType double_of(ScalarType type) {
  return isComplexType(type) ? ScalarType::ComplexDouble : ScalarType::Double;
}

}  // namespace

Tensor arange(const Scalar& end, TensorOptions options) {
  return at::arange(0, end, 1, options);
}
Tensor arange(const Scalar& start, const Scalar& end, TensorOptions options) {
  return at::arange(start, end, 1, options);
}

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, TensorOptions options) {
  options = options_of_space(options, start, end);
  const ScalarType type = options.scalar_type();
  const ScalarType compute = type == ScalarType::Half || type == ScalarType::BFloat16 || type == ScalarType::Float
                                 ? ScalarType::Float
                                 : double_of(type);
  return space(start, end, steps, compute, options, [](const Tensor& x) { return x; });
}

Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base, TensorOptions options) {
  options = options_of_space(options, start, end);
  return space(start, end, steps, double_of(options.scalar_type()), options,
               [&](const Tensor& x) { return at::pow(base, x); });
}

Tensor hann_window(int64_t window_length, bool periodic, TensorOptions options) {
  TORCH_CHECK(window_length >= 0, "hann_window(): expected a window_length of at least 0, but got ", window_length);
  TORCH_CHECK(isFloatingType(options.scalar_type()), "hann_window(): expected a floating-point dtype, but got ",
              options.scalar_type());
  if (window_length <= 1) return at::full({window_length}, 1, with_default_dtype(options));
  const double step = 2 * M_PI / static_cast<double>(periodic ? window_length : window_length - 1);
  const Tensor cosine = at::cos(at::mul(line(window_length, options, ScalarType::Double), step));
  return cast(at::add(at::mul(cosine, -0.5), 0.5), options.scalar_type());
}
Tensor hann_window(int64_t window_length, TensorOptions options) {
  return hann_window(window_length, true, options);
}

Tensor eye(int64_t n, int64_t m, TensorOptions options) {
  return cast(at::eq(above_diagonal(n, m, options), 0), options.scalar_type());
}
Tensor eye(int64_t n, TensorOptions options) {
  return eye(n, n, options);
}

Tensor tril(const Tensor& self, int64_t diagonal) {
  return kept_where(at::le(above_diagonal(self.size(-2), self.size(-1), self.options()), diagonal), self, 0);
}
Tensor triu(const Tensor& self, int64_t diagonal) {
  return kept_where(at::ge(above_diagonal(self.size(-2), self.size(-1), self.options()), diagonal), self, 0);
}

Tensor zeros(IntArrayRef size, TensorOptions options) {
  return at::full(size, 0, with_default_dtype(options));
}
Tensor ones(IntArrayRef size, TensorOptions options) {
  return at::full(size, 1, with_default_dtype(options));
}

Tensor new_empty(const Tensor& self, IntArrayRef size, TensorOptions options) {
  return at::empty(size, self.options().merge_in(options));
}
Tensor new_full(const Tensor& self, IntArrayRef size, const Scalar& fill_value, TensorOptions options) {
  return at::full(size, fill_value, self.options().merge_in(options));
}
Tensor new_zeros(const Tensor& self, IntArrayRef size, TensorOptions options) {
  return decompositions::new_full(self, size, 0, options);
}
Tensor new_ones(const Tensor& self, IntArrayRef size, TensorOptions options) {
  return decompositions::new_full(self, size, 1, options);
}

Tensor empty_like(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> memory_format) {
  const MemoryFormat format =
      options.merge_memory_format(memory_format).memory_format_opt().value_or(MemoryFormat::Preserve);
  const TensorOptions merged = self.options().merge_in(options).memory_format(std::nullopt);
  if (format == MemoryFormat::Preserve) return at::empty_strided(self.sizes(), strides_like(self), merged);
  return at::empty(self.sizes(), merged, format);
}
Tensor zeros_like(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> memory_format) {
  return at::full_like(self, 0, options, memory_format);
}
Tensor ones_like(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> memory_format) {
  return at::full_like(self, 1, options, memory_format);
}

}  // namespace at::decompositions
