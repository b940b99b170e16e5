#include "c10/memory/system_limits.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace c10::memory_internal {
namespace {

constexpr int64_t kNone = INT64_MAX;

int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// The whole file, or nothing.
std::string read_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t n = read(file, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(buffer, static_cast<size_t>(n));
  }
  close(file);
  return text;
}

// The part before `separator`; `text` keeps what follows.
std::string_view take(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

// Digits at the beginning; kNone where there are none ("max") or too many.
int64_t number_in(std::string_view text) {
  int64_t value = 0;
  size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits)
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text[digits] - '0', &value)) return kNone;
  return digits == 0 ? kNone : value;
}

int64_t read_number(const std::string& path) { return number_in(read_file(path)); }

// The number behind `name` in lines of "name number" or "name: number"; kNone where there is no such line.
int64_t field(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    if (line.substr(0, name.size()) != name) continue;
    line.remove_prefix(name.size());
    if (!line.empty() && line[0] == ':') line.remove_prefix(1);
    if (line.empty() || line[0] != ' ') continue;
    while (!line.empty() && line[0] == ' ') line.remove_prefix(1);
    return number_in(line);
  }
  return kNone;
}

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty())
    if (take(list, ',') == word) return true;
  return false;
}

// mountinfo writes spaces, tabs, newlines and backslashes as three octal digits.
std::string unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// What of a group's path lies below a mount that shows `mounted` and what is under it. A path outside it is that of another
// namespace: all there is to see then is the mount itself.
std::string path_below(std::string_view path, std::string_view mounted) {
  if (mounted == "/") mounted = "";
  const bool inside = path.substr(0, mounted.size()) == mounted && (path.size() == mounted.size() || path[mounted.size()] == '/');
  if (!inside || path.find("/..") != std::string_view::npos) return "";
  std::string below(path.substr(mounted.size()));
  while (!below.empty() && below.back() == '/') below.pop_back();
  return below;
}

int64_t limit_of(const std::string& folder, bool second_version) {
  if (second_version) return least(read_number(folder + "/memory.max"), read_number(folder + "/memory.high"));
  return read_number(folder + "/memory.limit_in_bytes");
}

int64_t room_of(const std::string& folder, bool second_version, int64_t limit) {
  const int64_t usage = read_number(folder + (second_version ? "/memory.current" : "/memory.usage_in_bytes"));
  if (usage == kNone) return kNone;
  int64_t room = limit - usage;
  // The kernel drops cached pages of files before it refuses memory. Its statistics are dear, so they are read when it matters.
  if (room < limit / 4) {
    const std::string statistics = read_file(folder + "/memory.stat");
    for (const char* name : {"active_file", "inactive_file"}) {
      const int64_t pages = field(statistics, (second_version ? "" : "total_") + std::string(name));
      if (pages != kNone && pages <= usage) room += pages;
    }
  }
  return room;
}

int64_t resource_limit(int resource) {
  rlimit limit;
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur > static_cast<rlim_t>(kNone)) return kNone;
  return static_cast<int64_t>(limit.rlim_cur);
}

int64_t kibibytes(int64_t n) { return n > kNone / 1024 ? kNone : n * 1024; }

}  // namespace

SystemLimits::SystemLimits(std::string root) : root_(std::move(root)) { find_groups(); }

void SystemLimits::find_groups() {
  // Lines of "hierarchy:controllers:path"; version 2 has no controllers.
  const std::string groups = read_file(root_ + "/proc/self/cgroup");
  const std::string mounts = read_file(root_ + "/proc/self/mountinfo");
  std::string_view rest_of_groups = groups;
  while (!rest_of_groups.empty()) {
    std::string_view path = take(rest_of_groups, '\n');
    const std::string_view hierarchy = take(path, ':');
    const std::string_view controllers = take(path, ':');
    const bool second_version = hierarchy == "0" && controllers.empty();
    if (!second_version && !has_word(controllers, "memory")) continue;
    // "id parent device root mount-point options [more...] - type source options"
    std::string_view rest_of_mounts = mounts;
    while (!rest_of_mounts.empty()) {
      std::string_view line = take(rest_of_mounts, '\n');
      for (int i = 0; i < 3; ++i) take(line, ' ');
      const std::string mounted = unescape(take(line, ' '));
      const std::string mount_point = unescape(take(line, ' '));
      const size_t dash = line.find(" - ");
      if (dash == std::string_view::npos) continue;
      line.remove_prefix(dash + 3);
      const std::string_view type = take(line, ' ');
      take(line, ' ');
      const bool ours = second_version ? type == "cgroup2" : type == "cgroup" && has_word(line, "memory");
      if (ours) add_folders(root_ + mount_point, path_below(path, mounted), second_version);
    }
  }
}

void SystemLimits::add_folders(const std::string& mount_point, const std::string& below, bool second_version) {
  std::string path = below;
  while (true) {
    groups_.push_back({mount_point + path, second_version});
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) break;
    path.resize(slash);
  }
}

int64_t SystemLimits::limit() const {
  int64_t tightest = kibibytes(field(read_file(root_ + "/proc/meminfo"), "MemTotal"));
  for (const Group& group : groups_) {
    tightest = least(tightest, limit_of(group.folder, group.second_version));
    // Version 1 tells of ancestors that a container cannot see, too.
    if (!group.second_version) tightest = least(tightest, field(read_file(group.folder + "/memory.stat"), "hierarchical_memory_limit"));
  }
  return least(tightest, least(resource_limit(RLIMIT_AS), resource_limit(RLIMIT_DATA)));
}

int64_t SystemLimits::room() const {
  int64_t tightest = kibibytes(field(read_file(root_ + "/proc/meminfo"), "MemAvailable"));
  for (const Group& group : groups_) {
    const int64_t limit = limit_of(group.folder, group.second_version);
    if (limit != kNone) tightest = least(tightest, room_of(group.folder, group.second_version, limit));
  }
  const int64_t address_space = resource_limit(RLIMIT_AS), data = resource_limit(RLIMIT_DATA);
  if (address_space == kNone && data == kNone) return tightest;
  // Pages: the whole address space, then resident, shared, text, library, data.
  const std::string sizes = read_file(root_ + "/proc/self/statm");
  std::string_view words = sizes;
  const int64_t page = sysconf(_SC_PAGESIZE);
  for (int i = 0; i < 6 && !words.empty(); ++i) {
    const int64_t pages = number_in(take(words, ' '));
    const int64_t limit = i == 0 ? address_space : i == 5 ? data : kNone;
    if (limit != kNone && pages < kNone / page) tightest = least(tightest, limit - pages * page);
  }
  return tightest;
}

int64_t parse_bytes(const char* text) {
  const char* p = text;
  while (*p >= '0' && *p <= '9') ++p;
  int64_t value = number_in(std::string_view(text, static_cast<size_t>(p - text)));
  if (value == kNone) return -1;
  while (*p == ' ') ++p;
  static constexpr char kUnits[] = "KMGT";
  if (const char* unit = *p != '\0' ? std::strchr(kUnits, *p) : nullptr) {
    for (const char* u = kUnits; u <= unit; ++u)
      if (__builtin_mul_overflow(value, 1024, &value)) return -1;
    ++p;
    if (*p == 'i') ++p;
  }
  if (*p == 'B') ++p;
  return *p == '\0' ? value : -1;
}

}  // namespace c10::memory_internal
