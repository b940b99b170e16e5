// The named choices of options: `torch::kMean` is a constant of the empty type `torch::enumtype::kMean`; an option
// holds a variant of the types that it allows.
#pragma once

#include <string>

#include "aten/core/reduction.h"
#include "c10/util/exception.h"
#include "c10/util/variant.h"

#define TORCH_ENUM_DECLARE(name)                   \
  namespace torch {                                \
  namespace enumtype {                             \
  struct k##name {                                 \
    k##name() = default;                           \
    static constexpr const char* text = "k" #name; \
  };                                               \
  }                                                \
  inline constexpr enumtype::k##name k##name{};    \
  }
// Constants are inline: nothing is left to define.
#define TORCH_ENUM_DEFINE(name)

TORCH_ENUM_DECLARE(Linear)
TORCH_ENUM_DECLARE(Conv1D)
TORCH_ENUM_DECLARE(Conv2D)
TORCH_ENUM_DECLARE(Conv3D)
TORCH_ENUM_DECLARE(ConvTranspose1D)
TORCH_ENUM_DECLARE(ConvTranspose2D)
TORCH_ENUM_DECLARE(ConvTranspose3D)
TORCH_ENUM_DECLARE(Sigmoid)
TORCH_ENUM_DECLARE(Tanh)
TORCH_ENUM_DECLARE(ReLU)
TORCH_ENUM_DECLARE(GELU)
TORCH_ENUM_DECLARE(SiLU)
TORCH_ENUM_DECLARE(Mish)
TORCH_ENUM_DECLARE(LeakyReLU)
TORCH_ENUM_DECLARE(SELU)
TORCH_ENUM_DECLARE(FanIn)
TORCH_ENUM_DECLARE(FanOut)
TORCH_ENUM_DECLARE(Constant)
TORCH_ENUM_DECLARE(Reflect)
TORCH_ENUM_DECLARE(Replicate)
TORCH_ENUM_DECLARE(Circular)
TORCH_ENUM_DECLARE(Nearest)
TORCH_ENUM_DECLARE(Bilinear)
TORCH_ENUM_DECLARE(Bicubic)
TORCH_ENUM_DECLARE(Trilinear)
TORCH_ENUM_DECLARE(Area)
TORCH_ENUM_DECLARE(NearestExact)
TORCH_ENUM_DECLARE(Lanczos)
TORCH_ENUM_DECLARE(Sum)
TORCH_ENUM_DECLARE(Mean)
TORCH_ENUM_DECLARE(Max)
TORCH_ENUM_DECLARE(None)
TORCH_ENUM_DECLARE(BatchMean)
TORCH_ENUM_DECLARE(Zeros)
TORCH_ENUM_DECLARE(Border)
TORCH_ENUM_DECLARE(Reflection)
TORCH_ENUM_DECLARE(RNN_TANH)
TORCH_ENUM_DECLARE(RNN_RELU)
TORCH_ENUM_DECLARE(LSTM)
TORCH_ENUM_DECLARE(GRU)
TORCH_ENUM_DECLARE(Valid)
TORCH_ENUM_DECLARE(Same)

namespace torch::enumtype {

// "kMean"
template <typename Variant>
std::string get_enum_name(const Variant& value) {
  return std::visit([](const auto& choice) { return std::string(choice.text); }, value);
}

// at::Reduction's number of a variant with kNone, kMean, kSum.
template <typename Variant>
int64_t reduction_get_enum(const Variant& value) {
  if (std::holds_alternative<kNone>(value)) return at::Reduction::None;
  if (std::holds_alternative<kMean>(value)) return at::Reduction::Mean;
  if (std::holds_alternative<kSum>(value)) return at::Reduction::Sum;
  TORCH_CHECK(false, get_enum_name(value), " is not a valid value for reduction");
}

}  // namespace torch::enumtype
