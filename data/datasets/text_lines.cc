#include "data/datasets/text_lines.h"

#include <cstring>

#include "c10/util/exception.h"
#include "utils/serialize/file_io.h"

namespace torch::data::datasets {

struct TextLines::File {
  explicit File(const std::string& path) : map(path) {
    for (size_t at = 0; at < map.size();) {
      starts.push_back(at);
      const void* const end = std::memchr(map.data() + at, '\n', map.size() - at);
      at = end == nullptr ? map.size() : static_cast<size_t>(static_cast<const char*>(end) - map.data()) + 1;
    }
  }

  serialize::MappedFile map;
  std::vector<uint64_t> starts;
};

TextLines::TextLines(const std::string& path) : file_(std::make_shared<const File>(path)) {}

std::string TextLines::get(size_t index) {
  const size_t count = file_->starts.size();
  TORCH_CHECK_INDEX(index < count, "TextLines: index ", index, " is out of range for ", count, " lines");
  const size_t begin = file_->starts[index];
  size_t end = index + 1 < count ? file_->starts[index + 1] : file_->map.size();
  const char* const text = file_->map.data();
  if (end > begin && text[end - 1] == '\n') {
    --end;
    if (end > begin && text[end - 1] == '\r') --end;
  }
  return std::string(text + begin, end - begin);
}

std::optional<size_t> TextLines::size() const { return file_->starts.size(); }

}  // namespace torch::data::datasets
