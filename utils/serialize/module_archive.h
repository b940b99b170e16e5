// Modules in archives: torch::save(model, path), torch::load(model, path), Module::save and Module::load.
//
// A module's archive holds its parameters and buffers under their names and each child below its own name, so the file's
// tensors have the names of Module::state_dict(), and extra state is the value "NAME._extra_state". Loading copies into the parameters in place.
#pragma once

#include <memory>

#include "nn/module/module.h"
#include "nn/module/module_holder.h"
#include "nn/module/state_dict.h"
#include "utils/serialize/archive.h"

namespace torch::serialize {

OutputArchive& operator<<(OutputArchive& archive, const std::shared_ptr<nn::Module>& module);
// Throws Error where a parameter is missing in the archive, ValueError where its sizes differ.
InputArchive& operator>>(InputArchive& archive, const std::shared_ptr<nn::Module>& module);

// A state dictionary, as Python's torch.save(module.state_dict(), path) writes it and torch.load reads it:
//
//   torch::save(net->state_dict(), "net.pt");
//   torch::nn::StateDict state;
//   torch::load(state, "net.pt");               // or what Python saved; tensors are views of the file
//   net->load_state_dict(state);
OutputArchive& operator<<(OutputArchive& archive, const nn::StateDict& state);
// Adds all tensors of the archive and all extra state.
InputArchive& operator>>(InputArchive& archive, nn::StateDict& state);

template <typename M, typename = std::enable_if_t<std::is_base_of_v<nn::Module, M>>>
OutputArchive& operator<<(OutputArchive& archive, const std::shared_ptr<M>& module) {
  return archive << std::static_pointer_cast<nn::Module>(module);
}
template <typename M, typename = std::enable_if_t<std::is_base_of_v<nn::Module, M>>>
InputArchive& operator>>(InputArchive& archive, const std::shared_ptr<M>& module) {
  return archive >> std::static_pointer_cast<nn::Module>(module);
}
template <typename M>
OutputArchive& operator<<(OutputArchive& archive, const nn::ModuleHolder<M>& holder) {
  return archive << holder.ptr();
}
template <typename M>
InputArchive& operator>>(InputArchive& archive, nn::ModuleHolder<M>& holder) {
  return archive >> holder.ptr();
}

}  // namespace torch::serialize
