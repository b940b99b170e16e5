// Derivatives of C++ callables as callables: what torch.func has beside vmap.
//
//   using namespace torch::func;
//   auto f = [](const at::Tensor& w, const at::Tensor& x) { return torch::tanh(torch::mv(w, x)).sum(); };
//   at::Tensor g = grad(f)(w, x);                             // df/dw, of w's sizes
//   auto [gw, gx] = grad(f, argnums<0, 1>)(w, x);
//   at::Tensor each = vmap(grad(f), {std::nullopt, 0})(w, xs);   // one gradient of w a row of xs: per-sample gradients
//   at::Tensor h = hessian(f)(w, x);                          // of w's sizes twice
//
// Arguments and results are structures of tensors (structure.h): where a gradient stands for an argument, it has the
// argument's type. Transforms nest in any order and depth, vmap among them. Arguments are passed on as they are, but for the
// tensors that derivatives are taken by: in their place the callable gets others of the same values, which must not be changed
// in place.
//
// What comes back has no history of its own: it requires a gradient only where what it was computed from outside of the
// transform does, an argument or a tensor that the callable holds, and gradients are recorded around the transform. A
// NoGradGuard around a transform thus does not reach into it, and one in the callable makes what it covers a constant. In
// inference mode transforms work as outside of it.
//
// The callable is called once a call of the transform, in the calling thread.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "func/argnums.h"
#include "func/dual_level.h"
#include "func/jacobian.h"
#include "func/nest.h"
#include "func/reverse_level.h"
#include "func/structure.h"

namespace torch::func {

/// Says that the callable returns a pair, of what is differentiated and of a structure that is returned beside the derivatives.
///
///   auto [g, predictions] = grad(loss_and_predictions, argnums<0>, has_aux)(w, x, y);
struct HasAux {
  explicit constexpr HasAux() = default;
};
inline constexpr HasAux has_aux{};

namespace detail {

struct NoAux {};

// A callable that also const objects call.
template <typename F>
struct Held {
  mutable F function;
};

/// The tensors of a structure. Throws ValueError where it holds something else.
std::vector<at::Tensor*> only_tensors(const Structure& structure);
/// The same of what a function returned. Throws Error that begins with `transform`.
std::vector<at::Tensor*> only_results(const Structure& structure, const char* transform);
/// Throws Error where a gradient by reverse mode cannot be taken of `value`: it has dimensions.
void check_scalar(const at::Tensor& value);
void check_same_count(size_t got, size_t want, const char* what);
/// Throws Error where a tangent does not have the sizes and dtype of its primal.
void check_tangents(const TensorList& primals, const TensorList& tangents);

template <typename T>
TensorList tensors_of(T& value) {
  TensorList list;
  for (at::Tensor* t : only_tensors(structure_of(value))) list.push_back(*t);
  return list;
}
template <typename T>
TensorList results_of(T& value, const char* transform) {
  TensorList list;
  for (at::Tensor* t : only_results(structure_of(value), transform)) list.push_back(*t);
  return list;
}
// A copy of the structure with other tensors.
template <typename T>
T with_tensors(T value, const TensorList& list) {
  size_t next = 0;
  for (at::Tensor* t : tensors_in(value)) *t = list[next++];
  return value;
}

// What a callable returns, taken apart.
template <bool kAux, typename Result>
struct Parts {
  static Result& output(Result& result) { return result; }
  static NoAux aux(Result&) { return {}; }
};
template <typename Result>
struct Parts<true, Result> {
  static auto& output(Result& result) {
    static_assert(requires { std::tuple_size<Result>::value; }, "has_aux: the function returns a pair (output, aux)");
    static_assert(std::tuple_size_v<Result> == 2, "has_aux: the function returns a pair (output, aux)");
    return std::get<0>(result);
  }
  static auto aux(Result& result) { return std::get<1>(result); }
};

template <typename Level, typename T>
void finish(const Level& level, T& value) {
  if constexpr (!std::is_same_v<T, NoAux>) {
    for (at::Tensor* t : tensors_in(value)) *t = level.finished(*t);
  }
}

// Derivatives, value and aux of a scalar function of `args`.
template <bool kAux, typename F, typename A, typename... Args>
auto grad_and_value(F& f, const A& positions, std::tuple<Args...> args) {
  auto chosen = Selection<A>::get(positions, args);
  const ReverseLevel level(tensors_of(chosen));
  Selection<A>::put(positions, with_tensors(chosen, level.variables()), args);
  auto result = std::apply(f, args);
  using TheParts = Parts<kAux, decltype(result)>;
  using Value = std::remove_reference_t<decltype(TheParts::output(result))>;
  static_assert(std::is_convertible_v<Value*, at::Tensor*>, "grad: the function returns a Tensor");
  at::Tensor value = TheParts::output(result);
  check_scalar(value);
  const TensorList gradients = level.pullback({value})({at::Tensor()}, /*retain_graph=*/false, level.records_outside());
  auto aux = TheParts::aux(result);
  value = level.finished(value);
  finish(level, aux);
  return std::make_tuple(with_tensors(std::move(chosen), gradients), std::move(value), std::move(aux));
}

}  // namespace detail

/// The gradient of a function that returns a Tensor without dimensions, by the arguments at `argnums` (argnums.h; the first
/// by default). `grad(f, argnums, has_aux)(args...)` is a pair of the gradient and the function's aux.
///
/// Throws Error for a result with dimensions or a complex one and for integer tensors among the arguments differentiated by,
/// ValueError where they hold what is no tensor.
///
///   grad([](const at::Tensor& x) { return (x.sin() * y).sum(); })(x)       // cos(x) y
template <typename F, typename A = Argnums<0>>
auto grad(F f, A argnums = {}) {
  return [f = detail::Held<F>{std::move(f)}, argnums](const auto&... args) {
    return std::get<0>(detail::grad_and_value<false>(f.function, argnums, std::make_tuple(args...)));
  };
}
template <typename F, typename A>
auto grad(F f, A argnums, HasAux) {
  return [f = detail::Held<F>{std::move(f)}, argnums](const auto&... args) {
    auto [gradient, value, aux] = detail::grad_and_value<true>(f.function, argnums, std::make_tuple(args...));
    return std::make_pair(std::move(gradient), std::move(aux));
  };
}

/// The same and the function's value: a pair of the two. With has_aux a pair of the gradient and of the pair (value, aux).
template <typename F, typename A = Argnums<0>>
auto grad_and_value(F f, A argnums = {}) {
  return [f = detail::Held<F>{std::move(f)}, argnums](const auto&... args) {
    auto [gradient, value, aux] = detail::grad_and_value<false>(f.function, argnums, std::make_tuple(args...));
    return std::make_pair(std::move(gradient), std::move(value));
  };
}
template <typename F, typename A>
auto grad_and_value(F f, A argnums, HasAux) {
  return [f = detail::Held<F>{std::move(f)}, argnums](const auto&... args) {
    auto [gradient, value, aux] = detail::grad_and_value<true>(f.function, argnums, std::make_tuple(args...));
    return std::make_pair(std::move(gradient), std::make_pair(std::move(value), std::move(aux)));
  };
}

/// What vjp() returns beside the function's value: cotangents to their products with the Jacobian.
template <typename Output, typename... Primals>
class VjpFunction {
 public:
  VjpFunction(detail::Pullback pullback, std::tuple<Primals...> primals)
      : pullback_(std::move(pullback)), primals_(std::move(primals)) {}

  /// A tuple, for each primal the sum over the outputs of cotangent times Jacobian: zeros where they do not depend on it.
  /// `cotangents` is a structure like the function's value, with tensors of the same sizes; an undefined one stands for 1
  /// where there is one element. `create_graph`: the products can be differentiated (default: where gradients are recorded).
  /// Throws Error for other sizes, and after a call with retain_graph = false.
  std::tuple<Primals...> operator()(Output cotangents, bool retain_graph = true,
                                    std::optional<bool> create_graph = std::nullopt) const {
    detail::TensorList list;
    for (const at::Tensor* t : tensors_in(cotangents)) list.push_back(*t);
    return detail::with_tensors(primals_, pullback_(list, retain_graph, create_graph));
  }
  const detail::Pullback& pullback() const { return pullback_; }
  detail::TensorList primals() const {
    auto copy = primals_;
    return detail::tensors_of(copy);
  }

 private:
  detail::Pullback pullback_;
  std::tuple<Primals...> primals_;
};

namespace detail {

template <bool kAux, typename F, typename... Primals>
auto vjp(F& f, std::tuple<Primals...> primals) {
  const ReverseLevel level(tensors_of(primals));
  auto args = with_tensors(primals, level.variables());
  auto result = std::apply(f, args);
  using TheParts = Parts<kAux, decltype(result)>;
  auto output = TheParts::output(result);
  Pullback pullback = level.pullback(results_of(output, "vjp(f, *primals)"));
  auto aux = TheParts::aux(result);
  finish(level, output);
  finish(level, aux);
  VjpFunction<decltype(output), Primals...> function(std::move(pullback), std::move(primals));
  return std::make_tuple(std::move(output), std::move(function), std::move(aux));
}

}  // namespace detail

/// The value of f(primals...), and a VjpFunction. The graph of the call is kept as long as that is. `vjp(f, has_aux,
/// primals...)` is a tuple of value, VjpFunction and aux.
///
/// Throws Error for integer tensors among the primals and for results other than tensors, ValueError where primals hold what
/// is no tensor.
///
///   auto [y, vjp_fn] = vjp([](const at::Tensor& x) { return x.exp(); }, x);
///   auto [product] = vjp_fn(v);                                            // v exp(x)
template <typename F, typename... Primals>
auto vjp(F f, const Primals&... primals) {
  auto [output, function, aux] = detail::vjp<false>(f, std::make_tuple(primals...));
  return std::make_pair(std::move(output), std::move(function));
}
template <typename F, typename... Primals>
auto vjp(F f, HasAux, const Primals&... primals) {
  return detail::vjp<true>(f, std::make_tuple(primals...));
}

namespace detail {

template <bool kAux, typename F, typename... Primals>
auto jvp(F& f, std::tuple<Primals...> primals, std::tuple<Primals...> tangents, bool strict) {
  const TensorList points = tensors_of(primals), directions = tensors_of(tangents);
  check_same_count(directions.size(), points.size(), "jvp(f, primals, tangents): tangents");
  TORCH_CHECK(!points.empty(), "jvp(f, primals, tangents): Expected primals to contain at least one Tensor.");
  const DualLevel level(points, directions);
  primals = with_tensors(std::move(primals), level.duals());
  auto result = std::apply(f, primals);
  using TheParts = Parts<kAux, decltype(result)>;
  auto output = TheParts::output(result);
  auto tangent = output;
  const auto outputs = only_results(structure_of(output), "jvp(f, primals, tangents)");
  const auto products = tensors_in(tangent);
  for (size_t i = 0; i < outputs.size(); ++i) std::tie(*outputs[i], *products[i]) = level.unpack(*products[i], strict);
  auto aux = TheParts::aux(result);
  finish(level, aux);
  return std::make_tuple(std::move(output), std::move(tangent), std::move(aux));
}

}  // namespace detail

/// The value of f(primals...) and the Jacobian times the tangents, of the sizes of the value, in one pass of forward mode. `tangents`
/// is a tuple like `primals`. An output that does not depend on them has zeros, with `strict` it is an Error.
/// `jvp(f, primals, tangents, has_aux)` is a tuple of value, product and aux.
///
/// Throws Error where a tangent has other sizes than its primal, ValueError for integer tensors, NotImplementedError where an
/// operator has no forward derivative.
///
///   auto [y, dy] = jvp([](const at::Tensor& x) { return x.sin(); }, std::tuple(x), std::tuple(v));     // dy = cos(x) v
template <typename F, typename... Primals>
auto jvp(F f, const std::tuple<Primals...>& primals, const std::tuple<Primals...>& tangents, bool strict = false) {
  auto [output, tangent, aux] = detail::jvp<false>(f, primals, tangents, strict);
  return std::make_pair(std::move(output), std::move(tangent));
}
template <typename F, typename... Primals>
auto jvp(F f, const std::tuple<Primals...>& primals, const std::tuple<Primals...>& tangents, HasAux, bool strict = false) {
  return detail::jvp<true>(f, primals, tangents, strict);
}

/// The value of f(primals...), and its linear approximation there: a function of tangents, one a primal, that gives the
/// Jacobian times them, as jvp() does, without another call of f. It is taken from the graph by reverse mode, so that it does
/// for operators without forward derivatives, and needs those that have second ones; the graph is kept as long as it is.
///
/// Throws Error as vjp() does; the function throws Error for tangents of other sizes or dtypes than the primals.
///
///   auto [y, jvp_fn] = linearize([](const at::Tensor& x) { return x.sin(); }, x);
///   at::Tensor d = jvp_fn(v);                                              // cos(x) v
template <typename F, typename... Primals>
auto linearize(F f, const Primals&... primals) {
  auto [output, vjp_fn] = vjp(std::move(f), primals...);
  auto jvp_fn = [forward = detail::Pushforward(vjp_fn.pullback()), like = output,
                 points = vjp_fn.primals()](const Primals&... tangents) {
    auto given = std::make_tuple(tangents...);
    const detail::TensorList list = detail::tensors_of(given);
    detail::check_tangents(points, list);
    return detail::with_tensors(like, forward(list));
  };
  return std::make_pair(std::move(output), std::move(jvp_fn));
}

/// `chunk_size`: how many rows of a Jacobian are computed at a time (default: all): less memory for more time.
struct JacrevOptions {
  std::optional<int64_t> chunk_size = std::nullopt;
};
/// `randomness`: what random operators do in the columns of a Jacobian, which are computed inside of vmap.
struct JacfwdOptions {
  Randomness randomness = Randomness::kError;
};

namespace detail {

// The blocks [output][input] as a structure of outputs of structures of inputs.
template <typename Output, typename Chosen>
auto nested_blocks(Output& output, const Chosen& chosen, const std::vector<TensorList>& blocks) {
  size_t next = 0;
  auto make = [&] { return with_tensors(chosen, blocks[next++]); };
  return nest(output, make);
}

template <bool kAux, typename F, typename A, typename... Args>
auto jacrev(F& f, const A& positions, const JacrevOptions& options, std::tuple<Args...> args) {
  auto chosen = Selection<A>::get(positions, args);
  const TensorList inputs = tensors_of(chosen);
  std::optional<ReverseLevel> level(std::in_place, inputs);
  Selection<A>::put(positions, with_tensors(chosen, level->variables()), args);
  auto result = std::apply(f, args);
  using TheParts = Parts<kAux, decltype(result)>;
  auto& output = TheParts::output(result);
  const TensorList outputs = results_of(output, "jacrev");
  const Pullback pullback = level->pullback(outputs);
  auto aux = TheParts::aux(result);
  finish(*level, aux);
  level.reset();
  auto jacobian = nested_blocks(output, chosen, jacobian_by_rows(pullback, outputs, inputs, options.chunk_size));
  return std::make_pair(std::move(jacobian), std::move(aux));
}

template <bool kAux, typename F, typename A, typename... Args>
auto jacfwd(F& f, const A& positions, const JacfwdOptions& options, std::tuple<Args...> args) {
  using Result = std::decay_t<decltype(std::apply(f, args))>;
  using TheParts = Parts<kAux, Result>;
  auto chosen = Selection<A>::get(positions, args);
  std::optional<Result> result;
  std::decay_t<decltype(TheParts::aux(*result))> aux;
  const auto function = [&](const TensorList& duals) -> Called {
    Selection<A>::put(positions, with_tensors(chosen, duals), args);
    result.emplace(std::apply(f, args));
    aux = TheParts::aux(*result);
    return {results_of(TheParts::output(*result), "jacfwd"), tensors_in(aux)};
  };
  const std::vector<TensorList> blocks = jacobian_by_columns(function, tensors_of(chosen), options.randomness);
  return std::make_pair(nested_blocks(TheParts::output(*result), chosen, blocks), std::move(aux));
}

}  // namespace detail

/// The Jacobian of a function of tensors by reverse mode, one pass for each element of the results, batched by vmap: the choice where
/// there are fewer results than arguments. In the structure of the results each tensor is replaced by the structure of
/// the argument at `argnums` (a tuple of these for several), whose tensors are of the result's sizes followed by the
/// argument's. With has_aux a pair of that and the function's aux.
///
/// Throws Error for complex results, integer arguments and results other than tensors, ValueError for a chunk_size below 1.
///
///   jacrev([](const at::Tensor& x) { return x.sin(); })(x)                 // diag(cos(x))
///   auto j = jacrev(f, argnums<0, 1>)(x, y);                               // f returns a tensor: a tuple, df/dx and df/dy
template <typename F, typename A = Argnums<0>>
auto jacrev(F f, A argnums = {}, JacrevOptions options = {}) {
  return [f = detail::Held<F>{std::move(f)}, argnums, options](const auto&... args) {
    return detail::jacrev<false>(f.function, argnums, options, std::make_tuple(args...)).first;
  };
}
template <typename F, typename A>
auto jacrev(F f, A argnums, HasAux, JacrevOptions options = {}) {
  return [f = detail::Held<F>{std::move(f)}, argnums, options](const auto&... args) {
    return detail::jacrev<true>(f.function, argnums, options, std::make_tuple(args...));
  };
}

/// The same by forward mode, one pass for each element of the arguments: the choice where there are fewer of these. Throws Error for
/// complex arguments, ValueError for integer ones.
template <typename F, typename A = Argnums<0>>
auto jacfwd(F f, A argnums = {}, JacfwdOptions options = {}) {
  return [f = detail::Held<F>{std::move(f)}, argnums, options](const auto&... args) {
    return detail::jacfwd<false>(f.function, argnums, options, std::make_tuple(args...)).first;
  };
}
template <typename F, typename A>
auto jacfwd(F f, A argnums, HasAux, JacfwdOptions options = {}) {
  return [f = detail::Held<F>{std::move(f)}, argnums, options](const auto&... args) {
    return detail::jacfwd<true>(f.function, argnums, options, std::make_tuple(args...));
  };
}

/// The Hessian: jacfwd of jacrev. Of a function of x that returns one tensor, of the sizes of the result and of x twice; for
/// several arguments a tuple of tuples.
///
///   hessian([](const at::Tensor& x) { return x.pow(3).sum(); })(x)         // diag(6 x)
template <typename F, typename A = Argnums<0>>
auto hessian(F f, A argnums = {}) {
  return jacfwd(jacrev(std::move(f), argnums), argnums);
}

}  // namespace torch::func
