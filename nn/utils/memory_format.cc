#include "nn/utils/memory_format.h"

#include "aten/ops/copy/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "nn/layers/conv.h"

namespace torch::nn::utils {
namespace {

template <typename Conv, typename ConvTranspose>
void convert(Module& module, c10::MemoryFormat format) {
  c10::NoGradGuard no_grad;
  module.apply([&](Module& m) {
    if (m.as<Conv>() == nullptr && m.as<ConvTranspose>() == nullptr) return;
    const at::Tensor& weight = tensor_member(m, "weight");
    weight.set_data(at::clone(at::detach(weight), format));
  });
}

}  // namespace

void convert_conv2d_weight_memory_format(Module& module, c10::MemoryFormat memory_format) {
  convert<Conv2dImpl, ConvTranspose2dImpl>(module, memory_format);
}
void convert_conv3d_weight_memory_format(Module& module, c10::MemoryFormat memory_format) {
  convert<Conv3dImpl, ConvTranspose3dImpl>(module, memory_format);
}

}  // namespace torch::nn::utils
