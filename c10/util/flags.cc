#include "c10/util/flags.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>

namespace c10 {
namespace {

struct Flag {
  std::string help;
  void* place;
  detail::FlagParser parser;
  bool is_bool;
};
// Never deleted: flags of libraries may be defined after it and read before it would end.
std::map<std::string, Flag>& flags() {
  static auto* flags = new std::map<std::string, Flag>;
  return *flags;
}
std::string& usage() {
  static auto* text = new std::string;
  return *text;
}
bool parsed = false;

void print_help() {
  std::fprintf(stderr, "%s\nFlags:\n", usage().c_str());
  for (const auto& [name, flag] : flags()) std::fprintf(stderr, "  --%s: %s\n", name.c_str(), flag.help.c_str());
}

// Sets one flag from argv[i]; moves i over a value of its own.
bool set_flag(const std::string& text, int argc, char** argv, int& i) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const auto found = flags().find(name);
  if (found == flags().end()) {
    std::fprintf(stderr, "Unknown flag: --%s\n", name.c_str());
    return false;
  }
  std::string value;
  if (equals != std::string::npos) {
    value = text.substr(equals + 1);
  } else if (found->second.is_bool) {
    value = "true";
  } else if (i + 1 < argc) {
    value = argv[++i];
  } else {
    std::fprintf(stderr, "Flag --%s needs a value\n", name.c_str());
    return false;
  }
  if (found->second.parser(value, found->second.place)) return true;
  std::fprintf(stderr, "Flag --%s cannot be '%s'\n", name.c_str(), value.c_str());
  return false;
}

template <class T>
bool parse_integer(const std::string& text, void* place) {
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno != 0) return false;
  if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) return false;
  *static_cast<T*>(place) = static_cast<T>(value);
  return true;
}

}  // namespace

void SetUsageMessage(const std::string& text) { usage() = text; }
const char* UsageMessage() { return usage().c_str(); }
bool CommandLineFlagsHasBeenParsed() { return parsed; }

bool ParseCommandLineFlags(int* argc, char*** argv) {
  bool good = true, help = false;
  int kept = *argc > 0 ? 1 : 0;
  for (int i = kept; i < *argc; ++i) {
    std::string text = (*argv)[i];
    const size_t dashes = text.rfind("--", 0) == 0 ? 2 : 0;
    if (dashes == 0 || text.size() == dashes) {
      (*argv)[kept++] = (*argv)[i];
      continue;
    }
    text.erase(0, dashes);
    if (text == "help") {
      help = true;
    } else {
      good = set_flag(text, *argc, *argv, i) && good;
    }
  }
  *argc = kept;
  parsed = true;
  if (help) print_help();
  return good && !help;
}

namespace detail {

FlagRegistration::FlagRegistration(const char* name, const char* help, void* place, FlagParser parser, bool is_bool) {
  flags()[name] = {help, place, parser, is_bool};
}

template <>
bool parse_flag<int32_t>(const std::string& text, void* place) {
  return parse_integer<int32_t>(text, place);
}
template <>
bool parse_flag<int64_t>(const std::string& text, void* place) {
  return parse_integer<int64_t>(text, place);
}
template <>
bool parse_flag<double>(const std::string& text, void* place) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') return false;
  *static_cast<double*>(place) = value;
  return true;
}
template <>
bool parse_flag<bool>(const std::string& text, void* place) {
  const bool on = text == "true" || text == "1" || text == "TRUE" || text == "True";
  if (!on && text != "false" && text != "0" && text != "FALSE" && text != "False") return false;
  *static_cast<bool*>(place) = on;
  return true;
}
template <>
bool parse_flag<std::string>(const std::string& text, void* place) {
  *static_cast<std::string*>(place) = text;
  return true;
}

}  // namespace detail
}  // namespace c10
