// linear of CUDA tensors.
#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cuda/matmul/product.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/matmul/kernels.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {

void linear_cuda(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t k = input.size(-1), n = weight.dim() == 2 ? weight.size(0) : 1, rows = out.numel() / n;
  const Tensor matrix = at::reshape(input, {rows, k});
  const Tensor columns = weight.dim() == 2 ? at::transpose(weight, 0, 1) : at::unsqueeze(weight, 1);
  const int64_t flat[] = {rows, n};
  const std::optional<DimVector> strides = view_strides(out.sizes(), out.strides(), flat);
  Tensor result = strides.has_value() ? make_view(out, flat, *strides, out.storage_offset())
                                      : empty_contiguous(flat, out.scalar_type(), out.device());
  if (bias.has_value() && bias->defined()) {
    const bool for_all_rows = weight.dim() == 2 && bias->dim() <= 1;
    const Tensor add = for_all_rows ? *bias : at::reshape(at::expand(*bias, out.sizes(), false), flat);
    cuda::product("addmm_cuda", matrix, columns, &add, 1, 1, result);
  } else {
    cuda::product("addmm_cuda", matrix, columns, result);
  }
  if (!strides.has_value()) at::copy_(out, at::reshape(result, out.sizes()), false);
}

std::tuple<Tensor, Tensor> fused_linear_parameters_backward_cuda(const Tensor& grad_output, const Tensor& input) {
  const Tensor turned = at::transpose(grad_output, 0, 1);
  Tensor weight = empty_contiguous({grad_output.size(1), input.size(1)}, input.scalar_type(), input.device());
  Tensor bias = empty_contiguous({grad_output.size(1)}, input.scalar_type(), input.device());
  if (cuda::product_with_row_sums("addmm_cuda", turned, input, weight, bias)) return {weight, bias};
  return {at::mm(turned, input), at::sum(grad_output, IntArrayRef{0}, false, std::nullopt)};
}

}  // namespace at::native
