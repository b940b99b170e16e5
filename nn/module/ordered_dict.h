// OrderedDict<Key, Value>: a map that keeps the order of insertion. Look-up by key is hashed, by position direct.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "c10/util/exception.h"

namespace torch {

template <typename Key, typename Value>
class OrderedDict {
 public:
  class Item {
   public:
    Item(Key key, Value value) : pair_(std::move(key), std::move(value)) {}

    Value& operator*() { return value(); }
    const Value& operator*() const { return value(); }
    Value* operator->() { return &value(); }
    const Value* operator->() const { return &value(); }
    const Key& key() const noexcept { return pair_.first; }
    Value& value() noexcept { return pair_.second; }
    const Value& value() const noexcept { return pair_.second; }
    const std::pair<Key, Value>& pair() const noexcept { return pair_; }

   private:
    std::pair<Key, Value> pair_;
  };

  using Iterator = typename std::vector<Item>::iterator;
  using ConstIterator = typename std::vector<Item>::const_iterator;

  // `key_description` names the keys in error messages ("Parameter 'w' already defined").
  explicit OrderedDict(std::string key_description = "Key") : key_description_(std::move(key_description)) {}
  OrderedDict(std::initializer_list<Item> items) : key_description_("Key") {
    reserve(items.size());
    for (const Item& item : items) insert(item.key(), item.value());
  }
  OrderedDict(const OrderedDict&) = default;
  OrderedDict& operator=(const OrderedDict&) = default;
  // The source keeps no keys.
  OrderedDict(OrderedDict&& other) noexcept
      : index_(std::move(other.index_)), items_(std::move(other.items_)), key_description_(other.key_description_) {
    other.clear();
  }
  OrderedDict& operator=(OrderedDict&& other) noexcept {
    if (this != &other) {
      index_ = std::move(other.index_);
      items_ = std::move(other.items_);
      key_description_ = other.key_description_;
      other.clear();
    }
    return *this;
  }

  const std::string& key_description() const noexcept { return key_description_; }

  Item& front() {
    TORCH_CHECK(!items_.empty(), "Called front() on an empty OrderedDict");
    return items_.front();
  }
  const Item& front() const { return const_cast<OrderedDict*>(this)->front(); }
  Item& back() {
    TORCH_CHECK(!items_.empty(), "Called back() on an empty OrderedDict");
    return items_.back();
  }
  const Item& back() const { return const_cast<OrderedDict*>(this)->back(); }
  Item& operator[](size_t index) {
    TORCH_CHECK(index < items_.size(), "Index ", index, " is out of bounds");
    return items_[index];
  }
  const Item& operator[](size_t index) const { return const_cast<OrderedDict&>(*this)[index]; }
  Value& operator[](const Key& key) {
    if (Value* value = find(key)) return *value;
    TORCH_CHECK(false, key_description_, " '", key, "' is not defined");
  }
  const Value& operator[](const Key& key) const { return const_cast<OrderedDict&>(*this)[key]; }

  // Null where the key is absent.
  Value* find(const Key& key) noexcept {
    const auto found = index_.find(key);
    return found == index_.end() ? nullptr : &items_[found->second].value();
  }
  const Value* find(const Key& key) const noexcept { return const_cast<OrderedDict*>(this)->find(key); }
  bool contains(const Key& key) const noexcept { return find(key) != nullptr; }

  Iterator begin() { return items_.begin(); }
  Iterator end() { return items_.end(); }
  ConstIterator begin() const { return items_.begin(); }
  ConstIterator end() const { return items_.end(); }
  size_t size() const noexcept { return items_.size(); }
  bool is_empty() const noexcept { return items_.empty(); }
  void reserve(size_t n) {
    index_.reserve(n);
    items_.reserve(n);
  }

  // Throws where the key is present.
  template <typename K, typename V>
  Value& insert(K&& key, V&& value) {
    TORCH_CHECK(!contains(key), key_description_, " '", key, "' already defined");
    // A copy of the key first: it may be part of what moves.
    Key own(std::forward<K>(key));
    items_.emplace_back(own, std::forward<V>(value));
    index_.emplace(std::move(own), items_.size() - 1);
    return items_.back().value();
  }
  Value& insert(Key key, Value&& value) { return insert<Key, Value>(std::move(key), std::move(value)); }
  // Appends all items of `other`; throws at the first key that is present, then with nothing appended.
  void update(const OrderedDict& other) {
    for (const Item& item : other)
      TORCH_CHECK(!contains(item.key()), key_description_, " '", item.key(), "' already defined");
    reserve(size() + other.size());
    for (const Item& item : other) insert(item.key(), item.value());
  }
  void update(OrderedDict&& other) {
    update(static_cast<const OrderedDict&>(other));
    other.clear();
  }
  void erase(const Key& key) {
    const auto found = index_.find(key);
    TORCH_CHECK(found != index_.end(), key_description_, " '", key, "' doesn't exist");
    const size_t position = found->second;
    index_.erase(found);
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(position));
    for (auto& entry : index_) {
      if (entry.second > position) --entry.second;
    }
  }
  void clear() noexcept {
    index_.clear();
    items_.clear();
  }

  const std::vector<Item>& items() const noexcept { return items_; }
  std::vector<Key> keys() const {
    std::vector<Key> out;
    out.reserve(size());
    for (const Item& item : items_) out.push_back(item.key());
    return out;
  }
  std::vector<Value> values() const {
    std::vector<Value> out;
    out.reserve(size());
    for (const Item& item : items_) out.push_back(item.value());
    return out;
  }
  std::vector<std::pair<Key, Value>> pairs() const {
    std::vector<std::pair<Key, Value>> out;
    out.reserve(size());
    for (const Item& item : items_) out.push_back(item.pair());
    return out;
  }

  template <typename K, typename V>
  friend bool operator==(const OrderedDict<K, V>& a, const OrderedDict<K, V>& b);

 private:
  std::unordered_map<Key, size_t> index_;
  std::vector<Item> items_;
  std::string key_description_;
};

template <typename K, typename V>
bool operator==(const OrderedDict<K, V>& a, const OrderedDict<K, V>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a.items_[i].key() != b.items_[i].key() || !(a.items_[i].value() == b.items_[i].value())) return false;
  }
  return true;
}

}  // namespace torch
