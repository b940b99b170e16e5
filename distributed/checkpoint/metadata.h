// What a checkpoint holds, and where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "c10/core/scalar_type.h"

namespace torch::distributed::checkpoint {

/// Offsets and sizes in elements, one a dimension.
using Extents = std::vector<int64_t>;

/// A piece of a tensor: the elements [offsets[d], offsets[d] + sizes[d]) of each dimension d.
struct ChunkStorageMetadata {
  Extents offsets;
  Extents sizes;
  bool operator==(const ChunkStorageMetadata&) const = default;
};

struct TensorProperties {
  c10::ScalarType dtype = c10::ScalarType::Float;
  bool operator==(const TensorProperties&) const = default;
};

/// A tensor: the chunks cover it exactly, and none overlaps another.
struct TensorStorageMetadata {
  TensorProperties properties;
  Extents size;
  std::vector<ChunkStorageMetadata> chunks;
  bool operator==(const TensorStorageMetadata&) const = default;
};

/// A value that is no tensor.
struct BytesStorageMetadata {
  bool operator==(const BytesStorageMetadata&) const = default;
};

using ValueStorageMetadata = std::variant<TensorStorageMetadata, BytesStorageMetadata>;

/// The value of this flat name or, with an offset, the chunk of it that begins there.
struct MetadataIndex {
  std::string fqn;
  std::optional<Extents> offset = std::nullopt;
  bool operator==(const MetadataIndex&) const = default;
  struct Hash {
    size_t operator()(const MetadataIndex& index) const;
  };
};

/// Where a chunk or a value lies.
struct StorageInfo {
  std::string relative_path;  // a file's name within the checkpoint
  uint64_t offset = 0;        // in bytes
  uint64_t length = 0;        // in bytes
  /// CRC-32C of each kChecksumBlock bytes (the last has what is left); empty where the format has none.
  std::vector<uint32_t> checksums;
  bool operator==(const StorageInfo&) const = default;
};
inline constexpr uint64_t kChecksumBlock = uint64_t{1} << 20;

/// A step from a container to what it holds.
struct PathItem {
  std::variant<std::string, int64_t> key;  // of a dict; or the number in a list or tuple
  bool is_element = false;                 // of a list or tuple
  bool operator==(const PathItem&) const = default;
};
/// Where a value stands in the state dict whose flat name it has: "optimizer.state.0.step" is
/// {"optimizer", "state", 0, "step"}.
using Path = std::vector<PathItem>;

struct Metadata {
  std::map<std::string, ValueStorageMetadata> state_dict_metadata;  // by flat name
  std::map<std::string, Path> planner_data;                         // by flat name
  std::unordered_map<MetadataIndex, StorageInfo, MetadataIndex::Hash> storage_data;
  /// Sizes in bytes of the files, where the format knows them.
  std::map<std::string, uint64_t> files;
};

/// The number of elements; nullopt for a negative size or a number beyond int64.
std::optional<int64_t> numel_of(const Extents& sizes);

/// What keeps `chunks` from covering a tensor of `size` exactly, as "elements [2, 4) x [0, 3) are there twice"; ""
/// where nothing does. Sorts: n log n steps for n chunks that lie as shards of any kind do.
std::string uncovered(const Extents& size, const std::vector<ChunkStorageMetadata>& chunks);

}  // namespace torch::distributed::checkpoint
