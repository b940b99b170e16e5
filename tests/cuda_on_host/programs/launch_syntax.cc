// Turns what nvcc alone reads into C++, for programs whose kernels run on the host: `kernel<<<grid, block, shared,
// stream>>>(x)` becomes a call of simt::launcher, and `extern __shared__ float buffer[];` a pointer to the block's
// dynamic memory.
//
//   launch_syntax < program.cu > program.cc
//
// Lines keep their numbers. Exit status 1 for a launch that is not understood.
#include <cctype>
#include <iostream>
#include <iterator>
#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The text with comments and literals blanked, so that nothing in them is taken for code.
std::string code_of(std::string text) {
  enum class In { kCode, kLine, kBlock, kString, kCharacter } in = In::kCode;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i], next = i + 1 < text.size() ? text[i + 1] : '\0';
    switch (in) {
      case In::kCode:
        if (c == '/' && next == '/')
          in = In::kLine;
        else if (c == '/' && next == '*')
          in = In::kBlock;
        else if (c == '"')
          in = In::kString;
        else if (c == '\'' && (i == 0 || !is_name(text[i - 1])))
          in = In::kCharacter;  // not that of 1'000
        continue;
      case In::kLine:
        if (c == '\n') in = In::kCode;
        break;
      case In::kBlock:
        if (c == '*' && next == '/') {
          text[i] = ' ', text[++i] = ' ';
          in = In::kCode;
        }
        break;
      case In::kString:
      case In::kCharacter:
        if (c == '\\') {
          text[i++] = ' ';
        } else if (c == (in == In::kString ? '"' : '\'')) {
          in = In::kCode;
          continue;
        }
        break;
    }
    if (text[i] != '\n') text[i] = ' ';
  }
  return text;
}

// Where the kernel begins that ends before `end`: a name with its namespaces and template arguments, or a parenthesis.
size_t start_of_kernel(std::string_view code, size_t end) {
  const auto skip_spaces = [&](size_t i) {
    while (i > 0 && std::isspace(static_cast<unsigned char>(code[i - 1])) != 0) --i;
    return i;
  };
  const auto skip_balanced = [&](size_t i) {
    int depth = 0;
    do {
      const char c = code[--i];
      depth += c == ')' || c == '>' || c == ']' ? 1 : c == '(' || c == '<' || c == '[' ? -1 : 0;
    } while (i > 0 && depth > 0);
    return i;
  };
  size_t i = skip_spaces(end);
  if (i > 0 && code[i - 1] == ')') return skip_balanced(i);
  while (i > 0) {
    if (code[i - 1] == '>') i = skip_spaces(skip_balanced(i));
    const size_t name_end = i;
    while (i > 0 && is_name(code[i - 1])) --i;
    if (i == name_end) throw std::runtime_error("no kernel before <<<");
    if (i < 2 || code[i - 1] != ':' || code[i - 2] != ':') break;
    i -= 2;
    if (i == 0 || !(is_name(code[i - 1]) || code[i - 1] == '>')) break;  // ::name
  }
  return i;
}

size_t end_of_shape(std::string_view code, size_t i) {
  int depth = 0;
  for (; i < code.size(); ++i) {
    if (depth == 0 && code.substr(i, 3) == ">>>") return i;
    if (code[i] == '(' || code[i] == '{') ++depth;
    if (code[i] == ')' || code[i] == '}') --depth;
  }
  throw std::runtime_error("no >>> behind <<<");
}

std::string on_one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '"' || c == '\\') c = ' ';
  }
  return text;
}

std::string translated(std::string text) {
  for (;;) {
    const std::string code = code_of(text);
    const size_t open = code.find("<<<");
    if (open == std::string::npos) break;
    const size_t begin = start_of_kernel(code, open), close = end_of_shape(code, open + 3);
    const std::string kernel = text.substr(begin, open - begin), shape = text.substr(open + 3, close - open - 3);
    text.replace(begin, close + 3 - begin,
                 "::simt::launcher(\"" + on_one_line(kernel) + "\", [](auto... kd_values) { " + kernel +
                     "(kd_values...); }, " + shape + ")");
  }
  static const std::regex dynamic_memory(
      R"(extern\s+__shared__\s+((?:__align__\(\d+\)|alignas\(\d+\))\s+)?([A-Za-z_][\w:\s]*?)\s+(\w+)\s*\[\s*\]\s*;)");
  return std::regex_replace(text, dynamic_memory, "$2* const $3 = ::c10::cuda::dynamic_shared<$2>();");
}

}  // namespace

int main() {
  try {
    std::cout << translated(std::string(std::istreambuf_iterator<char>(std::cin), {}));
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "launch_syntax: " << e.what() << '\n';
    return 1;
  }
}
