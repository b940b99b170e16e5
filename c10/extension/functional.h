// Lists from lists.
//
//   c10::fmap(tensors, [](const at::Tensor& t) { return t.size(0); });   // std::vector<int64_t>
//   c10::fmap<c10::IValue>(tensors);                                     // each converted
//   c10::filter(sizes, [](int64_t n) { return n > 0; });
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include "c10/util/array_ref.h"

namespace c10 {

/// What `f` gives of each element, in order.
template <class F, class T>
auto fmap(const T& inputs, const F& f) -> std::vector<std::decay_t<decltype(f(*inputs.begin()))>> {
  std::vector<std::decay_t<decltype(f(*inputs.begin()))>> results;
  results.reserve(inputs.size());
  for (const auto& input : inputs) results.push_back(f(input));
  return results;
}
template <class F, class T>
auto fmap(T& inputs, const F& f) -> std::vector<std::decay_t<decltype(f(*inputs.begin()))>> {
  std::vector<std::decay_t<decltype(f(*inputs.begin()))>> results;
  results.reserve(inputs.size());
  for (auto& input : inputs) results.push_back(f(input));
  return results;
}

/// An R made of each element.
template <class R, class T>
std::vector<R> fmap(const T& inputs) {
  std::vector<R> results;
  results.reserve(inputs.size());
  for (const auto& input : inputs) results.push_back(R(input));
  return results;
}

/// The elements of which `f` says true.
template <class F, class T>
std::vector<T> filter(ArrayRef<T> inputs, const F& f) {
  std::vector<T> results;
  for (const T& input : inputs) {
    if (f(input)) results.push_back(input);
  }
  return results;
}
template <class F, class T>
std::vector<T> filter(const std::vector<T>& inputs, const F& f) {
  return filter(ArrayRef<T>(inputs), f);
}

}  // namespace c10
