#include "utils/benchmark/callgrind.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
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

FunctionCounts::FunctionCounts(std::vector<FunctionCount> counts, bool inclusive) : inclusive_(inclusive) {
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
  return FunctionCounts(std::move(kept), inclusive_);
}

FunctionCounts FunctionCounts::transform(const std::function<std::string(const std::string&)>& rename) const {
  std::vector<FunctionCount> renamed;
  for (const FunctionCount& c : counts_) renamed.push_back({c.count, rename(c.function)});
  return FunctionCounts(std::move(renamed), inclusive_);
}

FunctionCounts FunctionCounts::denoise() const {
  return filter([](const std::string& f) { return f.find("dictobject.c:lookdict_unicode") == std::string::npos; });
}

FunctionCounts FunctionCounts::merged(const FunctionCounts& other, int sign) const {
  if (inclusive_ != other.inclusive_ && !counts_.empty() && !other.counts_.empty())
    throw std::invalid_argument("Cannot merge inclusive and exclusive counts.");
  std::vector<FunctionCount> all = counts_;
  for (const FunctionCount& c : other.counts_) all.push_back({sign * c.count, c.function});
  return FunctionCounts(std::move(all), inclusive_ || other.inclusive_);
}

FunctionCounts FunctionCounts::minus(const FunctionCounts& other) const { return merged(other, -1); }
FunctionCounts FunctionCounts::operator+(const FunctionCounts& other) const { return merged(other, 1); }

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

CallgrindStats CallgrindStats::as_standardized() const {
  const auto standard = [](const FunctionCounts& counts) {
    return counts.transform([](const std::string& name) {
      static const std::regex library(" \\[[^\\[\\]]+\\]$"), above("^[^:]*/(execroot/[^/:]+|proc/self/cwd)/");
      static const std::regex build("^[^:]*/(build/(\\.\\./|aten/))");
      std::string out = std::regex_replace(name, library, "");
      out = std::regex_replace(out, above, "");
      return std::regex_replace(out, build, "$1");
    });
  };
  CallgrindStats out = *this;
  for (Profile* p : {&out.stmt_, &out.baseline_}) *p = {standard(p->exclusive), standard(p->inclusive)};
  return out;
}

std::string CallgrindStats::str() const {
  return "<torch::utils::benchmark::CallgrindStats>\n" + task_spec_.title() +
         "\n  Instructions: " + std::to_string(counts()) + " (" + std::to_string(counts() / number_per_run_) +
         " per run)\n" +
         (baseline_.exclusive.size() > 0
              ? "  Baseline:     " + std::to_string(baseline_.exclusive.sum()) + "\n"
              : std::string()) +
         "  " + std::to_string(number_per_run_) + " runs, " + std::to_string(task_spec_.num_threads) +
         (task_spec_.num_threads == 1 ? " thread" : " threads");
}

namespace internal {

bool counts_only() { return wanted_call() != 0; }

void counted_region(const std::function<void(int64_t)>& loop, int64_t number) {
  torch_benchmark_counted_region(&loop, number);
}

const CallgrindStats::Profile& baseline_of(int64_t number) {
  static std::map<int64_t, CallgrindStats::Profile> known;
  const auto found = known.find(number);
  if (found != known.end()) return found->second;
  const std::function<void(int64_t)> empty = [](int64_t n) {
    for (int64_t i = 0; i < n; ++i) asm volatile("" : : : "memory");
  };
  const CallgrindStats stats =
      collect([&](int64_t n) { counted_region(empty, n); }, number, TaskSpec(), {}, /*retain_out_file=*/false);
  return known[number] = {stats.stats(), stats.stats(/*inclusive=*/true)};
}

CallgrindStats collect(const std::function<void(int64_t)>& run, int64_t number, const TaskSpec& task_spec,
                       const CallgrindStats::Profile& baseline, bool retain_out_file) {
  static int64_t calls = 0;
  const int64_t call = ++calls;
  if (counts_only()) {
    if (call < wanted_call()) return CallgrindStats(task_spec, number, {}, baseline);
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
  CallgrindStats::Profile counts = parse_callgrind(text);
  if (counts.exclusive.sum() == 0)
    throw std::runtime_error("collect_callgrind: the statement was not reached under valgrind:" + last_lines(log, 12));
  return CallgrindStats(task_spec, number, std::move(counts), baseline,
                        retain_out_file ? std::optional(text) : std::nullopt);
}

// Lines of costs follow "fn=(id) name", of which the name stands at its first use only; so do those of files ("fl=",
// "fi=", "fe=", "cfi=", "cfl=") and libraries ("ob=", "cob="), which hold until the next. The line after "calls=" is
// what the called function cost, which is counted where its own lines stand.
CallgrindStats::Profile parse_callgrind(const std::string& text) {
  if (text.find("events: Ir") == std::string::npos)
    throw std::runtime_error("callgrind's output has no instruction counts");
  std::map<std::string, std::string> functions, files, libraries;
  std::vector<FunctionCount> own, all;
  const auto name_of = [](const std::string& field, std::map<std::string, std::string>& names) {
    const size_t end = field.find(')');
    if (field.empty() || field[0] != '(' || end == std::string::npos) return field;
    const std::string id = field.substr(0, end + 1);
    if (field.size() > end + 2) names[id] = field.substr(end + 2);
    return names[id];
  };
  std::string file, library, function, called;
  bool after_calls = false;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const size_t equals = line.find('=');
    const std::string key = equals == std::string::npos ? std::string() : line.substr(0, equals);
    const std::string value = line.substr(key.empty() ? 0 : equals + 1);
    if (key == "fn") {
      function = name_of(value, functions);
      std::string full = file.empty() ? function : file + ":" + function;
      if (!library.empty()) full += " [" + library + "]";
      own.push_back({0, full});
      all.push_back({0, full});
    } else if (key == "fl" || key == "fi" || key == "fe") {
      file = name_of(value, files);
    } else if (key == "ob") {
      library = name_of(value, libraries);
    } else if (key == "cfi" || key == "cfl") {
      name_of(value, files);
    } else if (key == "cob") {
      name_of(value, libraries);
    } else if (key == "cfn") {
      called = name_of(value, functions);
    } else if (key == "calls") {
      after_calls = true;
    } else if (!line.empty() &&
               (line[0] == '+' || line[0] == '-' || line[0] == '*' || (line[0] >= '0' && line[0] <= '9'))) {
      const size_t space = line.find(' ');
      if (!own.empty() && space != std::string::npos) {
        const int64_t cost = std::strtoll(line.c_str() + space + 1, nullptr, 10);
        if (!after_calls) own.back().count += cost;
        if (!after_calls || called != function) all.back().count += cost;
      }
      after_calls = false;
    }
  }
  return {FunctionCounts(std::move(own)), FunctionCounts(std::move(all), /*inclusive=*/true)};
}

}  // namespace internal
}  // namespace torch::utils::benchmark
