// Reads a header twice: once to check its text and count, once to fill arrays reserved to the exact size.
#include <algorithm>
#include <cstring>

#include "utils/serialize/safetensors_format.h"
#include "utils/serialize/utf8.h"

namespace torch::safetensors {
namespace {

[[noreturn]] void fail(std::string message) {
  serialize::throw_format_error("safetensors: " + std::move(message));
}

// A name for a message: short and printable, whatever the file holds.
std::string in_quotes(std::string_view text) {
  constexpr size_t kShown = 60;
  std::string out = "\"";
  for (char c : text.substr(0, kShown)) out += c >= 0x20 && c < 0x7f ? c : '?';
  out += text.size() > kShown ? "...\"" : "\"";
  return out;
}

// Decodes the escapes of a checked JSON string piece by piece.
class Decoder {
 public:
  explicit Decoder(std::string_view raw) : raw_(raw) {}

  // The next one to four bytes of UTF-8; 0 at the end.
  int next(char out[4]) {
    if (at_ == raw_.size()) return 0;
    const char c = raw_[at_++];
    if (c != '\\') {
      out[0] = c;
      return 1;
    }
    const char e = raw_[at_++];
    if (e != 'u') {
      constexpr char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
      out[0] = to[std::strchr(from, e) - from];
      return 1;
    }
    uint32_t code = hex4();
    if (code >= 0xd800 && code < 0xdc00) {
      at_ += 2;
      code = 0x10000 + ((code - 0xd800) << 10) + (hex4() - 0xdc00);
    }
    return serialize::encode_utf8(code, out);
  }

 private:
  uint32_t hex4() {
    uint32_t v = 0;
    for (int i = 0; i < 4; ++i) v = v * 16 + static_cast<uint32_t>(serialize::hex_digit(raw_[at_++]));
    return v;
  }

  std::string_view raw_;
  size_t at_ = 0;
};

// A JSON string as it stands in the file, without its quotes.
struct RawText {
  std::string_view raw;
  bool has_escape = false;

  bool equals(std::string_view text) const {
    if (!has_escape) return raw == text;
    Decoder decoder(raw);
    char piece[4];
    while (const int n = decoder.next(piece)) {
      if (text.substr(0, static_cast<size_t>(n)) != std::string_view(piece, static_cast<size_t>(n))) return false;
      text.remove_prefix(static_cast<size_t>(n));
    }
    return text.empty();
  }
};

}  // namespace

class HeaderParser {
 public:
  HeaderParser(std::string_view json, uint64_t data_bytes, const Limits& limits)
      : json_(json), data_bytes_(data_bytes), limits_(limits) {}

  Header run(uint64_t data_offset) {
    header_.json_ = json_;
    header_.data_offset_ = data_offset;
    read();
    header_.entries_.reserve(tensors_);
    header_.metadata_.reserve(metadata_);
    header_.decoded_.reserve(decoded_);
    filling_ = true;
    read();
    check_names();
    check_metadata_keys();
    check_offsets();
    return std::move(header_);
  }

 private:
  [[noreturn]] void fail_at(const char* what) {
    fail(c10::str("the header is not valid at byte ", 8 + at_, ": ", what));
  }

  char peek() const { return at_ < json_.size() ? json_[at_] : '\0'; }
  void skip_space() {
    while (at_ < json_.size() && (json_[at_] == ' ' || json_[at_] == '\n' || json_[at_] == '\t' || json_[at_] == '\r'))
      ++at_;
  }
  void expect(char c, const char* what) {
    skip_space();
    if (at_ >= json_.size() || json_[at_] != c) fail_at(what);
    ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= json_.size() || json_[at_] != c) return false;
    ++at_;
    return true;
  }

  uint32_t hex4() {
    if (json_.size() - at_ < 4) fail_at("an escape is cut off");
    uint32_t v = 0;
    for (int i = 0; i < 4; ++i) {
      const int digit = serialize::hex_digit(json_[at_]);
      if (digit < 0) fail_at("expected four hexadecimal digits");
      v = v * 16 + static_cast<uint32_t>(digit);
      ++at_;
    }
    return v;
  }

  RawText string() {
    expect('"', "expected a string");
    const size_t begin = at_;
    bool has_escape = false;
    for (;;) {
      if (at_ >= json_.size()) fail_at("a string does not end");
      const unsigned char c = static_cast<unsigned char>(json_[at_]);
      if (c == '"') break;
      if (c < 0x20) fail_at("a control character in a string");
      if (c == '\\') {
        has_escape = true;
        ++at_;
        const char e = peek();
        if (e == '\0' || std::strchr("\"\\/bfnrtu", e) == nullptr) fail_at("an unknown escape");
        ++at_;
        if (e != 'u') continue;
        const uint32_t code = hex4();
        if (code >= 0xdc00 && code < 0xe000) fail_at("a lone surrogate");
        if (code >= 0xd800 && code < 0xdc00) {
          if (json_.substr(at_, 2) != "\\u") fail_at("a lone surrogate");
          at_ += 2;
          const uint32_t low = hex4();
          if (low < 0xdc00 || low >= 0xe000) fail_at("a lone surrogate");
        }
      } else if (c < 0x80) {
        ++at_;
      } else {
        const size_t n = serialize::utf8_length(json_.substr(at_));
        if (n == 0) fail_at("not UTF-8");
        at_ += n;
      }
    }
    RawText text{json_.substr(begin, at_ - begin), has_escape};
    ++at_;
    return text;
  }

  uint64_t integer() {
    skip_space();
    const size_t begin = at_;
    uint64_t v = 0;
    while (peek() >= '0' && peek() <= '9') {
      if (__builtin_mul_overflow(v, uint64_t{10}, &v) ||
          __builtin_add_overflow(v, static_cast<uint64_t>(peek() - '0'), &v)) {
        fail_at("an integer is too large");
      }
      ++at_;
    }
    if (at_ == begin) fail_at("expected a non-negative integer");
    if (json_[begin] == '0' && at_ - begin > 1) fail_at("an integer with a leading zero");
    return v;
  }

  Header::Text keep(const RawText& text) {
    Header::Text out;
    if (!text.has_escape) {
      out.begin = static_cast<uint32_t>(text.raw.data() - json_.data());
      out.length = static_cast<uint32_t>(text.raw.size()) & 0x7fffffffu;
      return out;
    }
    if (!filling_) {
      decoded_ += text.raw.size();
      return out;
    }
    out.is_decoded = 1;
    out.begin = static_cast<uint32_t>(header_.decoded_.size());
    Decoder decoder(text.raw);
    char piece[4];
    while (const int n = decoder.next(piece)) header_.decoded_.append(piece, static_cast<size_t>(n));
    out.length = static_cast<uint32_t>(header_.decoded_.size() - out.begin) & 0x7fffffffu;
    return out;
  }

  void read() {
    at_ = 0;
    bool seen_metadata = false;
    if (peek() != '{') fail("the header does not begin with '{'");
    expect('{', "expected '{'");
    if (!accept('}')) {
      do {
        skip_space();
        const RawText name = string();
        expect(':', "expected ':'");
        if (name.equals("__metadata__")) {
          if (seen_metadata) fail("\"__metadata__\" comes twice");
          seen_metadata = true;
          read_metadata();
        } else {
          read_tensor(name);
        }
      } while (accept(','));
      expect('}', "expected ',' or '}'");
    }
    for (; at_ < json_.size(); ++at_) {
      if (json_[at_] != ' ') fail_at("only spaces may follow the closing brace");
    }
  }

  void read_metadata() {
    expect('{', "\"__metadata__\" is not an object");
    if (accept('}')) return;
    do {
      skip_space();
      const RawText key = string();
      expect(':', "expected ':'");
      skip_space();
      if (peek() != '"') fail_at("a metadata value is not a string");
      const RawText value = string();
      if (!filling_ && ++metadata_ > limits_.metadata_entries) {
        fail(c10::str("more than ", limits_.metadata_entries, " metadata entries"));
      }
      Header::MetadataEntry entry{keep(key), keep(value)};
      if (filling_) header_.metadata_.push_back(entry);
    } while (accept(','));
    expect('}', "expected ',' or '}'");
  }

  void read_tensor(const RawText& name) {
    Header::Entry entry;
    entry.name = keep(name);
    unsigned seen = 0;
    int64_t span = 1;
    bool overflow = false;
    expect('{', "a tensor's entry is not an object");
    do {
      skip_space();
      const RawText field = string();
      expect(':', "expected ':'");
      const unsigned bit = field.equals("dtype") ? 1 : field.equals("shape") ? 2 : field.equals("data_offsets") ? 4 : 0;
      if (bit == 0) fail(c10::str("tensor ", in_quotes(name.raw), " has an unknown field ", in_quotes(field.raw)));
      if ((seen & bit) != 0) fail(c10::str("tensor ", in_quotes(name.raw), ": ", in_quotes(field.raw), " comes twice"));
      seen |= bit;
      if (bit == 1) {
        skip_space();
        const RawText dtype = string();
        if (!dtype_from_name(dtype.raw, &entry.dtype)) {
          fail(c10::str("tensor ", in_quotes(name.raw), " has an unknown dtype ", in_quotes(dtype.raw)));
        }
      } else if (bit == 2) {
        read_shape(name, &entry, &span, &overflow);
      } else {
        expect('[', "data_offsets is not a list");
        entry.begin = integer();
        expect(',', "data_offsets has not two numbers");
        entry.end = integer();
        expect(']', "data_offsets has not two numbers");
      }
    } while (accept(','));
    expect('}', "expected ',' or '}'");
    if (seen != 7) {
      fail(c10::str("tensor ", in_quotes(name.raw), " has no ",
                    (seen & 1) == 0   ? "dtype"
                    : (seen & 2) == 0 ? "shape"
                                      : "data_offsets"));
    }
    if (!filling_) {
      if (++tensors_ > limits_.tensors) fail(c10::str("more than ", limits_.tensors, " tensors"));
      check_extent(name, entry, span, overflow);
      return;
    }
    header_.entries_.push_back(entry);
  }

  void read_shape(const RawText& name, Header::Entry* entry, int64_t* span, bool* overflow) {
    expect('[', "shape is not a list");
    entry->shape_begin = static_cast<uint32_t>(at_);
    if (accept(']')) return;
    size_t rank = 0;
    do {
      const uint64_t size = integer();
      if (++rank > limits_.dimensions || rank > 255) {
        fail(c10::str("tensor ", in_quotes(name.raw), " has more than ", limits_.dimensions, " dimensions"));
      }
      if (size > static_cast<uint64_t>(INT64_MAX)) *overflow = true;
      has_zero_ = rank == 1 ? size == 0 : has_zero_ || size == 0;
      *overflow |= __builtin_mul_overflow(*span, std::max<int64_t>(1, static_cast<int64_t>(size)), span);
    } while (accept(','));
    expect(']', "expected ',' or ']'");
    entry->rank = static_cast<uint8_t>(rank);
  }

  void check_extent(const RawText& name, const Header::Entry& entry, int64_t span, bool overflow) {
    overflow |= __builtin_mul_overflow(span, element_size(entry.dtype), &span);
    if (overflow) fail(c10::str("tensor ", in_quotes(name.raw), ": its shape overflows"));
    const uint64_t bytes = entry.rank > 0 && has_zero_ ? 0 : static_cast<uint64_t>(span);
    if (entry.begin > entry.end || entry.end > data_bytes_) {
      fail(c10::str("tensor ", in_quotes(name.raw), ": its data_offsets [", entry.begin, ", ", entry.end,
                    "] do not lie within the ", data_bytes_, " bytes of data"));
    }
    if (entry.end - entry.begin != bytes) {
      fail(c10::str("tensor ", in_quotes(name.raw), ": its shape and dtype need ", bytes,
                    " bytes, its data_offsets span ", entry.end - entry.begin));
    }
  }

  void check_names() {
    std::vector<uint32_t>& order = header_.by_name_;
    order.resize(header_.entries_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint32_t>(i);
    auto name = [&](uint32_t i) { return header_.view(header_.entries_[i].name); };
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return name(a) < name(b); });
    for (size_t i = 1; i < order.size(); ++i) {
      if (name(order[i - 1]) == name(order[i])) fail(c10::str("tensor ", in_quotes(name(order[i])), " comes twice"));
    }
  }

  void check_metadata_keys() {
    std::vector<uint32_t>& order = header_.metadata_by_key_;
    order.resize(header_.metadata_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint32_t>(i);
    auto key = [&](uint32_t i) { return header_.view(header_.metadata_[i].key); };
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    for (size_t i = 1; i < order.size(); ++i) {
      if (key(order[i - 1]) == key(order[i])) fail(c10::str("metadata key ", in_quotes(key(order[i])), " comes twice"));
    }
  }

  void check_offsets() {
    const std::vector<Header::Entry>& entries = header_.entries_;
    std::vector<uint32_t> order(entries.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint32_t>(i);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return entries[a].begin != entries[b].begin ? entries[a].begin < entries[b].begin
                                                  : entries[a].end < entries[b].end;
    });
    uint64_t covered = 0;
    for (uint32_t i : order) {
      if (entries[i].begin != covered) {
        fail(c10::str("tensor ", in_quotes(header_.view(entries[i].name)),
                      entries[i].begin < covered ? " overlaps another" : " leaves a hole before it", ": it begins at ",
                      entries[i].begin, ", the data before it ends at ", covered));
      }
      covered = entries[i].end;
    }
    if (covered != data_bytes_) {
      fail(c10::str("the tensors cover ", covered, " bytes, but the file holds ", data_bytes_, " bytes of data"));
    }
  }

  std::string_view json_;
  uint64_t data_bytes_;
  const Limits& limits_;
  Header header_;
  size_t at_ = 0;
  bool filling_ = false;
  bool has_zero_ = false;
  size_t tensors_ = 0, metadata_ = 0, decoded_ = 0;
};

Header Header::parse(std::string_view file, const Limits& limits) {
  TORCH_CHECK_VALUE(limits.header_bytes < (uint64_t{1} << 31), "safetensors: the limit of a header is 2 GiB");
  if (file.size() < 8) fail(c10::str("the file has ", file.size(), " bytes; a header's length alone takes 8"));
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(file[static_cast<size_t>(i)]);
  if (length > limits.header_bytes) {
    fail(c10::str("a header of ", length, " bytes is over the limit of ", limits.header_bytes));
  }
  if (length > file.size() - 8) {
    fail(c10::str("a header of ", length, " bytes does not fit into a file of ", file.size()));
  }
  if (length < 2) fail("the header is empty");
  return HeaderParser(file.substr(8, length), file.size() - 8 - length, limits).run(8 + length);
}

}  // namespace torch::safetensors
