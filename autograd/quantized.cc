// The operators of torch.ops.quantized that take numbers: their results take part in recorded computations, but the
// numbers get no gradient.
#include "aten/core/library.h"
#include "autograd/function/not_implemented_fallback.h"

namespace {

TORCH_LIBRARY_IMPL(quantized, Autograd, m) {
  for (const char* const name :
       {"linear_dynamic", "linear_relu_dynamic", "linear_with_input_q_dq_qweight_dq_output_fp32",
        "linear_with_input_q_dq_qweight_dq_relu_output_fp32", "conv1d_dynamic", "conv2d_dynamic", "conv3d_dynamic",
        "conv_transpose1d_dynamic", "conv_transpose2d_dynamic", "conv_transpose3d_dynamic"}) {
    m.impl(name, torch::autograd::basicAutogradNotImplementedFallback());
  }
}

}  // namespace
