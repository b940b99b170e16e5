// _fft_c2c, _fft_r2c and _fft_c2r of CUDA tensors, by cuFFT.
#include <algorithm>
#include <bit>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cuda/fft/mirror_call.h"
#include "aten/cuda/fft/plan.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/fft/kernels.h"
#include "aten/ops/fft/transform_dims.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

using cuda::fft::Geometry;
using cuda::fft::Kind;
using cuda::fft::Layout;
using Dims = DimVector;

constexpr size_t kMostTogether = 3;  // dimensions that a plan takes

// The dimensions that number the blocks of `dims`, by the strides of `t`.
Dims others_of(const Tensor& t, const Dims& dims) {
  Dims others;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) others.push_back(d);
  }
  fft::sort_by_stride(others, t.strides());
  return others;
}

// How cuFFT is told where the numbers of `t` lie, the blocks being those of `dims`; false where it cannot be told.
bool find_layout(const Tensor& t, const Dims& others, const Dims& dims, Layout& layout) {
  const auto real = static_cast<int64_t>(elementSize(toRealValueType(t.scalar_type())));
  if (reinterpret_cast<uintptr_t>(t.const_data_ptr()) % static_cast<uintptr_t>(2 * real) != 0) return false;
  int64_t dense = 1, inner = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    const int64_t size = t.size(dims[i]), stride = size == 1 ? dense : t.stride(dims[i]);
    if (stride < dense || stride % inner != 0) return false;
    if (i + 1 == dims.size()) {
      layout.stride = stride;
    } else {
      layout.embed[i + 1] = stride / inner;
    }
    inner = stride;
    dense = stride * size;
  }
  layout.embed[0] = t.size(dims[0]);
  // cuFFT takes halves side by side only where they are real.
  if (t.scalar_type() == kHalf && layout.stride != 1) return false;
  layout.distance = dense;
  int64_t expected = 0;
  for (size_t i = others.size(); i-- > 0;) {
    const int64_t size = t.size(others[i]), stride = t.stride(others[i]);
    if (size == 1) continue;
    if (stride == 0 || (expected != 0 && stride != expected)) return false;
    if (expected == 0) layout.distance = stride;
    expected = stride * size;
  }
  return true;
}

// Memory for the numbers of `t` that cuFFT can be told of, and the same with what `t` holds.
Tensor empty_for(const Tensor& t, const Dims& dims) {
  return at::empty_spec(fft::result_spec(t, t.strides(), dims, fft::sizes_of(t), t.scalar_type()));
}
Tensor copied(const Tensor& t, const Dims& dims) {
  Tensor copy = empty_for(t, dims);
  at::copy_(copy, t);
  return copy;
}

// Transforms along up to three dimensions, unscaled. Both may have any layout; they may be the same tensor.
void transform(Kind kind, const Tensor& in, const Dims& dims, bool forward, Tensor out) {
  Geometry geometry;
  geometry.kind = kind;
  const Tensor& whole = kind == Kind::kHalfToReal ? out : in;
  geometry.real = static_cast<int64_t>(toRealValueType(whole.scalar_type()));
  geometry.rank = static_cast<int64_t>(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) geometry.sizes[i] = whole.size(dims[i]);
  Dims others = others_of(out, dims);
  for (int64_t d : others) geometry.blocks *= in.size(d);

  Tensor to = out;
  if (!find_layout(to, others, dims, geometry.out)) {
    to = empty_for(out, dims);
    others = others_of(to, dims);
    TORCH_INTERNAL_ASSERT(find_layout(to, others, dims, geometry.out));
  }
  Tensor from = in;
  if (!find_layout(from, others, dims, geometry.in)) {
    // The blocks in the order of `to`, which others_of() finds again.
    from = at::empty_spec(fft::result_spec(in, to.strides(), dims, fft::sizes_of(in), in.scalar_type()));
    at::copy_(from, in);
    TORCH_INTERNAL_ASSERT(find_layout(from, others, dims, geometry.in));
  }
  cuda::fft::execute(geometry, const_cast<void*>(from.const_data_ptr()), to.mutable_data_ptr(), forward);
  if (!to.is_same(out)) at::copy_(out, to);
}

// The last of `dims`, as many as a plan takes, which are taken off.
Dims take_last(Dims& dims) {
  const size_t count = std::min(dims.size(), kMostTogether);
  const Dims last(dims.end() - static_cast<std::ptrdiff_t>(count), dims.end());
  dims.resize(dims.size() - count);
  return last;
}

// Over any number of dimensions, of which there is at least one.
void transform_complex(const Tensor& self, Dims dims, bool forward, const Tensor& out) {
  transform(Kind::kComplex, self, take_last(dims), forward, out);
  while (!dims.empty()) transform(Kind::kComplex, out, take_last(dims), forward, out);
}

void check_sizes(const char* op, const Tensor& signal, const Dims& dims) {
  if (toRealValueType(signal.scalar_type()) != kHalf) return;
  for (int64_t d : dims) {
    TORCH_CHECK(std::has_single_bit(static_cast<uint64_t>(signal.size(d))), op,
                "(): cuFFT only supports dimensions whose sizes are powers of two when computing in half precision, "
                "but got a signal of sizes ",
                signal.sizes());
  }
}

void scale(const Tensor& out, double by) {
  if (by == 1) return;
  Tensor real = out.is_complex() ? at::view_as_real(out) : out;
  at::mul_(real, by);
}

// Fills in what real numbers' transforms have twice; the first half is there along the last of `dims`.
void mirror(const Tensor& out, const Dims& dims) {
  cuda::fft::MirrorCall call{};
  const int64_t last = dims.back();
  call.n = out.size(last);
  if (call.n < 3) return;
  call.data = static_cast<char*>(out.mutable_data_ptr());
  call.real_size = static_cast<int64_t>(out.element_size()) / 2;
  call.step = out.stride(last);
  call.missing = cuda::FastDivisor(static_cast<uint32_t>(call.n - (call.n / 2 + 1)));
  int64_t block = call.n;
  const auto add = [&](int64_t d) {
    TORCH_CHECK_NOT_IMPLEMENTED(call.dims < cuda::fft::kMaxMirrorDims,
                                "_fft_r2c(): CUDA tensors are transformed over at most ", cuda::fft::kMaxMirrorDims + 1,
                                " dimensions");
    call.strides[call.dims] = out.stride(d);
    call.sizes[call.dims++] = cuda::FastDivisor(static_cast<uint32_t>(out.size(d)));
    block *= out.size(d);
  };
  for (size_t i = dims.size() - 1; i-- > 0;) add(dims[i]);
  TORCH_CHECK(block < int64_t{1} << 31, "_fft_r2c(): transforms of 2^31 numbers and more on CUDA tensors are onesided");
  call.blocks = out.numel() / block;
  call.distance = block;
  cuda::fft::launch_mirror(call);
}

// Sets to zero the imaginary parts that do not count, which cuFFT may not ignore.
void drop_imaginary(const Tensor& half, int64_t last, int64_t n) {
  const Tensor imaginary = at::select(at::view_as_real(half), -1, 1);
  Tensor first = at::select(imaginary, last, 0);
  at::fill_(first, 0);
  if (n % 2 != 0) return;
  Tensor middle = at::select(imaginary, last, n / 2);
  at::fill_(middle, 0);
}

}  // namespace

void _fft_c2c_cuda(const Tensor& self, IntArrayRef dim, int64_t normalization, bool forward, Tensor& out) {
  if (self.numel() == 0) return;
  Dims dims = fft::checked_dims("_fft_c2c", self, dim, normalization);
  if (dims.empty()) {
    at::copy_(out, self);
    return;
  }
  check_sizes("_fft_c2c", self, dims);
  fft::sort_by_stride(dims, self.strides());
  transform_complex(self, dims, forward, out);
  scale(out, fft::factor(normalization, self, dims));
}

void _fft_r2c_cuda(const Tensor& self, IntArrayRef dim, int64_t normalization, bool onesided, Tensor& out) {
  if (self.numel() == 0) return;
  const Dims dims = fft::real_dims("_fft_r2c", self, dim, normalization);
  check_sizes("_fft_r2c", self, dims);
  // The kernel that fills in the other half wants dense blocks.
  Tensor to = out;
  if (!onesided)
    to = at::empty_spec(fft::result_spec(self, self.strides(), dims, fft::sizes_of(self), out.scalar_type()));
  if (to.strides() == out.strides()) to = out;
  const int64_t last = dims.back();
  const Tensor half = onesided ? to : at::narrow(to, last, 0, self.size(last) / 2 + 1);
  Dims rest = dims;
  transform(Kind::kRealToHalf, self, take_last(rest), true, half);
  if (!rest.empty()) transform_complex(half, rest, true, half);
  if (!onesided) mirror(to, dims);
  scale(to, fft::factor(normalization, self, dims));
  if (!to.is_same(out)) at::copy_(out, to);
}

void _fft_c2r_cuda(const Tensor& self, IntArrayRef dim, int64_t normalization, int64_t last_dim_size, Tensor& out) {
  if (self.numel() == 0) return;
  const Dims dims = fft::real_dims("_fft_c2r", self, dim, normalization), others = fft::all_but_last(dims);
  check_sizes("_fft_c2r", out, dims);
  const int64_t last = dims.back();
  // Not self, which cuFFT would destroy.
  Tensor half;
  if (others.empty()) {
    half = copied(self, {last});
  } else {
    half = empty_for(self, others);
    transform_complex(self, others, false, half);
  }
  drop_imaginary(half, last, last_dim_size);
  transform(Kind::kHalfToReal, half, {last}, false, out);
  scale(out, fft::factor(normalization, out, dims));
}

}  // namespace at::native
