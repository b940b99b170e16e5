// _fft_c2c, _fft_r2c and _fft_c2r: one dimension after another, in the order of memory.
#include <algorithm>
#include <cmath>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/cpu/fft/fft.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/fft/kernels.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

namespace fft = cpu::fft;
using Dims = DimVector;

// How a normalization argument divides.
enum class Norm : int64_t { kNone = 0, kByRoot = 1, kByNumber = 2 };

Dims checked_dims(const char* op, const Tensor& self, IntArrayRef dim, int64_t normalization) {
  TORCH_CHECK(normalization >= 0 && normalization <= 2, op, "(): normalization ", normalization,
              " is not one of 0 (none), 1 (by the root of the size), 2 (by the size)");
  Dims dims;
  for (int64_t d : dim) {
    const int64_t wrapped = maybe_wrap_dim(d, self.dim(), false);
    TORCH_CHECK(std::find(dims.begin(), dims.end(), wrapped) == dims.end(), op,
                "(): FFT dims must be unique, but dimension ", wrapped, " appears more than once");
    TORCH_CHECK(self.size(wrapped) > 0, op, "(): Invalid number of data points (", self.size(wrapped), ") specified");
    dims.push_back(wrapped);
  }
  return dims;
}

void check_precision(const Tensor& self) {
  const ScalarType type = toRealValueType(self.scalar_type());
  TORCH_CHECK_NOT_IMPLEMENTED(type == kFloat || type == kDouble || (type == kHalf && !self.is_cpu()), "Unsupported dtype ", self.scalar_type());
}

// Those with larger strides first.
void sort_by_stride(Dims& dims, IntArrayRef strides) {
  for (size_t i = 1; i < dims.size(); ++i) {
    for (size_t j = i; j > 0 && strides[static_cast<size_t>(dims[j - 1])] < strides[static_cast<size_t>(dims[j])];
         --j) {
      std::swap(dims[j - 1], dims[j]);
    }
  }
}

// A result whose transformed dimensions are the innermost ones, the others outside in the order of self's strides.
TensorSpec result_spec(const Tensor& self, IntArrayRef strides, const Dims& dims, Dims sizes, ScalarType dtype) {
  Dims order;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
  }
  sort_by_stride(order, strides);
  order.insert(order.end(), dims.begin(), dims.end());
  Dims out_strides(sizes.size(), 1);
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const size_t d = static_cast<size_t>(order[i]);
    out_strides[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
  return {std::move(sizes), std::move(out_strides), dtype, self.device()};
}

double factor(int64_t normalization, const Tensor& signal, const Dims& dims) {
  double n = 1;
  for (int64_t d : dims) n *= static_cast<double>(signal.size(d));
  switch (static_cast<Norm>(normalization)) {
    case Norm::kNone:
      return 1;
    case Norm::kByRoot:
      return 1 / std::sqrt(n);
    default:
      return 1 / n;
  }
}

// Transforms the lines along `dim`; both tensors have equal sizes in other dimensions.
void transform_dim(const fft::Transform& what, const Tensor& in, int64_t dim, const Tensor& out) {
  fft::Lines lines;
  for (int64_t d = 0; d < in.dim(); ++d) {
    if (d == dim) continue;
    lines.sizes.push_back(in.size(d));
    lines.in_strides.push_back(in.stride(d));
    lines.out_strides.push_back(out.stride(d));
  }
  lines.in_step = in.stride(dim), lines.out_step = out.stride(dim);
  cpu::visit_float_double(toRealValueType(in.scalar_type()), "fft", [&](auto tag) {
    using T = typename decltype(tag)::type;
    fft::transform<T>(what, lines, static_cast<const T*>(in.const_data_ptr()), static_cast<T*>(out.data_ptr()));
  });
}

void transform_complex(const Tensor& self, const Dims& dims, bool forward, double scale, const Tensor& out) {
  for (size_t i = dims.size(); i-- > 0;) {
    const Tensor& from = i + 1 == dims.size() ? self : out;
    transform_dim({fft::Kind::kComplex, forward, self.size(dims[i]), i == 0 ? scale : 1}, from, dims[i], out);
  }
}

// Numbers n / 2 + 1 ... n - 1 of each line along `dim`, the conjugates of numbers n - k.
template <class T>
void fill_mirrored(const Tensor& out, int64_t dim) {
  const int64_t n = out.size(dim), step = out.stride(dim), half = n / 2 + 1;
  Dims at(static_cast<size_t>(out.dim()), 0);
  auto* line = static_cast<c10::complex<T>*>(out.data_ptr());
  const int64_t lines = out.numel() / n;
  for (int64_t l = 0; l < lines; ++l) {
    for (int64_t k = half; k < n; ++k) {
      const c10::complex<T> mirrored = line[(n - k) * step];
      line[k * step] = {mirrored.real(), -mirrored.imag()};
    }
    for (int64_t d = out.dim(); d-- > 0;) {
      if (d == dim) continue;
      line += out.stride(d);
      if (++at[static_cast<size_t>(d)] < out.size(d)) break;
      line -= out.stride(d) * out.size(d);
      at[static_cast<size_t>(d)] = 0;
    }
  }
}

Dims sizes_of(const Tensor& self) {
  return Dims(self.sizes().begin(), self.sizes().end());
}

Dims all_but_last(const Dims& dims) {
  return Dims(dims.begin(), dims.end() - 1);
}

// Runs f(input, result) on copies where foreign memory lies at addresses at which no element may be read; else false.
template <class F>
bool by_aligned_copies(const Tensor& self, Tensor& out, const F& f) {
  if (is_aligned(self) && is_aligned(out)) return false;
  Tensor result = is_aligned(out) ? out : at::empty_like(out);
  f(aligned(self), result);
  if (!result.is_same(out)) at::copy_(out, result);
  return true;
}

}  // namespace

TensorSpec _fft_c2c_meta(const Tensor& self, IntArrayRef dim, int64_t normalization, bool) {
  TORCH_CHECK(self.is_complex(), "Only supports complex dtypes, but found: ", self.scalar_type());
  check_precision(self);
  Dims dims = checked_dims("_fft_c2c", self, dim, normalization);
  sort_by_stride(dims, self.strides());
  return result_spec(self, self.strides(), dims, sizes_of(self), self.scalar_type());
}

void _fft_c2c_cpu(const Tensor& self, IntArrayRef dim, int64_t normalization, bool forward, Tensor& out) {
  if (self.numel() == 0) return;
  if (by_aligned_copies(
          self, out, [&](const Tensor& x, Tensor& y) { _fft_c2c_cpu(x, dim, normalization, forward, y); })) {
    return;
  }
  Dims dims = checked_dims("_fft_c2c", self, dim, normalization);
  if (dims.empty()) {
    at::copy_(out, self);
    return;
  }
  sort_by_stride(dims, self.strides());
  transform_complex(self, dims, forward, factor(normalization, self, dims), out);
}

namespace {

// The last dimension stays last, the others go by stride.
Dims real_dims(const char* op, const Tensor& self, IntArrayRef dim, int64_t normalization) {
  TORCH_CHECK(!dim.empty(), op, "() must transform at least one dimension, but dim is empty");
  Dims dims = checked_dims(op, self, dim, normalization), others = all_but_last(dims);
  sort_by_stride(others, self.strides());
  others.push_back(dims.back());
  return others;
}

}  // namespace

TensorSpec _fft_r2c_meta(const Tensor& self, IntArrayRef dim, int64_t normalization, bool onesided) {
  TORCH_CHECK_TYPE(isFloatingType(self.scalar_type()),
                   "Only supports floating-point dtypes, but found: ", self.scalar_type());
  check_precision(self);
  const Dims dims = real_dims("_fft_r2c", self, dim, normalization);
  Dims sizes = sizes_of(self);
  if (onesided) {
    int64_t& last = sizes[static_cast<size_t>(dims.back())];
    last = last / 2 + 1;
  }
  return result_spec(self, self.strides(), dims, std::move(sizes), toComplexType(self.scalar_type()));
}

void _fft_r2c_cpu(const Tensor& self, IntArrayRef dim, int64_t normalization, bool onesided, Tensor& out) {
  if (self.numel() == 0) return;
  if (by_aligned_copies(
          self, out, [&](const Tensor& x, Tensor& y) { _fft_r2c_cpu(x, dim, normalization, onesided, y); })) {
    return;
  }
  const Dims dims = real_dims("_fft_r2c", self, dim, normalization), others = all_but_last(dims);
  const int64_t last = dims.back();
  const double scale = factor(normalization, self, dims);
  transform_dim({fft::Kind::kRealToHalf, true, self.size(last), others.empty() ? scale : 1}, self, last, out);
  if (!onesided) {
    if (self.scalar_type() == kFloat) {
      fill_mirrored<float>(out, last);
    } else {
      fill_mirrored<double>(out, last);
    }
  }
  transform_complex(out, others, true, scale, out);
}

TensorSpec _fft_c2r_meta(const Tensor& self, IntArrayRef dim, int64_t normalization, int64_t last_dim_size) {
  TORCH_CHECK(self.is_complex(), "Only supports complex dtypes, but found: ", self.scalar_type());
  check_precision(self);
  const Dims dims = real_dims("_fft_c2r", self, dim, normalization);
  const int64_t last = dims.back();
  TORCH_CHECK(last_dim_size >= 1, "_fft_c2r(): Invalid number of data points (", last_dim_size, ") specified");
  TORCH_CHECK(self.size(last) == last_dim_size / 2 + 1, "_fft_c2r(): a last_dim_size of ", last_dim_size, " needs ",
              last_dim_size / 2 + 1, " numbers in dimension ", last, ", but self has sizes ", self.sizes());
  // The other dimensions are transformed before.
  Dims strides(self.strides().begin(), self.strides().end());
  if (dims.size() > 1) strides = result_spec(self, self.strides(), all_but_last(dims), sizes_of(self), kFloat).strides;
  Dims sizes = sizes_of(self);
  sizes[static_cast<size_t>(last)] = last_dim_size;
  return result_spec(self, strides, {last}, std::move(sizes), toRealValueType(self.scalar_type()));
}

void _fft_c2r_cpu(const Tensor& self, IntArrayRef dim, int64_t normalization, int64_t last_dim_size, Tensor& out) {
  if (self.numel() == 0) return;
  if (by_aligned_copies(
          self, out, [&](const Tensor& x, Tensor& y) { _fft_c2r_cpu(x, dim, normalization, last_dim_size, y); })) {
    return;
  }
  const Dims dims = real_dims("_fft_c2r", self, dim, normalization), others = all_but_last(dims);
  const int64_t last = dims.back();
  Tensor half = self;
  if (!others.empty()) {
    const TensorSpec spec = result_spec(self, self.strides(), others, sizes_of(self), self.scalar_type());
    half = at::empty_spec(spec);
    transform_complex(self, others, false, 1, half);
  }
  transform_dim({fft::Kind::kHalfToReal, false, last_dim_size, factor(normalization, out, dims)}, half, last, out);
}

}  // namespace at::native
