#pragma once

#include <cstdint>

namespace c10 {

// Who may handle a call, lowest first. The low keys name the backend that owns the data; the high keys are layers that wrap
// a backend call and then call on below themselves. A tensor carries its keys as a bit mask, a thread adds or removes some.
enum class DispatchKey : uint8_t {
  CPU = 0,
  CUDA = 1,
  Meta = 2,
  // 3..7: further backends
  Autograd = 8,
  ForwardAD = 9,  // above Autograd, so that what it computes is recorded
  Autocast = 10,
  Functorch = 11,
  Profiler = 12,
  NumDispatchKeys = 13,
};

// The documented name of a key, e.g. "CPU".
constexpr const char* toString(DispatchKey key) {
  switch (key) {
    case DispatchKey::CPU: return "CPU";
    case DispatchKey::CUDA: return "CUDA";
    case DispatchKey::Meta: return "Meta";
    case DispatchKey::Autograd: return "Autograd";
    case DispatchKey::ForwardAD: return "ForwardAD";
    case DispatchKey::Autocast: return "Autocast";
    case DispatchKey::Functorch: return "Functorch";
    case DispatchKey::Profiler: return "Profiler";
    default: return "Undefined";
  }
}

// A set of dispatch keys: one word, all operations constexpr.
class DispatchKeySet {
 public:
  constexpr DispatchKeySet() = default;
  constexpr DispatchKeySet(DispatchKey key) : bits_(uint32_t{1} << static_cast<uint8_t>(key)) {}
  static constexpr DispatchKeySet from_raw(uint32_t bits) {
    DispatchKeySet set;
    set.bits_ = bits;
    return set;
  }

  constexpr uint32_t raw() const { return bits_; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool has(DispatchKey key) const { return (bits_ & DispatchKeySet(key).bits_) != 0; }
  constexpr bool has_any(DispatchKeySet other) const { return (bits_ & other.bits_) != 0; }
  constexpr DispatchKeySet add(DispatchKey key) const { return *this | DispatchKeySet(key); }
  constexpr DispatchKeySet remove(DispatchKey key) const { return *this - DispatchKeySet(key); }

  friend constexpr DispatchKeySet operator|(DispatchKeySet a, DispatchKeySet b) { return from_raw(a.bits_ | b.bits_); }
  friend constexpr DispatchKeySet operator&(DispatchKeySet a, DispatchKeySet b) { return from_raw(a.bits_ & b.bits_); }
  friend constexpr DispatchKeySet operator-(DispatchKeySet a, DispatchKeySet b) { return from_raw(a.bits_ & ~b.bits_); }
  friend constexpr bool operator==(DispatchKeySet a, DispatchKeySet b) { return a.bits_ == b.bits_; }
  DispatchKeySet& operator|=(DispatchKeySet other) {
    bits_ |= other.bits_;
    return *this;
  }

  // The highest key, which is the one to handle a call next. Precondition: not empty.
  constexpr DispatchKey highest() const { return static_cast<DispatchKey>(31 - __builtin_clz(bits_)); }

 private:
  uint32_t bits_ = 0;
};

inline constexpr DispatchKeySet kBackendKeys = DispatchKeySet::from_raw(0xff);
inline constexpr DispatchKeySet kAutogradKey = DispatchKeySet(DispatchKey::Autograd);
inline constexpr DispatchKeySet kForwardKey = DispatchKeySet(DispatchKey::ForwardAD);
// What a view takes part in where its base does.
inline constexpr DispatchKeySet kDerivativeKeys = kAutogradKey | kForwardKey;

}  // namespace c10
