#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "c10/core/dispatch_key_set.h"
#include "c10/core/thread_state.h"
#include "c10/macros/macros.h"

namespace c10 {

inline constexpr int kNumBackendSlots = 3;
inline constexpr int kFirstLayer = static_cast<int>(DispatchKey::Autograd);
inline constexpr int kNumLayerSlots = static_cast<int>(DispatchKey::NumDispatchKeys) - kFirstLayer;
inline constexpr uint32_t kLayerMask = ((uint32_t{1} << kNumLayerSlots) - 1) << kFirstLayer;

// What all operators have in common, whatever their signature.
struct OperatorBase {
  const char* name;    // "add.Tensor"
  const char* family;  // "binary", the target //aten/ops/binary
  // The layers this operator ignores: those with an empty slot, but not Autograd and ForwardAD where a derivative exists.
  uint32_t passed_layers;
  // An out= form: where a gradient would be recorded, it is an error.
  bool is_out;
};

// What an operator does where a gradient is recorded or an input has a tangent: nothing of its own (it is composed of others,
// or its result has no gradient), call that layer's slot, or refuse because it writes into a given tensor.
enum class Autograd : uint8_t { kPass, kRecord, kOut };

namespace detail {

// Throws NotImplementedError that says which operator lacks an implementation for `keys` and which target to add.
[[noreturn]] C10_NOINLINE void missing_implementation(const OperatorBase& op, uint32_t keys);

// The keys of one argument: those of a tensor, an optional tensor or any sequence of them; none for everything else.
template <class T>
C10_ALWAYS_INLINE uint32_t keys_of(const T& argument) {
  if constexpr (requires { argument.unsafeGetTensorImpl(); }) {
    const auto* impl = argument.unsafeGetTensorImpl();
    return impl != nullptr ? impl->key_set().raw() : 0;
  } else if constexpr (requires { argument->unsafeGetTensorImpl(); argument.has_value(); }) {
    return argument.has_value() ? keys_of(*argument) : 0;
  } else if constexpr (requires { argument.begin()->unsafeGetTensorImpl(); } ||
                       requires { (*argument.begin())->unsafeGetTensorImpl(); }) {
    uint32_t keys = 0;
    for (const auto& element : argument) keys |= keys_of(element);
    return keys;
  } else {
    return 0;
  }
}

}  // namespace detail

// An operator: its name and one function pointer for each backend and for each layer above them. Operators are
// constant-initialised globals of their family's library, so that an operator's symbol is its own link dependency and
// nothing runs before main. Slots are read and filled (by plug-ins) with relaxed atomics.
//
// A call takes the keys of the tensor arguments and of the thread. If no layer (autograd, autocast, ...) has anything to
// do, which is one mask test, it goes to the backend's function; else to the highest layer's, which calls on below itself.
template <class Signature>
class Operator;

template <class R, class... A>
class Operator<R(A...)> : public OperatorBase {
 public:
  using Function = R (*)(A...);

  constexpr Operator(const char* op_name, const char* op_family, Autograd kind, Function cpu, Function cuda, Function meta,
                     Function autograd, Function forward = nullptr)
      : OperatorBase{op_name, op_family, kind == Autograd::kPass ? kLayerMask : kLayerMask & ~kDerivativeKeys.raw(),
                     kind == Autograd::kOut},
        backends_{cpu, cuda, meta},
        layers_{autograd, forward} {}

  C10_ALWAYS_INLINE R operator()(A... args) const {
    return call((uint32_t{0} | ... | detail::keys_of(args)), std::forward<A>(args)...);
  }

  // A call of known keys, for operators whose arguments carry none (factories).
  C10_ALWAYS_INLINE R call(uint32_t keys, A... args) const {
    const ThreadState& thread = thread_state();
    const uint32_t layers = (keys | thread.included.raw()) & ~thread.excluded.raw() & ~__atomic_load_n(&passed_layers, __ATOMIC_RELAXED) & kLayerMask;
    const Function* slot =
        C10_LIKELY(layers == 0) ? &backends_[backend_index(keys)] : &layers_[layer_index(layers)];
    Function function = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (C10_UNLIKELY(function == nullptr)) detail::missing_implementation(*this, keys | layers);
    return function(std::forward<A>(args)...);
  }

  Function get(DispatchKey key) const { return __atomic_load_n(slot(key), __ATOMIC_RELAXED); }
  // Fills a slot; for plug-ins and user-registered kernels. nullptr empties it.
  void set(DispatchKey key, Function function) {
    __atomic_store_n(const_cast<Function*>(slot(key)), function, __ATOMIC_RELAXED);
    const uint32_t bit = DispatchKeySet(key).raw() & kLayerMask;
    if (function != nullptr) {
      __atomic_fetch_and(&passed_layers, ~bit, __ATOMIC_RELAXED);
    } else {
      __atomic_fetch_or(&passed_layers, bit, __ATOMIC_RELAXED);
    }
  }

 private:
  static uint32_t backend_index(uint32_t keys) {
    constexpr uint32_t kMask = (uint32_t{1} << kNumBackendSlots) - 1;
    return 31 - __builtin_clz((keys & kMask) | 1);
  }
  static uint32_t layer_index(uint32_t layers) { return 31 - __builtin_clz(layers) - kFirstLayer; }
  const Function* slot(DispatchKey key) const {
    const int index = static_cast<int>(key);
    return index < kFirstLayer ? &backends_[index] : &layers_[index - kFirstLayer];
  }

  Function backends_[kNumBackendSlots];
  Function layers_[kNumLayerSlots];
};

}  // namespace c10
