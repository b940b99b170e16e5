// The weights of convolutions in another memory format, so that inputs in that format need no conversion.
#pragma once

#include "c10/core/memory_format.h"
#include "nn/module/computed_tensor.h"

namespace torch::nn::utils {

// Converts the weights of all Conv2d and ConvTranspose2d (Conv3d and ConvTranspose3d) in the module, in place.
// Gradients that are there keep their format. Returns the module.
void convert_conv2d_weight_memory_format(Module& module, c10::MemoryFormat memory_format);
template <ModuleHandle M>
M convert_conv2d_weight_memory_format(M module, c10::MemoryFormat memory_format) {
  convert_conv2d_weight_memory_format(*ModuleRef(module), memory_format);
  return module;
}
void convert_conv3d_weight_memory_format(Module& module, c10::MemoryFormat memory_format);
template <ModuleHandle M>
M convert_conv3d_weight_memory_format(M module, c10::MemoryFormat memory_format) {
  convert_conv3d_weight_memory_format(*ModuleRef(module), memory_format);
  return module;
}

}  // namespace torch::nn::utils
