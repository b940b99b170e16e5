// Options of the layers of transformers.
#pragma once

#include <cstdint>
#include <functional>

#include "aten/core/tensor.h"
#include "c10/util/arg.h"
#include "nn/options/enum.h"

namespace torch::nn {

using activation_t = std::variant<enumtype::kReLU, enumtype::kGELU, std::function<at::Tensor(const at::Tensor&)>>;

// `layer_norm_eps`, `batch_first` (inputs [N, L, E]), `norm_first` and `bias` are as in Python.
#define KD_TRANSFORMER_LAYER_ARGUMENTS                \
  TORCH_ARG(int64_t, d_model);                        \
  TORCH_ARG(int64_t, nhead);                          \
  TORCH_ARG(int64_t, dim_feedforward) = 2048;         \
  TORCH_ARG(double, dropout) = 0.1;                   \
  TORCH_ARG(activation_t, activation) = torch::kReLU; \
  TORCH_ARG(double, layer_norm_eps) = 1e-5;           \
  TORCH_ARG(bool, batch_first) = false;               \
  TORCH_ARG(bool, norm_first) = false;                \
  TORCH_ARG(bool, bias) = true

struct TransformerEncoderLayerOptions {
  TransformerEncoderLayerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
  KD_TRANSFORMER_LAYER_ARGUMENTS;
};

struct TransformerDecoderLayerOptions {
  TransformerDecoderLayerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
  KD_TRANSFORMER_LAYER_ARGUMENTS;
};

#undef KD_TRANSFORMER_LAYER_ARGUMENTS

}  // namespace torch::nn
