// The forms that take either sizes or scales, as lists.
#include "aten/core/tensor.h"
#include "aten/ops/upsample/kernels.h"
#include "aten/ops/upsample/ops.h"

namespace at::native {
namespace {

using Scale = std::optional<double>;
using ScaleList = std::optional<ArrayRef<double>>;

DimVector sizes_of(const char* op, size_t dims, const Tensor& input, OptionalIntArrayRef output_size,
                   const ScaleList& scales) {
  TORCH_CHECK(output_size.has_value() != scales.has_value(), op,
              ": Must specify exactly one of output_size and scale_factors");
  TORCH_CHECK(input.dim() == static_cast<int64_t>(dims) + 2, op, ": It is expected input_size equals to ", dims + 2,
              ", but got size ", input.dim());
  if (output_size.has_value()) {
    TORCH_CHECK(output_size->size() == dims, op, ": It is expected output_size equals to ", dims, ", but got size ",
                output_size->size());
    return DimVector(output_size->begin(), output_size->end());
  }
  TORCH_CHECK(scales->size() == dims, op, ": It is expected scale_factors equals to ", dims, ", but got size ",
              scales->size());
  DimVector sizes;
  for (size_t d = 0; d < dims; ++d) {
    const double size = static_cast<double>(input.size(static_cast<int64_t>(d) + 2)) * (*scales)[d];
    TORCH_CHECK(size >= 0 && size < 0x1p62, op, ": scale factor ", (*scales)[d],
                " is out of range for a dimension of size ", input.size(static_cast<int64_t>(d) + 2));
    sizes.push_back(static_cast<int64_t>(size));
  }
  return sizes;
}
Scale scale_at(const ScaleList& scales, size_t d) {
  return scales.has_value() ? Scale((*scales)[d]) : Scale();
}

}  // namespace

Tensor upsample_linear1d_vec(const Tensor& input, OptionalIntArrayRef output_size, bool align_corners,
                             ScaleList scale_factors) {
  return at::upsample_linear1d(input, sizes_of("upsample_linear1d", 1, input, output_size, scale_factors),
                               align_corners, scale_at(scale_factors, 0));
}
#define AT_UPSAMPLE_VEC_2D(op)                                                                                         \
  Tensor op##_vec(const Tensor& input, OptionalIntArrayRef output_size, bool align_corners, ScaleList scale_factors) { \
    return at::op(input, sizes_of(#op, 2, input, output_size, scale_factors), align_corners,                           \
                  scale_at(scale_factors, 0), scale_at(scale_factors, 1));                                             \
  }
AT_UPSAMPLE_VEC_2D(upsample_bilinear2d)
AT_UPSAMPLE_VEC_2D(upsample_bicubic2d)
AT_UPSAMPLE_VEC_2D(_upsample_bilinear2d_aa)
AT_UPSAMPLE_VEC_2D(_upsample_bicubic2d_aa)
AT_UPSAMPLE_VEC_2D(_upsample_lanczos2d_aa)
#undef AT_UPSAMPLE_VEC_2D
Tensor upsample_trilinear3d_vec(const Tensor& input, OptionalIntArrayRef output_size, bool align_corners,
                                ScaleList scale_factors) {
  return at::upsample_trilinear3d(input, sizes_of("upsample_trilinear3d", 3, input, output_size, scale_factors),
                                  align_corners, scale_at(scale_factors, 0), scale_at(scale_factors, 1),
                                  scale_at(scale_factors, 2));
}

#define AT_NEAREST_VEC(name)                                                                                           \
  Tensor name##1d_vec(const Tensor& input, OptionalIntArrayRef output_size, ScaleList scale_factors) {                 \
    return at::name##1d(input, sizes_of(#name "1d", 1, input, output_size, scale_factors),                             \
                        scale_at(scale_factors, 0));                                                                   \
  }                                                                                                                    \
  Tensor name##2d_vec(const Tensor& input, OptionalIntArrayRef output_size, ScaleList scale_factors) {                 \
    return at::name##2d(input, sizes_of(#name "2d", 2, input, output_size, scale_factors), scale_at(scale_factors, 0), \
                        scale_at(scale_factors, 1));                                                                   \
  }                                                                                                                    \
  Tensor name##3d_vec(const Tensor& input, OptionalIntArrayRef output_size, ScaleList scale_factors) {                 \
    return at::name##3d(input, sizes_of(#name "3d", 3, input, output_size, scale_factors), scale_at(scale_factors, 0), \
                        scale_at(scale_factors, 1), scale_at(scale_factors, 2));                                       \
  }
AT_NEAREST_VEC(upsample_nearest)
AT_NEAREST_VEC(_upsample_nearest_exact)
#undef AT_NEAREST_VEC

}  // namespace at::native
