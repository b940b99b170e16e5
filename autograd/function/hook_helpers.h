// Small parts of graphs written by hand: hooks from functions, warnings that wait for their thread, gradients laid out as
// their tensor is.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "autograd/engine/node.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "c10/util/warning.h"

// Within torch::autograd `utils::hooks` goes on meaning torch::utils::hooks.
namespace torch::utils::hooks {}
namespace torch::autograd::utils {
namespace hooks = torch::utils::hooks;

/// A hook that runs after a node, from a function of the node's outputs and inputs.
///
///   node->add_post_hook(std::make_unique<utils::LambdaPostHook>(
///       [](const variable_list& outputs, const variable_list& inputs) { return outputs; }));
class LambdaPostHook : public FunctionPostHook {
 public:
  using fn_type = std::function<variable_list(const variable_list&, const variable_list&)>;
  LambdaPostHook(fn_type fn) : fn_(std::move(fn)) {}
  variable_list operator()(const variable_list& outputs, const variable_list& inputs) override { return fn_(outputs, inputs); }

 private:
  fn_type fn_;
};

/// Keeps the warnings of threads that hand theirs to it, until one thread replays them.
class DelayWarningHandler : public c10::WarningHandler {
 public:
  ~DelayWarningHandler() override = default;
  using c10::WarningHandler::process;
  void process(const c10::Warning& warning) override {
    std::lock_guard<std::mutex> lock(mutex_);
    warnings_.push_back(warning);
  }
  /// Gives them to the calling thread's handler, which is not this one, and forgets them.
  void replay_warnings() {
    TORCH_INTERNAL_ASSERT(c10::WarningUtils::get_warning_handler() != this,
                          "DelayWarningHandler cannot replay warnings into itself, this will cause a deadlock");
    std::vector<c10::Warning> warnings;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      warnings.swap(warnings_);
    }
    for (const c10::Warning& warning : warnings) c10::warn(warning);
  }

 private:
  std::mutex mutex_;
  std::vector<c10::Warning> warnings_;
};

/// What is said of changing requires_grad of a tensor that is no leaf.
inline std::string requires_grad_leaf_error(bool requires_grad) {
  return c10::str("you can only change requires_grad flags of leaf variables.",
                  requires_grad ? ""
                                : " If you want to use a computed variable in a subgraph that doesn't require differentiation "
                                  "use var_no_grad = var.detach().");
}

/// Whether `grad` lies in memory as .grad of `variable` is to: with its strides (but for dimensions of size 1) where the
/// variable is non-overlapping and dense, else contiguous.
inline bool obeys_layout_contract(const at::Tensor& grad, const at::Tensor& variable) {
  if (!variable.is_non_overlapping_and_dense()) return grad.is_contiguous();
  for (int64_t d = 0; d < variable.dim(); ++d) {
    if (grad.size(d) != 1 && grad.stride(d) != variable.stride(d)) return false;
  }
  return true;
}

/// A copy of `new_grad` that obeys it.
inline at::Tensor clone_obey_contract(const at::Tensor& new_grad, const at::Tensor& variable) {
  if (!variable.is_non_overlapping_and_dense()) return at::clone(new_grad, at::MemoryFormat::Contiguous);
  at::Tensor copy = at::empty_strided(variable.sizes(), variable.strides(), new_grad.options());
  return at::copy_(copy, new_grad);
}

}  // namespace torch::autograd::utils
