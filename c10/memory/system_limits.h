#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// How much memory the system lets this process use, and how much of that is left. Private to c10/memory.

namespace c10::memory_internal {

/// A path of bounded length, in place: these are read where malloc may have nothing left, and small programs have them too.
struct LimitPath {
  char text[1024] = "";
  size_t size = 0;

  void add(std::string_view part);  // a path that grows too long becomes one that is not there
  void cut(size_t n) { text[size = n] = '\0'; }
};

/// The memory limits that this process is under:
/// - those of its memory control groups, versions 1 and 2, and of all their ancestors that it can see,
/// - RLIMIT_AS and RLIMIT_DATA,
/// - the machine's memory.
///
/// Which groups there are is found once, by the constructor; their limits may change. A file that is missing or cannot be
/// understood limits nothing. `root` stands in front of every path that is read; tests put files of their own there.
class SystemLimits {
 public:
  explicit SystemLimits(const char* root = "");

  struct Reading {
    /// The tightest limit, in bytes; INT64_MAX where nothing can be read.
    int64_t limit;
    /// The bytes that can still be taken before the first limit is reached, negative beyond it. Page cache that the kernel would
    /// drop counts as free.
    int64_t room;
  };
  Reading read() const;

 private:
  // A group; its ancestors are the folders above it, as far as the mount point.
  struct Group {
    LimitPath folder;
    size_t mount_point = 0;  // bytes of `folder`
    bool second_version = false;
  };
  static constexpr int kMaxGroups = 4;

  LimitPath root_;
  Group groups_[kMaxGroups];
  int count_ = 0;
};

/// Bytes as people write them: "1073741824", "512M", "2 GiB" (K, M, G and T are powers of 1024); -1 where the text is
/// something else or too large.
int64_t parse_bytes(const char* text);

}  // namespace c10::memory_internal
