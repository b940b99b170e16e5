#include "c10/memory/system_limits.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "c10/macros/macros.h"

namespace c10::memory_internal {
namespace {

constexpr int64_t kNone = INT64_MAX;

void lower(int64_t& x, int64_t y) { x = y < x ? y : x; }

// The file below a folder; empty where it cannot be read. Longer ones are cut: a machine with thousands of mounts.
class File {
 public:
  File(const LimitPath& folder, std::string_view name) noexcept {
    LimitPath path = folder;
    path.add(name);
    const int file = open(path.text, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    text_ = static_cast<char*>(std::malloc(kMost));
    while (text_ != nullptr) {
      const ssize_t n = ::read(file, text_ + size_, kMost - size_);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      size_ += static_cast<size_t>(n);
    }
    close(file);
  }
  ~File() { std::free(text_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::string_view text() const { return {text_, size_}; }

 private:
  static constexpr size_t kMost = size_t{1} << 18;
  char* text_ = nullptr;
  size_t size_ = 0;
};

// The part before `separator`; `text` keeps what follows.
std::string_view take(std::string_view& text, char separator) {
  const char* const end =
      text.empty() ? nullptr : static_cast<const char*>(std::memchr(text.data(), separator, text.size()));
  const size_t n = end == nullptr ? text.size() : static_cast<size_t>(end - text.data());
  const std::string_view part(text.data(), n);
  text.remove_prefix(end == nullptr ? n : n + 1);
  return part;
}

// Digits at the beginning; kNone where there are none ("max") or too many.
C10_NOINLINE int64_t number_in(std::string_view text) {
  int64_t value = 0;
  size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits)
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text[digits] - '0', &value))
      return kNone;
  return digits == 0 ? kNone : value;
}

int64_t read_number(const LimitPath& folder, const char* name) { return number_in(File(folder, name).text()); }

// The number in the line "NAME number"; kNone where there is no such line.
int64_t field(std::string_view text, const char* name) {
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    if (take(line, ' ') != name) continue;
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
void add_unescaped(LimitPath& path, std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\\' && i + 3 < text.size()) {
      c = static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    }
    path.add({&c, 1});
  }
}

// What of a group's path lies below a mount that shows `mounted` and what is under it. A path outside it is that of
// another namespace: all there is to see then is the mount itself.
std::string_view path_below(std::string_view path, const LimitPath& mounted) {
  if (path.empty()) return {};
  const size_t n = mounted.size == 1 ? 0 : mounted.size;  // "/"
  const bool inside =
      path.size() >= n && std::memcmp(path.data(), mounted.text, n) == 0 && (path.size() == n || path[n] == '/');
  if (!inside || memmem(path.data(), path.size(), "/..", 3) != nullptr) return {};
  path.remove_prefix(n);
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  return path;
}

C10_NOINLINE int64_t resource_limit(int resource) {
  rlimit limit;
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur > static_cast<rlim_t>(kNone))
    return kNone;
  return static_cast<int64_t>(limit.rlim_cur);
}

int64_t kibibytes(int64_t n) { return n > kNone / 1024 ? kNone : n * 1024; }

void read_group(const LimitPath& folder, bool second_version, SystemLimits::Reading& out) {
  int64_t limit = read_number(folder, second_version ? "/memory.max" : "/memory.limit_in_bytes");
  if (second_version) lower(limit, read_number(folder, "/memory.high"));
  lower(out.limit, limit);
  const int64_t usage = read_number(folder, second_version ? "/memory.current" : "/memory.usage_in_bytes");
  const File statistics(folder, "/memory.stat");
  // Version 1 tells of ancestors that a container cannot see, too.
  if (!second_version) lower(out.limit, field(statistics.text(), "hierarchical_memory_limit"));
  if (limit == kNone || usage == kNone) return;
  int64_t room = limit - usage;
  // The kernel drops cached pages of files before it refuses memory.
  for (const char* name : {"total_active_file", "total_inactive_file"}) {
    const int64_t pages = field(statistics.text(), second_version ? name + 6 : name);
    if (pages <= usage) room += pages;
  }
  lower(out.room, room);
}

}  // namespace

void LimitPath::add(std::string_view part) {
  if (part.empty()) return;
  if (part.size() >= sizeof(text) - size) {
    cut(0);
    return;
  }
  std::memcpy(text + size, part.data(), part.size());
  cut(size + part.size());
}

SystemLimits::SystemLimits(const char* root) {
  root_.add(root);
  // Lines of "hierarchy:controllers:path"; version 2 has no controllers.
  const File groups(root_, "/proc/self/cgroup"), mounts(root_, "/proc/self/mountinfo");
  for (std::string_view rest_of_groups = groups.text(); !rest_of_groups.empty();) {
    std::string_view path = take(rest_of_groups, '\n');
    const std::string_view hierarchy = take(path, ':'), controllers = take(path, ':');
    const bool second_version = hierarchy == "0" && controllers.empty();
    if (!second_version && !has_word(controllers, "memory")) continue;
    // "id parent device root mount-point options [more...] - type source options"
    for (std::string_view rest_of_mounts = mounts.text(); !rest_of_mounts.empty() && count_ < kMaxGroups;) {
      std::string_view line = take(rest_of_mounts, '\n');
      for (int i = 0; i < 3; ++i) take(line, ' ');
      LimitPath mounted;
      add_unescaped(mounted, take(line, ' '));
      Group& group = groups_[count_];
      group.folder = root_;
      add_unescaped(group.folder, take(line, ' '));
      while (!line.empty() && take(line, ' ') != "-") {
      }
      const std::string_view type = take(line, ' ');
      take(line, ' ');
      if (!(second_version ? type == "cgroup2" : type == "cgroup" && has_word(line, "memory"))) continue;
      group.mount_point = group.folder.size;
      group.second_version = second_version;
      group.folder.add(path_below(path, mounted));
      ++count_;
    }
  }
}

SystemLimits::Reading SystemLimits::read() const {
  const File machine(root_, "/proc/meminfo");
  Reading out{kibibytes(field(machine.text(), "MemTotal:")), kibibytes(field(machine.text(), "MemAvailable:"))};
  for (int i = 0; i < count_; ++i) {
    LimitPath folder = groups_[i].folder;
    while (true) {
      read_group(folder, groups_[i].second_version, out);
      if (folder.size <= groups_[i].mount_point) break;
      while (folder.text[--folder.size] != '/') {
      }
      folder.cut(folder.size);
    }
  }
  // Pages: the whole address space, then resident, shared, text, library, data.
  const int64_t limits[6] = {resource_limit(RLIMIT_AS), kNone, kNone, kNone, kNone, resource_limit(RLIMIT_DATA)};
  const File sizes(root_, "/proc/self/statm");
  std::string_view words = sizes.text();
  const int64_t page = sysconf(_SC_PAGESIZE);
  for (const int64_t limit : limits) {
    const int64_t pages = number_in(take(words, ' '));
    lower(out.limit, limit);
    if (limit != kNone && pages < kNone / page) lower(out.room, limit - pages * page);
  }
  return out;
}

int64_t parse_bytes(const char* text) {
  const char* p = text;
  while (*p >= '0' && *p <= '9') ++p;
  int64_t value = number_in({text, static_cast<size_t>(p - text)});
  while (*p == ' ') ++p;
  static constexpr std::string_view kUnits = "KMGT";
  const size_t unit = *p == '\0' ? kUnits.npos : kUnits.find(*p);
  if (unit != kUnits.npos) {
    const int shift = 10 * static_cast<int>(unit + 1);
    value = value > kNone >> shift ? kNone : value << shift;
    if (*++p == 'i') ++p;
  }
  if (*p == 'B') ++p;
  return *p == '\0' && value != kNone ? value : -1;
}

}  // namespace c10::memory_internal
