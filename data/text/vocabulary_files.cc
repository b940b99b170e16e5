#include "data/text/vocabulary_files.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "c10/util/exception.h"
#include "utils/serialize/file_io.h"

namespace torch::data::text {

namespace {

constexpr uint64_t kMaxFile = uint64_t{1} << 30;

// The character that stands for a byte: itself where it is printable in Latin-1, else one from U+0100 on, in order.
const std::array<uint32_t, 256>& characters_of_bytes() {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> t{};
    uint32_t next = 256;
    for (uint32_t b = 0; b < 256; ++b) {
      const bool printable = (b >= '!' && b <= '~') || (b >= 0xa1 && b != 0xad);
      t[b] = printable ? b : next++;
    }
    return t;
  }();
  return table;
}

void append_utf8(std::string& text, uint32_t c) {
  if (c < 0x80) {
    text.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    text.push_back(static_cast<char>(0xc0 | c >> 6));
    text.push_back(static_cast<char>(0x80 | (c & 63)));
  } else if (c < 0x10000) {
    text.push_back(static_cast<char>(0xe0 | c >> 12));
    text.push_back(static_cast<char>(0x80 | (c >> 6 & 63)));
    text.push_back(static_cast<char>(0x80 | (c & 63)));
  } else {
    text.push_back(static_cast<char>(0xf0 | c >> 18));
    text.push_back(static_cast<char>(0x80 | (c >> 12 & 63)));
    text.push_back(static_cast<char>(0x80 | (c >> 6 & 63)));
    text.push_back(static_cast<char>(0x80 | (c & 63)));
  }
}

// The bytes that a written token stands for; nullopt where a character is none of the table's.
std::optional<std::string> bytes_of(std::string_view written) {
  static const std::array<int, 512> byte_of = [] {
    std::array<int, 512> t;
    t.fill(-1);
    for (int b = 0; b < 256; ++b) t[characters_of_bytes()[static_cast<size_t>(b)]] = b;
    return t;
  }();
  std::string bytes;
  for (size_t i = 0; i < written.size(); ++i) {
    const auto u = static_cast<unsigned char>(written[i]);
    uint32_t c = u;
    if (u >= 0x80) {
      // All characters of the table are below U+0200: two bytes.
      if ((u & 0xe0) != 0xc0 || i + 1 == written.size()) return std::nullopt;
      c = (u & 31u) << 6 | (static_cast<unsigned char>(written[++i]) & 63u);
    }
    if (c >= byte_of.size() || byte_of[c] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(byte_of[c]));
  }
  return bytes;
}

std::string written(std::string_view bytes) {
  std::string text;
  for (const char b : bytes) append_utf8(text, characters_of_bytes()[static_cast<unsigned char>(b)]);
  return text;
}

// Of JSON, what a vocabulary is: one object of texts and whole numbers.
class JsonReader {
 public:
  JsonReader(const std::string& path) : path_(path), text_(serialize::read_file(path, kMaxFile)) {}

  std::vector<std::pair<std::string, int64_t>> object() {
    std::vector<std::pair<std::string, int64_t>> entries;
    expect('{');
    if (peek() != '}') {
      do {
        std::string key = string();
        expect(':');
        entries.emplace_back(std::move(key), number());
      } while (accept(','));
    }
    expect('}');
    peek();
    if (at_ != text_.size()) fail("more behind the object");
    return entries;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    serialize::throw_format_error(c10::str(path_, ": ", what, " at byte ", at_));
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "'");
  }

  int64_t number() {
    peek();
    int64_t value = 0;
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (value > int64_t{1} << 40) fail("a number that is too large");
      value = value * 10 + (text_[at_++] - '0');
    }
    if (at_ == begin) fail("expected a number");
    return value;
  }

  uint32_t hex4() {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = at_ < text_.size() ? text_[at_] : '\0';
      if (c >= '0' && c <= '9') {
        value = value * 16 + static_cast<uint32_t>(c - '0');
      } else if ((c | 32) >= 'a' && (c | 32) <= 'f') {
        value = value * 16 + static_cast<uint32_t>((c | 32) - 'a' + 10);
      } else {
        fail("expected four hexadecimal digits");
      }
    }
    return value;
  }

  void escape(std::string& value) {
    const char c = at_ < text_.size() ? text_[at_++] : '\0';
    switch (c) {
      case '"': case '\\': case '/': value.push_back(c); return;
      case 'b': value.push_back('\b'); return;
      case 'f': value.push_back('\f'); return;
      case 'n': value.push_back('\n'); return;
      case 'r': value.push_back('\r'); return;
      case 't': value.push_back('\t'); return;
      case 'u': {
        uint32_t code = hex4();
        if (code >= 0xd800 && code < 0xdc00) {
          if (text_.compare(at_, 2, "\\u") != 0) fail("half a surrogate pair");
          at_ += 2;
          const uint32_t low = hex4();
          if (low < 0xdc00 || low >= 0xe000) fail("half a surrogate pair");
          code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        append_utf8(value, code);
        return;
      }
      default: fail("an unknown escape");
    }
  }

  std::string string() {
    expect('"');
    std::string value;
    while (true) {
      if (at_ == text_.size()) fail("a text that does not end");
      const char c = text_[at_++];
      if (c == '"') return value;
      if (c == '\\') {
        escape(value);
      } else {
        value.push_back(c);
      }
    }
  }

  const std::string path_, text_;
  size_t at_ = 0;
};

}  // namespace

std::vector<std::pair<std::string, int64_t>> read_vocabulary(const std::string& path) {
  std::vector<std::pair<std::string, int64_t>> vocabulary = JsonReader(path).object();
  for (auto& [token, id] : vocabulary)
    if (std::optional<std::string> bytes = bytes_of(token)) token = std::move(*bytes);
  return vocabulary;
}

void write_vocabulary(const std::string& path, const std::vector<std::pair<std::string, int64_t>>& vocabulary) {
  std::string text = "{";
  for (const auto& [bytes, id] : vocabulary) {
    if (text.size() > 1) text += ", ";
    text += '"';
    for (const char c : written(bytes)) {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    text += "\": " + std::to_string(id);
  }
  serialize::AtomicFile file(path);
  file.write(text + "}\n");
  file.commit();
}

std::vector<WrittenMerge> read_merges(const std::string& path) {
  const std::string text = serialize::read_file(path, kMaxFile);
  std::vector<WrittenMerge> merges;
  size_t line_number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line(text.data() + at, end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const size_t offset = at;
    at = end + 1;
    if (++line_number == 1 && line.substr(0, 9) == "#version:") continue;
    if (line.empty()) continue;
    const size_t space = line.find(' ');
    const auto fail = [&](const char* what) {
      serialize::throw_format_error(c10::str(path, ":", line_number, ": ", what, " (byte ", offset, ")"));
    };
    if (space == std::string_view::npos || space == 0 || space + 1 == line.size() ||
        line.find(' ', space + 1) != std::string_view::npos)
      fail("expected two tokens with a space between");
    std::optional<std::string> first = bytes_of(line.substr(0, space)), second = bytes_of(line.substr(space + 1));
    if (!first || !second) fail("a character that stands for no byte");
    merges.push_back({std::move(*first), std::move(*second), line_number});
  }
  return merges;
}

void write_merges(const std::string& path, const std::vector<std::pair<std::string, std::string>>& merges) {
  std::string text = "#version: 0.2\n";
  for (const auto& [first, second] : merges) text += written(first) + " " + written(second) + "\n";
  serialize::AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace torch::data::text
