// Functions of C++ as functions of the stack.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/value/ivalue.h"
#include "c10/value/list.h"
#include "c10/value/stack.h"

namespace torch::onnx {

using Ints = std::vector<int64_t>;
using at::Tensor;
using MaybeTensor = std::optional<at::Tensor>;

namespace detail {

template <class T>
T argument(const c10::IValue& v) {
  if constexpr (std::is_same_v<T, c10::Scalar>) {
    return v.toScalar();
  } else if constexpr (std::is_same_v<T, std::optional<c10::Scalar>>) {
    return v.isNone() ? T() : T(v.toScalar());
  } else if constexpr (std::is_same_v<T, c10::ScalarType>) {
    return static_cast<c10::ScalarType>(v.toInt());
  } else {
    return v.to<T>();
  }
}

template <class R, class... A, size_t... I>
void call(R (*f)(A...), c10::Stack& stack, std::index_sequence<I...>) {
  R result = f(argument<std::decay_t<A>>(stack[I])...);
  stack.clear();
  if constexpr (requires { std::tuple_size<R>::value; }) {
    std::apply([&](auto&... parts) { (stack.emplace_back(std::move(parts)), ...); }, result);
  } else {
    stack.emplace_back(std::move(result));
  }
}
template <class R, class... A>
void call(R (*f)(A...), c10::Stack& stack) {
  call(f, stack, std::index_sequence_for<A...>());
}

}  // namespace detail

/// Of `F`, the function that replaces its arguments on the stack by its result, or by each of a tuple's.
template <auto F>
void boxed(c10::Stack& stack) {
  detail::call(F, stack);
}

}  // namespace torch::onnx
