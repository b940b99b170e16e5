// Which computation scaled_dot_product_attention uses: what a program allows and prefers, and what a call can have.
#pragma once

#include <array>
#include <optional>

#include "aten/core/tensor.h"

namespace at {

/// The ways to compute it, by libtorch's names and by Python's. Here `flash_attention` is the fused kernel of the CPU
/// and of CUDA, whose weights are never stored, and `math` is made of other operators; the others are not in this
/// library.
enum class SDPBackend {
  error = -1,
  math = 0,
  flash_attention = 1,
  efficient_attention = 2,
  cudnn_attention = 3,
  overrideable = 4,
  ERROR = error,
  MATH = math,
  FLASH_ATTENTION = flash_attention,
  EFFICIENT_ATTENTION = efficient_attention,
  CUDNN_ATTENTION = cudnn_attention,
  OVERRIDEABLE = overrideable
};
inline constexpr int num_sdp_backends = 5;

namespace sdp {

using PriorityOrder = std::array<SDPBackend, num_sdp_backends>;

/// The order in which they are tried, of the process: at first flash, efficient, math, cuDNN, overrideable.
/// Thread-safe.
PriorityOrder priority_order();
/// Throws ValueError where one is missing.
void set_priority_order(const PriorityOrder& order);

/// Whether the program allows it: at::globalContext().userEnabledFlashSDP() and the like. False for `error`.
bool is_enabled(SDPBackend backend);
void set_enabled(SDPBackend backend, bool enabled);

/// Why the fused kernel cannot serve a call; null where it can. It gives no gradient of a mask, and drops other weights
/// for a seed than PyTorch does.
const char* flash_refusal(const Tensor& query, const std::optional<Tensor>& attn_mask, double dropout_p);

/// The first of the order that is enabled and can serve the call. Throws c10::Error where there is none.
SDPBackend choose(const Tensor& query, const std::optional<Tensor>& attn_mask, double dropout_p);

}  // namespace sdp
}  // namespace at
