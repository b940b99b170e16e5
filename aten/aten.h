// Every operator as a function of namespace at, tensors with all their methods, indexing, literals and printing. A library
// that uses few operators includes and depends on their families instead: "aten/ops/<family>/ops.h".
#pragma once

#include "aten/core/deprecated_type.h"
#include "aten/core/empty.h"
#include "aten/core/from_blob.h"
#include "aten/core/printing.h"
#include "aten/core/tensor.h"
#include "aten/core/tensor_accessor.h"
#include "aten/core/tensor_indexing.h"
#include "aten/core/tensor_literal.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/attention/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/composite/ops.h"
#include "aten/ops/conv/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/fft/ops.h"
#include "aten/ops/foreach/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/loss/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/nested/ops.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/pool/ops.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/rnn/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/special/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/upsample/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "c10/parallel/parallel.h"
#include "c10/util/warning.h"

// Programs call operators as at::native::f, too. Of those with a form that takes lists, it is the other one.
namespace at::native {
using namespace ::at;
inline Tensor _upsample_nearest_exact2d(const Tensor& self, IntArrayRef output_size, std::optional<double> scales_h = std::nullopt,
                                        std::optional<double> scales_w = std::nullopt) {
  return at::_upsample_nearest_exact2d(self, output_size, scales_h, scales_w);
}
inline Tensor _upsample_bilinear2d_aa(const Tensor& self, IntArrayRef output_size, bool align_corners,
                                      std::optional<double> scales_h = std::nullopt, std::optional<double> scales_w = std::nullopt) {
  return at::_upsample_bilinear2d_aa(self, output_size, align_corners, scales_h, scales_w);
}
inline Tensor _upsample_bicubic2d_aa(const Tensor& self, IntArrayRef output_size, bool align_corners,
                                     std::optional<double> scales_h = std::nullopt, std::optional<double> scales_w = std::nullopt) {
  return at::_upsample_bicubic2d_aa(self, output_size, align_corners, scales_h, scales_w);
}
}  // namespace at::native
