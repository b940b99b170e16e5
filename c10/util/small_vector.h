// SmallVector<X, N>: a vector that keeps up to N elements in itself. DimVector holds sizes and strides.
//
// For trivially copyable elements (what it is used for here), so growing is one copy of bytes and destruction is free.
// Bounds are checked by `at`, not by `operator[]`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <vector>

#include "c10/util/array_ref.h"

namespace c10 {

namespace detail {
// Bytes for a grown buffer of `count` elements; throws c10::Error where the size is not representable.
void* small_vector_allocate(size_t count, size_t element_size);
void small_vector_free(void* p) noexcept;
}  // namespace detail

// The part that does not depend on N: pass `SmallVectorImpl<X>&` where a function fills a caller's vector.
template <typename X>
class SmallVectorImpl {
  static_assert(std::is_trivially_copyable_v<X> && std::is_trivially_destructible_v<X>);

 public:
  using value_type = X;
  using size_type = size_t;
  using iterator = X*;
  using const_iterator = const X*;
  using reference = X&;
  using const_reference = const X&;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  SmallVectorImpl(const SmallVectorImpl&) = delete;
  SmallVectorImpl& operator=(const SmallVectorImpl& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }

  iterator begin() { return data_; }
  iterator end() { return data_ + size_; }
  const_iterator begin() const { return data_; }
  const_iterator end() const { return data_ + size_; }
  const_iterator cbegin() const { return data_; }
  const_iterator cend() const { return data_ + size_; }
  reverse_iterator rbegin() { return reverse_iterator(end()); }
  reverse_iterator rend() { return reverse_iterator(begin()); }
  const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }

  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  X* data() { return data_; }
  const X* data() const { return data_; }

  X& operator[](size_t i) { return data_[i]; }
  const X& operator[](size_t i) const { return data_[i]; }
  X& at(size_t i) {
    if (C10_UNLIKELY(i >= size_)) detail::array_ref_index_error(i, size_);
    return data_[i];
  }
  const X& at(size_t i) const { return const_cast<SmallVectorImpl*>(this)->at(i); }
  X& front() { return data_[0]; }
  const X& front() const { return data_[0]; }
  X& back() { return data_[size_ - 1]; }
  const X& back() const { return data_[size_ - 1]; }

  void clear() { size_ = 0; }
  void reserve(size_t n) {
    if (n > capacity_) grow(n);
  }
  void push_back(X value) {
    if (C10_UNLIKELY(size_ == capacity_)) grow(size_ + 1);
    data_[size_++] = value;
  }
  template <typename... Args>
  X& emplace_back(Args&&... args) {
    push_back(X(std::forward<Args>(args)...));
    return back();
  }
  void pop_back() { --size_; }
  X pop_back_val() { return data_[--size_]; }

  // Elements added by growing are value-initialised.
  void resize(size_t n) { resize(n, X()); }
  void resize(size_t n, X value) {
    reserve(n);
    for (size_t i = size_; i < n; ++i) data_[i] = value;
    size_ = n;
  }
  // Elements added by growing are left as they are: the caller writes them.
  void resize_for_overwrite(size_t n) {
    reserve(n);
    size_ = n;
  }
  void truncate(size_t n) { size_ = n < size_ ? n : size_; }

  void assign(size_t n, X value) {
    clear();
    resize(n, value);
  }
  template <typename It>
  requires(!std::is_integral_v<It>) void assign(It first, It last) {
    clear();
    append(first, last);
  }
  void assign(std::initializer_list<X> values) { assign(values.begin(), values.end()); }
  void assign(ArrayRef<X> values) { assign(values.begin(), values.end()); }

  template <typename It>
  requires(!std::is_integral_v<It>) void append(It first, It last) {
    if constexpr (std::is_same_v<std::remove_cv_t<std::remove_pointer_t<It>>, X> && std::is_pointer_v<It>) {
      const size_t n = static_cast<size_t>(last - first);
      // The source may be this vector's own elements: growing keeps the old bytes readable by copying first.
      const bool inside = first >= data_ && first < data_ + size_;
      const size_t offset = inside ? static_cast<size_t>(first - data_) : 0;
      reserve(size_ + n);
      if (n != 0) std::memmove(data_ + size_, inside ? data_ + offset : first, n * sizeof(X));
      size_ += n;
    } else {
      for (; first != last; ++first) push_back(static_cast<X>(*first));
    }
  }
  void append(size_t n, X value) { resize(size_ + n, value); }
  void append(std::initializer_list<X> values) { append(values.begin(), values.end()); }

  iterator insert(const_iterator where, X value) {
    const size_t i = static_cast<size_t>(where - data_);
    push_back(value);
    if (i + 1 < size_) {
      std::memmove(data_ + i + 1, data_ + i, (size_ - 1 - i) * sizeof(X));
      data_[i] = value;
    }
    return data_ + i;
  }
  template <typename It>
  requires(!std::is_integral_v<It>) iterator insert(const_iterator where, It first, It last) {
    size_t i = static_cast<size_t>(where - data_);
    const size_t start = i;
    for (; first != last; ++first) insert(data_ + i++, static_cast<X>(*first));
    return data_ + start;
  }
  iterator insert(const_iterator where, size_t n, X value) {
    const size_t start = static_cast<size_t>(where - data_);
    for (size_t k = 0; k < n; ++k) insert(data_ + start, value);
    return data_ + start;
  }
  iterator erase(const_iterator where) { return erase(where, where + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    X* to = data_ + (first - data_);
    const size_t tail = static_cast<size_t>(end() - last);
    if (tail != 0) std::memmove(to, last, tail * sizeof(X));
    size_ -= static_cast<size_t>(last - first);
    return to;
  }

  std::vector<X> vec() const { return std::vector<X>(begin(), end()); }

  friend bool operator==(const SmallVectorImpl& a, const SmallVectorImpl& b) {
    return ArrayRef<X>(a.data_, a.size_) == ArrayRef<X>(b.data_, b.size_);
  }
  friend bool operator==(const SmallVectorImpl& a, ArrayRef<X> b) { return ArrayRef<X>(a.data_, a.size_) == b; }

 protected:
  SmallVectorImpl(X* inline_data, uint32_t inline_capacity) : data_(inline_data), capacity_(inline_capacity) {}
  ~SmallVectorImpl() = default;

  void release() {
    if (C10_UNLIKELY(on_heap_)) detail::small_vector_free(data_);
  }
  // Takes the heap buffer of `other`, or copies its inline elements.
  void take(SmallVectorImpl& other, X* other_inline, uint32_t inline_capacity) {
    if (other.on_heap_) {
      release();
      data_ = other.data_;
      size_ = other.size_;
      capacity_ = other.capacity_;
      on_heap_ = true;
      other.data_ = other_inline;
      other.capacity_ = inline_capacity;
      other.on_heap_ = false;
    } else {
      assign(other.begin(), other.end());
    }
    other.size_ = 0;
  }

  C10_NOINLINE void grow(size_t wanted);

  X* data_;
  size_t size_ = 0;
  uint32_t capacity_;
  bool on_heap_ = false;
};

template <typename X, unsigned N>
class SmallVector : public SmallVectorImpl<X> {
  using Base = SmallVectorImpl<X>;

 public:
  SmallVector() : Base(storage(), N) {}
  explicit SmallVector(size_t n, X value = X()) : SmallVector() { this->resize(n, value); }
  SmallVector(std::initializer_list<X> values) : SmallVector() { this->append(values.begin(), values.end()); }
  template <typename It>
  requires(!std::is_integral_v<It>) SmallVector(It first, It last) : SmallVector() {
    if constexpr (std::is_same_v<It, const X*> || std::is_same_v<It, X*>) {
      fill(first, static_cast<size_t>(last - first));
    } else {
      this->append(first, last);
    }
  }
  explicit SmallVector(ArrayRef<X> values) : SmallVector() { fill(values.data(), values.size()); }
  SmallVector(const SmallVector& other) : SmallVector() { fill(other.data(), other.size()); }
  SmallVector(const Base& other) : SmallVector() { this->append(other.begin(), other.end()); }
  SmallVector(SmallVector&& other) noexcept : SmallVector() { this->take(other, other.storage(), N); }
  ~SmallVector() { this->release(); }

  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) this->assign(other.begin(), other.end());
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) this->take(other, other.storage(), N);
    return *this;
  }
  SmallVector& operator=(std::initializer_list<X> values) {
    this->assign(values.begin(), values.end());
    return *this;
  }
  SmallVector& operator=(ArrayRef<X> values) {
    this->assign(values.begin(), values.end());
    return *this;
  }
  void swap(SmallVector& other) { std::swap(*this, other); }

 private:
  // The elements of an empty vector; the few that fit inline without a call.
  void fill(const X* from, size_t n) {
    if constexpr (N <= 5 && sizeof(X) <= sizeof(void*)) {
      if (C10_LIKELY(n <= N)) {
        X* const to = storage();
        switch (n) {
          case 5: to[4] = from[4]; [[fallthrough]];
          case 4: to[3] = from[3]; [[fallthrough]];
          case 3: to[2] = from[2]; [[fallthrough]];
          case 2: to[1] = from[1]; [[fallthrough]];
          case 1: to[0] = from[0]; [[fallthrough]];
          default: break;
        }
        this->size_ = n;
        return;
      }
    }
    this->append(from, from + n);
  }

  X* storage() { return reinterpret_cast<X*>(inline_); }
  alignas(X) unsigned char inline_[(N == 0 ? 1 : N) * sizeof(X)];
};

template <typename X>
void SmallVectorImpl<X>::grow(size_t wanted) {
  const size_t doubled = size_t{capacity_} * 2;
  const size_t n = wanted > doubled ? wanted : doubled;
  X* bigger = static_cast<X*>(detail::small_vector_allocate(n, sizeof(X)));
  std::memcpy(static_cast<void*>(bigger), static_cast<const void*>(data_), size_ * sizeof(X));
  if (on_heap_) detail::small_vector_free(data_);
  data_ = bigger;
  capacity_ = static_cast<uint32_t>(n);
  on_heap_ = true;
}

template <typename X>
std::vector<X> to_vector(const SmallVectorImpl<X>& values) {
  return values.vec();
}

// Sizes or strides of a tensor: five dimensions without an allocation.
inline constexpr unsigned kDimVectorStaticSize = 5;
using DimVector = SmallVector<int64_t, kDimVectorStaticSize>;

}  // namespace c10

namespace at {
using c10::DimVector;
using c10::SmallVector;
}  // namespace at
