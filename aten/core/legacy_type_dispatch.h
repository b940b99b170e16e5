// What kernels of programs before PyTorch 1.9 held around the calls below autograd.
#pragma once

#include "c10/core/thread_state.h"
#include "c10/util/exception.h"

namespace at {

class AutoNonVariableTypeMode {
 public:
  explicit AutoNonVariableTypeMode(bool enabled = true) {
    TORCH_WARN_ONCE(
        "AutoNonVariableTypeMode is deprecated. Kernels use AutoDispatchBelowADInplaceOrView instead, and code of users "
        "that wants inference only c10::InferenceMode.");
    TORCH_CHECK(enabled, "AutoNonVariableTypeMode(false) is not supported");
  }

 private:
  c10::AutoDispatchBelowADInplaceOrView guard_;
};

}  // namespace at

namespace torch {
using at::AutoNonVariableTypeMode;
}
