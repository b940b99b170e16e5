#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "data/example.h"

namespace torch::data::detail {

/// In pinned memory; unchanged where there is no accelerator or the tensor is not on the CPU.
at::Tensor pinned(const at::Tensor& tensor);

// Replaces the tensors of a batch; what it has no rule for it leaves.
template <typename T>
void pin(T& value) {
  if constexpr (std::is_same_v<T, at::Tensor>) {
    value = pinned(value);
  } else if constexpr (requires { { value.pin_memory() } -> std::convertible_to<T>; }) {
    value = value.pin_memory();
  }
}
template <typename D, typename T>
void pin(Example<D, T>& example);
template <typename D>
void pin(Example<D, example::NoTarget>& example);
template <typename T>
void pin(std::vector<T>& values);
template <typename T>
void pin(std::optional<T>& value);
template <typename A, typename B>
void pin(std::pair<A, B>& values);
template <typename... Ts>
void pin(std::tuple<Ts...>& values);
template <typename K, typename V>
void pin(std::map<K, V>& values);

template <typename D, typename T>
void pin(Example<D, T>& example) {
  pin(example.data);
  pin(example.target);
}
template <typename D>
void pin(Example<D, example::NoTarget>& example) {
  pin(example.data);
}
template <typename T>
void pin(std::vector<T>& values) {
  if constexpr (!std::is_same_v<T, bool>) {
    for (T& value : values) pin(value);
  }
}
template <typename T>
void pin(std::optional<T>& value) {
  if (value) pin(*value);
}
template <typename A, typename B>
void pin(std::pair<A, B>& values) {
  pin(values.first);
  pin(values.second);
}
template <typename... Ts>
void pin(std::tuple<Ts...>& values) {
  std::apply([](Ts&... each) { (pin(each), ...); }, values);
}
template <typename K, typename V>
void pin(std::map<K, V>& values) {
  for (auto& [key, value] : values) pin(value);
}

}  // namespace torch::data::detail
