// Modules in archives: torch::save(model, path), torch::load(model, path), Module::save and Module::load.
//
// A module's archive holds its parameters and buffers under their names and each child below its own name, so the file's
// tensors have the names of Module::state_dict(), and extra state is the value "NAME._extra_state". Loading copies into the parameters in place.
#pragma once

#include <memory>

#include "nn/module/module.h"
#include "nn/module/module_holder.h"
#include "utils/serialize/archive.h"

namespace torch::serialize {

OutputArchive& operator<<(OutputArchive& archive, const std::shared_ptr<nn::Module>& module);
// Throws Error where a parameter is missing in the archive, ValueError where its sizes differ.
InputArchive& operator>>(InputArchive& archive, const std::shared_ptr<nn::Module>& module);

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
