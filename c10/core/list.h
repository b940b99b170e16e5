#pragma once

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include "c10/util/array_ref.h"
#include "c10/util/exception.h"

namespace c10 {

// A sequence of values passed to and from operators, e.g. the optional index tensors of index() and index_put_():
//
//   c10::List<std::optional<at::Tensor>> indices({std::nullopt, index});
//   at::index(t, indices);
template <class T>
class List {
 public:
  using value_type = T;
  using size_type = size_t;
  using iterator = typename std::vector<T>::iterator;
  using const_iterator = typename std::vector<T>::const_iterator;

  List() = default;
  List(std::initializer_list<T> values) : values_(values) {}
  explicit List(ArrayRef<T> values) : values_(values.begin(), values.end()) {}
  explicit List(std::vector<T> values) : values_(std::move(values)) {}

  size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  // Checked access: throws IndexError.
  const T& get(size_t i) const {
    check(i);
    return values_[i];
  }
  const T& operator[](size_t i) const { return get(i); }
  T& operator[](size_t i) {
    check(i);
    return values_[i];
  }
  void set(size_t i, T value) {
    check(i);
    values_[i] = std::move(value);
  }
  void push_back(T value) { values_.push_back(std::move(value)); }
  template <class... Args>
  void emplace_back(Args&&... args) {
    values_.emplace_back(std::forward<Args>(args)...);
  }
  void append(const List& other) { values_.insert(values_.end(), other.begin(), other.end()); }
  void pop_back() {
    TORCH_CHECK_INDEX(!values_.empty(), "List::pop_back: the list is empty");
    values_.pop_back();
  }
  void reserve(size_t n) { values_.reserve(n); }
  void resize(size_t n) { values_.resize(n); }
  void clear() { values_.clear(); }
  iterator begin() { return values_.begin(); }
  iterator end() { return values_.end(); }
  const_iterator begin() const { return values_.begin(); }
  const_iterator end() const { return values_.end(); }
  const std::vector<T>& vec() const { return values_; }
  List copy() const { return *this; }

 private:
  void check(size_t i) const {
    TORCH_CHECK_INDEX(i < values_.size(), "list index ", i, " is out of range for a list of size ", values_.size());
  }

  std::vector<T> values_;
};

}  // namespace c10
