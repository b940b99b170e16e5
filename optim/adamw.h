#pragma once

#include "optim/adam_family.h"

namespace torch::optim {

struct AdamWOptions : public AdamFamilyOptions<AdamWOptions> {
  AdamWOptions(double lr = 1e-3) : AdamFamilyOptions(lr, /*weight_decay=*/1e-2) {}
};

struct AdamWParamState : public AdamFamilyParamState<AdamWParamState> {};

/// Adam with decoupled weight decay (formula: at::_fused_adamw_).
///
///   torch::optim::AdamW adamw(net->parameters(), torch::optim::AdamWOptions(3e-4).weight_decay(0.1));
class AdamW : public AdamFamily<AdamWOptions, AdamWParamState, /*kDecoupled=*/true> {
 public:
  using AdamFamily::AdamFamily;
};

}  // namespace torch::optim
