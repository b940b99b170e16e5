#include "utils/serialize/module_archive.h"

#include "nn/module/module_access.h"

namespace torch::nn::detail {

void save_module(Module& module, serialize::OutputArchive& archive) {
  for (const auto& item : ModuleAccess::parameters(module)) {
    if (item.value().defined()) archive.write(item.key(), item.value());
  }
  for (const auto& item : ModuleAccess::buffers(module)) {
    if (item.value().defined() && ModuleAccess::is_persistent(module, item.key())) {
      archive.write(item.key(), item.value(), /*is_buffer=*/true);
    }
  }
  if (const c10::IValue extra = module.get_extra_state(); !extra.isNone()) archive.write("_extra_state", extra);
  for (const auto& item : ModuleAccess::children(module)) {
    if (item.value() == nullptr || !item.value()->is_serializable()) continue;
    serialize::OutputArchive child;
    item.value()->save(child);
    // A state dict has no names for what holds nothing.
    if (!child.empty()) archive.write(item.key(), child);
  }
}

void load_module(Module& module, serialize::InputArchive& archive) {
  for (auto& item : ModuleAccess::parameters(module)) {
    if (item.value().defined()) archive.read(item.key(), item.value());
  }
  for (auto& item : ModuleAccess::buffers(module)) {
    if (item.value().defined() && ModuleAccess::is_persistent(module, item.key())) {
      archive.read(item.key(), item.value(), /*is_buffer=*/true);
    }
  }
  if (!module.get_extra_state().isNone()) {
    c10::IValue extra;
    archive.read("_extra_state", extra);
    module.set_extra_state(extra);
  }
  for (const auto& item : ModuleAccess::children(module)) {
    if (item.value() == nullptr || !item.value()->is_serializable()) continue;
    serialize::InputArchive child;
    if (!archive.try_read(item.key(), child)) {
      if (item.value()->parameters().empty() && item.value()->buffers().empty()) continue;
      archive.read(item.key(), child);  // says what is missing
    }
    item.value()->load(child);
  }
}

}  // namespace torch::nn::detail

namespace torch::serialize {

OutputArchive& operator<<(OutputArchive& archive, const std::shared_ptr<nn::Module>& module) {
  TORCH_CHECK(module != nullptr, "Cannot serialize empty module");
  module->save(archive);
  return archive;
}

InputArchive& operator>>(InputArchive& archive, const std::shared_ptr<nn::Module>& module) {
  TORCH_CHECK(module != nullptr, "Cannot deserialize empty module");
  module->load(archive);
  return archive;
}

OutputArchive& operator<<(OutputArchive& archive, const nn::StateDict& state) {
  for (const auto& item : state) archive.write(item.key(), item.value());
  for (const auto& item : state.extra_state) archive.write(item.key(), item.value());
  return archive;
}

InputArchive& operator>>(InputArchive& archive, nn::StateDict& state) {
  for (const std::string& name : archive.tensor_names()) {
    at::Tensor tensor;
    archive.read(name, tensor);
    state.insert(name, std::move(tensor));
  }
  for (auto& [name, value] : archive.values()) {
    if (name == "_extra_state" || name.ends_with("._extra_state")) state.extra_state.insert(name, std::move(value));
  }
  return archive;
}

}  // namespace torch::serialize
