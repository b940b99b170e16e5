// ExpandingArray<D>: D numbers that may be given as one. `kernel_size` of a 2-d convolution is `3` or `{3, 5}`.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "c10/util/array_ref.h"
#include "c10/util/string_util.h"

namespace torch {

template <size_t D, typename X = int64_t>
class ExpandingArray {
 public:
  ExpandingArray(std::initializer_list<X> list) : ExpandingArray(c10::ArrayRef<X>(list)) {}
  ExpandingArray(const std::vector<X>& v) : ExpandingArray(c10::ArrayRef<X>(v)) {}
  // Throws where the number of values is not D.
  ExpandingArray(c10::ArrayRef<X> values) {
    TORCH_CHECK(values.size() == D, "Expected ", D, " values, but instead got ", values.size(), ": ", values);
    for (size_t i = 0; i < D; ++i) values_[i] = values[i];
  }
  // One value, D times. Also from numbers that convert to X.
  template <typename Y>
  requires(std::is_convertible_v<Y, X> && (std::is_arithmetic_v<Y> || std::is_same_v<Y, X>)) ExpandingArray(Y one) {
    values_.fill(static_cast<X>(one));
  }
  ExpandingArray(const std::array<X, D>& values) : values_(values) {}

  std::array<X, D>& operator*() { return values_; }
  const std::array<X, D>& operator*() const { return values_; }
  std::array<X, D>* operator->() { return &values_; }
  const std::array<X, D>* operator->() const { return &values_; }
  operator c10::ArrayRef<X>() const { return values_; }
  size_t size() const noexcept { return D; }

 protected:
  ExpandingArray() = default;
  std::array<X, D> values_;
};

// The same, of values that may be absent ("keep the input's size").
template <size_t D, typename X = int64_t>
class ExpandingArrayWithOptionalElem : public ExpandingArray<D, std::optional<X>> {
  using Base = ExpandingArray<D, std::optional<X>>;

 public:
  using Base::Base;
  ExpandingArrayWithOptionalElem(std::initializer_list<X> list)
      : ExpandingArrayWithOptionalElem(c10::ArrayRef<X>(list)) {}
  ExpandingArrayWithOptionalElem(const std::vector<X>& v) : ExpandingArrayWithOptionalElem(c10::ArrayRef<X>(v)) {}
  ExpandingArrayWithOptionalElem(c10::ArrayRef<X> values) : Base() {
    TORCH_CHECK(values.size() == D, "Expected ", D, " values, but instead got ", values.size(), ": ", values);
    for (size_t i = 0; i < D; ++i) this->values_[i] = values[i];
  }
  ExpandingArrayWithOptionalElem(X one) : Base() { this->values_.fill(one); }
};

// "3" for one value, "[3, 5]" for more.
template <size_t D, typename X>
void to_text(std::string& out, const ExpandingArray<D, X>& values) {
  if constexpr (D == 1) {
    out += c10::str((*values)[0]);
  } else {
    out += c10::str(c10::ArrayRef<X>(*values));
  }
}
template <size_t D, typename X>
void to_text(std::string& out, const ExpandingArrayWithOptionalElem<D, X>& values) {
  std::string list;
  for (const auto& v : *values) {
    if (!list.empty()) list += ", ";
    list += v.has_value() ? c10::str(*v) : std::string("None");
  }
  out += D == 1 ? list : "[" + list + "]";
}

template <typename Stream, size_t D, typename X>
requires requires(Stream& s) {
  s.flush();
}
Stream& operator<<(Stream& stream, const ExpandingArray<D, X>& values) {
  std::string text;
  to_text(text, values);
  stream << text;
  return stream;
}
template <typename Stream, size_t D, typename X>
requires requires(Stream& s) {
  s.flush();
}
Stream& operator<<(Stream& stream, const ExpandingArrayWithOptionalElem<D, X>& values) {
  std::string text;
  to_text(text, values);
  stream << text;
  return stream;
}

}  // namespace torch
