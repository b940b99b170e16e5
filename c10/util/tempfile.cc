#include "c10/util/tempfile.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "c10/util/error.h"
#include "c10/util/exception.h"

namespace c10 {
namespace {

std::string name_template(std::string_view prefix) {
  for (const char* variable : {"TMPDIR", "TEMP", "TMP", "TEMPDIR"}) {
    if (const char* folder = std::getenv(variable)) return str(folder, "/", prefix, "XXXXXX");
  }
  return str("/tmp/", prefix, "XXXXXX");
}

}  // namespace

TempFile::~TempFile() {
  if (fd >= 0) ::close(fd);
  if (!name.empty()) ::unlink(name.c_str());
}

bool TempFile::open() {
  if (fd >= 0) return false;
  fd = ::open(name.c_str(), O_RDWR | O_CREAT, 0600);
  TORCH_CHECK(fd >= 0, "Error opening temporary file ", name, ": ", utils::str_error(errno));
  return true;
}

TempDir::~TempDir() {
  if (!name.empty()) ::rmdir(name.c_str());
}

std::optional<TempFile> try_make_tempfile(std::string_view name_prefix) {
  std::string name = name_template(name_prefix);
  const int fd = ::mkstemp(name.data());
  if (fd < 0) return std::nullopt;
  return TempFile(name, fd);
}

TempFile make_tempfile(std::string_view name_prefix) {
  std::optional<TempFile> file = try_make_tempfile(name_prefix);
  TORCH_CHECK(file.has_value(), "Error generating temporary file: ", utils::str_error(errno));
  return std::move(*file);
}

std::optional<TempDir> try_make_tempdir(std::string_view name_prefix) {
  std::string name = name_template(name_prefix);
  if (::mkdtemp(name.data()) == nullptr) return std::nullopt;
  return TempDir(name);
}

TempDir make_tempdir(std::string_view name_prefix) {
  std::optional<TempDir> folder = try_make_tempdir(name_prefix);
  TORCH_CHECK(folder.has_value(), "Error generating temporary directory: ", utils::str_error(errno));
  return std::move(*folder);
}

}  // namespace c10
