#include "c10/testing/files.h"

#include <stdlib.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace c10::testing {
namespace {

void check(bool ok, const std::string& what) {
  if (!ok) throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

std::string fresh_folder() {
  const char* base = std::getenv("TEST_TMPDIR");
  std::string name = std::string(base != nullptr ? base : "/tmp") + "/test.XXXXXX";
  check(::mkdtemp(name.data()) != nullptr, name);
  return name;
}

std::string read_file(const std::string& path) {
  std::string bytes;
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return bytes;
  char block[65536];
  while (const size_t n = std::fread(block, 1, sizeof(block), file)) bytes.append(block, n);
  std::fclose(file);
  return bytes;
}

void write_file(const std::string& path, std::string_view bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  check(file != nullptr, path);
  const bool whole = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  check((std::fclose(file) == 0) && whole, path);
}

}  // namespace c10::testing
