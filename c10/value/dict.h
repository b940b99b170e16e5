// c10::Dict<K, V>: a map that its copies share and that keeps the order of insertion, as values hold it.
//
//   c10::Dict<std::string, at::Tensor> d;
//   d.insert("weight", w);
//   for (const auto& entry : d) use(entry.key(), entry.value());
//
// Keys: str, int, float, complex, bool, tensors (by identity), devices, enums. As in libtorch a const Dict may be written to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "c10/value/ivalue_class.h"

namespace c10 {

namespace detail {

// Entries in order of insertion, and a hash table of their numbers. An erased entry leaves a gap until the next rehash.
struct DictImpl final : Aggregate {
  struct Entry {
    IValue key;
    IValue value;
    size_t hash = 0;
    bool live = false;
  };

  DictImpl(TypePtr key, TypePtr value) : keyType(std::move(key)), valueType(std::move(value)) {}
  ~DictImpl() override;
  void surrender(std::vector<IValue>& into) override;

  // The entry's number, or -1.
  int64_t find(const IValue& key) const;
  // The entry's number, and whether it is new.
  std::pair<int64_t, bool> insert(IValue key, IValue value, bool assign);
  void erase(int64_t entry);
  void clear();
  void reserve(size_t count);
  // The next live entry from `entry` on.
  int64_t next(int64_t entry) const {
    while (entry < static_cast<int64_t>(entries.size()) && !entries[static_cast<size_t>(entry)].live) ++entry;
    return entry;
  }

  TypePtr keyType;
  TypePtr valueType;
  std::vector<Entry> entries;
  size_t count = 0;

 private:
  void rehash(size_t count);
  size_t slot_of(size_t hash) const { return hash & (slots_.size() - 1); }
  std::vector<int32_t> slots_;  // an entry's number, -1 where free
};

[[noreturn]] void missing_key(const IValue& key);

}  // namespace detail

namespace impl {

// What an iterator of a Dict points to.
template <class K, class V>
class DictEntryRef final {
 public:
  K key() const { return entry().key.template to<K>(); }
  V value() const { return entry().value.template to<V>(); }
  void setValue(const V& value) const { entry().value = IValue(value); }

 private:
  template <class A, class B>
  friend class DictIterator;
  DictEntryRef() = default;
  DictEntryRef(detail::DictImpl* dict, int64_t at) : dict_(dict), at_(at) {}
  detail::DictImpl::Entry& entry() const { return dict_->entries[static_cast<size_t>(at_)]; }
  detail::DictImpl* dict_ = nullptr;
  int64_t at_ = 0;
};

template <class K, class V>
class DictIterator final {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = DictEntryRef<K, V>;
  using difference_type = std::ptrdiff_t;
  using pointer = const value_type*;
  using reference = const value_type&;

  DictIterator() = default;
  reference operator*() const { return ref_; }
  pointer operator->() const { return &ref_; }
  DictIterator& operator++() {
    ref_.at_ = ref_.dict_->next(ref_.at_ + 1);
    return *this;
  }
  DictIterator operator++(int) {
    DictIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const DictIterator& other) const { return ref_.at_ == other.ref_.at_; }

 private:
  friend class Dict<K, V>;
  DictIterator(detail::DictImpl* dict, int64_t at) : ref_(dict, dict->next(at)) {}
  int64_t number() const { return ref_.at_; }
  value_type ref_;
};

}  // namespace impl

template <class K, class V>
class Dict final {
 public:
  using key_type = K;
  using mapped_type = V;
  using size_type = size_t;
  using iterator = impl::DictIterator<K, V>;

  Dict()
      : Dict(detail::without_schema_names(detail::TypeOf<K>::get()), detail::without_schema_names(detail::TypeOf<V>::get())) {}
  // For mixed dicts: the declared types of keys and values.
  Dict(TypePtr keyType, TypePtr valueType) : impl_(make_intrusive<detail::DictImpl>(std::move(keyType), std::move(valueType))) {}

  size_t size() const { return impl_->count; }
  bool empty() const { return impl_->count == 0; }
  iterator begin() const { return iterator(impl_.get(), 0); }
  iterator end() const { return iterator(impl_.get(), static_cast<int64_t>(impl_->entries.size())); }
  void clear() const { impl_->clear(); }
  // Leaves a value that is there as it is.
  std::pair<iterator, bool> insert(const K& key, const V& value) const { return put(key, value, false); }
  // Replaces a value that is there, which keeps its place.
  std::pair<iterator, bool> insert_or_assign(const K& key, const V& value) const { return put(key, value, true); }
  void erase(iterator at) const { impl_->erase(at.number()); }
  size_t erase(const K& key) const {
    const int64_t entry = impl_->find(IValue(key));
    if (entry < 0) return 0;
    impl_->erase(entry);
    return 1;
  }
  iterator find(const K& key) const {
    const int64_t entry = impl_->find(IValue(key));
    return entry < 0 ? end() : iterator(impl_.get(), entry);
  }
  bool contains(const K& key) const { return impl_->find(IValue(key)) >= 0; }
  size_t count(const K& key) const { return contains(key) ? 1 : 0; }
  // Throws std::out_of_range where there is no such key.
  V at(const K& key) const {
    const int64_t entry = impl_->find(IValue(key));
    if (entry < 0) detail::missing_key(IValue(key));
    return impl_->entries[static_cast<size_t>(entry)].value.template to<V>();
  }
  void reserve(size_t n) const { impl_->reserve(n); }

  // A dict of its own with the same entries.
  Dict copy() const {
    Dict result(keyType(), valueType());
    for (const auto& entry : impl_->entries) {
      if (entry.live) result.impl_->insert(entry.key, entry.value, true);
    }
    return result;
  }
  bool is(const Dict& other) const { return impl_.get() == other.impl_.get(); }
  size_t use_count() const { return impl_.use_count(); }
  TypePtr keyType() const { return impl_->keyType; }
  TypePtr valueType() const { return impl_->valueType; }
  void unsafeSetKeyType(TypePtr type) const { impl_->keyType = std::move(type); }
  void unsafeSetValueType(TypePtr type) const { impl_->valueType = std::move(type); }

  // The same entries, in any order.
  friend bool operator==(const Dict& a, const Dict& b) { return a.is(b) || IValue(a) == IValue(b); }

 private:
  template <class A, class B>
  friend class Dict;
  friend class IValue;
  explicit Dict(intrusive_ptr<detail::DictImpl> impl) : impl_(std::move(impl)) {}
  std::pair<iterator, bool> put(const K& key, const V& value, bool assign) const {
    const auto [entry, fresh] = impl_->insert(IValue(key), IValue(value), assign);
    return {iterator(impl_.get(), entry), fresh};
  }
  template <class A, class B>
  friend Dict<A, B> to_typed_dict(const Dict<IValue, IValue>& dict);
  template <class A, class B>
  friend Dict<IValue, IValue> to_generic_dict(const Dict<A, B>& dict);

  intrusive_ptr<detail::DictImpl> impl_;
};

// The same dict seen as one of mixed values, and back. The latter throws where keys or values are declared as others.
template <class K, class V>
Dict<IValue, IValue> to_generic_dict(const Dict<K, V>& dict) {
  return Dict<IValue, IValue>(dict.impl_);
}
template <class K, class V>
Dict<K, V> to_typed_dict(const Dict<IValue, IValue>& dict) {
  if constexpr (!std::is_same_v<K, IValue>) detail::check_element_type(*dict.keyType(), *detail::TypeOf<K>::get());
  if constexpr (!std::is_same_v<V, IValue>) detail::check_element_type(*dict.valueType(), *detail::TypeOf<V>::get());
  return Dict<K, V>(dict.impl_);
}
namespace impl {
template <class K, class V>
GenericDict toGenericDict(const Dict<K, V>& dict) {
  return to_generic_dict(dict);
}
template <class K, class V>
Dict<K, V> toTypedDict(const GenericDict& dict) {
  return to_typed_dict<K, V>(dict);
}
}  // namespace impl

template <class K, class V>
IValue::IValue(const Dict<K, V>& dict) : IValue(Tag::GenericDict, dict.impl_) {}

template <class M>
  requires requires { typename M::key_type; typename M::mapped_type; typename M::hasher; } ||
           requires { typename M::key_type; typename M::mapped_type; typename M::key_compare; }
IValue::IValue(const M& map) {
  Dict<typename M::key_type, typename M::mapped_type> dict;
  dict.reserve(map.size());
  for (const auto& [key, value] : map) dict.insert(key, value);
  *this = IValue(dict);
}

}  // namespace c10

#include "c10/value/ivalue_to.h"
