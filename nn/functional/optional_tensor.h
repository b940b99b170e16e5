// An undefined tensor as an absent one.
#pragma once

#include <optional>

#include "aten/core/tensor.h"

namespace torch::nn::detail {

inline std::optional<at::Tensor> if_defined(const at::Tensor& t) {
  return t.defined() ? std::optional<at::Tensor>(t) : std::nullopt;
}

}  // namespace torch::nn::detail
