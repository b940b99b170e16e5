#include "tests/conformance/core_operators.h"

#include <algorithm>

#include "aten/core/dispatch_mode.h"
#include "aten/decompositions/decompose.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "graph/passes/core_operators.h"

namespace conformance {
namespace {

using torch::graph::core_operators;

constexpr const char* kOfCore = "core itself";
constexpr const char* kOtherBackends = "of a library of other devices";
constexpr const char* kKernelOfCore = "what the norm of core that it decomposes into calls, which a mode does not see";
constexpr const char* kComplexParts = "core has no operator on the parts of complex numbers";
constexpr const char* kErrorFunction = "the tail of the error function: 1 - erf has no digit left of it";

bool names(const std::vector<Exception>& all, const std::string& name) {
  return std::any_of(all.begin(), all.end(), [&](const Exception& e) { return e.name == name; });
}

bool is_core(const std::string& name) {
  return std::binary_search(core_operators().begin(), core_operators().end(), name);
}

// Follows decompositions until their calls are core.
class IntoCore final : public at::DispatchMode {
 public:
  explicit IntoCore(const c10::OperatorHandle& op) : path_{toString(op.operator_name())} {}

  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) override {
    const std::string full = toString(op.operator_name()), name = full.substr(full.find("::") + 2);
    // The form in place is that of a core operator in a program that is written without changes.
    const bool core = is_core(name) || (name == "copy_" && is_core("copy"));
    if (core || names(called_beside_core(), name)) return op.callBoxed(stack);
    path_.push_back(full);
    const std::string path = c10::Join(" > ", path_);
    TORCH_CHECK(at::has_decomposition(op), path, ": neither core nor decomposed");
    TORCH_CHECK(std::count(path_.begin(), path_.end(), full) == 1, path, ": a circle");
    const at::DispatchModeGuard on(*this);
    at::decompose(op, *stack);
    path_.pop_back();
  }

 private:
  std::vector<std::string> path_;
};

}  // namespace

const std::vector<std::string>& decomposed_names() {
  static const std::vector<std::string> all = {
      "_chunk_cat",
      "_euclidean_dist",
      "_fused_rms_norm",
      "_fused_rms_norm_backward",
      "_log_softmax_backward_data",
      "_prelu_kernel",
      "_prelu_kernel_backward",
      "_reshape_alias",
      "_safe_softmax",
      "_scaled_dot_product_flash_attention_for_cpu",
      "_softmax_backward_data",
      "_unsafe_index",
      "_unsafe_index_put",
      "_unsafe_masked_index",
      "_unsafe_masked_index_put_accumulate",
      "_unsafe_view",
      "_weight_norm_interface",
      "addcdiv",
      "addcdiv_",
      "addcmul",
      "addcmul_",
      "addr",
      "affine_grid_generator",
      "alias_copy",
      "all",
      "aminmax",
      "arange",
      "baddbmm",
      "bernoulli",
      "binary_cross_entropy",
      "binary_cross_entropy_backward",
      "binary_cross_entropy_with_logits",
      "block_diag",
      "celu",
      "celu_",
      "channel_shuffle",
      "clamp_max",
      "clamp_min",
      "col2im",
      "count_nonzero",
      "cudnn_batch_norm",
      "cudnn_batch_norm_backward",
      "miopen_batch_norm",
      "miopen_batch_norm_backward",
      "deg2rad",
      "deg2rad_",
      "detach",
      "diag_embed",
      "diagonal_backward",
      "diagonal_copy",
      "dot",
      "elu_",
      "elu_backward",
      "embedding_dense_backward",
      "empty_like",
      "expand_copy",
      "eye",
      "fill",
      "fill_",
      "floor_divide",
      "frac",
      "frac_",
      "gelu_",
      "gelu_backward",
      "glu",
      "glu_backward",
      "hann_window",
      "hardshrink",
      "hardsigmoid",
      "hardsigmoid_backward",
      "hardsigmoid_",
      "hardswish",
      "hardswish_backward",
      "hardswish_",
      "hardtanh_",
      "hardtanh_backward",
      "heaviside",
      "heaviside_",
      "huber_loss",
      "huber_loss_backward",
      "im2col",
      "index_add",
      "index_add_",
      "index_copy",
      "index_copy_",
      "index_fill",
      "index_fill_",
      "isin",
      "isneginf",
      "isposinf",
      "leaky_relu_",
      "leaky_relu_backward",
      "lerp",
      "lerp_",
      "linalg_cross",
      "linalg_vector_norm",
      "linspace",
      "log_sigmoid_backward",
      "log_sigmoid_forward",
      "logaddexp",
      "logaddexp2",
      "logit",
      "logit_backward",
      "logit_",
      "logspace",
      "logsumexp",
      "masked_fill",
      "masked_fill_",
      "max_unpool2d",
      "max_unpool3d",
      "mish",
      "mish_backward",
      "mish_",
      "mse_loss",
      "mse_loss_backward",
      "multi_margin_loss",
      "multilabel_margin_loss_forward",
      "mv",
      "mvlgamma",
      "mvlgamma_",
      "nan_to_num",
      "nan_to_num_",
      "nansum",
      "native_batch_norm_backward",
      "native_group_norm_backward",
      "native_layer_norm_backward",
      "native_dropout_backward",
      "new_empty",
      "new_full",
      "new_ones",
      "new_zeros",
      "nll_loss_backward",
      "nll_loss_forward",
      "nll_loss2d_backward",
      "nll_loss2d_forward",
      "norm",
      "ones",
      "ones_like",
      "pixel_shuffle",
      "pixel_unshuffle",
      "rad2deg",
      "rad2deg_",
      "reflection_pad1d",
      "reflection_pad1d_backward",
      "reflection_pad2d",
      "reflection_pad2d_backward",
      "reflection_pad3d",
      "reflection_pad3d_backward",
      "renorm",
      "renorm_",
      "replication_pad1d",
      "replication_pad2d",
      "replication_pad3d",
      "resize_as",
      "roll",
      "rot90",
      "rsub",
      "select_backward",
      "select_scatter",
      "sgn",
      "sgn_",
      "sigmoid_backward",
      "silu",
      "silu_backward",
      "silu_",
      "sinc",
      "sinc_",
      "slice_backward",
      "smooth_l1_loss",
      "smooth_l1_loss_backward",
      "soft_margin_loss",
      "soft_margin_loss_backward",
      "softplus",
      "softplus_backward",
      "softshrink",
      "special_entr",
      "special_log_ndtr",
      "special_xlog1py",
      "split",
      "split_with_sizes_copy",
      "squeeze",
      "squeeze_copy",
      "stack",
      "std",
      "std_mean",
      "sum",
      "t",
      "t_copy",
      "take",
      "tanh_backward",
      "threshold",
      "threshold_backward",
      "threshold_",
      "trace",
      "transpose",
      "transpose_copy",
      "tril",
      "tril_",
      "triu",
      "triu_",
      "unbind",
      "unfold_backward",
      "unfold_copy",
      "unsafe_split",
      "unsafe_split_with_sizes",
      "unsqueeze_copy",
      "upsample_bilinear2d",
      "upsample_linear1d",
      "upsample_trilinear3d",
      "vdot",
      "xlogy",
      "xlogy_",
      "zero",
      "zero_",
      "zeros",
      "zeros_like",
  };
  return all;
}

const std::vector<Exception>& not_decomposed() {
  static const std::vector<Exception> all = {
      {"_fused_rms_norm_backward", "no operator here: _fused_rms_norm is composed"},
      {"arange.start_step", kOfCore},
      {"cudnn_batch_norm", kOtherBackends},
      {"cudnn_batch_norm_backward", kOtherBackends},
      {"miopen_batch_norm", kOtherBackends},
      {"miopen_batch_norm_backward", kOtherBackends},
      {"squeeze.dims", kOfCore},
      {"sum.dim_IntList", kOfCore},
  };
  return all;
}

const std::vector<Exception>& called_beside_core() {
  static const std::vector<Exception> all = {
      {"_fused_batch_norm", kKernelOfCore},
      {"_fused_group_norm", kKernelOfCore},
      {"_fused_layer_norm", kKernelOfCore},
      {"_fused_attention_dropout", "what is dropped depends on seed and place, unlike in core's native_dropout"},
      {"conj_physical", kComplexParts},
      {"erfc", kErrorFunction},
      {"lgamma", "core has no gamma function"},
      {"rand.generator", "core's rand draws from the default generator only"},
      {"special_erfcx", kErrorFunction},
      {"view_as_complex", kComplexParts},
      {"view_as_real", kComplexParts},
  };
  return all;
}

bool is_decomposed(const c10::OperatorHandle& op) {
  const std::string name = op.schema().name();
  const auto& all = decomposed_names();
  const bool listed = std::find(all.begin(), all.end(), name.substr(name.find("::") + 2)) != all.end();
  return at::has_decomposition(op) || (listed && op.op().kernels == c10::Kernels::kComposite);
}

void decompose_into_core(const c10::OperatorHandle& op, c10::Stack& stack) {
  IntoCore mode(op);
  const at::DispatchModeGuard on(mode);
  at::has_decomposition(op) ? at::decompose(op, stack) : op.callBoxed(stack);
}

}  // namespace conformance
