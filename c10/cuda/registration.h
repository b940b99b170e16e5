// The CUDA backend's place in the core: guards, hooks and, once they are linked, generators.
#pragma once

#include <cstdint>

#include "c10/core/device.h"
#include "c10/core/generator.h"
#include "c10/cuda/hooks.h"

namespace c10::cuda {

/// The generators of CUDA devices; the index is that of a device that exists. Register them before main.
struct GeneratorFunctions {
  const at::Generator& (*default_generator)(DeviceIndex device);
  at::Generator (*new_generator)(DeviceIndex device);
};
void register_generators(const GeneratorFunctions& functions);

/// What tells a library's version: register it before main, beside what uses the library.
void register_library(Library library, int64_t (*version)());

}  // namespace c10::cuda
