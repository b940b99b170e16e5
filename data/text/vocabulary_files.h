// The files of byte pair encodings. Not for programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace torch::data::text {

/// Tokens as bytes with their numbers: a JSON object in which each byte of a token stands as a printable character. A
/// token that is not written that way, as special ones may be, stands for its own UTF-8. Throws serialize::FormatError
/// and IoError.
std::vector<std::pair<std::string, int64_t>> read_vocabulary(const std::string& path);
void write_vocabulary(const std::string& path, const std::vector<std::pair<std::string, int64_t>>& vocabulary);

struct WrittenMerge {
  std::string first, second;  // bytes
  size_t line;
};
std::vector<WrittenMerge> read_merges(const std::string& path);
void write_merges(const std::string& path, const std::vector<std::pair<std::string, std::string>>& merges);

}  // namespace torch::data::text
