// The arguments and results of boxed calls, last on top.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include "c10/value/ivalue.h"

namespace torch::jit {

using c10::IValue;
using c10::Stack;

// The i-th of the last N values.
inline IValue& peek(Stack& stack, size_t i, size_t N) { return *(stack.end() - static_cast<std::ptrdiff_t>(N) + static_cast<std::ptrdiff_t>(i)); }
inline IValue& peek(Stack* stack, size_t i, size_t N) { return peek(*stack, i, N); }
inline const IValue& peek(const Stack& stack, size_t i, size_t N) {
  return *(stack.end() - static_cast<std::ptrdiff_t>(N) + static_cast<std::ptrdiff_t>(i));
}
inline c10::ArrayRef<IValue> last(const Stack& stack, size_t N) { return c10::ArrayRef<IValue>(stack).slice(stack.size() - N, N); }
inline void drop(Stack& stack, size_t n) { stack.erase(stack.end() - static_cast<std::ptrdiff_t>(n), stack.end()); }
inline void drop(Stack* stack, size_t n) { drop(*stack, n); }
inline IValue pop(Stack& stack) {
  IValue value = std::move(stack.back());
  stack.pop_back();
  return value;
}
inline IValue pop(Stack* stack) { return pop(*stack); }
inline std::vector<IValue> pop(Stack& stack, size_t n) {
  std::vector<IValue> values(std::make_move_iterator(stack.end() - static_cast<std::ptrdiff_t>(n)), std::make_move_iterator(stack.end()));
  drop(stack, n);
  return values;
}
// The last values, the topmost into the last argument.
template <class... T>
void pop(Stack& stack, T&... values) {
  size_t i = 0;
  ((values = peek(stack, i++, sizeof...(values)).template to<T>()), ...);
  drop(stack, sizeof...(values));
}
template <class... T>
void push(Stack& stack, T&&... values) {
  (stack.emplace_back(std::forward<T>(values)), ...);
}
template <class... T>
void push(Stack* stack, T&&... values) {
  push(*stack, std::forward<T>(values)...);
}
template <class T>
void push_one(Stack& stack, T&& value) {
  stack.emplace_back(std::forward<T>(value));
}
template <class T>
void pack(Stack& stack, T&& value) {
  stack.emplace_back(std::forward<T>(value));
}

}  // namespace torch::jit
