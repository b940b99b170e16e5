#pragma once

#include <mutex>
#include <optional>

#include "aten/cuda/generator.h"
#include "aten/cuda/philox_state.h"
#include "c10/util/exception.h"

namespace at::cuda::random {

/// The generator of a call for tensors on `device`: the given one, which must be that device's, or the standard one.
inline CUDAGeneratorImpl& generator_for(Device device, const std::optional<Generator>& given) {
  auto* const generator =
      get_generator_or_default<CUDAGeneratorImpl>(given, cuda::detail::getDefaultCUDAGenerator(device.index()));
  TORCH_CHECK(generator->device() == device, "Expected a '", device, "' generator device but found '",
              generator->device(), "'");
  return *generator;
}

/// The next `words`, a multiple of 4, of each subsequence.
inline PhiloxCudaState take(Device device, const std::optional<Generator>& given, uint64_t words) {
  CUDAGeneratorImpl& generator = generator_for(device, given);
  std::lock_guard<std::mutex> lock(generator.mutex_);
  return generator.philox_cuda_state(words);
}

}  // namespace at::cuda::random
