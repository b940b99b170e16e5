// ArrayRef<X>: a view of a constant array that somebody else owns. Cheap to copy; never outlives what it views.
//
// Implicit from one element, a pointer and a length, a pointer pair, vector, std::array, C array, initializer list and
// SmallVector. Element access is checked; text form "[1, 2]".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "c10/util/exception.h"
#include "c10/util/text_stream.h"

namespace c10 {

template <typename X, unsigned N>
class SmallVector;
template <typename X>
class SmallVectorImpl;

namespace detail {
[[noreturn]] C10_COLD void array_ref_index_error(size_t index, size_t length);
[[noreturn]] C10_COLD void array_ref_empty_error(const char* what);
[[noreturn]] C10_COLD void array_ref_slice_error(size_t n, size_t m, size_t length);
}  // namespace detail

template <typename X>
class ArrayRef final {
 public:
  using iterator = const X*;
  using const_iterator = const X*;
  using size_type = size_t;
  using value_type = X;
  using reverse_iterator = std::reverse_iterator<iterator>;

  constexpr ArrayRef() = default;
  constexpr ArrayRef(const X& one) : data_(&one), length_(1) {}
  constexpr ArrayRef(const X* data, size_t length) : data_(data), length_(length) {}
  constexpr ArrayRef(const X* begin, const X* end) : data_(begin), length_(static_cast<size_t>(end - begin)) {}
  template <typename A>
  ArrayRef(const std::vector<X, A>& v) : data_(v.data()), length_(v.size()) {
    static_assert(!std::is_same_v<X, bool>, "ArrayRef<bool> cannot view a std::vector<bool>");
  }
  template <size_t N>
  constexpr ArrayRef(const std::array<X, N>& a) : data_(a.data()), length_(N) {}
  template <size_t N>
  constexpr ArrayRef(const X (&a)[N]) : data_(a), length_(N) {}
  // Lives as long as the full expression: for arguments only.
  constexpr ArrayRef(const std::initializer_list<X>& list)
      : ArrayRef(list.size() == 0 ? nullptr : list.begin(), list.size()) {}
  // Any other contiguous container (SmallVector, std::span ...).
  template <typename C>
    requires(!std::is_same_v<std::remove_cvref_t<C>, ArrayRef> && !std::is_convertible_v<const C&, const X&> &&
             requires(const C& c) {
               { c.data() } -> std::same_as<const X*>;
               { c.size() } -> std::convertible_to<size_t>;
             })
  ArrayRef(const C& c) : data_(c.data()), length_(c.size()) {}

  constexpr iterator begin() const { return data_; }
  constexpr iterator end() const { return data_ + length_; }
  constexpr const_iterator cbegin() const { return data_; }
  constexpr const_iterator cend() const { return data_ + length_; }
  constexpr reverse_iterator rbegin() const { return reverse_iterator(end()); }
  constexpr reverse_iterator rend() const { return reverse_iterator(begin()); }
  constexpr bool empty() const { return length_ == 0; }
  constexpr const X* data() const { return data_; }
  constexpr size_t size() const { return length_; }

  constexpr const X& front() const {
    if (C10_UNLIKELY(length_ == 0)) detail::array_ref_empty_error("front");
    return data_[0];
  }
  constexpr const X& back() const {
    if (C10_UNLIKELY(length_ == 0)) detail::array_ref_empty_error("back");
    return data_[length_ - 1];
  }
  constexpr bool equals(ArrayRef other) const {
    if (length_ != other.length_) return false;
    for (size_t i = 0; i < length_; ++i) {
      if (!(data_[i] == other.data_[i])) return false;
    }
    return true;
  }
  // The `m` elements from position `n` on.
  constexpr ArrayRef slice(size_t n, size_t m) const {
    if (C10_UNLIKELY(n > length_ || m > length_ - n)) detail::array_ref_slice_error(n, m, length_);
    return ArrayRef(data_ + n, m);
  }
  constexpr ArrayRef slice(size_t n) const { return slice(n, n > length_ ? 0 : length_ - n); }

  constexpr const X& operator[](size_t i) const { return data_[i]; }
  constexpr const X& at(size_t i) const {
    if (C10_UNLIKELY(i >= length_)) detail::array_ref_index_error(i, length_);
    return data_[i];
  }
  std::vector<X> vec() const { return std::vector<X>(begin(), end()); }

  // Assigning from a temporary or a braced list would dangle.
  template <typename U>
    requires std::is_same_v<U, X>
  ArrayRef& operator=(U&& temporary) = delete;
  template <typename U>
    requires std::is_same_v<U, X>
  ArrayRef& operator=(std::initializer_list<U>) = delete;

 private:
  const X* data_ = nullptr;
  size_t length_ = 0;
};

template <typename X>
constexpr bool operator==(ArrayRef<X> a, ArrayRef<X> b) {
  return a.equals(b);
}
template <typename X>
bool operator==(const std::vector<X>& a, ArrayRef<X> b) {
  return ArrayRef<X>(a).equals(b);
}
template <typename X>
bool operator==(ArrayRef<X> a, const std::vector<X>& b) {
  return a.equals(ArrayRef<X>(b));
}

template <typename X>
ArrayRef<X> makeArrayRef(const X& one) {
  return one;
}
template <typename X>
ArrayRef<X> makeArrayRef(const X* data, size_t length) {
  return {data, length};
}
template <typename X>
ArrayRef<X> makeArrayRef(const X* begin, const X* end) {
  return {begin, end};
}
template <typename X>
ArrayRef<X> makeArrayRef(const std::vector<X>& v) {
  return v;
}
template <typename X, size_t N>
ArrayRef<X> makeArrayRef(const std::array<X, N>& a) {
  return a;
}
template <typename X, size_t N>
ArrayRef<X> makeArrayRef(const X (&a)[N]) {
  return ArrayRef<X>(a);
}

// Printing works with any stream type, so that no stream header is needed here.
template <TextStream Stream, typename X>
Stream& operator<<(Stream& out, ArrayRef<X> values) {
  out << "[";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out << ", ";
    out << values[i];
  }
  out << "]";
  return out;
}

using IntArrayRef = ArrayRef<int64_t>;

}  // namespace c10

namespace at {
using c10::ArrayRef;
using c10::IntArrayRef;
}  // namespace at
