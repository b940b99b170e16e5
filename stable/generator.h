#pragma once

#include <memory>

#include "c10/core/generator.h"
#include "stable/device.h"
#include "stable/shim.h"

namespace torch::stable {

/// A random number generator of the stable interface: a counted handle.
class Generator {
 public:
  /// Takes the handle over.
  explicit Generator(AtenGeneratorHandle gen) : generator_(reinterpret_cast<at::Generator*>(gen)) {}
  /// The handle, which stays this object's.
  AtenGeneratorHandle get() const { return reinterpret_cast<AtenGeneratorHandle>(generator_.get()); }
  Device device() const { return Device(generator_->device().type(), generator_->device().index()); }

 private:
  std::shared_ptr<at::Generator> generator_;
};

}  // namespace torch::stable
