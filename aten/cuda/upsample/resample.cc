// Interpolation of CUDA tensors and its gradients, all modes. The shape rules have checked everything.
#include <algorithm>
#include <array>
#include <cmath>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cuda/spatial/spatial.h"
#include "aten/cuda/upsample/resample_call.h"
#include "aten/ops/upsample/kernels.h"
#include "aten/ops/upsample/upsample_geometry.h"

namespace at::native {
namespace {

using Scale = std::optional<double>;
using Scales = std::array<Scale, 3>;

// Above this many elements to read for each that is made, dimensions are done one by one.
constexpr double kMostAtOnce = 32;

bool is_nearest(Filter filter) {
  return filter == Filter::kNearest || filter == Filter::kNearestExact;
}

// The most taps of an element.
int64_t taps_of(const char* op, const cuda::Axis& a) {
  if (is_nearest(a.filter)) return 1;
  if (!antialiased(a.filter)) return a.filter == Filter::kLinear ? 2 : 4;
  const auto filter = antialias_filter(a.filter, a.steps.step);
  const double most = std::floor(std::min(2 * filter.support + 2, static_cast<double>(a.in)));
  TORCH_CHECK(most * static_cast<double>(a.out) <= static_cast<double>(kMostTaps), op, ": a scale of ", 1 / filter.step,
              " from ", a.in, " to ", a.out, " elements reads too many of them for each");
  return static_cast<int64_t>(most);
}

// One call: the dimensions, and the memory of their tables.
struct Interpolation {
  const char* op;
  int dims;
  MemoryFormat format;
  bool transposed;
  std::array<cuda::Axis, 3> axes{};
  Tensor memory;

  void make_tables(const Tensor& self) {
    const bool bytes = self.scalar_type() == kByte && !is_nearest(axes[2].filter);
    const ScalarType weights = bytes || self.scalar_type() == kDouble ? kDouble : kFloat;
    const int64_t item = weights == kDouble ? 8 : 4;
    int64_t size = 0;
    const auto place = [&](int64_t length) {
      size += (length + 15) / 16 * 16;
      return size - (length + 15) / 16 * 16;
    };
    // Twice: to find how much memory there is to be, and where.
    for (const bool placed : {false, true}) {
      char* const base = placed ? static_cast<char*>(memory.mutable_data_ptr()) : nullptr;
      size = 0;
      for (cuda::Axis& a : axes) {
        if (a.identity) continue;
        const auto ints = [&](int64_t n) { return reinterpret_cast<int32_t*>(base + place(4 * n)); };
        a.weight = base + place(item * a.out * a.taps);
        a.begin = ints(a.out);
        a.count = ints(a.out);
        if (transposed) a.first = ints(a.in), a.last = ints(a.in);
        if (bytes) a.units = ints(a.out * a.taps), a.bits = ints(1);
      }
      if (size == 0) return;
      if (!placed) memory = empty_contiguous({size}, kByte, self.device());
    }
    cuda::launch_axes(op, axes.data(), weights);
    for (const cuda::Axis& a : axes) {
      if (bytes && !a.identity) cuda::launch_byte_weights(op, a);
    }
  }

  // Makes `to` of `from` along those of the dimensions that `now` has.
  void pass(const Tensor& from, const Tensor& to, const std::array<bool, 3>& now, bool bytes) const {
    cuda::ResampleCall call{};
    call.name = op;
    call.from = from.scalar_type();
    call.to = to.scalar_type();
    call.sizes = cuda::sizes_of(op, to, from, dims);
    call.in = cuda::volume_of(from, dims);
    call.out = cuda::volume_of(to, dims);
    call.transposed = transposed;
    int last = 2;
    for (int d = 0; d < 3; ++d) {
      const auto at = static_cast<size_t>(d);
      call.axes[d] = axes[at];
      if (now[at]) last = d;
      if (!now[at]) call.axes[d].identity = true;
    }
    bytes ? cuda::launch_resample_bytes(call, last) : cuda::launch_resample(call);
  }

  void run(const Tensor& self, Tensor& out) {
    make_tables(self);
    const bool bytes = self.scalar_type() == kByte && !is_nearest(axes[2].filter);
    const auto target = [&](size_t d) { return transposed ? axes[d].in : axes[d].out; };
    const auto source = [&](size_t d) { return transposed ? axes[d].out : axes[d].in; };
    // Those that shrink first; bytes along the rows first, as images are resized.
    std::array<size_t, 3> order{2, 1, 0};
    const auto growth = [&](size_t d) { return static_cast<double>(target(d)) / static_cast<double>(source(d)); };
    if (!bytes) std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return growth(a) < growth(b); });
    std::array<bool, 3> now{};
    double reads = 1;
    int left = 0;
    for (size_t d = 0; d < 3; ++d) {
      if (axes[d].identity) continue;
      ++left;
      now[d] = true;
      const double taps = static_cast<double>(axes[d].taps);
      reads *= transposed ? std::ceil(taps * static_cast<double>(axes[d].out) / static_cast<double>(axes[d].in)) : taps;
    }
    if (left == 0 || (!bytes && (left == 1 || reads <= kMostAtOnce))) return pass(self, out, now, false);
    Tensor from = self;
    DimVector sizes(self.sizes().begin(), self.sizes().end());
    for (const size_t d : order) {
      if (axes[d].identity) continue;
      now = {};
      now[d] = true;
      sizes[sizes.size() - 3 + d] = target(d);
      const ScalarType type = bytes || self.scalar_type() == kDouble ? self.scalar_type() : kFloat;
      const Tensor to =
          --left == 0 ? out : empty_with_strides(sizes, c10::strides_for_format(sizes, format), type, self.device());
      pass(from, to, now, bytes);
      from = to;
    }
  }
};

Interpolation interpolation(const char* op, Filter filter, int dims, const UpsampleGeometry& g, bool align_corners,
                            const Scales& scales, NearestRule rule) {
  Interpolation all{op, dims, g.format, false};
  for (size_t d = 0; d < 3; ++d) {
    cuda::Axis& a = all.axes[d];
    a.filter = filter;
    a.rule = rule;
    a.align_corners = align_corners;
    a.in = g.in[d];
    a.out = g.out[d];
    // Linear interpolation to the same size is a copy whatever the scale.
    a.identity = d < 3 - static_cast<size_t>(dims) || (filter == Filter::kLinear && a.in == a.out);
    if (a.identity) continue;
    a.steps = is_nearest(filter) ? nearest_steps(filter, a.in, a.out, scales[d], rule)
                                 : NearestSteps{axis_step(a.in, a.out, align_corners, scales[d]), 0};
    a.taps = taps_of(op, a);
  }
  return all;
}

void interpolate(const char* op, Filter filter, int dims, const Tensor& self, bool align_corners, const Scales& scales,
                 Tensor& out) {
  if (out.numel() == 0) return;
  const UpsampleGeometry g = upsample_geometry(self, dims, self.sizes(), out.sizes());
  Interpolation all =
      interpolation(op, filter, dims, g, align_corners, scales, nearest_rule(dims, g, self.scalar_type()));
  // A dimension that keeps its size is not filtered, whatever the scale; the gradient does not look at that.
  for (cuda::Axis& a : all.axes) {
    if (antialiased(filter) || (self.scalar_type() == kByte && !is_nearest(filter)))
      a.identity = a.identity || a.in == a.out;
  }
  all.run(self, out);
}

void interpolate_backward(const char* op, Filter filter, int dims, const Tensor& grad_output, bool align_corners,
                          const Scales& scales, Tensor& out) {
  if (out.numel() == 0) return;
  const UpsampleGeometry g = upsample_geometry(grad_output, dims, out.sizes(), grad_output.sizes());
  Interpolation all = interpolation(op, filter, dims, g, align_corners, scales, NearestRule::kSizesFirst);
  all.transposed = true;
  all.run(grad_output, out);
}

}  // namespace

// The two functions of an operator of one, two or three dimensions, whose scales are `...`.
#define AT_CUDA_INTERPOLATION(op, filter, dims, parameters, ...)                                           \
  void op##_cuda(const Tensor& self, IntArrayRef, bool align_corners, AT_UNPACK parameters, Tensor& out) { \
    interpolate(#op, filter, dims, self, align_corners, {__VA_ARGS__}, out);                               \
  }                                                                                                        \
  void op##_backward_cuda(const Tensor& grad_output, IntArrayRef, IntArrayRef, bool align_corners,         \
                          AT_UNPACK parameters, Tensor& out) {                                             \
    interpolate_backward(#op "_backward", filter, dims, grad_output, align_corners, {__VA_ARGS__}, out);   \
  }
#define AT_CUDA_NEAREST(op, filter, dims, parameters, ...)                                                          \
  void op##_cuda(const Tensor& self, IntArrayRef, AT_UNPACK parameters, Tensor& out) {                              \
    interpolate(#op, filter, dims, self, false, {__VA_ARGS__}, out);                                                \
  }                                                                                                                 \
  void op##_backward_cuda(const Tensor& grad_output, IntArrayRef, IntArrayRef, AT_UNPACK parameters, Tensor& out) { \
    interpolate_backward(#op "_backward", filter, dims, grad_output, false, {__VA_ARGS__}, out);                    \
  }
#define AT_UNPACK(...) __VA_ARGS__

AT_CUDA_INTERPOLATION(upsample_linear1d, Filter::kLinear, 1, (Scale w), Scale(), Scale(), w)
AT_CUDA_INTERPOLATION(upsample_bilinear2d, Filter::kLinear, 2, (Scale h, Scale w), Scale(), h, w)
AT_CUDA_INTERPOLATION(upsample_bicubic2d, Filter::kCubic, 2, (Scale h, Scale w), Scale(), h, w)
AT_CUDA_INTERPOLATION(_upsample_bilinear2d_aa, Filter::kLinearAntialias, 2, (Scale h, Scale w), Scale(), h, w)
AT_CUDA_INTERPOLATION(_upsample_bicubic2d_aa, Filter::kCubicAntialias, 2, (Scale h, Scale w), Scale(), h, w)
AT_CUDA_INTERPOLATION(_upsample_lanczos2d_aa, Filter::kLanczosAntialias, 2, (Scale h, Scale w), Scale(), h, w)
AT_CUDA_INTERPOLATION(upsample_trilinear3d, Filter::kLinear, 3, (Scale d, Scale h, Scale w), d, h, w)
AT_CUDA_NEAREST(upsample_nearest1d, Filter::kNearest, 1, (Scale w), Scale(), Scale(), w)
AT_CUDA_NEAREST(upsample_nearest2d, Filter::kNearest, 2, (Scale h, Scale w), Scale(), h, w)
AT_CUDA_NEAREST(upsample_nearest3d, Filter::kNearest, 3, (Scale d, Scale h, Scale w), d, h, w)
AT_CUDA_NEAREST(_upsample_nearest_exact1d, Filter::kNearestExact, 1, (Scale w), Scale(), Scale(), w)
AT_CUDA_NEAREST(_upsample_nearest_exact2d, Filter::kNearestExact, 2, (Scale h, Scale w), Scale(), h, w)
AT_CUDA_NEAREST(_upsample_nearest_exact3d, Filter::kNearestExact, 3, (Scale d, Scale h, Scale w), d, h, w)

#undef AT_CUDA_INTERPOLATION
#undef AT_CUDA_NEAREST
#undef AT_UNPACK

}  // namespace at::native
