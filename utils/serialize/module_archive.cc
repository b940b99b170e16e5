#include "utils/serialize/module_archive.h"

namespace torch::nn::detail {

void save_module(const Module& module, serialize::OutputArchive& archive) {
  for (const auto& item : module.named_parameters(/*recurse=*/false)) archive.write(item.key(), item.value());
  for (const auto& item : module.named_buffers(/*recurse=*/false)) archive.write(item.key(), item.value(), true);
  for (const auto& item : module.named_children()) {
    if (!item.value()->is_serializable()) continue;
    serialize::OutputArchive child;
    item.value()->save(child);
    archive.write(item.key(), child);
  }
}

void load_module(Module& module, serialize::InputArchive& archive) {
  for (auto& item : module.named_parameters(/*recurse=*/false)) archive.read(item.key(), item.value());
  for (auto& item : module.named_buffers(/*recurse=*/false)) archive.read(item.key(), item.value(), true);
  for (const auto& item : module.named_children()) {
    if (!item.value()->is_serializable()) continue;
    serialize::InputArchive child;
    archive.read(item.key(), child);
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

}  // namespace torch::serialize
