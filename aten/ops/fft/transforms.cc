// torch.fft: what is composed of _fft_c2c, _fft_r2c and _fft_c2r.
#include <algorithm>
#include <optional>
#include <string_view>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/fft/kernels.h"
#include "aten/ops/fft/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

using NormName = std::optional<std::string_view>;
using Size = std::optional<int64_t>;

constexpr int64_t kNone = 0, kByRoot = 1, kByNumber = 2;

int64_t normalization(NormName norm, bool forward) {
  if (!norm || *norm == "backward") return forward ? kNone : kByNumber;
  if (*norm == "forward") return forward ? kByNumber : kNone;
  if (*norm == "ortho") return kByRoot;
  TORCH_CHECK(false, "Invalid normalization mode: \"", *norm, "\"");
}

Tensor promoted(const Tensor& self, bool to_complex) {
  ScalarType type = self.scalar_type();
  if (!isFloatingType(type) && !isComplexType(type)) type = c10::get_default_dtype_as_scalartype();
  // Other devices transform Half too, and BFloat16 as Float.
  if (type == kBFloat16 && !self.is_cpu()) type = kFloat;
  const ScalarType real = toRealValueType(type);
  TORCH_CHECK_NOT_IMPLEMENTED(real == kFloat || real == kDouble || (real == kHalf && !self.is_cpu()), "Unsupported dtype ", type);
  if (to_complex) type = toComplexType(type);
  return type == self.scalar_type() ? self : at::to(self, type);
}

void check_points(int64_t n) {
  TORCH_CHECK(n >= 1, "Invalid number of data points (", n, ") specified");
}

// Cut, or followed by zeros.
Tensor resized(Tensor x, IntArrayRef dims, IntArrayRef sizes) {
  DimVector pad(static_cast<size_t>(2 * x.dim()), 0);
  bool must_pad = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t d = dims[i], size = x.size(d);
    check_points(sizes[i]);
    if (size > sizes[i]) x = at::narrow(x, d, 0, sizes[i]);
    if (size < sizes[i]) {
      must_pad = true;
      pad[pad.size() - 1 - 2 * static_cast<size_t>(d)] = sizes[i] - size;
    }
  }
  return must_pad ? at::constant_pad_nd(x, pad) : x;
}

// --- one dimension ---

Tensor complex_to_complex(const Tensor& self, Size n, int64_t dim, NormName norm, bool forward) {
  dim = maybe_wrap_dim(dim, self.dim(), false);
  const int64_t size = n.value_or(self.size(dim));
  check_points(size);
  const Tensor x = n ? resized(self, {dim}, {size}) : self;
  return at::_fft_c2c(x, {dim}, normalization(norm, forward), forward);
}

Tensor real_to_complex(const char* name, const Tensor& self, Size n, int64_t dim, NormName norm, bool forward,
                       bool onesided) {
  TORCH_CHECK_TYPE(!self.is_complex(), name, " expects a real input tensor, but got ", self.scalar_type());
  Tensor x = promoted(self, false);
  dim = maybe_wrap_dim(dim, self.dim(), false);
  const int64_t size = n.value_or(self.size(dim));
  check_points(size);
  if (n) x = resized(x, {dim}, {size});
  const Tensor y = at::_fft_r2c(x, {dim}, normalization(norm, forward), onesided);
  return forward ? y : at::conj(y);
}

Tensor complex_to_real(const Tensor& self, Size n, int64_t dim, NormName norm, bool forward) {
  Tensor x = promoted(self, true);
  dim = maybe_wrap_dim(dim, self.dim(), false);
  const int64_t size = n.value_or(2 * (self.size(dim) - 1));
  check_points(size);
  if (n) x = resized(x, {dim}, {size / 2 + 1});
  return at::_fft_c2r(forward ? at::conj(x) : x, {dim}, normalization(norm, forward), size);
}

Tensor one_dimensional(const char* name, const Tensor& self, Size n, int64_t dim, NormName norm, bool forward) {
  if (self.is_complex()) return complex_to_complex(promoted(self, true), n, dim, norm, forward);
  return real_to_complex(name, self, n, dim, norm, forward, false);
}

// --- several dimensions ---

struct Shape {
  DimVector dims, sizes;
};

Shape checked_shape(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim) {
  Shape shape;
  const int64_t rank = self.dim();
  if (dim) {
    for (int64_t d : *dim) {
      const int64_t wrapped = maybe_wrap_dim(d, rank);
      TORCH_CHECK(std::find(shape.dims.begin(), shape.dims.end(), wrapped) == shape.dims.end(),
                  "FFT dims must be unique");
      shape.dims.push_back(wrapped);
    }
  }
  if (s) {
    const int64_t count = static_cast<int64_t>(s->size());
    TORCH_CHECK(!dim || s->size() == dim->size(), "When given, dim and shape arguments must have the same length");
    TORCH_CHECK(count <= rank, "Got shape with ", count, " values but input tensor only has ", rank, " dimensions.");
    if (!dim) {
      for (int64_t d = rank - count; d < rank; ++d) shape.dims.push_back(d);
    }
  } else if (!dim) {
    for (int64_t d = 0; d < rank; ++d) shape.dims.push_back(d);
  }
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    const bool given = s && (*s)[i] != -1;
    shape.sizes.push_back(given ? (*s)[i] : self.size(shape.dims[i]));
    check_points(shape.sizes.back());
  }
  return shape;
}

Tensor complex_over_dims(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, NormName norm,
                         bool forward) {
  Shape shape = checked_shape(self, s, dim);
  const bool real = !self.is_complex() && !shape.dims.empty();
  const Tensor x = resized(promoted(self, !real), shape.dims, shape.sizes);
  if (!real) return at::_fft_c2c(x, shape.dims, normalization(norm, forward), forward);
  // Half of it is enough, along the dimension whose numbers lie closest together.
  std::stable_sort(shape.dims.begin(), shape.dims.end(), [&](int64_t a, int64_t b) { return x.stride(a) > x.stride(b); });
  const Tensor y = at::_fft_r2c(x, shape.dims, normalization(norm, forward), false);
  return forward ? y : at::conj(y);
}

Shape checked_real_shape(const char* name, const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim) {
  Shape shape = checked_shape(self, s, dim);
  TORCH_CHECK(!shape.dims.empty(), name, " must transform at least one axis");
  return shape;
}

// Of a result that is real; the last of shape.sizes becomes that of the half of its transform.
struct RealResult {
  Shape shape;
  int64_t last_size;
};
RealResult checked_real_result(const char* name, const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim) {
  RealResult result{checked_real_shape(name, self, s, dim), 0};
  const bool given = s && s->back() != -1;
  result.last_size = given ? s->back() : 2 * (self.size(result.shape.dims.back()) - 1);
  check_points(result.last_size);
  result.shape.sizes.back() = result.last_size / 2 + 1;
  return result;
}

IntArrayRef all_but_last(const DimVector& dims) {
  return IntArrayRef(dims.data(), dims.size() - 1);
}

}  // namespace

Tensor fft_fft(const Tensor& self, Size n, int64_t dim, NormName norm) {
  return one_dimensional("fft", self, n, dim, norm, true);
}
Tensor fft_ifft(const Tensor& self, Size n, int64_t dim, NormName norm) {
  return one_dimensional("ifft", self, n, dim, norm, false);
}
Tensor fft_rfft(const Tensor& self, Size n, int64_t dim, NormName norm) {
  return real_to_complex("rfft", self, n, dim, norm, true, true);
}
Tensor fft_ihfft(const Tensor& self, Size n, int64_t dim, NormName norm) {
  return real_to_complex("ihfft", self, n, dim, norm, false, true);
}
Tensor fft_irfft(const Tensor& self, Size n, int64_t dim, NormName norm) {
  return complex_to_real(self, n, dim, norm, false);
}
Tensor fft_hfft(const Tensor& self, Size n, int64_t dim, NormName norm) {
  return complex_to_real(self, n, dim, norm, true);
}

Tensor fft_fftn(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, NormName norm) {
  return complex_over_dims(self, s, dim, norm, true);
}
Tensor fft_ifftn(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, NormName norm) {
  return complex_over_dims(self, s, dim, norm, false);
}
Tensor fft_rfftn(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, NormName norm) {
  TORCH_CHECK_TYPE(!self.is_complex(), "rfftn expects a real-valued input tensor, but got ", self.scalar_type());
  const Shape shape = checked_real_shape("rfftn", self, s, dim);
  const Tensor x = resized(promoted(self, false), shape.dims, shape.sizes);
  return at::_fft_r2c(x, shape.dims, normalization(norm, true), true);
}
Tensor fft_irfftn(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, NormName norm) {
  const auto [shape, last_size] = checked_real_result("irfftn", self, s, dim);
  const Tensor x = resized(promoted(self, true), shape.dims, shape.sizes);
  return at::_fft_c2r(x, shape.dims, normalization(norm, false), last_size);
}
Tensor fft_hfftn(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, NormName norm) {
  const auto [shape, last_size] = checked_real_result("hfftn", self, s, dim);
  Tensor x = resized(promoted(self, true), shape.dims, shape.sizes);
  const int64_t by = normalization(norm, true);
  if (shape.dims.size() > 1) x = at::_fft_c2c(x, all_but_last(shape.dims), by, true);
  return at::_fft_c2r(at::conj(x), {shape.dims.back()}, by, last_size);
}
Tensor fft_ihfftn(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, NormName norm) {
  TORCH_CHECK_TYPE(!self.is_complex(), "ihfftn expects a real-valued input tensor, but got ", self.scalar_type());
  const Shape shape = checked_real_shape("ihfftn", self, s, dim);
  const Tensor x = resized(promoted(self, false), shape.dims, shape.sizes);
  const int64_t by = normalization(norm, false);
  const Tensor y = at::conj(at::_fft_r2c(x, {shape.dims.back()}, by, true));
  return shape.dims.size() == 1 ? y : at::_fft_c2c(y, all_but_last(shape.dims), by, false);
}

Tensor fft_fft2(const Tensor& self, OptionalIntArrayRef s, IntArrayRef dim, NormName norm) {
  return native::fft_fftn(self, s, dim, norm);
}
Tensor fft_ifft2(const Tensor& self, OptionalIntArrayRef s, IntArrayRef dim, NormName norm) {
  return native::fft_ifftn(self, s, dim, norm);
}
Tensor fft_rfft2(const Tensor& self, OptionalIntArrayRef s, IntArrayRef dim, NormName norm) {
  return native::fft_rfftn(self, s, dim, norm);
}
Tensor fft_irfft2(const Tensor& self, OptionalIntArrayRef s, IntArrayRef dim, NormName norm) {
  return native::fft_irfftn(self, s, dim, norm);
}
Tensor fft_hfft2(const Tensor& self, OptionalIntArrayRef s, IntArrayRef dim, NormName norm) {
  return native::fft_hfftn(self, s, dim, norm);
}
Tensor fft_ihfft2(const Tensor& self, OptionalIntArrayRef s, IntArrayRef dim, NormName norm) {
  return native::fft_ihfftn(self, s, dim, norm);
}

// --- frequencies and shifts ---

namespace {

TensorOptions frequency_options(const char* name, int64_t n, TensorOptions options) {
  const ScalarType type =
      options.has_dtype() ? c10::typeMetaToScalarType(options.dtype()) : c10::get_default_dtype_as_scalartype();
  TORCH_CHECK(isFloatingType(type) || isComplexType(type), name, " requires a floating point or complex dtype");
  TORCH_CHECK(n >= 0, "Trying to create tensor with negative dimension ", n, ": [", n, "]");
  return options.dtype(type);
}

// By half the size of each dimension.
Tensor rolled(const Tensor& self, OptionalIntArrayRef dim, bool upwards) {
  DimVector dims, shifts;
  if (dim) {
    for (int64_t d : *dim) dims.push_back(maybe_wrap_dim(d, self.dim()));
  } else {
    for (int64_t d = 0; d < self.dim(); ++d) dims.push_back(d);
  }
  for (int64_t d : dims) {
    const int64_t size = self.dim() == 0 ? 1 : self.size(d);
    shifts.push_back(upwards ? size / 2 + size % 2 : size / 2);
  }
  return at::roll(self, shifts, dims);
}

}  // namespace

Tensor fft_fftfreq(int64_t n, double d, TensorOptions options) {
  options = frequency_options("fftfreq", n, options);
  const int64_t positive = n / 2 + n % 2;
  const Tensor low = at::arange(0, positive, options), high = at::arange(positive - n, 0, options);
  return at::mul(at::cat({low, high}), 1 / (static_cast<double>(n) * d));
}
Tensor fft_rfftfreq(int64_t n, double d, TensorOptions options) {
  options = frequency_options("rfftfreq", n, options);
  return at::mul(at::arange(n / 2 + 1, options), 1 / (static_cast<double>(n) * d));
}
Tensor fft_fftshift(const Tensor& self, OptionalIntArrayRef dim) {
  return rolled(self, dim, /*upwards=*/false);
}
Tensor fft_ifftshift(const Tensor& self, OptionalIntArrayRef dim) {
  return rolled(self, dim, /*upwards=*/true);
}

}  // namespace at::native
