#include "compile/aot/runtime/weights.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "compile/aot/runtime/checks.h"

namespace torch::aot {
namespace {

[[noreturn]] void fail(const char* path, const char* what, const char* why) {
  char text[512];
  std::snprintf(text, sizeof(text), "%s: %s: %s", path, what, why);
  throw std::runtime_error(text);
}

}  // namespace

Weights Weights::map(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(path, "cannot open the weights", std::strerror(errno));
  struct stat status {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file);
    fail(path, "cannot map the weights", "not a file");
  }
  const size_t bytes = static_cast<size_t>(status.st_size);
  void* data = bytes == 0 ? nullptr : mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (data == MAP_FAILED) fail(path, "cannot map the weights", std::strerror(errno));
  Weights weights(data, bytes);
  weights.mapped_ = bytes > 0;
  return weights;
}

Weights::~Weights() {
  if (mapped_) munmap(const_cast<char*>(data_), bytes_);
}
Weights::Weights(Weights&& other) noexcept
    : data_(other.data_), bytes_(other.bytes_), mapped_(std::exchange(other.mapped_, false)) {}
Weights& Weights::operator=(Weights&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

uint64_t hash_of(const void* data, size_t bytes) {
  const char* from = static_cast<const char*>(data);
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, from + i, bytes - i < sizeof(word) ? bytes - i : sizeof(word));
    hash = (hash ^ word) * 0x100000001b3u;
  }
  return hash;
}

void check_weights(const char* program, const Weights& weights, size_t bytes, uint64_t hash) {
  if (weights.size() != bytes) {
    refuse(program, "the weights have another size than those that it was compiled with");
  }
  if (reinterpret_cast<uintptr_t>(weights.data()) % 64 != 0) refuse(program, "the weights are not 64-byte aligned");
  if (hash_of(weights.data(), bytes) != hash) {
    refuse(program, "the weights are not those that it was compiled with");
  }
}

}  // namespace torch::aot
