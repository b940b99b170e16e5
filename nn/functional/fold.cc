#include "nn/functional/fold.h"

#include "aten/ops/conv/ops.h"

namespace torch::nn::functional {

Tensor fold(const Tensor& input, const FoldFuncOptions& o) {
  TORCH_CHECK(input.dim() == 2 || input.dim() == 3,
              "Input Error: Only unbatched (2D) or batched (3D) input Tensors are supported (got ", input.dim(), "D)");
  return at::col2im(input, *o.output_size(), *o.kernel_size(), *o.dilation(), *o.padding(), *o.stride());
}

Tensor unfold(const Tensor& input, const UnfoldFuncOptions& o) {
  TORCH_CHECK(input.dim() == 4, "Input Error: Only 4D input Tensors are supported (got ", input.dim(), "D)");
  return at::im2col(input, *o.kernel_size(), *o.dilation(), *o.padding(), *o.stride());
}

}  // namespace torch::nn::functional
