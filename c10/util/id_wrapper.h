// A number that is an identifier of one kind: it compares and hashes, and nothing else.
//
//   struct NodeId final : c10::IdWrapper<NodeId, uint32_t> { explicit NodeId(uint32_t id) : IdWrapper(id) {} };
//   C10_DEFINE_HASH_FOR_IDWRAPPER(NodeId);
#pragma once

#include <cstddef>
#include <functional>

namespace c10 {

template <class ConcreteType, class UnderlyingType>
class IdWrapper {
 public:
  using underlying_type = UnderlyingType;
  using concrete_type = ConcreteType;

 protected:
  constexpr explicit IdWrapper(underlying_type id) noexcept(noexcept(underlying_type(id))) : id_(id) {}
  constexpr underlying_type underlyingId() const { return id_; }

 private:
  friend size_t hash_value(const concrete_type& v) { return std::hash<underlying_type>()(v.id_); }
  friend constexpr bool operator==(const concrete_type& a, const concrete_type& b) { return a.id_ == b.id_; }
  friend constexpr bool operator!=(const concrete_type& a, const concrete_type& b) { return !(a.id_ == b.id_); }

  underlying_type id_;
};

}  // namespace c10

#define C10_DEFINE_HASH_FOR_IDWRAPPER(ClassName)                             \
  namespace std {                                                            \
  template <>                                                                \
  struct hash<ClassName> {                                                   \
    size_t operator()(const ClassName& x) const { return hash_value(x); }    \
  };                                                                         \
  }
