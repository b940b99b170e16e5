#include "jit/frontend/literals.h"

#include <charconv>

#include "c10/value/text_cursor.h"

namespace torch::jit::detail {
namespace {

using c10::detail::TextCursor;

void append_utf8(uint32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    if (code < 0x10000) {
      out += static_cast<char>(0xe0 | code >> 12);
    } else {
      out += static_cast<char>(0xf0 | code >> 18);
      out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    }
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// What follows a backslash at text[at]; moves `at` behind it.
bool append_escape(std::string_view text, size_t& at, std::string& out) {
  static constexpr std::string_view kNames = "ntr\\'\"abfv";
  static constexpr std::string_view kValues = "\n\t\r\\'\"\a\b\f\v";
  if (at >= text.size()) return false;
  const char c = text[at];
  if (const size_t found = kNames.find(c); found != std::string_view::npos) {
    out += kValues[found];
    ++at;
    return true;
  }
  if (c == '\n') {
    ++at;
    return true;
  }
  const auto digits = [&](size_t begin, size_t most, int base, size_t least) {
    uint32_t code = 0;
    const char* first = text.data() + begin;
    const auto [end, error] = std::from_chars(first, first + std::min(most, text.size() - begin), code, base);
    const auto count = static_cast<size_t>(end - first);
    if (error != std::errc() || count < least || code > 0x10ffff) return false;
    at = begin + count;
    if (c == 'u' || c == 'U') {
      append_utf8(code, out);
    } else if (code > 0xff) {
      return false;
    } else {
      out += static_cast<char>(code);
    }
    return true;
  };
  if (c == 'x') return digits(at + 1, 2, 16, 2);
  if (c == 'u') return digits(at + 1, 4, 16, 4);
  if (c == 'U') return digits(at + 1, 8, 16, 8);
  if (c >= '0' && c <= '7') return digits(at, 3, 8, 1);
  out += '\\';  // as Python keeps it
  return true;
}

}  // namespace

bool read_number(std::string_view text, NumberLiteral* out) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    const auto [last, error] = std::from_chars(begin + 2, end, out->integer, 16);
    return error == std::errc() && last == end;
  }
  if (!text.empty() && text.back() == 'j') {
    out->kind = NumberLiteral::Kind::kImaginary;
    --end;
  } else if (text.find_first_of(".eE") != std::string_view::npos) {
    out->kind = NumberLiteral::Kind::kFloat;
  } else {
    const auto [last, error] = std::from_chars(begin, end, out->integer);
    return error == std::errc() && last == end;
  }
  const auto [last, error] = std::from_chars(begin, end, out->number);
  if (error == std::errc::result_out_of_range) {
    // As strtod: what is too large is infinite, what is too small is zero.
    const size_t exponent = text.find_first_of("eE");
    const bool small =
        exponent != std::string_view::npos ? text.substr(exponent + 1, 1) == "-" : text.substr(0, 1) == "0";
    out->number = small ? 0.0 : __builtin_huge_val();
    return last == end;
  }
  return error == std::errc() && last == end;
}

bool append_string(std::string_view quoted, std::string& out) {
  const size_t quotes = quoted.size() >= 6 && quoted[1] == quoted[0] && quoted[2] == quoted[0] ? 3 : 1;
  if (quoted.size() < 2 * quotes) return false;
  const std::string_view text = quoted.substr(quotes, quoted.size() - 2 * quotes);
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      out += text[at++];
    } else if (!append_escape(text, ++at, out)) {
      return false;
    }
  }
  return true;
}

}  // namespace torch::jit::detail
