// Folders that others wrote, as metadata of ours.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "c10/value/ivalue.h"
#include "distributed/checkpoint/metadata.h"

namespace torch::distributed::checkpoint::detail {

inline constexpr const char* kDcpMetadataName = ".metadata";

/// PyTorch's. Each chunk and each value is a file of torch.save within another. The pickle is read as a tree: nothing
/// in it is called. Throws FormatError, and NotImplementedError for data that is compressed.
Metadata read_dcp_metadata(const std::string& path);

/// Of safetensors files: Hugging Face's (one file, or several and an index, each tensor whole), and what PyTorch's
/// HuggingFaceStorageWriter leaves before it puts tensors together (files with the offsets of what they hold). nullopt
/// where the folder has none of them. Throws FormatError.
std::optional<Metadata> read_safetensors_metadata(const std::string& folder);

/// Of one file: safetensors, or of torch.save with a dict. Each tensor is one chunk.
struct WholeFile {
  Metadata metadata;
  std::map<std::string, c10::IValue>
      values;  // by flat name; tensors are views of the file, which is read when they are
};
WholeFile read_whole_file(const std::string& path);

}  // namespace torch::distributed::checkpoint::detail
