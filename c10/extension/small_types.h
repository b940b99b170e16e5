// Small types that programs take from libtorch's utilities: memory for one of several types, a reference or none, a
// ring of the last values, a buffer that is on the stack where it is small.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "c10/util/exception.h"

namespace c10 {

/// Size bytes at a multiple of Alignment.
template <size_t Alignment, size_t Size>
struct AlignedCharArray {
  alignas(Alignment) char buffer[Size];
};
/// Memory in which any one of the types has room.
template <class... Ts>
struct AlignedCharArrayUnion : AlignedCharArray<std::max({alignof(Ts)...}), std::max({sizeof(Ts)...})> {};

template <class Iterator>
using reverse_iterator = std::reverse_iterator<Iterator>;

/// A reference to a T, or none.
template <class T>
class OptionalRef {
 public:
  OptionalRef() = default;
  OptionalRef(std::nullptr_t) {}
  OptionalRef(const T& value) : value_(&value) {}
  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  const T& get() const {
    TORCH_INTERNAL_ASSERT(value_ != nullptr);
    return *value_;
  }

 private:
  const T* value_ = nullptr;
};

/// The last `max_entries` values that were put in. Thread-safe.
template <class T>
class RingBuffer {
 public:
  void setMaxEntries(size_t max_entries) {
    std::lock_guard<std::mutex> lock(mutex_);
    max_entries_ = std::max<size_t>(1, max_entries);
  }
  void insertEntries(const T& entry) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (entries_.size() < max_entries_) {
      entries_.push_back(entry);
    } else {
      entries_[next_++] = entry;
      if (next_ == max_entries_) next_ = 0;
    }
  }
  /// Oldest first.
  void getEntries(std::vector<T>& result) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto oldest = entries_.begin() + static_cast<ptrdiff_t>(next_);
    result.insert(result.end(), oldest, entries_.end());
    result.insert(result.end(), entries_.begin(), oldest);
  }
  void clear() {
    std::lock_guard<std::mutex> lock(mutex_);
    next_ = 0;
    entries_.clear();
  }

 private:
  std::mutex mutex_;
  size_t max_entries_ = 1;
  size_t next_ = 0;
  std::vector<T> entries_;
};

/// `size` values, the first N of which would lie in the object itself.
template <class T, size_t N>
class SmallBuffer {
 public:
  explicit SmallBuffer(size_t size) : size_(size) {
    if (size > N) apart_ = std::make_unique<T[]>(size);
  }
  SmallBuffer(const SmallBuffer&) = delete;
  SmallBuffer& operator=(const SmallBuffer&) = delete;
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T* data() { return apart_ ? apart_.get() : own_; }
  const T* data() const { return apart_ ? apart_.get() : own_; }
  size_t size() const { return size_; }
  T* begin() { return data(); }
  const T* begin() const { return data(); }
  T* end() { return data() + size_; }
  const T* end() const { return data() + size_; }

 private:
  T own_[N];
  std::unique_ptr<T[]> apart_;
  size_t size_;
};

template <class Key, class Value>
using FastMap = std::unordered_map<Key, Value>;
template <class Key>
using FastSet = std::unordered_set<Key>;

}  // namespace c10
