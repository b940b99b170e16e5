#include "jit/frontend/source_range.h"

#include <algorithm>

namespace torch::jit {
namespace {

constexpr size_t kLinesAround = 2;
// Longer lines are cut: a message is for reading.
constexpr size_t kMostColumns = 400;

size_t line_begin(std::string_view text, size_t at) {
  const size_t newline = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}
size_t line_end(std::string_view text, size_t at) {
  return std::min(text.find('\n', at), text.size());
}

}  // namespace

std::string_view SourceRange::text() const {
  return source_ == nullptr ? std::string_view() : std::string_view(source_->text()).substr(start_, end_ - start_);
}

size_t SourceRange::line() const {
  if (source_ == nullptr) return 0;
  const std::string& text = source_->text();
  return source_->starting_line_no() +
         std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(start_), '\n');
}

void SourceRange::highlight(std::string& out) const {
  if (source_ == nullptr) return;
  const std::string_view text = source_->text();
  const size_t last_byte = end_ > start_ ? end_ - 1 : start_;
  size_t first = line_begin(text, start_);
  for (size_t i = 0; i < kLinesAround && first > 0; ++i) first = line_begin(text, first - 1);
  out += c10::str("  File \"", source_->filename(), "\", line ", line(), "\n");
  const size_t last_line = line_begin(text, last_byte);
  size_t after = 0;
  for (size_t begin = first; begin <= text.size() && after <= kLinesAround;) {
    const size_t end = line_end(text, begin);
    if (begin > last_line && (++after > kLinesAround || begin == text.size())) break;
    out += text.substr(begin, std::min(end - begin, kMostColumns));
    out += '\n';
    if (end >= start_ && begin <= last_byte && begin + kMostColumns > start_) {
      size_t from = std::max(begin, start_);
      while (from < end && text[from] == ' ') ++from;
      const size_t to = std::min({std::max(end_, from + 1), std::max(end, from + 1), begin + kMostColumns});
      if (from < end || begin == last_line) {
        out.append(from - begin, ' ');
        out.append(to > from ? to - from : 1, '~');
        out += begin == last_line ? " <--- HERE\n" : "\n";
      }
    }
    begin = end + 1;
  }
}

std::string SourceRange::str() const {
  std::string out;
  highlight(out);
  return out;
}

}  // namespace torch::jit
