#pragma once

#include "optim/adam_family.h"

namespace torch::optim {

struct AdamOptions : public AdamFamilyOptions<AdamOptions> {
  AdamOptions(double lr = 1e-3) : AdamFamilyOptions(lr, /*weight_decay=*/0, /*decoupled=*/false) {}
};

struct AdamParamState : public AdamFamilyParamState<AdamParamState> {};
TORCH_OPTIM_CLASSES_OF(extern, Adam)

/// Adam, with weight decay as part of the gradient (formula: at::_fused_adam_).
///
///   torch::optim::Adam adam(net->parameters(), torch::optim::AdamOptions(1e-3).betas({0.9, 0.95}));
class Adam : public AdamFamily<AdamOptions, AdamParamState> {
 public:
  using AdamFamily::AdamFamily;

 protected:
  const char* name() const override { return "Adam"; }
};

}  // namespace torch::optim
