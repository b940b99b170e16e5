#include "examples/common/flags.h"

#include <absl/flags/flag.h>
#include <absl/flags/parse.h>
#include <absl/flags/reflection.h>
#include <absl/flags/usage.h>
#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

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

CommandLine parse_command_line(int argc, char** argv, const std::string& usage, const std::string& repeatable) {
  program_path = argv[0];
  absl::SetProgramUsageMessage(usage);
  CommandLine line;
  std::vector<char*> rest = {argv[0]};
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.size() < 2 || argument[0] != '-' || argument == "--") fail("unexpected argument '" + argument + "'");
    const size_t dashes = argument.compare(0, 2, "--") == 0 ? 2 : 1;
    const size_t equals = argument.find('=');
    std::string name = argument.substr(dashes, equals == std::string::npos ? equals : equals - dashes);
    absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
    if (flag == nullptr && name.compare(0, 2, "no") == 0) {
      flag = absl::FindCommandLineFlag(name.substr(2));
      if (flag != nullptr && flag->IsOfType<bool>() && equals == std::string::npos) {
        name = name.substr(2);
      } else {
        flag = nullptr;
      }
    }
    if (flag == nullptr) fail("unknown flag --" + name + " (--help lists them)");
    const bool needs_value = !flag->IsOfType<bool>() && equals == std::string::npos;
    if (needs_value && (i + 1 == argc || std::string(argv[i + 1]).compare(0, 2, "--") == 0)) fail("--" + name + " needs a value");
    line.given.insert(name);
    if (name == repeatable) {
      line.repeated.push_back(needs_value ? argv[++i] : argument.substr(equals + 1));
      continue;
    }
    rest.push_back(argv[i]);
    if (needs_value) rest.push_back(argv[++i]);
  }
  absl::ParseCommandLine(static_cast<int>(rest.size()), rest.data());
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
