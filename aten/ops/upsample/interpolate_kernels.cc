// Linear and cubic interpolation, with and without antialiasing, and the gradients of all modes.
#include <array>

#include "aten/core/tensor.h"
#include "aten/ops/upsample/kernels.h"
#include "aten/ops/upsample/resample.h"
#include "aten/ops/upsample/upsample_geometry.h"

namespace at::native {
namespace {

using Scale = std::optional<double>;
using Scales = std::array<Scale, 3>;

bool in_bytes(Filter filter, int dims) {
  return dims == 2 && filter != Filter::kNearest && filter != Filter::kNearestExact;
}

TensorSpec interpolated_spec(const char* op, Filter filter, int dims, const Tensor& self, IntArrayRef output_size) {
  const ScalarType type = self.scalar_type();
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(type) || (type == kByte && in_bytes(filter, dims)), "\"", op,
                              "\" not implemented for '", type, "'");
  return upsample_spec(op, dims, self, output_size);
}

std::array<AxisPlan, 3> plans_of(const char* op, Filter filter, int dims, const UpsampleGeometry& g, bool align_corners,
                                 const Scales& scales) {
  std::array<AxisPlan, 3> plans;
  for (size_t d = 0; d < 3; ++d) {
    plans[d] = d < 3 - static_cast<size_t>(dims) ? identity_plan(1)
                                                 : axis_plan(op, filter, g.in[d], g.out[d], align_corners, scales[d]);
  }
  return plans;
}

void interpolate(const char* op, Filter filter, int dims, const Tensor& self, bool align_corners, const Scales& scales,
                 Tensor& out) {
  if (out.numel() == 0) return;
  const UpsampleGeometry g = upsample_geometry(self, dims, self.sizes(), out.sizes());
  std::array<AxisPlan, 3> plans = plans_of(op, filter, dims, g, align_corners, scales);
  // A dimension that keeps its size is not filtered, whatever the scale. The gradient, as PyTorch's, does not look at
  // that.
  for (AxisPlan& plan : plans) {
    if ((antialiased(filter) || self.scalar_type() == kByte) && plan.in == plan.out) plan = identity_plan(plan.in);
  }
  FormattedOut to(out, g.format);
  resample(op, g, plans, dense_in(self, g.format), to.tensor());
  to.commit();
}

void interpolate_backward(const char* op, Filter filter, int dims, const Tensor& grad_output, bool align_corners,
                          const Scales& scales, Tensor& out) {
  if (out.numel() == 0) return;
  UpsampleGeometry g = upsample_geometry(grad_output, dims, out.sizes(), grad_output.sizes());
  std::array<AxisPlan, 3> plans = plans_of(op, filter, dims, g, align_corners, scales);
  for (AxisPlan& plan : plans) plan = transposed(plan);
  std::swap(g.in, g.out);
  FormattedOut to(out, g.format);
  resample(op, g, plans, dense_in(grad_output, g.format), to.tensor());
  to.commit();
}

}  // namespace

// The four functions of an operator of one, two or three dimensions with align_corners, and the two of the gradient of
// one without.
#define AT_INTERPOLATION_1D(op, filter)                                                                           \
  TensorSpec op##_meta(const Tensor& self, IntArrayRef output_size, bool, Scale) {                                \
    return interpolated_spec(#op, filter, 1, self, output_size);                                                  \
  }                                                                                                               \
  void op##_cpu(const Tensor& self, IntArrayRef, bool align_corners, Scale scale, Tensor& out) {                  \
    interpolate(#op, filter, 1, self, align_corners, {Scale(), Scale(), scale}, out);                             \
  }                                                                                                               \
  TensorSpec op##_backward_meta(const Tensor& grad_output, IntArrayRef output_size, IntArrayRef input_size, bool, \
                                Scale) {                                                                          \
    return upsample_backward_spec(#op "_backward", 1, grad_output, output_size, input_size);                      \
  }                                                                                                               \
  void op##_backward_cpu(const Tensor& grad_output, IntArrayRef, IntArrayRef, bool align_corners, Scale scale,    \
                         Tensor& out) {                                                                           \
    interpolate_backward(#op "_backward", filter, 1, grad_output, align_corners, {Scale(), Scale(), scale}, out); \
  }
#define AT_INTERPOLATION_2D(op, filter)                                                                             \
  TensorSpec op##_meta(const Tensor& self, IntArrayRef output_size, bool, Scale, Scale) {                           \
    return interpolated_spec(#op, filter, 2, self, output_size);                                                    \
  }                                                                                                                 \
  void op##_cpu(const Tensor& self, IntArrayRef, bool align_corners, Scale h, Scale w, Tensor& out) {               \
    interpolate(#op, filter, 2, self, align_corners, {Scale(), h, w}, out);                                         \
  }                                                                                                                 \
  TensorSpec op##_backward_meta(const Tensor& grad_output, IntArrayRef output_size, IntArrayRef input_size, bool,   \
                                Scale, Scale) {                                                                     \
    return upsample_backward_spec(#op "_backward", 2, grad_output, output_size, input_size);                        \
  }                                                                                                                 \
  void op##_backward_cpu(const Tensor& grad_output, IntArrayRef, IntArrayRef, bool align_corners, Scale h, Scale w, \
                         Tensor& out) {                                                                             \
    interpolate_backward(#op "_backward", filter, 2, grad_output, align_corners, {Scale(), h, w}, out);             \
  }
#define AT_INTERPOLATION_3D(op, filter)                                                                             \
  TensorSpec op##_meta(const Tensor& self, IntArrayRef output_size, bool, Scale, Scale, Scale) {                    \
    return interpolated_spec(#op, filter, 3, self, output_size);                                                    \
  }                                                                                                                 \
  void op##_cpu(const Tensor& self, IntArrayRef, bool align_corners, Scale d, Scale h, Scale w, Tensor& out) {      \
    interpolate(#op, filter, 3, self, align_corners, {d, h, w}, out);                                               \
  }                                                                                                                 \
  TensorSpec op##_backward_meta(const Tensor& grad_output, IntArrayRef output_size, IntArrayRef input_size, bool,   \
                                Scale, Scale, Scale) {                                                              \
    return upsample_backward_spec(#op "_backward", 3, grad_output, output_size, input_size);                        \
  }                                                                                                                 \
  void op##_backward_cpu(const Tensor& grad_output, IntArrayRef, IntArrayRef, bool align_corners, Scale d, Scale h, \
                         Scale w, Tensor& out) {                                                                    \
    interpolate_backward(#op "_backward", filter, 3, grad_output, align_corners, {d, h, w}, out);                   \
  }
#define AT_NEAREST_BACKWARD(suffix, filter)                                                                          \
  TensorSpec suffix##1d_backward_meta(const Tensor& grad_output, IntArrayRef output_size, IntArrayRef input_size,    \
                                      Scale) {                                                                       \
    return upsample_backward_spec(#suffix "1d_backward", 1, grad_output, output_size, input_size);                   \
  }                                                                                                                  \
  void suffix##1d_backward_cpu(const Tensor& grad_output, IntArrayRef, IntArrayRef, Scale scale, Tensor& out) {      \
    interpolate_backward(#suffix "1d_backward", filter, 1, grad_output, false, {Scale(), Scale(), scale}, out);      \
  }                                                                                                                  \
  TensorSpec suffix##2d_backward_meta(const Tensor& grad_output, IntArrayRef output_size, IntArrayRef input_size,    \
                                      Scale, Scale) {                                                                \
    return upsample_backward_spec(#suffix "2d_backward", 2, grad_output, output_size, input_size);                   \
  }                                                                                                                  \
  void suffix##2d_backward_cpu(const Tensor& grad_output, IntArrayRef, IntArrayRef, Scale h, Scale w, Tensor& out) { \
    interpolate_backward(#suffix "2d_backward", filter, 2, grad_output, false, {Scale(), h, w}, out);                \
  }                                                                                                                  \
  TensorSpec suffix##3d_backward_meta(const Tensor& grad_output, IntArrayRef output_size, IntArrayRef input_size,    \
                                      Scale, Scale, Scale) {                                                         \
    return upsample_backward_spec(#suffix "3d_backward", 3, grad_output, output_size, input_size);                   \
  }                                                                                                                  \
  void suffix##3d_backward_cpu(const Tensor& grad_output, IntArrayRef, IntArrayRef, Scale d, Scale h, Scale w,       \
                               Tensor& out) {                                                                        \
    interpolate_backward(#suffix "3d_backward", filter, 3, grad_output, false, {d, h, w}, out);                      \
  }

AT_INTERPOLATION_1D(upsample_linear1d, Filter::kLinear)
AT_INTERPOLATION_2D(upsample_bilinear2d, Filter::kLinear)
AT_INTERPOLATION_2D(upsample_bicubic2d, Filter::kCubic)
AT_INTERPOLATION_2D(_upsample_bilinear2d_aa, Filter::kLinearAntialias)
AT_INTERPOLATION_2D(_upsample_bicubic2d_aa, Filter::kCubicAntialias)
AT_INTERPOLATION_2D(_upsample_lanczos2d_aa, Filter::kLanczosAntialias)
AT_INTERPOLATION_3D(upsample_trilinear3d, Filter::kLinear)
AT_NEAREST_BACKWARD(upsample_nearest, Filter::kNearest)
AT_NEAREST_BACKWARD(_upsample_nearest_exact, Filter::kNearestExact)

#undef AT_INTERPOLATION_1D
#undef AT_INTERPOLATION_2D
#undef AT_INTERPOLATION_3D
#undef AT_NEAREST_BACKWARD

}  // namespace at::native
