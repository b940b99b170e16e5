// Files and folders that end with the object that stands for them.
//
//   c10::TempFile file = c10::make_tempfile();
//   torch::save(model, file.name);
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace c10 {

/// A file, open under `fd`; closed and removed at the end.
struct TempFile {
  TempFile() = default;
  TempFile(std::string_view path, int descriptor = -1) : fd(descriptor), name(path) {}
  TempFile(TempFile&& other) noexcept
      : fd(std::exchange(other.fd, -1)), name(std::exchange(other.name, std::string())) {}
  TempFile& operator=(TempFile&& other) noexcept {
    std::swap(fd, other.fd);
    std::swap(name, other.name);
    return *this;
  }
  ~TempFile();
  /// Throws c10::Error where the file cannot be opened.
  bool open();

  int fd = -1;
  std::string name;
};

/// A folder; removed at the end, if it is empty.
struct TempDir {
  TempDir() = default;
  explicit TempDir(std::string_view path) : name(path) {}
  TempDir(TempDir&& other) noexcept : name(std::exchange(other.name, std::string())) {}
  TempDir& operator=(TempDir&& other) noexcept {
    std::swap(name, other.name);
    return *this;
  }
  ~TempDir();

  std::string name;
};

/// In the folder of TMPDIR, TEMP, TMP or TEMPDIR, else /tmp; the name begins with the prefix. Throw c10::Error, or give
/// nothing, where none can be made.
TempFile make_tempfile(std::string_view name_prefix = "torch-file-");
std::optional<TempFile> try_make_tempfile(std::string_view name_prefix = "torch-file-");
TempDir make_tempdir(std::string_view name_prefix = "torch-dir-");
std::optional<TempDir> try_make_tempdir(std::string_view name_prefix = "torch-dir-");

}  // namespace c10
