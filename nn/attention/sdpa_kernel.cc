#include "nn/attention/sdpa_kernel.h"

#include <algorithm>

#include "c10/util/exception.h"

namespace torch::nn::attention {
namespace {

constexpr SDPBackend backend_of(size_t i) {
  return static_cast<SDPBackend>(i);
}

bool usable(bool debug, const char* name, const char* refusal) {
  if (refusal == nullptr) return true;
  if (debug) TORCH_WARN(name, " can't be used because: ", refusal);
  return false;
}

}  // namespace

sdpa_kernel::sdpa_kernel(const std::vector<SDPBackend>& backends, bool set_priority) {
  const auto chosen = [&](SDPBackend b) { return std::find(backends.begin(), backends.end(), b) != backends.end(); };
  for (size_t i = 0; i < enabled_before_.size(); ++i) {
    enabled_before_[i] = at::sdp::is_enabled(backend_of(i));
    at::sdp::set_enabled(backend_of(i), chosen(backend_of(i)));
  }
  if (!set_priority) return;
  order_before_ = at::sdp::priority_order();
  std::vector<SDPBackend> order;
  const auto append = [&](SDPBackend b) {
    if (b != SDPBackend::error && std::find(order.begin(), order.end(), b) == order.end()) order.push_back(b);
  };
  std::for_each(backends.begin(), backends.end(), append);
  std::for_each(order_before_->begin(), order_before_->end(), append);
  at::sdp::PriorityOrder all;
  std::copy_n(order.begin(), all.size(), all.begin());
  at::sdp::set_priority_order(all);
}

sdpa_kernel::~sdpa_kernel() {
  for (size_t i = 0; i < enabled_before_.size(); ++i) at::sdp::set_enabled(backend_of(i), enabled_before_[i]);
  if (order_before_.has_value()) at::sdp::set_priority_order(*order_before_);
}

bool is_flash_attention_available() {
  return true;
}

bool can_use_flash_attention(const SDPAParams& params, bool debug) {
  return usable(debug, "Flash attention",
                at::sdp::is_enabled(SDPBackend::flash_attention)
                    ? at::sdp::flash_refusal(params.query, params.attn_mask, params.dropout)
                    : "it has been disabled at run time");
}

bool can_use_efficient_attention(const SDPAParams&, bool debug) {
  return usable(debug, "Efficient attention", "it is not in this library");
}

bool can_use_cudnn_attention(const SDPAParams&, bool debug) {
  return usable(debug, "cuDNN attention", "it is not in this library");
}

}  // namespace torch::nn::attention
