// Modules without their initial values.
#pragma once

#include <optional>
#include <utility>

#include "c10/core/device.h"
#include "nn/init/init.h"
#include "nn/module/module.h"

namespace torch::nn::utils {

// A module whose parameters are not initialized, for those that are loaded anyway: neither the time is spent nor are
// random numbers drawn.
//
//   auto fc = torch::nn::utils::skip_init<torch::nn::Linear>(4096, 4096);
//   fc->load_state_dict(state);
//
// It holds for parameters that torch::nn::init fills, as those of all layers; not for what the class itself writes.
template <typename M, typename... Args>
M skip_init(Args&&... args) {
  const init::SkipGuard skip;
  return M(std::forward<Args>(args)...);
}

}  // namespace torch::nn::utils
