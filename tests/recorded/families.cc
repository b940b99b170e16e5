#include "tests/recorded/families.h"

#include "tests/recorded/libtorch_text.h"

namespace recorded {

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"nn_functional", replay_nn_functional, {"then", "outputs", "grad_inputs", "changed"}},
      {"errors",
       replay_errors,
       {"type", "numbers"},
       // There is no message, or the planted number stands in it.
       [](const Json& one, const std::string& field) { return field == "numbers" && mentions_other_numbers(one); }},
      {"func", replay_func, {"outputs", "then", "type"}},
      {"special", replay_special, {"outputs", "grad_inputs"}},
      {"spectral", replay_spectral, {"outputs", "grad_inputs"}},
      {"windows", replay_windows, {"outputs"}},
      {"libtorch_text",
       replay_libtorch_text,
       {"text", "parameters", "buffers", "then", "type", "message"},
       libtorch_text_leaves_out},
      {"lr_schedules", replay_lr_schedules, {"lrs", "momenta", "state_dict_after_9", "bad_cooldown_best"}},
      {"printing",
       replay_printing,
       {"python", "cpp", "rows"},
       [](const Json& one, const std::string& field) {
         // Rows are named and not all are compared; of complex numbers the stream form shows more than is recorded.
         return field == "rows" || (field == "cpp" && text_of(one, "cpp", "").find("Complex") != std::string::npos);
       }},
      {"autograd",
       replay_autograd,
       {"log", "y", "gradient", "second", "third", "forward_tangent", "forward_over_reverse"},
       // Of an exception only the kind counts; PyTorch's third derivative of layer_norm is not the function's.
       [](const Json& one, const std::string& field) {
         return (field == "log" && one.at("log").dump().find("Error: ") != std::string::npos) ||
                (field == "third" && text_of(one, "function", "") == "layer_norm(x)");
       }},
      {"init", replay_init, {"result", "then", "value"}},
      {"data",
       replay_data,
       {"epochs", "batches", "len", "then", "then_of_generator", "epochs_of_ranks", "epochs_with_two_workers",
        "base_seeds", "indices", "result", "type", "log"},
       // A sampler's indices are given.
       [](const Json& one, const std::string& field) { return field == "indices" && has(one, "sampler"); }},
      {"distributions",
       replay_distributions,
       {"repr", "batch_shape", "event_shape", "has_rsample", "has_enumerate_support", "support", "arg_constraints",
        "mean", "variance", "stddev", "mode", "entropy", "grad_entropy", "perplexity", "sample", "then", "sample_one",
        "rsample", "grad_rsample", "log_prob", "grad_log_prob", "grad_log_prob_value", "cdf", "icdf", "in_support",
        "invalid_log_prob", "expand", "enumerate_support", "enumerate_support_unexpanded", "type"}},
      {"distributions_more",
       replay_distributions,
       {"kl", "grad", "repr", "bijective", "domain", "codomain", "domain_event_dim", "codomain_event_dim", "sign", "y",
        "grad_y", "log_abs_det_jacobian", "grad_log_abs_det_jacobian", "inverse", "inverse_log_abs_det_jacobian",
        "forward_shape", "inverse_shape", "event_dim", "is_discrete", "check", "biject_to", "transform_to"}},
      {"amp",
       replay_amp,
       {"operators", "dtype", "rows", "output", "loss", "grad_parameters", "unscaled", "scale", "growth_tracker",
        "parameters", "state_dict", "errors"}},
      {"vmap_ops",
       replay_vmap_ops,
       {"outputs"},
       // Results whose first number is so large that one more is lost.
       [](const Json& one, const std::string&) {
         const std::string id = one.at("id");
         const bool polynomial = id.rfind("special.shifted_chebyshev_polynomial_", 0) == 0;
         return id == "hypot/1" || id == "logsumexp/0" || id.rfind("matrix_exp/", 0) == 0 ||
                id.find("polygamma_n_") != std::string::npos || (polynomial && id.back() == '1');
       }},
      {"nn_modules",
       replay_nn_modules,
       {"then", "state_dict_keys", "parameters", "buffers", "outputs", "grad_inputs", "grad_parameters",
        "buffers_after", "named_modules", "named_children"},
       // Copies of a layer draw numbers that Python does not draw, so initial parameters are inputs there, some without
       // effect.
       [](const Json& one, const std::string& field) {
         return field == "parameters" && text_of(one, "class", "").rfind("Transformer", 0) == 0;
       }},
      {"optim",
       replay_optim,
       {"trajectory", "state_dict", "losses", "closure_calls", "state", "averaged", "n_averaged", "state_dict_keys",
        "after_update_bn"}},
      {"nn_utils",
       replay_nn_utils,
       {"base", "then", "state", "state_dict_keys", "parameter_names", "weight", "output", "grad_parameters",
        "state_after", "removed", "original_after_assignment", "weight_after_assignment", "cached_is_same",
        "is_parametrized", "mask", "value", "is_pruned", "removed_keys", "masks", "total_norm", "after", "vector",
        "back", "packed", "padded", "padded_lengths", "unpacked", "unpadded", "fused", "strides_before", "strides_after",
        "gradients", "given_after"},
       // What has such a name and is given.
       [](const Json& one, const std::string& field) {
         const std::string kind = one.at("kind");
         if (kind == "fuse") return field == "state" || field == "weight";
         if (kind == "functional_call") return field == "weight";
         if (kind == "prune") return field == "mask" && one.at("steps")[0].at("method") == "custom_from_mask";
         return kind == "clip_grads_with_norm_" && field == "total_norm";
       }},
  };
  return all;
}

}  // namespace recorded
