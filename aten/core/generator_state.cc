#include <cstring>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "c10/core/generator.h"

namespace at {

void Generator::set_state(const Tensor& new_state) {
  TORCH_CHECK_TYPE(new_state.defined() && new_state.layout() == kStrided && new_state.device().is_cpu() &&
                       new_state.scalar_type() == kByte,
                   "RNG state must be a torch.ByteTensor");
  TORCH_CHECK_TYPE(new_state.dim() == 1, "RNG state must be a 1-D torch.ByteTensor, but got ", new_state.dim(),
                   " dimensions");
  // A few thousand bytes: copied one by one, they may lie anywhere.
  std::vector<uint8_t> bytes(static_cast<size_t>(new_state.numel()));
  const uint8_t* from = new_state.data_ptr<uint8_t>();
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = from[static_cast<int64_t>(i) * new_state.stride(0)];
  checked()->set_state_bytes(bytes.data(), bytes.size());
}

Tensor Generator::get_state() const {
  const std::vector<uint8_t> bytes = checked()->state_bytes();
  TensorSpec spec;
  spec.sizes = DimVector{static_cast<int64_t>(bytes.size())};
  spec.dtype = kByte;
  spec.device = Device(kCPU);
  Tensor state = empty_spec(spec);
  std::memcpy(state.data_ptr<uint8_t>(), bytes.data(), bytes.size());
  return state;
}

}  // namespace at
