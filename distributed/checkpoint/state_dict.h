// The states of models and optimizers by names that do not depend on how they are distributed.
//
//   auto [model_state, optimizer_state] = dcp::get_state_dict(*net, {&optimizer});
//   dcp::save({{"model", model_state}, {"optimizer", optimizer_state}}, {.checkpoint_id = folder});
//
//   // Or as one object, which is loaded, too:
//   dcp::StateDict state{{"app", std::make_shared<dcp::AppState>(net.ptr(), optimizers)}, {"step", step}};
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "c10/util/intrusive_ptr.h"
#include "distributed/checkpoint/state.h"
#include "distributed/process_group/process_group.h"
#include "nn/module/module.h"
#include "nn/module/state_dict.h"
#include "optim/optimizer.h"
#include "optim/state_dict.h"

namespace torch::distributed::checkpoint {

struct StateDictOptions {
  /// Getting: DTensors are gathered, and the result has plain tensors only. Setting: the state has such.
  bool full_state_dict = false;
  /// Getting: tensors are moved to the CPU; with full_state_dict rank 0 has them, and others have empty states.
  bool cpu_offload = false;
  /// Parameters that do not require gradients are left out.
  bool ignore_frozen_params = false;
  /// With submodules: whether names are those in the model, or in the (then only) submodule.
  bool keep_submodule_prefixes = true;
  /// As load_state_dict() of modules takes it.
  bool strict = true;
  /// Setting: rank 0 alone has the state, which the others get tensor by tensor. Only with full_state_dict.
  bool broadcast_from_rank0 = false;
  /// Whether the optimizers' state is flat: {"state.WEIGHT.exp_avg": ..., "param_groups.WEIGHT.lr": ...}, without
  /// lists, so that states of parts of a model merge.
  bool flatten_optimizer_state_dict = false;
  /// The ranks, for what they tell each other. Null: the default group.
  c10::intrusive_ptr<c10d::ProcessGroup> process_group = nullptr;
};

using Optimizers = std::vector<torch::optim::Optimizer*>;
using Submodules = std::vector<const torch::nn::Module*>;

/// Parameters and persistent buffers by the names that the model has where nothing is distributed. Tensors share their
/// data with the model unless options say otherwise. With `submodules`, of those only. Throws ValueError for a
/// submodule that is not in the model.
torch::nn::StateDict get_model_state_dict(torch::nn::Module& model, const StateDictOptions& options = {},
                                          const Submodules& submodules = {});

/// The states of all optimizers as one, with parameters' names in place of their numbers:
/// {"state": {"0.weight": {"step": ..., "exp_avg": ...}}, "param_groups": [{"lr": ..., "params": ["0.weight"]}]}.
///
/// What has not stepped yet, an optimizer or a parameter without gradients, has a state that load() can write into:
/// zeros, of step 0. That of a ZeroRedundancyOptimizer is what its state_dict() gives, where it is consolidated. Throws
/// ValueError for a parameter of an optimizer that is none of the model's.
torch::optim::StateDict get_optimizer_state_dict(torch::nn::Module& model, const Optimizers& optimizers,
                                                 const StateDictOptions& options = {},
                                                 const Submodules& submodules = {});

std::pair<torch::nn::StateDict, torch::optim::StateDict> get_state_dict(torch::nn::Module& model,
                                                                        const Optimizers& optimizers,
                                                                        const StateDictOptions& options = {},
                                                                        const Submodules& submodules = {});

/// Copies a state into a model. A tensor for a DTensor of the model may be a DTensor, or the whole. All ranks call it.
/// Throws what load_state_dict() throws, and ValueError for options that contradict each other.
torch::nn::IncompatibleKeys set_model_state_dict(torch::nn::Module& model, const torch::nn::StateDict& state,
                                                 const StateDictOptions& options = {});

/// Gives optimizers their parts of a state that get_optimizer_state_dict() gave, for this model or one that is
/// distributed otherwise. Before backward() or after step(). A parameter whose state is of step 0 gets none, as one has
/// before its first step. Throws ValueError where a group of the optimizer is none of the state's.
void set_optimizer_state_dict(torch::nn::Module& model, const Optimizers& optimizers,
                              const torch::optim::StateDict& state, const StateDictOptions& options = {});

torch::nn::IncompatibleKeys set_state_dict(torch::nn::Module& model, const Optimizers& optimizers,
                                           const torch::nn::StateDict& model_state,
                                           const torch::optim::StateDict& optimizer_state,
                                           const StateDictOptions& options = {});

/// What a loaded dict holds for a model: tensors, and other values as extra state.
torch::nn::StateDict model_state_of(const c10::IValue& dict);

/// A model and optimizers of it as one object to save and load: {"model": ..., "optimizer": ...}.
class AppState : public Stateful {
 public:
  /// The optimizers must outlive it.
  explicit AppState(std::shared_ptr<torch::nn::Module> model, Optimizers optimizers = {}, StateDictOptions options = {})
      : model_(std::move(model)), optimizers_(std::move(optimizers)), options_(std::move(options)) {}
  c10::IValue state_dict() override;
  void load_state_dict(const c10::IValue& state) override;

 private:
  const std::shared_ptr<torch::nn::Module> model_;
  const Optimizers optimizers_;
  const StateDictOptions options_;
};

}  // namespace torch::distributed::checkpoint
