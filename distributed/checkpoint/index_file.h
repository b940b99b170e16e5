// The index of a checkpoint's folder, and values as JSON.
//
//   {"crc32c": "89abcdef",                                   of the file, with these digits as zeros
//    "format": "kindling checkpoint", "version": 1,
//    "files": {"data-0-1.safetensors": 4096},                with their sizes in bytes
//    "tensors": {"model.weight": {"dtype": "Float", "size": [8, 4], "chunks": [
//      {"offsets": [0, 0], "sizes": [8, 4], "file": "data-0-1.safetensors", "begin": 128, "bytes": 128,
//       "crc32c": ["01234567"]}]}},                          of each MiB
//    "values": {"step": {"file": ..., "begin": ..., "bytes": ..., "crc32c": [...]}},
//    "paths": {"model.weight": ["model", "weight"]}}         a number is that of an element; {"key": 3} a dict's key
#pragma once

#include <string>
#include <string_view>

#include "c10/value/ivalue.h"
#include "distributed/checkpoint/metadata.h"

namespace torch::distributed::checkpoint::detail {

inline constexpr const char* kIndexName = "index.json";

std::string index_text(const Metadata& metadata);
/// Checks everything that can be known without the files: the checksum, names of files (none leads out of the folder),
/// sizes, that chunks lie within their files and cover their tensors exactly. Throws FormatError, which names `path`.
Metadata parse_index(std::string_view text, const std::string& path);

/// A value without tensors. Throws TypeError for one that has no place in JSON.
std::string value_text(const c10::IValue& value);
/// Throws FormatError.
c10::IValue parse_value(std::string_view text, const std::string& where);

/// A name of a file in a folder: no way out of it.
bool is_file_name(std::string_view name);
/// Throws FormatError for chunks that lie nowhere, do not cover their tensors, or have other lengths than their sizes
/// take (where `has_exact_lengths`).
void check_metadata(const Metadata& metadata, const std::string& path, bool has_exact_lengths);

}  // namespace torch::distributed::checkpoint::detail
