#pragma once

#include <cstdint>
#include <initializer_list>

namespace c10 {

/// Who may handle a call, lowest first. The low keys name the backend that owns the data; the high keys are layers that wrap
/// a backend call and then call on below themselves. A tensor carries its keys as a bit mask, a thread adds or removes some.
enum class DispatchKey : uint8_t {
  // Backends. The first three have a slot in every operator, the rest in those that have a kernel for them.
  CPU = 0,
  CUDA = 1,
  Meta = 2,
  PrivateUse1 = 3,
  SparseCPU = 4,
  SparseCUDA = 5,
  SparseCsrCPU = 6,
  SparseCsrCUDA = 7,
  QuantizedCPU = 8,
  QuantizedCUDA = 9,
  NestedTensorCPU = 10,
  NestedTensorCUDA = 11,
  XPU = 12,
  MPS = 13,
  MTIA = 14,

  // Layers.
  Wrapper = 15,          // tensors that hold other tensors (distributed ones, subclasses)
  Mode = 16,             // the thread's stack of user-defined handlers
  Functionalize = 17,
  ADInplaceOrView = 18,  // a name only: views and versions are kept by the kernels themselves
  Autograd = 19,
  ForwardAD = 20,        // above Autograd, so that what it computes is recorded
  Tracer = 21,           // capture of graphs
  AutocastCPU = 22,      // the autocast keys act on calls that have an argument on their device
  AutocastCUDA = 23,
  AutocastPrivateUse1 = 24,
  FuncTorchBatched = 25,
  Profiler = 26,
  EndOfRuntimeKeys = 27,

  // Names that kernels are registered under; they stand for one of the keys above (autograd of one backend's tensors) or for
  // many (an operator composed of others). No tensor carries them.
  Undefined = 32,
  AutogradOther = 33,
  AutogradCPU = 34,
  AutogradCUDA = 35,
  AutogradMeta = 36,
  AutogradPrivateUse1 = 37,
  AutogradNestedTensor = 38,
  AutogradXPU = 39,
  AutogradMPS = 40,
  AutogradMTIA = 41,
  CompositeImplicitAutograd = 42,
  CompositeExplicitAutograd = 43,
  CompositeExplicitAutogradNonFunctional = 44,
  CompositeImplicitAutogradNestedTensor = 45,
  BackendSelect = 46,
  EndOfNames = 47,

  Python = Wrapper,
  Batched = FuncTorchBatched,
  CatchAll = CompositeImplicitAutograd,
  Autocast = AutocastCUDA,
};

/// The name of a key, e.g. "CPU".
constexpr const char* toString(DispatchKey key) {
  switch (key) {
    case DispatchKey::CPU: return "CPU";
    case DispatchKey::CUDA: return "CUDA";
    case DispatchKey::Meta: return "Meta";
    case DispatchKey::PrivateUse1: return "PrivateUse1";
    case DispatchKey::SparseCPU: return "SparseCPU";
    case DispatchKey::SparseCUDA: return "SparseCUDA";
    case DispatchKey::SparseCsrCPU: return "SparseCsrCPU";
    case DispatchKey::SparseCsrCUDA: return "SparseCsrCUDA";
    case DispatchKey::QuantizedCPU: return "QuantizedCPU";
    case DispatchKey::QuantizedCUDA: return "QuantizedCUDA";
    case DispatchKey::NestedTensorCPU: return "NestedTensorCPU";
    case DispatchKey::NestedTensorCUDA: return "NestedTensorCUDA";
    case DispatchKey::XPU: return "XPU";
    case DispatchKey::MPS: return "MPS";
    case DispatchKey::MTIA: return "MTIA";
    case DispatchKey::Wrapper: return "Wrapper";
    case DispatchKey::Mode: return "Mode";
    case DispatchKey::Functionalize: return "Functionalize";
    case DispatchKey::ADInplaceOrView: return "ADInplaceOrView";
    case DispatchKey::Autograd: return "Autograd";
    case DispatchKey::ForwardAD: return "ForwardAD";
    case DispatchKey::Tracer: return "Tracer";
    case DispatchKey::AutocastCPU: return "AutocastCPU";
    case DispatchKey::AutocastCUDA: return "AutocastCUDA";
    case DispatchKey::AutocastPrivateUse1: return "AutocastPrivateUse1";
    case DispatchKey::FuncTorchBatched: return "FuncTorchBatched";
    case DispatchKey::Profiler: return "Profiler";
    case DispatchKey::AutogradOther: return "AutogradOther";
    case DispatchKey::AutogradCPU: return "AutogradCPU";
    case DispatchKey::AutogradCUDA: return "AutogradCUDA";
    case DispatchKey::AutogradMeta: return "AutogradMeta";
    case DispatchKey::AutogradPrivateUse1: return "AutogradPrivateUse1";
    case DispatchKey::AutogradNestedTensor: return "AutogradNestedTensor";
    case DispatchKey::AutogradXPU: return "AutogradXPU";
    case DispatchKey::AutogradMPS: return "AutogradMPS";
    case DispatchKey::AutogradMTIA: return "AutogradMTIA";
    case DispatchKey::CompositeImplicitAutograd: return "CompositeImplicitAutograd";
    case DispatchKey::CompositeExplicitAutograd: return "CompositeExplicitAutograd";
    case DispatchKey::CompositeExplicitAutogradNonFunctional: return "CompositeExplicitAutogradNonFunctional";
    case DispatchKey::CompositeImplicitAutogradNestedTensor: return "CompositeImplicitAutogradNestedTensor";
    case DispatchKey::BackendSelect: return "BackendSelect";
    default: return "Undefined";
  }
}

/// A set of dispatch keys: one word, all operations constexpr. A key that is a name only adds nothing; those of autograd add
/// Autograd.
class DispatchKeySet {
 public:
  enum Full { FULL };
  enum FullAfter { FULL_AFTER };
  enum Raw { RAW };

  constexpr DispatchKeySet() = default;
  constexpr DispatchKeySet(DispatchKey key) : bits_(bit_of(key)) {}
  constexpr DispatchKeySet(std::initializer_list<DispatchKey> keys) {
    for (DispatchKey key : keys) bits_ |= bit_of(key);
  }
  /// All keys.
  constexpr explicit DispatchKeySet(Full) : bits_(all_bits()) {}
  /// All keys below `key`: with & what is left of a call's keys once `key` has handled it.
  constexpr DispatchKeySet(FullAfter, DispatchKey key) : bits_(bit_of(key) - 1) {}
  constexpr DispatchKeySet(Raw, uint64_t bits) : bits_(static_cast<uint32_t>(bits)) {}
  static constexpr DispatchKeySet from_raw(uint32_t bits) { return DispatchKeySet(RAW, bits); }

  constexpr uint32_t raw() const { return bits_; }
  constexpr uint64_t raw_repr() const { return bits_; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool has(DispatchKey key) const { return (bits_ & bit_of(key)) != 0; }
  constexpr bool has_any(DispatchKeySet other) const { return (bits_ & other.bits_) != 0; }
  constexpr bool has_all(DispatchKeySet other) const { return (bits_ & other.bits_) == other.bits_; }
  constexpr bool isSupersetOf(DispatchKeySet other) const { return has_all(other); }
  constexpr DispatchKeySet add(DispatchKey key) const { return *this | DispatchKeySet(key); }
  constexpr DispatchKeySet remove(DispatchKey key) const { return *this - DispatchKeySet(key); }

  friend constexpr DispatchKeySet operator|(DispatchKeySet a, DispatchKeySet b) { return from_raw(a.bits_ | b.bits_); }
  friend constexpr DispatchKeySet operator&(DispatchKeySet a, DispatchKeySet b) { return from_raw(a.bits_ & b.bits_); }
  friend constexpr DispatchKeySet operator-(DispatchKeySet a, DispatchKeySet b) { return from_raw(a.bits_ & ~b.bits_); }
  friend constexpr DispatchKeySet operator^(DispatchKeySet a, DispatchKeySet b) { return from_raw(a.bits_ ^ b.bits_); }
  friend constexpr bool operator==(DispatchKeySet a, DispatchKeySet b) { return a.bits_ == b.bits_; }
  DispatchKeySet& operator|=(DispatchKeySet other) {
    bits_ |= other.bits_;
    return *this;
  }

  /// The highest key, which is the one to handle a call next. Precondition: not empty.
  constexpr DispatchKey highest() const { return static_cast<DispatchKey>(31 - __builtin_clz(bits_)); }
  /// The same; Undefined for the empty set.
  constexpr DispatchKey highestPriorityTypeId() const { return bits_ == 0 ? DispatchKey::Undefined : highest(); }

  /// Goes through the keys of the set from the lowest on.
  class iterator {
   public:
    constexpr explicit iterator(uint32_t bits) : bits_(bits) {}
    constexpr DispatchKey operator*() const { return static_cast<DispatchKey>(__builtin_ctz(bits_)); }
    constexpr iterator& operator++() {
      bits_ &= bits_ - 1;
      return *this;
    }
    friend constexpr bool operator==(iterator a, iterator b) { return a.bits_ == b.bits_; }

   private:
    uint32_t bits_;
  };
  constexpr iterator begin() const { return iterator(bits_); }
  constexpr iterator end() const { return iterator(0); }

 private:
  static constexpr uint32_t all_bits() { return (uint32_t{1} << static_cast<int>(DispatchKey::EndOfRuntimeKeys)) - 1; }
  static constexpr uint32_t bit_of(DispatchKey key) {
    if (key < DispatchKey::EndOfRuntimeKeys) return uint32_t{1} << static_cast<uint8_t>(key);
    const bool autograd = key >= DispatchKey::AutogradOther && key <= DispatchKey::AutogradMTIA;
    return autograd ? uint32_t{1} << static_cast<uint8_t>(DispatchKey::Autograd) : 0;
  }

  uint32_t bits_ = 0;
};

inline constexpr DispatchKeySet kBackendKeys = DispatchKeySet(DispatchKeySet::FULL_AFTER, DispatchKey::Wrapper);
inline constexpr DispatchKeySet kAutogradKey = DispatchKeySet(DispatchKey::Autograd);
inline constexpr DispatchKeySet kForwardKey = DispatchKeySet(DispatchKey::ForwardAD);
// What a view takes part in where its base does.
inline constexpr DispatchKeySet kDerivativeKeys = kAutogradKey | kForwardKey;
inline constexpr DispatchKeySet kAutocastKeys{DispatchKey::AutocastCPU, DispatchKey::AutocastCUDA,
                                              DispatchKey::AutocastPrivateUse1};

// libtorch's names.
inline constexpr DispatchKeySet autograd_dispatch_keyset = kDerivativeKeys;
inline constexpr DispatchKeySet autocast_dispatch_keyset = kAutocastKeys;
inline constexpr DispatchKeySet after_autograd_keyset{DispatchKeySet::FULL_AFTER, DispatchKey::Autograd};
inline constexpr DispatchKeySet after_ADInplaceOrView_keyset{DispatchKeySet::FULL_AFTER, DispatchKey::ADInplaceOrView};
inline constexpr DispatchKeySet after_func_keyset{DispatchKeySet::FULL_AFTER, DispatchKey::Functionalize};
inline constexpr DispatchKeySet autograd_dispatch_keyset_with_ADInplaceOrView =
    kDerivativeKeys | DispatchKeySet(DispatchKey::ADInplaceOrView);
inline constexpr DispatchKeySet python_ks{DispatchKey::Wrapper, DispatchKey::Mode};
inline constexpr DispatchKeySet sparse_ks{DispatchKey::SparseCPU, DispatchKey::SparseCUDA};
inline constexpr DispatchKeySet sparse_csr_ks{DispatchKey::SparseCsrCPU, DispatchKey::SparseCsrCUDA};
inline constexpr DispatchKeySet nested_ks{DispatchKey::NestedTensorCPU, DispatchKey::NestedTensorCUDA};
inline constexpr DispatchKeySet quantized_ks{DispatchKey::QuantizedCPU, DispatchKey::QuantizedCUDA};

/// The autograd name of a backend's key, e.g. AutogradCPU; AutogradOther for those that have none of their own.
constexpr DispatchKey autograd_key_of(DispatchKey backend) {
  switch (backend) {
    case DispatchKey::CPU: return DispatchKey::AutogradCPU;
    case DispatchKey::CUDA: return DispatchKey::AutogradCUDA;
    case DispatchKey::Meta: return DispatchKey::AutogradMeta;
    case DispatchKey::PrivateUse1: return DispatchKey::AutogradPrivateUse1;
    case DispatchKey::NestedTensorCPU:
    case DispatchKey::NestedTensorCUDA: return DispatchKey::AutogradNestedTensor;
    case DispatchKey::XPU: return DispatchKey::AutogradXPU;
    case DispatchKey::MPS: return DispatchKey::AutogradMPS;
    case DispatchKey::MTIA: return DispatchKey::AutogradMTIA;
    default: return DispatchKey::AutogradOther;
  }
}

}  // namespace c10
