// Full backward hooks of one call of a module. For the files of this folder.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "nn/module/hook_lists.h"

namespace torch::nn::detail {

// Puts a node around the arguments that require gradients and one around the results that do; the backward pass then
// stops at both. The nodes hold this object, and this object no module: of a module that is gone no hook is called.
class BackwardPass : public std::enable_shared_from_this<BackwardPass> {
 public:
  BackwardPass(Module& module, std::vector<Hook<BackwardPreHook>> pre, std::vector<Hook<BackwardHook>> hooks);

  // Replace tensors by what comes out of the nodes; false where there is nothing to watch.
  bool watch_inputs(Tensors& inputs);
  bool watch_outputs(Tensors& outputs);

  // Called by the nodes, with one gradient for each tensor that they watch.
  Tensors on_output_gradients(Tensors grads);
  Tensors on_input_gradients(Tensors grads);

 private:
  // Which of a list's entries are watched.
  struct Places {
    size_t size = 0;
    std::vector<size_t> watched;
    Tensors spread(Tensors grads) const;
    Tensors gather(const Tensors& all) const;
  };
  bool watch(Tensors& tensors, Places& places, bool inputs);
  // The module; with `keeper` it stays while that lives. Null: gone.
  Module* module(std::shared_ptr<Module>& keeper) const;
  void run_without_inputs(Module& module);

  Module* const module_;
  const std::weak_ptr<Module> owned_;
  const bool is_owned_;
  const std::vector<Hook<BackwardPreHook>> pre_;
  const std::vector<Hook<BackwardHook>> hooks_;
  Places inputs_, outputs_;
  // Between the two nodes.
  std::optional<Tensors> grad_outputs_;
};

}  // namespace torch::nn::detail
