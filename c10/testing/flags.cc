#include "c10/testing/flags.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace c10::testing {
namespace {

constexpr const char* value_of(const Flag& flag) {
  constexpr const char* kValues[] = {"=TEXT", "=N", "=N", "=N", ""};
  return kValues[flag.target.index()];
}

// Whether `text`, which is null without a "=", is a value of the flag.
bool set(const Flag& flag, const char* text) {
  return std::visit(
      [text](auto* target) {
        using T = std::remove_pointer_t<decltype(target)>;
        if constexpr (std::is_same_v<T, bool>) {
          return text == nullptr && (*target = true);
        } else if constexpr (std::is_same_v<T, std::string>) {
          if (text != nullptr) *target = text;
          return text != nullptr;
        } else {
          if (text == nullptr) return false;
          const char* end = text + std::strlen(text);
          const auto [stopped, error] = std::from_chars(text, end, *target);
          return error == std::errc() && stopped == end;
        }
      },
      flag.target);
}

}  // namespace

std::optional<int> parse_flags(int argc, char** argv, std::initializer_list<Flag> flags, int failure) {
  const std::string_view path = argv[0];
  const std::string program(path.substr(path.rfind('/') + 1));
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      std::printf("usage: %s", program.c_str());
      for (const Flag& flag : flags) std::printf(" [--%s%s]", flag.name.c_str(), value_of(flag));
      std::printf("\n");
      return 0;
    }
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const auto* flag = std::find_if(flags.begin(), flags.end(), [&](const Flag& f) { return "--" + f.name == name; });
    if (flag != flags.end() && set(*flag, equals == std::string::npos ? nullptr : argv[i] + equals + 1)) continue;
    if (flag == flags.end()) {
      std::fprintf(stderr, "%s: unknown argument %s (--help lists them)\n", program.c_str(), argv[i]);
    } else {
      std::fprintf(stderr, "%s: %s is not --%s%s\n", program.c_str(), argv[i], flag->name.c_str(), value_of(*flag));
    }
    return failure;
  }
  return std::nullopt;
}

}  // namespace c10::testing
