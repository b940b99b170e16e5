#include "examples/common/flags.h"

#include <absl/flags/commandlineflag.h>
#include <absl/flags/reflection.h>
#include <dirent.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

namespace examples {
namespace {

std::string program_path = "program";

bool exists(const std::string& path) { return ::access(path.c_str(), R_OK) == 0; }

// The runfiles folder holds one folder a repository, under names that depend on Bazel's version: look into each.
std::string find_below(const std::string& runfiles, const std::string& path) {
  std::string found;
  if (DIR* dir = ::opendir(runfiles.c_str())) {
    while (const dirent* entry = ::readdir(dir)) {
      const std::string name = entry->d_name;
      if (name[0] == '.') continue;
      const std::string candidate = runfiles + "/" + name + "/" + path;
      if (found.empty() && exists(candidate)) found = candidate;
    }
    ::closedir(dir);
  }
  return found;
}

}  // namespace

void fail(const std::string& message) {
  const std::string name = program_path.substr(program_path.rfind('/') + 1);
  std::string line = message;
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %s\n", name.c_str(), line.c_str());
  std::exit(1);
}

int finish(int status) {
  errno = 0;
  const bool failed_before = std::ferror(stdout) != 0;
  if (std::fflush(stdout) == 0 && !failed_before) return status;
  fail(std::string("cannot write to standard output") + (errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
}

namespace {

[[noreturn]] void help(const std::string& usage) {
  std::printf("%s\n\n", usage.c_str());
  std::map<std::string, absl::CommandLineFlag*> flags;  // by name
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    if (flag->Filename().find("examples/") != std::string::npos) flags[std::string(name)] = flag;
  }
  for (const auto& [name, flag] : flags) {
    const std::string value = flag->DefaultValue();
    const std::string shown = flag->IsOfType<std::string>() ? (value.empty() ? "" : "=" + value) : "=" + value;
    std::printf("  --%s%s\n      %s\n", name.c_str(), shown.c_str(), flag->Help().c_str());
  }
  std::printf("  --help\n      print this and end\n");
  std::exit(finish(0));
}

// The flag of --NAME or, for a bool, of --noNAME, which is then off.
absl::CommandLineFlag* find_flag(std::string& name, bool& off) {
  if (absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name)) return flag;
  if (name.compare(0, 2, "no") != 0) return nullptr;
  absl::CommandLineFlag* const flag = absl::FindCommandLineFlag(name.substr(2));
  if (flag == nullptr || !flag->IsOfType<bool>()) return nullptr;
  name = name.substr(2);
  off = true;
  return flag;
}

}  // namespace

CommandLine parse_command_line(int argc, char** argv, const std::string& usage, const std::string& repeatable) {
  program_path = argv[0];
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help" || argument == "-help" || argument == "-h") help(usage);
  }
  CommandLine line;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.size() < 2 || argument[0] != '-' || argument == "--") fail("unexpected argument '" + argument + "'");
    const size_t dashes = argument.compare(0, 2, "--") == 0 ? 2 : 1;
    const size_t equals = argument.find('=');
    std::string name = argument.substr(dashes, equals == std::string::npos ? equals : equals - dashes);
    bool off = false;
    absl::CommandLineFlag* const flag = find_flag(name, off);
    if (flag == nullptr || (off && equals != std::string::npos)) fail("unknown flag --" + name + " (--help lists them)");
    std::string value;
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (flag->IsOfType<bool>()) {
      value = off ? "false" : "true";
    } else {
      if (i + 1 == argc || std::string(argv[i + 1]).compare(0, 2, "--") == 0) fail("--" + name + " needs a value");
      value = argv[++i];
    }
    line.given.insert(name);
    std::string problem;
    if (name == repeatable) {
      line.repeated.push_back(value);
    } else if (!flag->ParseFrom(value, &problem)) {
      fail("--" + name + "=" + value + ": " + problem);
    }
  }
  return line;
}

std::string user_path(const std::string& path) {
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (path.empty() || path[0] == '/' || folder == nullptr) return path;
  return std::string(folder) + "/" + path;
}

std::string runfile(const std::string& path_in_repository) {
  std::vector<std::string> roots = {program_path + ".runfiles"};
  for (const char* variable : {"RUNFILES_DIR", "TEST_SRCDIR"}) {
    if (const char* root = std::getenv(variable)) roots.push_back(root);
  }
  for (const std::string& root : roots) {
    const std::string found = find_below(root, path_in_repository);
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace examples
