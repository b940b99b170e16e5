#pragma once

#include "optim/adam_family.h"

namespace torch::optim {

struct AdamWOptions : public AdamFamilyOptions<AdamWOptions> {
  AdamWOptions(double lr = 1e-3) : AdamFamilyOptions(lr, /*weight_decay=*/1e-2, /*decoupled=*/true) {}
};

struct AdamWParamState : public AdamFamilyParamState<AdamWParamState> {};
TORCH_OPTIM_CLASSES_OF(extern, AdamW)

/// Adam with decoupled weight decay (formula: at::_fused_adamw_).
///
///   torch::optim::AdamW adamw(net->parameters(), torch::optim::AdamWOptions(3e-4).weight_decay(0.1));
class AdamW : public AdamFamily<AdamWOptions, AdamWParamState> {
 public:
  using AdamFamily::AdamFamily;

 protected:
  const char* name() const override { return "AdamW"; }
};

}  // namespace torch::optim
