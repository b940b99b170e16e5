#include "aten/cuda/rng_state.h"

#include <mutex>

#include "c10/core/accelerator.h"
#include "c10/core/generator.h"
#include "c10/cuda/frontend.h"

namespace torch::cuda {
namespace {

at::Generator generator_of(c10::Device device) {
  TORCH_CHECK(device.is_cuda(), "expected a CUDA device, got ", device);
  return at::detail::getDefaultGenerator(device.has_index() ? device : c10::Device(c10::kCUDA, current_device()));
}

c10::Device device_at(size_t index) {
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
}

}  // namespace

at::Tensor get_rng_state(c10::Device device) {
  const at::Generator generator = generator_of(device);
  std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.get_state();
}

void set_rng_state(const at::Tensor& new_state, c10::Device device) {
  at::Generator generator = generator_of(device);
  std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(new_state);
}

std::vector<at::Tensor> get_rng_state_all() {
  std::vector<at::Tensor> states;
  for (c10::DeviceIndex i = 0; i < device_count(); ++i) states.push_back(get_rng_state(c10::Device(c10::kCUDA, i)));
  return states;
}

void set_rng_state_all(const std::vector<at::Tensor>& new_states) {
  const auto count = static_cast<size_t>(device_count());
  TORCH_CHECK(new_states.size() == count, "set_rng_state_all: expected a state for each of ", count, " devices, got ",
              new_states.size());
  for (size_t i = 0; i < count; ++i) set_rng_state(new_states[i], device_at(i));
}

}  // namespace torch::cuda
