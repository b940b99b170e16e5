// Functions of plain tensors, applied to the ranks' parts of distributed ones.
#pragma once

#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "distributed/tensor/dtensor.h"

namespace torch::distributed::tensor::experimental {

/// Placements for each argument, or result, one after the other, those in vectors, tuples and pairs each for itself;
/// nullopt for what is no tensor.
using PlacementList = std::vector<std::optional<std::vector<Placement>>>;

/// How local_map() takes arguments.
struct LocalMapOptions {
  /// Which the arguments must have; any, without it.
  std::optional<PlacementList> in_placements = std::nullopt;
  /// Which the gradients that `fn` gives its arguments have; those of the arguments, without it.
  std::optional<PlacementList> in_grad_placements = std::nullopt;
  /// On which the arguments must lie; that of the first one, without it.
  std::optional<DeviceMesh> device_mesh = std::nullopt;
  /// Whether arguments of other placements are given those of `in_placements`.
  bool redistribute_inputs = false;
};

namespace detail {

template <class T>
inline constexpr bool kHoldsTensors =
    std::is_convertible_v<T, const at::Tensor&> || std::is_convertible_v<T, const std::vector<at::Tensor>&>;

// One call: arguments in, results out.
class LocalCall {
 public:
  LocalCall(const LocalMapOptions& options, const PlacementList& out_placements);

  at::Tensor argument(const at::Tensor& t);
  std::vector<at::Tensor> argument(const std::vector<at::Tensor>& list);
  template <class T>
  requires(!kHoldsTensors<T>) T && argument(T&& other) {
    ++next_;
    return std::forward<T>(other);
  }
  void end_of_arguments();

  at::Tensor result(const at::Tensor& t);
  std::vector<at::Tensor> result(const std::vector<at::Tensor>& list);
  template <class... T>
  std::tuple<T...> result(const std::tuple<T...>& results) {
    return std::apply([&](const auto&... each) { return std::tuple<T...>{result(each)...}; }, results);
  }
  template <class A, class B>
  std::pair<A, B> result(const std::pair<A, B>& results) {
    return std::pair<A, B>{result(results.first), result(results.second)};
  }
  template <class T>
  requires(!kHoldsTensors<T>) T result(const T& other) {
    other_result();
    return other;
  }
  void end_of_results();

 private:
  void other_result();

  const LocalMapOptions& options_;
  const PlacementList& out_placements_;
  std::optional<DeviceMesh> mesh_;  // of the arguments that are DTensors
  size_t next_ = 0;
};

template <class F>
class LocalMap {
 public:
  LocalMap(F function, PlacementList out_placements, LocalMapOptions options)
      : function_(std::move(function)), out_placements_(std::move(out_placements)), options_(std::move(options)) {}

  template <class... Args>
  auto operator()(Args&&... args) const {
    LocalCall call(options_, out_placements_);
    // Braces, unlike parentheses, say in which order.
    std::tuple<decltype(call.argument(std::forward<Args>(args)))...> locals{call.argument(std::forward<Args>(args))...};
    call.end_of_arguments();
    auto result = call.result(std::apply(function_, std::move(locals)));
    call.end_of_results();
    return result;
  }

 private:
  F function_;
  PlacementList out_placements_;
  LocalMapOptions options_;
};

}  // namespace detail

/// A function that calls `fn` with this rank's parts of the arguments that are DTensors, and makes DTensors of
/// `out_placements` of the tensors that it returns. Other arguments are passed on as they are; where none is a DTensor,
/// so are the results. Differentiable where `fn` is.
///
///   auto product = local_map(
///       [&](const torch::Tensor& w, const torch::Tensor& x) { return c10d::all_reduce(torch::mm(w, x), "sum", group);
///       },
///       {{{Replicate()}}}, {.in_placements = {{{{Shard(1)}}, {{Shard(0)}}}}});
///   torch::Tensor y = product(w, x);
///
/// Calls throw c10::Error where DTensors lie on different meshes, and where lists of placements have another length
/// than there are arguments or results; ValueError where an argument has other placements than `in_placements` says,
/// without `redistribute_inputs`.
template <class F>
detail::LocalMap<F> local_map(F fn, PlacementList out_placements, LocalMapOptions options = {}) {
  return detail::LocalMap<F>(std::move(fn), std::move(out_placements), std::move(options));
}

}  // namespace torch::distributed::tensor::experimental
