// What is done with each of several arguments.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "c10/util/array_ref.h"

namespace at {

/// Calls (*this)(x) of the derived class for each argument, and for each element of an ArrayRef, until short_circuit()
/// says so.
///
///   struct CountTensors : at::IterArgs<CountTensors> {
///     int n = 0;
///     void operator()(const at::Tensor&) { ++n; }
///     template <class T> void operator()(const T&) {}
///   };
///   CountTensors().apply(x, 2, y).n;       // 2
template <class F>
struct IterArgs {
  F& apply() { return self(); }
  template <class T, class... Args>
  F& apply(T&& arg, Args&&... args) {
    self()(std::forward<T>(arg));
    return self().short_circuit() ? self() : apply(std::forward<Args>(args)...);
  }
  template <class T>
  void operator()(c10::ArrayRef<T> values) {
    for (const T& value : values) {
      self()(value);
      if (self().short_circuit()) return;
    }
  }
  bool short_circuit() const { return false; }

 private:
  F& self() { return static_cast<F&>(*this); }
};

}  // namespace at

namespace torch {
using at::IterArgs;
using std::decay_t;
using std::enable_if_t;
using std::make_unique;

/// f(x) for each argument.
template <class Function, class... Ts>
void apply(Function function, Ts&&... ts) {
  (function(std::forward<Ts>(ts)), ...);
}

template <bool... values>
struct all_of : std::bool_constant<(values && ...)> {};
template <bool... values>
struct any_of : std::bool_constant<(values || ...)> {};
template <bool condition, class T = void>
using disable_if_t = std::enable_if_t<!condition, T>;

/// Indices at compile time, as std::index_sequence.
template <size_t... is>
struct Indices {};
template <size_t i, size_t... is>
struct MakeIndices : MakeIndices<i - 1, i - 1, is...> {};
template <size_t... is>
struct MakeIndices<0, is...> {
  using indices = Indices<is...>;
};

}  // namespace torch
