// A hash table whose elements are passed in the order in which they came.
#pragma once

#include <functional>
#include <list>
#include <unordered_map>
#include <utility>

#include "c10/util/exception.h"

namespace ska_ordered {

/// The interface of std::unordered_map, as far as programs use it here.
template <class K, class V, class Hash = std::hash<K>, class Equal = std::equal_to<K>>
class order_preserving_flat_hash_map {
 public:
  using key_type = K;
  using mapped_type = V;
  using value_type = std::pair<const K, V>;
  using iterator = typename std::list<value_type>::iterator;
  using const_iterator = typename std::list<value_type>::const_iterator;

  order_preserving_flat_hash_map() = default;
  order_preserving_flat_hash_map(const order_preserving_flat_hash_map& other) {
    for (const value_type& entry : other) insert(entry);
  }
  order_preserving_flat_hash_map(order_preserving_flat_hash_map&& other) noexcept { swap(other); }
  order_preserving_flat_hash_map& operator=(order_preserving_flat_hash_map other) noexcept {
    swap(other);
    return *this;
  }

  iterator begin() { return entries_.begin(); }
  iterator end() { return entries_.end(); }
  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

  iterator find(const K& key) {
    const auto found = places_.find(key);
    return found == places_.end() ? end() : found->second;
  }
  const_iterator find(const K& key) const {
    const auto found = places_.find(key);
    return found == places_.end() ? end() : const_iterator(found->second);
  }
  size_t count(const K& key) const { return places_.count(key); }
  bool contains(const K& key) const { return places_.count(key) > 0; }

  std::pair<iterator, bool> insert(value_type entry) {
    const iterator found = find(entry.first);
    if (found != end()) return {found, false};
    entries_.push_back(std::move(entry));
    places_.emplace(entries_.back().first, std::prev(entries_.end()));
    return {std::prev(entries_.end()), true};
  }
  template <class... Args>
  std::pair<iterator, bool> emplace(Args&&... args) {
    return insert(value_type(std::forward<Args>(args)...));
  }
  template <class M>
  std::pair<iterator, bool> insert_or_assign(const K& key, M&& value) {
    const auto result = emplace(key, value);
    if (!result.second) result.first->second = std::forward<M>(value);
    return result;
  }
  V& operator[](const K& key) { return emplace(key, V()).first->second; }
  /// Throws c10::IndexError for a key that there is not.
  V& at(const K& key) {
    const iterator found = find(key);
    TORCH_CHECK_INDEX(found != end(), "Argument passed to at() was not in the map.");
    return found->second;
  }
  const V& at(const K& key) const { return const_cast<order_preserving_flat_hash_map*>(this)->at(key); }
  iterator erase(const_iterator place) {
    places_.erase(place->first);
    return entries_.erase(place);
  }
  size_t erase(const K& key) {
    const iterator found = find(key);
    if (found == end()) return 0;
    erase(const_iterator(found));
    return 1;
  }
  void clear() {
    places_.clear();
    entries_.clear();
  }
  void swap(order_preserving_flat_hash_map& other) noexcept {
    entries_.swap(other.entries_);
    places_.swap(other.places_);
  }

 private:
  std::list<value_type> entries_;
  std::unordered_map<K, iterator, Hash, Equal> places_;
};

}  // namespace ska_ordered
