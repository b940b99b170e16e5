// Options of pad(): how many elements to add before and after, from the last dimension on.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "c10/util/arg.h"
#include "nn/options/enum.h"

namespace torch::nn::functional {

struct PadFuncOptions {
  using mode_t = std::variant<enumtype::kConstant, enumtype::kReflect, enumtype::kReplicate, enumtype::kCircular>;
  PadFuncOptions(std::vector<int64_t> pad) : pad_(std::move(pad)) {}
  TORCH_ARG(std::vector<int64_t>, pad);
  TORCH_ARG(mode_t, mode) = torch::kConstant;
  TORCH_ARG(double, value) = 0;
};

}  // namespace torch::nn::functional
