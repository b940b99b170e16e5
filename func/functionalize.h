// Callables without writes to tensors.
//
//   auto f = [](const at::Tensor& x) { at::Tensor y = x + 1; y.view({-1}).add_(1); return y; };
//   at::Tensor y = torch::func::functionalize(f)(x);      // calls add and view, and add where f calls add_
#pragma once

#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "func/transforms.h"

namespace torch::func {
namespace detail {

/// Calls `function` with tensors in place of `inputs`, which it may write to, and does what it did without writes; returns its
/// results. What it wrote to its inputs is copied to `inputs` at the end.
TensorList functionalized(const std::function<TensorList(const TensorList& inputs)>& function, const TensorList& inputs,
                          bool without_views);
/// "mutations" is false, "mutations_and_views" true; throws Error for any other.
bool removes_views(const std::string& remove);

}  // namespace detail

/// The same function by operators that give new tensors in the place of those that write: for what stands below
/// functions and does not know writes, such as compilers and backends. With `remove` = "mutations_and_views" there are no views
/// either: each is a copy. Writes to arguments are done at the end, by one copy each.
///
/// The function is called once on copies to see what it does (as graph::capture() sees it: what it decides by numbers, and what it
/// writes to other things than tensors, is that call's), random numbers are drawn once, and gradients are recorded of the
/// operators that are called in place of its own. Arguments and results hold tensors, and arguments also what the function does not
/// change. Throws what graph::capture() and graph::functionalize() throw: ValueError for writes to tensors that the function
/// holds, and for calls that change a tensor's sizes.
template <typename F>
auto functionalize(F f, const std::string& remove = "mutations") {
  return [f = detail::Held<F>{std::move(f)}, without_views = detail::removes_views(remove)](const auto&... args) {
    auto given = std::make_tuple(args...);
    detail::TensorList inputs;
    for (const at::Tensor* t : tensors_in(given)) inputs.push_back(*t);
    std::optional<std::decay_t<decltype(std::apply(f.function, given))>> result;
    const auto function = [&](const detail::TensorList& tensors) {
      auto replaced = detail::with_tensors(given, tensors);
      result.emplace(std::apply(f.function, replaced));
      return detail::results_of(*result, "functionalize");
    };
    const detail::TensorList outputs = detail::functionalized(function, inputs, without_views);
    return detail::with_tensors(std::move(*result), outputs);
  };
}

}  // namespace torch::func
