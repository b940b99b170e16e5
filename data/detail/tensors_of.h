#pragma once

#include <array>
#include <concepts>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/value/ivalue_class.h"
#include "data/example.h"

namespace torch::data::detail {

/// What takes a tensor's place.
using TensorFunction = std::function<at::Tensor(const at::Tensor&)>;

/// The tensors in a value, at any depth, in a value of the same form.
c10::IValue replaced(const c10::IValue& value, const TensorFunction& function);

// Replaces the tensors of a batch. A class of its own is asked by `other`, which is given what no rule is for.
template <typename T, typename Other>
void replace_tensors(T& value, const TensorFunction& function, const Other& other) {
  if constexpr (std::is_same_v<T, at::Tensor>) {
    if (value.defined()) value = function(value);
  } else if constexpr (std::is_same_v<T, c10::IValue>) {
    value = replaced(value, function);
  } else {
    other(value);
  }
}
template <typename D, typename T, typename Other>
void replace_tensors(Example<D, T>& example, const TensorFunction& function, const Other& other);
template <typename D, typename Other>
void replace_tensors(Example<D, example::NoTarget>& example, const TensorFunction& function, const Other& other);
template <typename T, typename Other>
void replace_tensors(std::vector<T>& values, const TensorFunction& function, const Other& other);
template <typename T, size_t N, typename Other>
void replace_tensors(std::array<T, N>& values, const TensorFunction& function, const Other& other);
template <typename T, typename Other>
void replace_tensors(std::optional<T>& value, const TensorFunction& function, const Other& other);
template <typename A, typename B, typename Other>
void replace_tensors(std::pair<A, B>& values, const TensorFunction& function, const Other& other);
template <typename... Ts, typename Other>
void replace_tensors(std::tuple<Ts...>& values, const TensorFunction& function, const Other& other);
template <typename K, typename V, typename Other>
void replace_tensors(std::map<K, V>& values, const TensorFunction& function, const Other& other);
template <typename K, typename V, typename Other>
void replace_tensors(std::unordered_map<K, V>& values, const TensorFunction& function, const Other& other);

template <typename D, typename T, typename Other>
void replace_tensors(Example<D, T>& example, const TensorFunction& function, const Other& other) {
  replace_tensors(example.data, function, other);
  replace_tensors(example.target, function, other);
}
template <typename D, typename Other>
void replace_tensors(Example<D, example::NoTarget>& example, const TensorFunction& function, const Other& other) {
  replace_tensors(example.data, function, other);
}
template <typename T, typename Other>
void replace_tensors(std::vector<T>& values, const TensorFunction& function, const Other& other) {
  if constexpr (!std::is_same_v<T, bool>) {
    for (T& value : values) replace_tensors(value, function, other);
  }
}
template <typename T, size_t N, typename Other>
void replace_tensors(std::array<T, N>& values, const TensorFunction& function, const Other& other) {
  for (T& value : values) replace_tensors(value, function, other);
}
template <typename T, typename Other>
void replace_tensors(std::optional<T>& value, const TensorFunction& function, const Other& other) {
  if (value) replace_tensors(*value, function, other);
}
template <typename A, typename B, typename Other>
void replace_tensors(std::pair<A, B>& values, const TensorFunction& function, const Other& other) {
  replace_tensors(values.first, function, other);
  replace_tensors(values.second, function, other);
}
template <typename... Ts, typename Other>
void replace_tensors(std::tuple<Ts...>& values, const TensorFunction& function, const Other& other) {
  std::apply([&](Ts&... each) { (replace_tensors(each, function, other), ...); }, values);
}
template <typename K, typename V, typename Other>
void replace_tensors(std::map<K, V>& values, const TensorFunction& function, const Other& other) {
  for (auto& [key, value] : values) replace_tensors(value, function, other);
}
template <typename K, typename V, typename Other>
void replace_tensors(std::unordered_map<K, V>& values, const TensorFunction& function, const Other& other) {
  for (auto& [key, value] : values) replace_tensors(value, function, other);
}

/// What puts tensors into memory that devices of the type `device` names read by themselves ("": the accelerator);
/// where there are none, tensors stay as they are.
TensorFunction pinning(const std::string& device);

/// Pins the tensors of a batch; a class of its own is asked for its pin_memory().
template <typename T>
void pin(T& batch, const TensorFunction& pinning) {
  replace_tensors(batch, pinning, []<typename Own>(Own& value) {
    if constexpr (requires {
                    { value.pin_memory() } -> std::convertible_to<Own>;
                  })
      value = value.pin_memory();
  });
}

}  // namespace torch::data::detail
