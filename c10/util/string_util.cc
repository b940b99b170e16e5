#include "c10/util/string_util.h"

#include <cxxabi.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace c10 {
namespace detail {

void append_i64(std::string& out, int64_t value) {
  char buf[24];
  out.append(buf, std::to_chars(buf, buf + sizeof(buf), value).ptr);
}

void append_u64(std::string& out, uint64_t value) {
  char buf[24];
  out.append(buf, std::to_chars(buf, buf + sizeof(buf), value).ptr);
}

void append_double(std::string& out, double value) {
  char buf[32];
  const int n = std::snprintf(buf, sizeof(buf), "%g", value);
  // snprintf follows the C locale's decimal point, messages do not.
  for (int i = 0; i < n; ++i) {
    if (buf[i] == ',') buf[i] = '.';
  }
  out.append(buf, static_cast<size_t>(n));
}

void append_pointer(std::string& out, const void* value) {
  char buf[24] = {'0', 'x'};
  out.append(buf, std::to_chars(buf + 2, buf + sizeof(buf), reinterpret_cast<uintptr_t>(value), 16).ptr);
}

std::string concatenate(const char* letters, const uint64_t* words) {
  std::string out;
  for (; *letters != '\0'; ++letters) {
    const uint64_t word = *words++;
    switch (*letters) {
      case 's': {
        const char* const text = reinterpret_cast<const char*>(word);
        out += text == nullptr ? "(null)" : text;
        break;
      }
      case 't': out += *reinterpret_cast<const std::string*>(word); break;
      case 'v': out.append(reinterpret_cast<const char*>(word), static_cast<size_t>(*words++)); break;
      case 'c': out += static_cast<char>(word); break;
      case 'i': append_i64(out, static_cast<int64_t>(word)); break;
      case 'u': append_u64(out, word); break;
      default: reinterpret_cast<void (*)(std::string&, const void*)>(*words++)(out, reinterpret_cast<const void*>(word));
    }
  }
  return out;
}

}  // namespace detail

size_t ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return 0;
  size_t count = 0;
  std::string out;
  size_t start = 0;
  for (size_t hit; (hit = text.find(from, start)) != std::string::npos; start = hit + from.size(), ++count) {
    out.append(text, start, hit - start);
    out += to;
  }
  if (count != 0) {
    out.append(text, start, std::string::npos);
    text = std::move(out);
  }
  return count;
}

std::string StripBasename(const std::string& full_path) {
  const size_t slash = full_path.rfind('/');
  return slash == std::string::npos ? full_path : full_path.substr(slash + 1);
}

std::string demangle(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  if (status != 0 || text == nullptr) return name;
  std::string out(text);
  std::free(text);
  return out;
}

void to_text(std::string& out, const SourceLocation& location) {
  out += location.function;
  out += " at ";
  out += location.file;
  out += ':';
  detail::append_u64(out, location.line);
}

}  // namespace c10
