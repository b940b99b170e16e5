// c10::List<T>: a sequence that its copies share, as values hold it.
//
//   c10::List<int64_t> a({1, 2});
//   c10::List<int64_t> b = a;        // the same list
//   b.push_back(3);
//   a.size();                        // 3
//   int64_t first = a[0];  a[0] = 7; // elements are read and written through references that convert
//
// As in libtorch constness is that of the handle: a const List may be written to.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

#include "c10/value/ivalue_class.h"

namespace c10 {

template <class T>
class List;

namespace impl {

template <class T>
class ListIterator;

// A place in a list. Converts to T; an assignment writes to the list.
template <class T>
class ListElementReference final {
 public:
  operator T() const { return value_->template to<T>(); }
  ListElementReference& operator=(const T& value) {
    *value_ = IValue(value);
    return *this;
  }
  ListElementReference& operator=(const ListElementReference& other) {
    *value_ = IValue(*other.value_);
    return *this;
  }
  const IValue& get() const { return *value_; }
  // Of a list of tensors: the tensor's address, null where there is none.
  TensorImpl* unsafeGetTensorImpl() const
    requires requires(const T& t) { t.unsafeGetTensorImpl(); } || requires(const T& t) { t->unsafeGetTensorImpl(); }
  {
    return value_->unsafe_tensor_impl();
  }
  friend void swap(ListElementReference&& a, ListElementReference&& b) { a.value_->swap(*b.value_); }
  template <class U>
    requires(!std::is_same_v<U, ListElementReference> && std::is_convertible_v<const U&, T>)
  friend bool operator==(const ListElementReference& a, const U& b) {
    return static_cast<T>(a) == b;
  }
  friend bool operator==(const ListElementReference& a, const ListElementReference& b) { return *a.value_ == *b.value_; }

 private:
  friend class ListIterator<T>;
  friend class List<T>;
  explicit ListElementReference(IValue* value) : value_(value) {}
  ListElementReference(const ListElementReference&) = default;
  IValue* value_;
};

template <class T>
class ListIterator final {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using reference = ListElementReference<T>;
  struct pointer {
    reference value;
    reference* operator->() { return &value; }
  };

  ListIterator() = default;
  reference operator*() const { return reference(at_); }
  pointer operator->() const { return {reference(at_)}; }
  reference operator[](difference_type n) const { return reference(at_ + n); }
  ListIterator& operator++() { return ++at_, *this; }
  ListIterator operator++(int) { return ListIterator(at_++); }
  ListIterator& operator--() { return --at_, *this; }
  ListIterator operator--(int) { return ListIterator(at_--); }
  ListIterator& operator+=(difference_type n) { return at_ += n, *this; }
  ListIterator& operator-=(difference_type n) { return at_ -= n, *this; }
  friend ListIterator operator+(ListIterator it, difference_type n) { return ListIterator(it.at_ + n); }
  friend ListIterator operator+(difference_type n, ListIterator it) { return ListIterator(it.at_ + n); }
  friend ListIterator operator-(ListIterator it, difference_type n) { return ListIterator(it.at_ - n); }
  friend difference_type operator-(const ListIterator& a, const ListIterator& b) { return a.at_ - b.at_; }
  friend bool operator==(const ListIterator& a, const ListIterator& b) { return a.at_ == b.at_; }
  friend auto operator<=>(const ListIterator& a, const ListIterator& b) { return a.at_ <=> b.at_; }

 private:
  friend class List<T>;
  explicit ListIterator(IValue* at) : at_(at) {}
  IValue* at_ = nullptr;
};

}  // namespace impl

template <class T>
class List final {
 public:
  using value_type = T;
  using size_type = size_t;
  using iterator = impl::ListIterator<T>;
  using const_iterator = iterator;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using reference = impl::ListElementReference<T>;
  using internal_reference_type = reference;

  List() : List(detail::without_schema_names(detail::TypeOf<T>::get())) {}
  List(std::initializer_list<T> values) : List(ArrayRef<T>(values.begin(), values.size())) {}
  explicit List(ArrayRef<T> values) : List() {
    reserve(values.size());
    for (const T& value : values) push_back(value);
  }
  explicit List(const std::vector<T>& values) : List() {
    reserve(values.size());
    for (size_t i = 0; i < values.size(); ++i) push_back(values[i]);
  }
  // An empty list of elements of this type, for mixed lists.
  explicit List(TypePtr elementType)
      : impl_(make_intrusive<detail::ListImpl>(std::vector<IValue>(), std::move(elementType))) {}
  List(const List&) = default;
  List& operator=(const List&) = default;

  size_t size() const { return values().size(); }
  bool empty() const { return values().empty(); }
  // Checked access: these throw IndexError.
  T get(size_t i) const { return at(i).template to<T>(); }
  // Takes the element out; what is left in its place is None.
  T extract(size_t i) const { return std::exchange(at(i), IValue()).template to<T>(); }
  reference operator[](size_t i) const { return reference(&at(i)); }
  void set(size_t i, const T& value) const { at(i) = IValue(value); }

  iterator begin() const { return iterator(values().data()); }
  iterator end() const { return iterator(values().data() + values().size()); }
  reverse_iterator rbegin() const { return reverse_iterator(end()); }
  reverse_iterator rend() const { return reverse_iterator(begin()); }

  void push_back(const T& value) const { values().emplace_back(value); }
  template <class... Args>
  void emplace_back(Args&&... args) const {
    push_back(T(std::forward<Args>(args)...));
  }
  iterator insert(iterator at, const T& value) const {
    const auto index = at - begin();
    values().insert(values().begin() + index, IValue(value));
    return begin() + index;
  }
  template <class... Args>
  iterator emplace(iterator at, Args&&... args) const {
    return insert(at, T(std::forward<Args>(args)...));
  }
  iterator erase(iterator at) const { return erase(at, at + 1); }
  iterator erase(iterator first, iterator last) const {
    const auto from = first - begin();
    values().erase(values().begin() + from, values().begin() + (last - begin()));
    return begin() + from;
  }
  // Moves the elements of `other` to the end of this one, or copies them where others hold it, too.
  void append(List other) const {
    const std::vector<IValue> added = other.values();
    values().insert(values().end(), added.begin(), added.end());
  }
  void pop_back() const {
    TORCH_CHECK_INDEX(!empty(), "List::pop_back: the list is empty");
    values().pop_back();
  }
  void reserve(size_t n) const { values().reserve(n); }
  // New elements are T() or `value`.
  void resize(size_t n) const { resize(n, T()); }
  void resize(size_t n, const T& value) const { values().resize(n, IValue(value)); }
  void clear() const { values().clear(); }
  void swap(List& other) noexcept { impl_.swap(other.impl_); }

  std::vector<T> vec() const {
    std::vector<T> result;
    result.reserve(size());
    for (const IValue& value : values()) result.push_back(value.template to<T>());
    return result;
  }
  // A list of its own with the same elements.
  List copy() const {
    List result(elementType());
    result.values() = values();
    return result;
  }
  // Whether both are the same list, not merely equal.
  bool is(const List& other) const { return impl_.get() == other.impl_.get(); }
  size_t use_count() const { return impl_.use_count(); }
  TypePtr elementType() const { return impl_->elementType; }
  void unsafeSetElementType(TypePtr type) const { impl_->elementType = std::move(type); }

  friend bool operator==(const List& a, const List& b) { return a.is(b) || a.values() == b.values(); }

 private:
  template <class U>
  friend class List;
  friend class IValue;
  explicit List(intrusive_ptr<detail::ListImpl> impl) : impl_(std::move(impl)) {}
  std::vector<IValue>& values() const { return impl_->list; }
  IValue& at(size_t i) const {
    TORCH_CHECK_INDEX(i < values().size(), "list index ", i, " is out of range for a list of size ", values().size());
    return values()[i];
  }
  template <class U>
  friend List<U> to_typed_list(const List<IValue>& list);
  template <class U>
  friend List<IValue> to_generic_list(const List<U>& list);

  intrusive_ptr<detail::ListImpl> impl_;
};

// The same list seen as one of mixed values, and back. The latter throws where the elements are declared as others.
template <class T>
List<IValue> to_generic_list(const List<T>& list) {
  return List<IValue>(list.impl_);
}
template <class T>
List<T> to_typed_list(const List<IValue>& list) {
  if constexpr (std::is_same_v<T, IValue>) {
    return list;
  } else {
    detail::check_element_type(*list.elementType(), *detail::TypeOf<T>::get());
    return List<T>(list.impl_);
  }
}
namespace impl {
template <class T>
GenericList toList(const List<T>& list) {
  return to_generic_list(list);
}
template <class T>
List<T> toTypedList(const GenericList& list) {
  return to_typed_list<T>(list);
}
}  // namespace impl

template <class T>
IValue::IValue(const List<T>& list) : IValue(Tag::GenericList, list.impl_) {}

}  // namespace c10

#include "c10/value/ivalue_to.h"
