#include "utils/benchmark/callgrind.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

#include "c10/util/tempfile.h"

extern char** environ;

extern "C" [[gnu::noinline]] void torch_benchmark_counted_region(const std::function<void(int64_t)>* loop,
                                                                 int64_t number) {
  (*loop)(number);
  asm volatile("" : : : "memory");  // a call, not a jump: the region ends where this function returns
}

namespace torch::utils::benchmark {
namespace {

// In the second program: the number of the call of collect_callgrind to count at, from 1.
constexpr char kVariable[] = "TORCH_BENCHMARK_CALLGRIND";

int64_t wanted_call() {
  static const int64_t wanted = [] {
    const char* text = std::getenv(kVariable);
    return text == nullptr ? 0 : std::strtoll(text, nullptr, 10);
  }();
  return wanted;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

std::string last_lines(const std::string& text, int lines) {
  size_t from = text.size();
  while (from > 0 && lines > 0) {
    from = text.rfind('\n', from - 1);
    if (from == std::string::npos) return text;
    --lines;
  }
  return text.substr(from);
}

// The arguments of this program.
std::vector<std::string> own_arguments() {
  const std::string text = read_file("/proc/self/cmdline");
  std::vector<std::string> arguments;
  for (size_t at = 0; at < text.size(); at = text.find('\0', at) + 1) {
    arguments.push_back(text.c_str() + at);
    if (text.find('\0', at) == std::string::npos) break;
  }
  return arguments;
}

// Removed with what valgrind writes there.
struct Folder {
  c10::TempDir folder = c10::make_tempdir("callgrind");
  const std::string& path = folder.name;

  Folder() = default;
  ~Folder() {
    for (const char* name : {"/counts", "/log"}) unlink((path + name).c_str());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

std::string executable() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
  return n > 0 ? std::string(path, static_cast<size_t>(n)) : std::string();
}

// Runs this program under valgrind; its exit status.
int run_under_valgrind(const std::string& folder, int64_t call) {
  std::vector<std::string> words = {"valgrind",
                                    "--tool=callgrind",
                                    "--callgrind-out-file=" + folder + "/counts",
                                    "--collect-atstart=no",
                                    "--toggle-collect=torch_benchmark_counted_region",
                                    "--compress-strings=yes",
                                    executable()};
  const std::vector<std::string> arguments = own_arguments();
  for (size_t i = 1; i < arguments.size(); ++i) words.push_back(arguments[i]);
  std::vector<std::string> settings = {std::string(kVariable) + "=" + std::to_string(call)};
  for (char** e = environ; *e != nullptr; ++e) settings.push_back(*e);
  std::vector<char*> argv, envp;
  for (std::string& w : words) argv.push_back(w.data());
  for (std::string& s : settings) envp.push_back(s.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  const std::string log = folder + "/log";
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("collect_callgrind: cannot start a process");
  if (child == 0) {
    const int input = open("/dev/null", O_RDONLY), output = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(input, 0);
    dup2(output, 1);
    dup2(output, 2);
    execvpe(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

constexpr int kReached = 0, kMissing = 127;

}  // namespace

FunctionCounts::FunctionCounts(std::vector<FunctionCount> counts) {
  std::map<std::string, int64_t> by_name;
  for (const FunctionCount& c : counts) by_name[c.function] += c.count;
  for (const auto& [name, count] : by_name)
    if (count != 0) counts_.push_back({count, name});
  std::stable_sort(counts_.begin(), counts_.end(),
                   [](const FunctionCount& a, const FunctionCount& b) { return a.count > b.count; });
}

int64_t FunctionCounts::sum() const {
  int64_t sum = 0;
  for (const FunctionCount& c : counts_) sum += c.count;
  return sum;
}

FunctionCounts FunctionCounts::filter(const std::function<bool(const std::string&)>& keep) const {
  std::vector<FunctionCount> kept;
  for (const FunctionCount& c : counts_)
    if (keep(c.function)) kept.push_back(c);
  return FunctionCounts(std::move(kept));
}

FunctionCounts FunctionCounts::transform(const std::function<std::string(const std::string&)>& rename) const {
  std::vector<FunctionCount> renamed;
  for (const FunctionCount& c : counts_) renamed.push_back({c.count, rename(c.function)});
  return FunctionCounts(std::move(renamed));
}

FunctionCounts FunctionCounts::minus(const FunctionCounts& other) const {
  std::vector<FunctionCount> all = counts_;
  for (const FunctionCount& c : other.counts_) all.push_back({-c.count, c.function});
  return FunctionCounts(std::move(all));
}

std::string FunctionCounts::str(int lines) const {
  std::string s;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (static_cast<int>(i) == lines) {
      s += "   ...\n";
      break;
    }
    std::string count = std::to_string(counts_[i].count);
    if (count.size() < 12) count.insert(0, 12 - count.size(), ' ');
    s += count + "  " + counts_[i].function + "\n";
  }
  return s + "Total: " + std::to_string(sum()) + "\n";
}

std::string CallgrindStats::str() const {
  return "<torch::utils::benchmark::CallgrindStats>\n" + task_spec_.title() +
         "\n  Instructions: " + std::to_string(counts()) + " (" + std::to_string(counts() / number_per_run_) +
         " per run)\n  " + std::to_string(number_per_run_) + " runs, " + std::to_string(task_spec_.num_threads) +
         (task_spec_.num_threads == 1 ? " thread" : " threads");
}

namespace internal {

bool counts_only() { return wanted_call() != 0; }

void counted_region(const std::function<void(int64_t)>& loop, int64_t number) {
  torch_benchmark_counted_region(&loop, number);
}

CallgrindStats collect(const std::function<void(int64_t)>& run, int64_t number, const TaskSpec& task_spec) {
  static int64_t calls = 0;
  const int64_t call = ++calls;
  if (counts_only()) {
    if (call < wanted_call()) return CallgrindStats(task_spec, number, FunctionCounts());
    run(number);
    std::_Exit(kReached);
  }
  const Folder folder;
  const int status = run_under_valgrind(folder.path, call);
  if (status == kMissing) throw std::runtime_error("collect_callgrind: valgrind is not installed");
  const std::string text = read_file(folder.path + "/counts");
  const std::string log = read_file(folder.path + "/log");
  if (status != kReached)
    throw std::runtime_error("collect_callgrind: the program ended with " + std::to_string(status) +
                             " under valgrind:" + last_lines(log, 12));
  FunctionCounts counts = parse_callgrind(text);
  if (counts.sum() == 0)
    throw std::runtime_error("collect_callgrind: the statement was not reached under valgrind:" + last_lines(log, 12));
  return CallgrindStats(task_spec, number, std::move(counts));
}

// Lines of costs follow "fn=(id) name", of which the name stands at its first use only. The line after "calls=" is what
// the called function cost, which is counted where its own lines stand.
FunctionCounts parse_callgrind(const std::string& text) {
  if (text.find("events: Ir") == std::string::npos)
    throw std::runtime_error("callgrind's output has no instruction counts");
  std::map<std::string, std::string> names;
  std::vector<FunctionCount> counts;
  const auto name_of = [&](const std::string& field) {
    const size_t end = field.find(')');
    if (field.empty() || field[0] != '(' || end == std::string::npos) return field;
    const std::string id = field.substr(0, end + 1);
    if (field.size() > end + 2) names[id] = field.substr(end + 2);
    return names[id];
  };
  bool after_calls = false;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.rfind("fn=", 0) == 0) {
      counts.push_back({0, name_of(line.substr(3))});
    } else if (line.rfind("cfn=", 0) == 0) {
      name_of(line.substr(4));
    } else if (line.rfind("calls=", 0) == 0) {
      after_calls = true;
    } else if (!line.empty() &&
               (line[0] == '+' || line[0] == '-' || line[0] == '*' || (line[0] >= '0' && line[0] <= '9'))) {
      const size_t space = line.find(' ');
      if (!after_calls && !counts.empty() && space != std::string::npos)
        counts.back().count += std::strtoll(line.c_str() + space + 1, nullptr, 10);
      after_calls = false;
    }
  }
  return FunctionCounts(std::move(counts));
}

}  // namespace internal
}  // namespace torch::utils::benchmark
