// _fft_c2c, _fft_r2c and _fft_c2r: one dimension after another, in the order of memory.
#include <algorithm>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/cpu/fft/fft.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/fft/kernels.h"
#include "aten/ops/fft/transform_dims.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

using cpu::fft::Kind;
using Dims = DimVector;
using fft::all_but_last;
using fft::checked_dims;
using fft::factor;
using fft::real_dims;
using fft::result_spec;
using fft::sizes_of;
using fft::sort_by_stride;

void check_precision(const Tensor& self) {
  const ScalarType type = toRealValueType(self.scalar_type());
  TORCH_CHECK_NOT_IMPLEMENTED(type == kFloat || type == kDouble || (type == kHalf && !self.is_cpu()), "Unsupported dtype ", self.scalar_type());
}

// A tensor's memory, or a part of it.
struct View {
  explicit View(const Tensor& t)
      : data(static_cast<char*>(const_cast<void*>(t.const_data_ptr()))), sizes(t.sizes().begin(), t.sizes().end()),
        strides(t.strides().begin(), t.strides().end()), item(static_cast<int64_t>(t.element_size())) {}
  int64_t size(int64_t dim) const { return sizes[static_cast<size_t>(dim)]; }
  // Dimension `dim` at index i, of size 1.
  View at(int64_t dim, int64_t i) const {
    View v = *this;
    v.data += i * strides[static_cast<size_t>(dim)] * item;
    v.sizes[static_cast<size_t>(dim)] = 1;
    return v;
  }

  char* data;
  Dims sizes, strides;
  int64_t item;
};

// Transforms the lines along `dim`; both views have equal sizes in other dimensions.
template <class T>
void transform_dim(const cpu::fft::Transform& what, const View& in, int64_t dim, const View& out) {
  cpu::fft::Lines lines;
  for (size_t d = 0; d < in.sizes.size(); ++d) {
    if (static_cast<int64_t>(d) == dim) continue;
    lines.sizes.push_back(in.sizes[d]);
    lines.in_strides.push_back(in.strides[d]);
    lines.out_strides.push_back(out.strides[d]);
  }
  lines.in_step = in.strides[static_cast<size_t>(dim)], lines.out_step = out.strides[static_cast<size_t>(dim)];
  cpu::fft::transform<T>(what, lines, reinterpret_cast<const T*>(in.data), reinterpret_cast<T*>(out.data));
}

template <class T>
void transform_complex(const View& self, const Dims& dims, bool forward, double scale, const View& out) {
  for (size_t i = dims.size(); i-- > 0;) {
    const View& from = i + 1 == dims.size() ? self : out;
    transform_dim<T>({Kind::kComplex, forward, self.size(dims[i]), i == 0 ? scale : 1}, from, dims[i], out);
  }
}

// f(self, out, T) for all or, where several dimensions of what the second cache holds are transformed, for one index of
// the outermost other dimension after the other, so that it is all done to a part before the next.
template <class F>
void by_parts(const Tensor& self, const Tensor& out, const Dims& dims, const F& f) {
  cpu::visit_float_double(toRealValueType(self.scalar_type()), "fft", [&](auto tag) {
    const View in(self), to(out);
    int64_t outer = -1;
    for (int64_t d = 0; d < out.dim(); ++d) {
      if (std::find(dims.begin(), dims.end(), d) != dims.end()) continue;
      if (outer < 0 || out.stride(d) > out.stride(outer)) outer = d;
    }
    constexpr int64_t kCached = 1 << 20;
    const int64_t count = outer < 0 ? 1 : out.size(outer);
    if (dims.size() < 2 || count < 2 || count < at::get_num_threads() || out.numel() / count * to.item > kCached) {
      return f(in, to, tag);
    }
    const int64_t grain = std::max<int64_t>(1, 16384 * count / out.numel());
    at::parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(in.at(outer, i), to.at(outer, i), tag);
    });
  });
}

// Numbers n / 2 + 1 ... n - 1 of each line along the last of `dims`, the conjugates of the numbers whose indices along
// `dims` are n - k, or 0 where k is.
template <class T>
void fill_mirrored(const View& out, const Dims& dims) {
  const int64_t last = dims.back(), n = out.size(last), step = out.strides[static_cast<size_t>(last)], half = n / 2 + 1;
  int64_t lines = 1;
  for (size_t d = 0; d < out.sizes.size(); ++d) {
    if (static_cast<int64_t>(d) != last) lines *= out.sizes[d];
  }
  at::parallel_for(0, lines, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) {
    for (int64_t l = begin; l < end; ++l) {
      int64_t to = 0, from = 0, rest = l;
      for (size_t d = out.sizes.size(); d-- > 0;) {
        if (static_cast<int64_t>(d) == last) continue;
        const int64_t size = out.sizes[d], k = rest % size;
        rest /= size;
        const bool turned = std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) != dims.end();
        to += k * out.strides[d], from += (turned && k > 0 ? size - k : k) * out.strides[d];
      }
      const c10::complex<T>* const source = reinterpret_cast<const c10::complex<T>*>(out.data) + from;
      c10::complex<T>* const line = reinterpret_cast<c10::complex<T>*>(out.data) + to;
      if (step == 1) {
        cpu::fft::mirror_conjugates(reinterpret_cast<const T*>(source + n - half), static_cast<size_t>(n - half),
                                    reinterpret_cast<T*>(line + half));
        continue;
      }
      for (int64_t k = half; k < n; ++k) {
        const c10::complex<T> mirrored = source[(n - k) * step];
        line[k * step] = {mirrored.real(), -mirrored.imag()};
      }
    }
  });
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
  const double scale = factor(normalization, self, dims);
  by_parts(self, out, dims, [&](const View& in, const View& to, auto tag) {
    transform_complex<typename decltype(tag)::type>(in, dims, forward, scale, to);
  });
}

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
  by_parts(self, out, dims, [&](const View& in, const View& to, auto tag) {
    using T = typename decltype(tag)::type;
    View half = to;
    half.sizes[static_cast<size_t>(last)] = in.size(last) / 2 + 1;
    transform_dim<T>({Kind::kRealToHalf, true, in.size(last), others.empty() ? scale : 1}, in, last, half);
    transform_complex<T>(half, others, true, scale, half);
    if (!onesided) fill_mirrored<T>(to, dims);
  });
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
  const double scale = factor(normalization, out, dims);
  // What is transformed along the other dimensions.
  const Tensor half = others.empty()
      ? self : at::empty_spec(result_spec(self, self.strides(), others, sizes_of(self), self.scalar_type()));
  cpu::visit_float_double(out.scalar_type(), "fft", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (!others.empty()) transform_complex<T>(View(self), others, false, 1, View(half));
    transform_dim<T>({Kind::kHalfToReal, false, last_dim_size, scale}, View(half), last, View(out));
  });
}

}  // namespace at::native
