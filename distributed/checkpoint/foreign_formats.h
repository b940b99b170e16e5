// Folders that others wrote, as metadata of ours.
#pragma once

#include <string>

#include "distributed/checkpoint/metadata.h"

namespace torch::distributed::checkpoint::detail {

inline constexpr const char* kDcpMetadataName = ".metadata";
inline constexpr const char* kHuggingFaceIndexName = "model.safetensors.index.json";
inline constexpr const char* kHuggingFaceFileName = "model.safetensors";

/// PyTorch's. Each chunk and each value is a file of torch.save within another. The pickle is read as a tree: nothing
/// in it is called. Throws FormatError, and NotImplementedError for data that is compressed.
Metadata read_dcp_metadata(const std::string& path);

/// Hugging Face's: one file, or several and an index. Each tensor is one chunk. Throws FormatError.
Metadata read_hugging_face_metadata(const std::string& folder);

}  // namespace torch::distributed::checkpoint::detail
