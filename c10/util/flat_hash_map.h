// libtorch's names for hash tables: the standard ones. Addresses of elements stay where they are, which is more than is
// promised there.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace ska {

template <class K, class V, class H = std::hash<K>, class E = std::equal_to<K>,
          class A = std::allocator<std::pair<const K, V>>>
class flat_hash_map : public std::unordered_map<K, V, H, E, A> {
 public:
  using std::unordered_map<K, V, H, E, A>::unordered_map;
};
template <class T, class H = std::hash<T>, class E = std::equal_to<T>, class A = std::allocator<T>>
using flat_hash_set = std::unordered_set<T, H, E, A>;

}  // namespace ska
