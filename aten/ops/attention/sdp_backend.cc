#include "aten/ops/attention/sdp_backend.h"

#include <algorithm>
#include <cstdint>

#include "aten/core/context.h"
#include "c10/core/grad_mode.h"
#include "c10/util/atomic.h"
#include "c10/util/exception.h"

namespace at::sdp {
namespace {

// Four bits each, the first lowest.
constexpr uint32_t packed(const PriorityOrder& order) {
  uint32_t bits = 0;
  for (size_t i = order.size(); i-- > 0;) bits = bits << 4 | static_cast<uint32_t>(order[i]);
  return bits;
}

constinit c10::Atomic<uint32_t> g_order(packed({SDPBackend::flash_attention, SDPBackend::efficient_attention,
                                                SDPBackend::math, SDPBackend::cudnn_attention,
                                                SDPBackend::overrideable}));

}  // namespace

PriorityOrder priority_order() {
  PriorityOrder order;
  uint32_t bits = g_order.load();
  for (SDPBackend& backend : order) {
    backend = static_cast<SDPBackend>(bits & 15);
    bits >>= 4;
  }
  return order;
}

void set_priority_order(const PriorityOrder& order) {
  for (int i = 0; i < num_sdp_backends; ++i) {
    TORCH_CHECK_VALUE(std::find(order.begin(), order.end(), static_cast<SDPBackend>(i)) != order.end(),
                      "set_priority_order: expected each of the ", num_sdp_backends, " backends once, but ", i,
                      " is missing");
  }
  g_order.store(packed(order));
}

bool is_enabled(SDPBackend backend) {
  const Context& context = globalContext();
  switch (backend) {
    case SDPBackend::math:
      return context.userEnabledMathSDP();
    case SDPBackend::flash_attention:
      return context.userEnabledFlashSDP();
    case SDPBackend::efficient_attention:
      return context.userEnabledMemEfficientSDP();
    case SDPBackend::cudnn_attention:
      return context.userEnabledCuDNNSDP();
    case SDPBackend::overrideable:
      return context.userEnabledOverrideableSDP();
    case SDPBackend::error:
      break;
  }
  return false;
}

void set_enabled(SDPBackend backend, bool enabled) {
  Context& context = globalContext();
  switch (backend) {
    case SDPBackend::math:
      return context.setSDPUseMath(enabled);
    case SDPBackend::flash_attention:
      return context.setSDPUseFlash(enabled);
    case SDPBackend::efficient_attention:
      return context.setSDPUseMemEfficient(enabled);
    case SDPBackend::cudnn_attention:
      return context.setSDPUseCuDNN(enabled);
    case SDPBackend::overrideable:
      return context.setSDPUseOverrideable(enabled);
    case SDPBackend::error:
      break;
  }
}

const char* flash_refusal(const Tensor& query, const std::optional<Tensor>& attn_mask, double dropout_p) {
  if (!query.is_floating_point()) return "query, key and value are not of a floating-point type";
  if (dropout_p > 0) return "dropout is not supported";
  if (attn_mask.has_value() && attn_mask->defined() && attn_mask->requires_grad() && GradMode::is_enabled()) {
    return "attn_mask requires a gradient";
  }
  return nullptr;
}

SDPBackend choose(const Tensor& query, const std::optional<Tensor>& attn_mask, double dropout_p) {
  const bool flash = is_enabled(SDPBackend::flash_attention), math = is_enabled(SDPBackend::math);
  TORCH_CHECK(
      flash || math,
      "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the "
      "math kernel and the fused kernels.");
  for (const SDPBackend backend : priority_order()) {
    if (backend == SDPBackend::math && math) return backend;
    if (backend == SDPBackend::flash_attention && flash && flash_refusal(query, attn_mask, dropout_p) == nullptr) {
      return backend;
    }
  }
  TORCH_CHECK(false, "No available kernel. Aborting execution.");
}

}  // namespace at::sdp
