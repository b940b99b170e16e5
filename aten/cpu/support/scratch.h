#pragma once
// Memory for as long as a call takes, 64-byte aligned, from the caching allocator: unlike malloc's its pages are there.

#include <cstddef>
#include <optional>

#include "c10/memory/cpu_allocator.h"

namespace at::cpu {

class Scratch {
 public:
  explicit Scratch(size_t bytes) : data_(c10::cpu_alloc(bytes)), bytes_(bytes) {}
  ~Scratch() { c10::cpu_free(data_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  size_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_;
  size_t bytes_;
};

/// Scratch for one use after the other. Growing, it loses what it held.
class ReusedScratch {
 public:
  template <class T>
  T* at_least(size_t count) {
    if (!memory_ || memory_->bytes() < count * sizeof(T)) {
      memory_.reset();
      memory_.emplace(count * sizeof(T));
    }
    return memory_->as<T>();
  }

 private:
  std::optional<Scratch> memory_;
};

}  // namespace at::cpu
