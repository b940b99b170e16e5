// Branches and loops that depend on tensors, which a graph keeps: capture() and export_() record both branches of
// cond() and the bodies of the others once, as blocks, and whatever way the example took. Outside of a capture these
// are plain branches and loops of C++, recorded for gradients as such.
//
//   at::Tensor y = torch::cond(x.sum() > 0, [](const at::Tensor& x) { return x.sin(); },
//                              [](const at::Tensor& x) { return x.cos(); }, x);
//   auto [i, z] = torch::while_loop([](const at::Tensor& i, const at::Tensor&) { return i < 5; },
//                                   [](const at::Tensor& i, const at::Tensor& z) { return std::tuple(i + 1, z * z); },
//                                   std::tuple(torch::zeros({}, torch::kLong), x));
//
// What goes in and out is a tensor, or a tuple, pair, array or vector of such (a pack). Functions may use other tensors
// that they see. They may write to tensors that they made themselves alone; while a graph is captured other writes
// throw ValueError before they happen, else those to what they were given throw afterwards. Results share no memory
// with what a function was given: what it returns as it got it is copied.
//
// While a graph is captured: numbers that a function reads (item()) are those of the example; the branch that the
// example does not take is run, too; and a tensor that a function made and that leaves it in another way than as its
// result (by a reference) throws ValueError where it is used. Gradients are not captured through control flow.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"

namespace torch {

namespace control_flow {

using Tensors = std::vector<at::Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

Tensors cond(const at::Tensor& pred, const Function& true_fn, const Function& false_fn, const Tensors& operands);
Tensors while_loop(const Function& cond_fn, const Function& body_fn, const Tensors& carried);
Tensors map(const Function& f, const Tensors& xs, const Tensors& args);
/// The carried values after the last step, then the results.
Tensors scan(const Function& combine_fn, const Tensors& init, const Tensors& xs, int64_t dim, bool reverse);
Tensors associative_scan(const Function& combine_fn, const Tensors& xs, int64_t dim, bool reverse,
                         std::string_view combine_mode);

// How a pack lies in a row. `like` says how many there are in a vector.
template <class T>
struct Pack;
template <>
struct Pack<at::Tensor> {
  static void flatten(const at::Tensor& value, Tensors& out) { out.push_back(value); }
  static at::Tensor unflatten(const Tensors& from, size_t& next, const at::Tensor& /*like*/) { return from.at(next++); }
};
template <class... T>
struct Pack<std::tuple<T...>> {
  static void flatten(const std::tuple<T...>& value, Tensors& out) {
    std::apply([&](const auto&... part) { (Pack<std::decay_t<decltype(part)>>::flatten(part, out), ...); }, value);
  }
  static std::tuple<T...> unflatten(const Tensors& from, size_t& next, const std::tuple<T...>& like) {
    return std::apply(
        [&](const auto&... part) {
          return std::tuple<T...>{Pack<std::decay_t<decltype(part)>>::unflatten(from, next, part)...};
        },
        like);
  }
};
template <class A, class B>
struct Pack<std::pair<A, B>> {
  static void flatten(const std::pair<A, B>& value, Tensors& out) {
    Pack<A>::flatten(value.first, out);
    Pack<B>::flatten(value.second, out);
  }
  static std::pair<A, B> unflatten(const Tensors& from, size_t& next, const std::pair<A, B>& like) {
    A first = Pack<A>::unflatten(from, next, like.first);
    return {std::move(first), Pack<B>::unflatten(from, next, like.second)};
  }
};
template <class Range>
struct PackRange {
  static void flatten(const Range& value, Tensors& out) {
    for (const auto& part : value) Pack<typename Range::value_type>::flatten(part, out);
  }
  static Range unflatten(const Tensors& from, size_t& next, Range like) {
    for (auto& part : like) part = Pack<typename Range::value_type>::unflatten(from, next, part);
    return like;
  }
};
template <class T>
struct Pack<std::vector<T>> : PackRange<std::vector<T>> {};
template <class T, size_t N>
struct Pack<std::array<T, N>> : PackRange<std::array<T, N>> {};

template <class T>
Tensors flattened(const T& value) {
  Tensors all;
  Pack<T>::flatten(value, all);
  return all;
}
template <class T>
T unflattened(const Tensors& from, const T& like) {
  size_t next = 0;
  return Pack<T>::unflatten(from, next, like);
}

// Tuples are taken apart, as Python does with operands.
template <class F, class T>
decltype(auto) apply(F& f, const T& value) {
  if constexpr (requires { std::tuple_size<T>::value; } && !std::is_invocable_v<F&, const T&>) {
    return std::apply(f, value);
  } else {
    return f(value);
  }
}

}  // namespace control_flow

/// true_fn(operands...) where `pred`, a tensor of one element, is not 0, else false_fn(operands...). Both give a pack
/// of one type, with tensors of the same sizes and dtypes; a graph that is captured has both, and says ValueError where
/// they differ. A `pred` of C++ decides at once.
///
/// Throws ValueError for a `pred` of another number of elements.
template <class TrueFn, class FalseFn, class Operands = std::tuple<>>
auto cond(const at::Tensor& pred, TrueFn&& true_fn, FalseFn&& false_fn, const Operands& operands = {}) {
  using Result = std::decay_t<decltype(control_flow::apply(true_fn, operands))>;
  static_assert(std::is_same_v<Result, std::decay_t<decltype(control_flow::apply(false_fn, operands))>>,
                "the functions of cond() give packs of one type");
  std::optional<Result> like;
  const auto flat = [&](auto& f) {
    return [&](const control_flow::Tensors& in) {
      like = control_flow::apply(f, control_flow::unflattened(in, operands));
      return control_flow::flattened(*like);
    };
  };
  const control_flow::Tensors out =
      control_flow::cond(pred, flat(true_fn), flat(false_fn), control_flow::flattened(operands));
  return control_flow::unflattened<Result>(out, *like);
}
template <class TrueFn, class FalseFn, class Operands = std::tuple<>>
auto cond(bool pred, TrueFn&& true_fn, FalseFn&& false_fn, const Operands& operands = {}) {
  return pred ? control_flow::apply(true_fn, operands) : control_flow::apply(false_fn, operands);
}

/// While cond_fn(carried...), a tensor of one element, is not 0: carried = body_fn(carried...), which gives tensors of
/// the same sizes, dtypes and devices. The carried values at the end.
///
/// Throws ValueError where there are none, where the body gives others, and for a condition of another number of
/// elements.
template <class CondFn, class BodyFn, class Carried>
Carried while_loop(CondFn&& cond_fn, BodyFn&& body_fn, const Carried& carried) {
  const auto condition = [&](const control_flow::Tensors& in) {
    return control_flow::Tensors{control_flow::apply(cond_fn, control_flow::unflattened(in, carried))};
  };
  const auto body = [&](const control_flow::Tensors& in) {
    const Carried next = control_flow::apply(body_fn, control_flow::unflattened(in, carried));
    return control_flow::flattened(next);
  };
  return control_flow::unflattened(control_flow::while_loop(condition, body, control_flow::flattened(carried)),
                                   carried);
}

/// f(slice, args...) for each slice of `xs` along dimension 0, the results stacked along a new dimension 0: tensors of
/// `xs` have one length, of at least 1.
///
///   torch::map([](const at::Tensor& row, const at::Tensor& w) { return row.dot(w); }, x, w);    // x.mv(w)
template <class F, class Xs, class... Args>
auto map(F&& f, const Xs& xs, const Args&... args) {
  using Result = std::decay_t<std::invoke_result_t<F&, const Xs&, const Args&...>>;
  std::optional<Result> like;
  const std::tuple<Args...> rest(args...);
  const auto body = [&](const control_flow::Tensors& in) {
    size_t next = 0;
    const Xs slice = control_flow::Pack<Xs>::unflatten(in, next, xs);
    const std::tuple<Args...> others = control_flow::Pack<std::tuple<Args...>>::unflatten(in, next, rest);
    like = std::apply([&](const auto&... other) { return f(slice, other...); }, others);
    return control_flow::flattened(*like);
  };
  const control_flow::Tensors out = control_flow::map(body, control_flow::flattened(xs), control_flow::flattened(rest));
  return control_flow::unflattened<Result>(out, *like);
}

/// (carry, y) = combine_fn(carry, slice) for each slice of `xs` along `dim`, from the last one where `reverse`: the
/// last carry, and the y of all slices, in the slices' order, stacked along a new dimension 0. A carry has the sizes
/// and dtypes of `init`.
///
///   auto [total, sums] = torch::scan([](const at::Tensor& c, const at::Tensor& x) { return std::pair(c + x, c + x); },
///                                    torch::zeros({3}), x);                                    // sums: x.cumsum(0)
template <class CombineFn, class Carry, class Xs>
auto scan(CombineFn&& combine_fn, const Carry& init, const Xs& xs, int64_t dim = 0, bool reverse = false) {
  using Step = std::decay_t<std::invoke_result_t<CombineFn&, const Carry&, const Xs&>>;
  using Y = std::decay_t<std::tuple_element_t<1, Step>>;
  std::optional<Y> like;
  const auto body = [&](const control_flow::Tensors& in) {
    size_t next = 0;
    const Carry carry = control_flow::Pack<Carry>::unflatten(in, next, init);
    const Xs slice = control_flow::Pack<Xs>::unflatten(in, next, xs);
    const Step step = combine_fn(carry, slice);
    const Carry after = std::get<0>(step);
    control_flow::Tensors out = control_flow::flattened(after);
    like = std::get<1>(step);
    control_flow::Pack<Y>::flatten(*like, out);
    return out;
  };
  const control_flow::Tensors out =
      control_flow::scan(body, control_flow::flattened(init), control_flow::flattened(xs), dim, reverse);
  size_t next = 0;
  Carry carry = control_flow::Pack<Carry>::unflatten(out, next, init);
  return std::pair<Carry, Y>(std::move(carry), control_flow::Pack<Y>::unflatten(out, next, *like));
}

/// The running combinations of the slices of `xs` along `dim`: x0, combine_fn(x0, x1), combine_fn(that, x2), ..., in
/// the slices' order and place; from the last one where `reverse`. combine_fn is associative and gives tensors of the
/// sizes and dtypes of a slice. `combine_mode`: "pointwise" or "generic", which does not matter here.
template <class CombineFn, class Xs>
Xs associative_scan(CombineFn&& combine_fn, const Xs& xs, int64_t dim, bool reverse = false,
                    std::string_view combine_mode = "pointwise") {
  const auto body = [&](const control_flow::Tensors& in) {
    size_t next = 0;
    const Xs a = control_flow::Pack<Xs>::unflatten(in, next, xs);
    const Xs b = control_flow::Pack<Xs>::unflatten(in, next, xs);
    const Xs c = combine_fn(a, b);
    return control_flow::flattened(c);
  };
  return control_flow::unflattened(
      control_flow::associative_scan(body, control_flow::flattened(xs), dim, reverse, combine_mode), xs);
}

}  // namespace torch
