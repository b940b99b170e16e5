#pragma once

#include "c10/dispatch/operator.h"

namespace c10::detail {

// The kernels of an operator by key, beside its slots.
struct MoreKernels {
  static constexpr int kCount = static_cast<int>(DispatchKey::EndOfNames);
  const BoxedKernel* boxed[kCount] = {};
  bool has_slots = false;  // the functions of the operator's slots are here too, and count

  const BoxedKernel*& kernel(DispatchKey key) { return boxed[static_cast<int>(key)]; }
  // The functions, whatever the operator's type.
  inline ErasedFunction& function(DispatchKey key);
};

// With functions of the operator's type. Those of a layer are constants that the operator object names by a weak
// symbol, so that the layer is linked for the operators that a program calls.
template <class Function>
struct TypedKernels : MoreKernels {
  Function functions[kCount] = {};

  constexpr TypedKernels() = default;
  constexpr TypedKernels& set(DispatchKey key, Function function) {
    functions[static_cast<int>(key)] = function;
    return *this;
  }
};

inline ErasedFunction& MoreKernels::function(DispatchKey key) {
  return static_cast<TypedKernels<ErasedFunction>&>(*this).functions[static_cast<int>(key)];
}

}  // namespace c10::detail
