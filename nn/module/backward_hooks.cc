#include "nn/module/backward_hooks.h"

#include "autograd/function/custom_function.h"
#include "c10/core/grad_mode.h"

namespace torch::nn::detail {

namespace {

// The identity; its backward pass goes through the hooks.
class BackwardHookNode final : public autograd::CustomNode {
 public:
  BackwardHookNode(std::shared_ptr<BackwardPass> pass, bool inputs) : pass_(std::move(pass)), inputs_(inputs) {
    // Gradients of results that nothing used stay undefined for hooks.
    context().set_materialize_grads(inputs);
  }
  std::string name() const override { return "BackwardHookFunctionBackward"; }

 protected:
  autograd::variable_list run_backward(autograd::AutogradContext*, autograd::variable_list grads) override {
    return inputs_ ? pass_->on_input_gradients(std::move(grads)) : pass_->on_output_gradients(std::move(grads));
  }

 private:
  const std::shared_ptr<BackwardPass> pass_;
  const bool inputs_;
};

}  // namespace

BackwardPass::BackwardPass(Module& module, std::vector<Hook<BackwardPreHook>> pre,
                           std::vector<Hook<BackwardHook>> hooks)
    : module_(&module),
      owned_(module.weak_from_this()),
      is_owned_(!owned_.expired()),
      pre_(std::move(pre)),
      hooks_(std::move(hooks)) {}

bool BackwardPass::watch(Tensors& tensors, Places& places, bool inputs) {
  places.size = tensors.size();
  if (!c10::GradMode::is_enabled()) return false;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].defined() && tensors[i].requires_grad()) places.watched.push_back(i);
  }
  if (places.watched.empty()) return false;
  auto node = c10::make_intrusive<BackwardHookNode>(shared_from_this(), inputs);
  Tensors watched = places.gather(tensors);
  node->add_argument(at::TensorList(watched));
  node->start();
  watched = node->finish(std::move(watched));
  for (size_t i = 0; i < watched.size(); ++i) tensors[places.watched[i]] = watched[i];
  return true;
}

bool BackwardPass::watch_inputs(Tensors& inputs) {
  return watch(inputs, inputs_, /*inputs=*/true);
}
bool BackwardPass::watch_outputs(Tensors& outputs) {
  return watch(outputs, outputs_, /*inputs=*/false);
}

Tensors BackwardPass::Places::spread(Tensors grads) const {
  Tensors all(size);
  for (size_t i = 0; i < watched.size(); ++i) all[watched[i]] = std::move(grads[i]);
  return all;
}

Tensors BackwardPass::Places::gather(const Tensors& all) const {
  Tensors grads;
  for (const size_t i : watched) grads.push_back(all[i]);
  return grads;
}

Module* BackwardPass::module(std::shared_ptr<Module>& keeper) const {
  if (!is_owned_) return module_;
  keeper = owned_.lock();
  return keeper.get();
}

Tensors BackwardPass::on_output_gradients(Tensors grads) {
  std::shared_ptr<Module> keeper;
  Module* const m = module(keeper);
  if (m == nullptr) return grads;
  Tensors all = outputs_.spread(std::move(grads));
  for (const auto& hook : pre_) {
    Replacement fresh = (*hook.call)(*m, all);
    if (!fresh.has_value()) continue;
    TORCH_CHECK(fresh->size() == all.size(), "Backward pre hook returned an invalid number of grad_output, got ",
                fresh->size(), ", but expected ", all.size());
    all = std::move(*fresh);
  }
  grad_outputs_ = all;
  if (inputs_.watched.empty()) run_without_inputs(*m);
  return outputs_.gather(all);
}

void BackwardPass::run_without_inputs(Module& m) {
  if (!hooks_.empty()) {
    TORCH_WARN_ONCE(
        "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
        "require "
        "gradients. See "
        "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.register_full_"
        "backward_hook for more details.");
  }
  const Tensors grad_outputs = std::move(*grad_outputs_);
  grad_outputs_.reset();
  const Tensors none(inputs_.size);
  for (const auto& hook : hooks_) {
    const Replacement fresh = (*hook.call)(m, none, grad_outputs);
    if (!fresh.has_value()) continue;
    for (const at::Tensor& grad : *fresh) {
      TORCH_CHECK(
          !grad.defined(),
          "Backward hook for Modules where no input requires gradient should always return None or None for all "
          "gradients.");
    }
  }
}

Tensors BackwardPass::on_input_gradients(Tensors grads) {
  // Without them, the gradient came here past the module's results.
  if (!grad_outputs_.has_value()) return grads;
  const Tensors grad_outputs = std::move(*grad_outputs_);
  grad_outputs_.reset();
  std::shared_ptr<Module> keeper;
  Module* const m = module(keeper);
  if (m == nullptr) return grads;
  Tensors all = inputs_.spread(std::move(grads));
  for (const auto& hook : hooks_) {
    Replacement fresh = (*hook.call)(*m, all, grad_outputs);
    if (!fresh.has_value()) continue;
    TORCH_CHECK(fresh->size() == all.size(), "Backward hook returned an invalid number of grad_input, got ",
                fresh->size(), ", but expected ", all.size());
    all = std::move(*fresh);
  }
  return inputs_.gather(all);
}

}  // namespace torch::nn::detail
