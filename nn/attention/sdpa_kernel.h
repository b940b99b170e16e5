// Which computation scaled_dot_product_attention uses.
//
//   namespace A = torch::nn::attention;
//   {
//     A::sdpa_kernel only(A::SDPBackend::MATH);
//     y = torch::nn::functional::scaled_dot_product_attention(q, k, v);   // from stored weights
//   }
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/attention/sdp_backend.h"

namespace torch::nn::attention {

using at::SDPBackend;

/// While it lives, the calls of the process use these backends only; with set_priority in this order, else in the order
/// that held before. A call that none of them can serve throws c10::Error. Its end restores what held before; guards of
/// several threads are to be nested as in one.
class sdpa_kernel {
 public:
  explicit sdpa_kernel(SDPBackend backend, bool set_priority = false)
      : sdpa_kernel(std::vector<SDPBackend>{backend}, set_priority) {}
  explicit sdpa_kernel(const std::vector<SDPBackend>& backends, bool set_priority = false);
  ~sdpa_kernel();
  sdpa_kernel(const sdpa_kernel&) = delete;
  sdpa_kernel& operator=(const sdpa_kernel&) = delete;

 private:
  std::array<bool, at::num_sdp_backends> enabled_before_;
  std::optional<at::sdp::PriorityOrder> order_before_;
};

/// The arguments of a call, to ask what it could use.
struct SDPAParams {
  at::Tensor query, key, value;
  std::optional<at::Tensor> attn_mask;
  double dropout = 0.0;
  bool is_causal = false;
  bool enable_gqa = false;
};

/// Whether the library has the fused kernel: true.
bool is_flash_attention_available();
/// Whether a call could use the backend, which must be enabled; with `debug`, a warning says why not.
bool can_use_flash_attention(const SDPAParams& params, bool debug = false);
/// False: these are not in this library.
bool can_use_efficient_attention(const SDPAParams& params, bool debug = false);
bool can_use_cudnn_attention(const SDPAParams& params, bool debug = false);

}  // namespace torch::nn::attention
