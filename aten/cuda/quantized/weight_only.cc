// Products of CUDA tensors with weights that are stored as integers: the weights become float32, then the library
// multiplies.
#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/quantized/kernels.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

// Every second column, from the first or from the second.
Tensor half_of(const Tensor& matrix, int64_t first) {
  return at::select(at::reshape(matrix, {matrix.size(0), matrix.size(1) / 2, 2}), 2, first);
}

}  // namespace

void _weight_int8pack_mm_cuda(const Tensor& self, const Tensor& mat2, const Tensor& scales, Tensor& out) {
  // Integers are exact in each dtype; the sums are rounded once, after they are scaled.
  const Tensor product = at::mm(at::to(self, kFloat), at::t(at::to(mat2, kFloat)));
  at::copy_(out, at::mul(product, at::to(scales, kFloat)));
}

void _convert_weight_to_int4pack_for_cpu_cuda(const Tensor& self, int64_t, Tensor& out) {
  const Tensor low = at::bitwise_and(self, Scalar(15));
  at::copy_(out, at::add(half_of(low, 0), half_of(low, 1), Scalar(16)));
}

void _weight_int4pack_mm_for_cpu_cuda(const Tensor& self, const Tensor& mat2, int64_t qGroupSize,
                                      const Tensor& qScaleAndZeros, Tensor& out) {
  const int64_t rows = mat2.size(0), depth = self.size(1);
  const Tensor halves[] = {at::bitwise_and(mat2, Scalar(15)), at::bitwise_right_shift(mat2, Scalar(4))};
  const Tensor stored = at::reshape(at::stack(halves, 2), {rows, depth / qGroupSize, qGroupSize});
  // Of each row and group.
  const Tensor parameters = at::transpose(at::to(qScaleAndZeros, kFloat), 0, 1);
  const Tensor scales = at::narrow(parameters, 2, 0, 1), zeros = at::narrow(parameters, 2, 1, 1);
  const Tensor weight = at::add(at::mul(at::sub(at::to(stored, kFloat), Scalar(8)), scales), zeros);
  at::copy_(out, at::mm(at::to(self, kFloat), at::t(at::reshape(weight, {rows, depth}))));
}

}  // namespace at::native
