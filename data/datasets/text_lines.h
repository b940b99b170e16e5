#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/datasets/base.h"

namespace torch::data::datasets {

/// The lines of a file, without their ends (LF or CRLF). The file is mapped, not read; copies share it.
///
///   torch::data::datasets::TextLines lines("corpus.txt");
///   auto ids = lines.map(torch::data::transforms::Lambda<std::string, std::vector<int64_t>>(
///       [t](std::string line) { return t.encode(line); }));
class TextLines : public Dataset<TextLines, std::string> {
 public:
  /// IoError for a file that can't be read.
  explicit TextLines(const std::string& path);

  /// IndexError out of range.
  std::string get(size_t index) override;
  std::optional<size_t> size() const override;

 private:
  struct File;
  std::shared_ptr<const File> file_;
};

}  // namespace torch::data::datasets
