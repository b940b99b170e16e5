#include "distributed/checkpoint/format_utils.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "aten/core/empty.h"
#include "c10/util/exception.h"
#include "distributed/checkpoint/filesystem.h"
#include "distributed/checkpoint/state_dict_saver.h"
#include "utils/pickle/file.h"
#include "utils/serialize/file_io.h"
#include "utils/serialize/safetensors.h"

namespace torch::distributed::checkpoint {
namespace {

using c10::IValue;

bool is_asked_for(const std::string& name, const std::vector<std::string>& keys) {
  if (keys.empty()) return true;
  for (const std::string& key : keys) {
    if (name == key || (name.size() > key.size() && name[key.size()] == '.' && name.compare(0, key.size(), key) == 0)) {
      return true;
    }
  }
  return false;
}

// A tensor for each of the names, or None.
StateDict room_for(const Metadata& metadata, const std::vector<std::string>& names) {
  StateDict state;
  for (const std::string& name : names) {
    const auto* tensor = std::get_if<TensorStorageMetadata>(&metadata.state_dict_metadata.at(name));
    state.set(name,
              tensor == nullptr ? IValue() : IValue(at::empty_contiguous(tensor->size, tensor->properties.dtype)));
  }
  return state;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

IValue load_state_dict_from_keys(const std::vector<std::string>& keys, const LoadOptions& options) {
  LoadOptions own = options;
  TORCH_CHECK_VALUE(own.storage_reader != nullptr || !own.checkpoint_id.empty(),
                    "load_state_dict_from_keys: expected a checkpoint_id or a storage_reader");
  if (own.storage_reader == nullptr) own.storage_reader = std::make_shared<FileSystemReader>(own.checkpoint_id);
  if (!own.checkpoint_id.empty()) own.storage_reader->reset(own.checkpoint_id);
  const Metadata metadata = own.storage_reader->read_metadata();
  std::vector<std::string> names;
  for (const auto& [name, stored] : metadata.state_dict_metadata) {
    if (is_asked_for(name, keys)) names.push_back(name);
  }
  StateDict state = room_for(metadata, names);
  load(state, own);
  std::vector<std::pair<std::string, IValue>> values;
  for (const auto& [name, value] : state.items()) values.emplace_back(name, value.value);
  return unflatten_state_dict(values, metadata.planner_data);
}

void dcp_to_torch_save(const std::string& dcp_checkpoint_dir, const std::string& torch_save_path) {
  torch::pickle::save(load_state_dict_from_keys({}, {.checkpoint_id = dcp_checkpoint_dir, .no_dist = true}),
                      torch_save_path);
}

void torch_save_to_dcp(const std::string& torch_save_path, const std::string& dcp_checkpoint_dir) {
  const IValue value = torch::pickle::load(torch_save_path, {.map_location = c10::Device(c10::kCPU)});
  TORCH_CHECK_TYPE(value.isGenericDict(), "torch_save_to_dcp: ", torch_save_path, " holds a ", value.tag_name(),
                   ", expected a dict");
  save(StateDict::of(value), {.checkpoint_id = dcp_checkpoint_dir, .no_dist = true});
}

void safetensors_to_dcp(const std::string& path, const std::string& dcp_checkpoint_dir) {
  StateDict state;
  for (const auto& [name, tensor] : safetensors::load_file(path)) state.set(name, tensor);
  save(state, {.checkpoint_id = dcp_checkpoint_dir, .no_dist = true});
}

void dcp_to_safetensors(const std::string& dcp_checkpoint_dir, const std::string& path,
                        const SafetensorsOptions& options) {
  const auto reader = std::make_shared<FileSystemReader>(dcp_checkpoint_dir);
  const Metadata metadata = reader->read_metadata();
  const bool is_one_file = ends_with(path, ".safetensors");
  std::vector<std::vector<std::string>> shards;
  uint64_t in_shard = 0, total = 0;
  for (const auto& [name, stored] : metadata.state_dict_metadata) {
    const auto* tensor = std::get_if<TensorStorageMetadata>(&stored);
    if (tensor == nullptr || name.compare(0, options.prefix.size(), options.prefix) != 0) continue;
    const uint64_t bytes = static_cast<uint64_t>(numel_of(tensor->size).value_or(0)) *
                           static_cast<uint64_t>(c10::elementSize(tensor->properties.dtype));
    if (shards.empty() || (!is_one_file && in_shard + bytes > options.max_shard_bytes)) {
      shards.emplace_back();
      in_shard = 0;
    }
    shards.back().push_back(name);
    in_shard += bytes;
    total += bytes;
  }
  TORCH_CHECK_VALUE(!shards.empty(), "dcp_to_safetensors: ", dcp_checkpoint_dir,
                    " has no tensor whose name begins with '", options.prefix, "'");
  nlohmann::json index{{"metadata", {{"total_size", total}}}, {"weight_map", nlohmann::json::object()}};
  if (!is_one_file) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) {
      errno = error.value();
      serialize::throw_io_error("create of folder", path);
    }
  }
  for (size_t i = 0; i < shards.size(); ++i) {
    char name[64] = "model.safetensors";
    if (shards.size() > 1) std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", i + 1, shards.size());
    StateDict state = room_for(metadata, shards[i]);
    load(state, {.storage_reader = reader, .no_dist = true});
    safetensors::NamedTensors tensors;
    for (const auto& [full_name, value] : state.items()) {
      const std::string short_name = full_name.substr(options.prefix.size());
      tensors.emplace_back(short_name, value.value.toTensor());
      index["weight_map"][short_name] = name;
    }
    safetensors::save_file(tensors, is_one_file ? path : path + "/" + name, {{"format", "pt"}});
  }
  if (shards.size() > 1) serialize::write_file(path + "/model.safetensors.index.json", index.dump(2) + "\n");
}

}  // namespace torch::distributed::checkpoint
