// State dictionaries of sharded modules and optimizers as those of one process.
#pragma once

#include <cstddef>
#include <vector>

#include "nn/module/computed_tensor.h"
#include "nn/module/module.h"
#include "optim/optimizer.h"

namespace torch::distributed::fsdp {

/// While it lives, state dictionaries of a module, or of an optimizer, hold whole plain tensors in place of DTensors.
/// state_dict() gathers them, on every rank: it is a call of all ranks. load_state_dict() takes whole tensors, the same
/// on all ranks, of which each rank keeps its part; nothing is sent. The module or optimizer must live as long.
///
///   FullStateDict of_model(net), of_optimizer(adam);
///   auto state = net->state_dict();
///   if (rank == 0) save(state);
class FullStateDict {
 public:
  explicit FullStateDict(nn::ModuleRef module);
  explicit FullStateDict(optim::Optimizer& optimizer);
  FullStateDict(const FullStateDict&) = delete;
  FullStateDict& operator=(const FullStateDict&) = delete;
  ~FullStateDict();

 private:
  std::vector<nn::RemovableHandle> handles_;
  optim::Optimizer* optimizer_ = nullptr;
  std::vector<size_t> hooks_;
};

}  // namespace torch::distributed::fsdp
