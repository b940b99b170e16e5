#include "utils/logging/logging.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iterator>

#include "c10/util/exception.h"

namespace torch::_logging {
namespace {

struct ComponentInfo {
  const char* name;
  const char* what;
  uint64_t artifacts;  // that come with DEBUG
};
struct ArtifactInfo {
  const char* name;
  const char* what;
};

constexpr uint64_t bit(Artifact artifact) {
  return uint64_t{1} << static_cast<int>(artifact);
}

// In the order of the enumerations.
constexpr ComponentInfo kComponents[] = {
    {"autograd", "Nodes of backward passes as they run (DEBUG)", 0},
    {"distributed", "Process groups: when they are made and let go of (INFO)", 0},
    {"dynamo", "torch::compile", bit(Artifact::kFusion) | bit(Artifact::kGraphBreaks) | bit(Artifact::kGraphCode) |
                                     bit(Artifact::kGuards) | bit(Artifact::kRecompiles)},
};
constexpr ArtifactInfo kArtifacts[] = {
    {"dispatch", "Each operator that is called, in all threads"},
    {"fusion", "What torch::compile computes together"},
    {"graph_breaks", "Why a call of a compiled program runs as it is"},
    {"graph_code", "The graphs that torch::compile runs"},
    {"guards", "What a compiled program is compiled for"},
    {"recompiles", "When torch::compile compiles a program again, for other arguments"},
};
constexpr int kComponentCount = static_cast<int>(std::size(kComponents));
static_assert(std::size(kArtifacts) <= detail::kFirstLevel);

uint64_t with_level(uint64_t state, int component, int level) {
  const int shift = detail::kFirstLevel + 4 * component;
  return (state & ~(uint64_t{15} << shift)) | static_cast<uint64_t>(level / 10) << shift;
}

uint64_t at_first() {
  uint64_t state = 0;
  for (int i = 0; i < kComponentCount; ++i) state = with_level(state, i, WARNING);
  return state;
}

int find_component(std::string_view name) {
  for (int i = 0; i < kComponentCount; ++i) {
    if (kComponents[i].name == name) return i;
  }
  return -1;
}
int find_artifact(std::string_view name) {
  for (size_t i = 0; i < std::size(kArtifacts); ++i) {
    if (kArtifacts[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

uint64_t with_component(uint64_t state, int component, int level) {
  return with_level(state, component, level) | (level <= DEBUG ? kComponents[component].artifacts : 0);
}

uint64_t parsed(std::string_view text) {
  uint64_t state = at_first();
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    std::string_view name = item;
    int level = INFO;
    if (!name.empty() && (name[0] == '+' || name[0] == '-')) {
      level = name[0] == '+' ? DEBUG : ERROR;
      name.remove_prefix(1);
    }
    TORCH_CHECK_VALUE(name != "help", help_message());
    const int component = find_component(name), artifact = find_artifact(name);
    TORCH_CHECK_VALUE(component >= 0 || artifact >= 0 || name == "all", "TORCH_LOGS: unknown name \"", item, "\"\n",
                      help_message());
    if (artifact >= 0) state |= uint64_t{1} << artifact;
    for (int i = 0; i < kComponentCount; ++i) {
      if (i == component || name == "all") state = with_component(state, i, level);
    }
  }
  return state;
}

void put(uint64_t state) {
  detail::state.store(state, std::memory_order_relaxed);
  if (detail::on_change != nullptr) detail::on_change();
}

}  // namespace

std::atomic<uint64_t> detail::state{detail::kUnread};
void (*detail::on_change)() = nullptr;

uint64_t detail::read_environment() {
  const char* const text = std::getenv("TORCH_LOGS");
  const uint64_t now = parsed(text == nullptr ? "" : text);
  state.store(now, std::memory_order_relaxed);
  return now;
}

const char* detail::name_of(Component component) {
  return kComponents[static_cast<int>(component)].name;
}
const char* detail::name_of(Artifact artifact) {
  return kArtifacts[static_cast<int>(artifact)].name;
}

detail::Line::Line(const char* file, int line, int level, const char* name, bool is_artifact) {
  using Clock = std::chrono::system_clock;
  const auto now = Clock::now();
  const std::time_t seconds = Clock::to_time_t(now);
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() % 1000000;
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  char head[64];
  const char letter = level <= DEBUG ? 'V' : level <= INFO ? 'I' : level <= WARNING ? 'W' : 'E';
  std::snprintf(head, sizeof head, "%c%02d%02d %02d:%02d:%02d.%06d %d ", letter, parts.tm_mon + 1, parts.tm_mday,
                parts.tm_hour, parts.tm_min, parts.tm_sec, static_cast<int>(us), static_cast<int>(::getpid()));
  stream_ << head << file << ':' << line << "] [" << (is_artifact ? "__" : "") << name << "] ";
}

detail::Line::~Line() {
  stream_ << '\n';
  const std::string text = stream_.str();
  std::fwrite(text.data(), 1, text.size(), stderr);
  static std::FILE* const copy = [] {
    const char* const path = std::getenv("TORCH_LOGS_OUT");
    return path == nullptr ? nullptr : std::fopen(path, "ae");
  }();
  if (copy == nullptr) return;
  std::fwrite(text.data(), 1, text.size(), copy);
  std::fflush(copy);
}

void set_logs(const std::map<std::string, Setting>& logs) {
  uint64_t state = at_first();
  for (const auto& [name, setting] : logs) {
    const int component = find_component(name), artifact = find_artifact(name);
    const Level* const level = std::get_if<Level>(&setting);
    TORCH_CHECK_VALUE(component >= 0 || artifact >= 0 || name == "all",
                      "Unrecognized log or artifact name passed to set_logs: ", name);
    if (artifact >= 0) {
      TORCH_CHECK_VALUE(level == nullptr, "Expected bool to enable artifact ", name, ", received ",
                        level == nullptr ? 0 : static_cast<int>(*level));
      if (std::get<bool>(setting)) state |= uint64_t{1} << artifact;
      continue;
    }
    TORCH_CHECK_VALUE(level != nullptr && *level >= 0 && *level <= CRITICAL && *level % 10 == 0,
                      "Unrecognized log level for log ", name, ", valid level values are: 50,40,30,20,10,0");
    for (int i = 0; i < kComponentCount; ++i) {
      if (i == component || (name == "all" && !logs.contains(kComponents[i].name))) {
        state = with_component(state, i, *level);
      }
    }
  }
  put(state);
}

void set_logs(std::string_view text) {
  put(parsed(text));
}

std::string help_message() {
  std::string out =
      "TORCH_LOGS: names with commas between them. \"+name\" has a part of the library say all (DEBUG), \"name\" what\n"
      "is of interest (INFO), \"-name\" errors alone; kinds of messages are on by their names, or with \"+\" of their\n"
      "part. TORCH_LOGS_OUT names a file that lines go to as well.\n\nParts:\n";
  const auto row = [&](const std::string& name, const char* what) {
    out += "  " + name + std::string(name.size() < 14 ? 14 - name.size() : 1, ' ') + what + "\n";
  };
  row("all", "All of these");
  for (const ComponentInfo& component : kComponents) row(component.name, component.what);
  out += "\nKinds of messages:\n";
  for (const ArtifactInfo& artifact : kArtifacts) row(artifact.name, artifact.what);
  return out;
}

}  // namespace torch::_logging
