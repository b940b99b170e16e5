#pragma once

#include <cstdint>
#include <string>
#include <vector>

// How much memory the system lets this process use, and how much of that is left. Private to c10/memory.

namespace c10::memory_internal {

/// The memory limits that this process is under:
/// - those of its memory control groups, versions 1 and 2, and of all their ancestors that it can see,
/// - RLIMIT_AS and RLIMIT_DATA,
/// - the machine's memory.
///
/// Which groups there are is found once, by the constructor; their limits may change. A file that is missing or cannot be
/// understood limits nothing. `root` stands in front of every path that is read; tests put files of their own there.
class SystemLimits {
 public:
  explicit SystemLimits(std::string root = "");

  /// The tightest limit, in bytes; INT64_MAX where nothing can be read.
  int64_t limit() const;

  /// The bytes that can still be taken before the first limit is reached, negative beyond it. Page cache that the kernel would
  /// drop counts as free.
  int64_t room() const;

 private:
  struct Group {
    std::string folder;
    bool second_version;
  };
  void find_groups();
  void add_folders(const std::string& mount_point, const std::string& below, bool second_version);

  std::string root_;
  std::vector<Group> groups_;
};

/// Bytes as people write them: "1073741824", "512M", "2 GiB" (K, M, G and T are powers of 1024); -1 where the text is
/// something else or too large.
int64_t parse_bytes(const char* text);

}  // namespace c10::memory_internal
