// Checkpoints as other files, and back, in one process and without the program that saved them. The command-line tool
// is //distributed/checkpoint:convert.
#pragma once

#include <cstdint>
#include <string>

#include "c10/value/ivalue.h"
#include "distributed/checkpoint/state_dict_loader.h"

namespace torch::distributed::checkpoint {

/// The state dict that was saved, or the parts of it whose flat names begin with one of `keys` and a dot, or are one of
/// them; on the CPU, with every tensor whole. Lists and tuples come as lists.
c10::IValue load_state_dict_from_keys(const std::vector<std::string>& keys, const LoadOptions& options);

/// A checkpoint in a folder (any that FileSystemReader reads) as a file of torch.save, which Python's
/// torch.load(weights_only=True) reads. Takes memory for all of it.
void dcp_to_torch_save(const std::string& dcp_checkpoint_dir, const std::string& torch_save_path);
/// And back: a file of torch.save that holds a dict, as a checkpoint of this library.
void torch_save_to_dcp(const std::string& torch_save_path, const std::string& dcp_checkpoint_dir);

struct SafetensorsOptions {
  /// Of the names that begin so, tensors are written, without it; others are left out.
  std::string prefix = {};
  /// A file has at most so many bytes of tensors, or one tensor.
  uint64_t max_shard_bytes = uint64_t{5} << 30;
};

/// The tensors of a checkpoint as a folder of Hugging Face's: model.safetensors, or model-00001-of-0000N.safetensors
/// and so on with model.safetensors.index.json, which comes last; or as one file, where the path ends in
/// ".safetensors". Takes memory for one file. Throws ValueError where there is no tensor to write.
void dcp_to_safetensors(const std::string& dcp_checkpoint_dir, const std::string& path,
                        const SafetensorsOptions& options = {});
/// A safetensors file as a checkpoint of this library.
void safetensors_to_dcp(const std::string& path, const std::string& dcp_checkpoint_dir);

}  // namespace torch::distributed::checkpoint
