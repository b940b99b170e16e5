#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/dimname.h"
#include "aten/core/tensor.h"
#include "c10/core/compute_dispatch_key.h"
#include "c10/core/generator.h"
#include "c10/core/storage.h"
#include "c10/dispatch/operator.h"
#include "c10/dispatch/registry.h"
#include "c10/value/ivalue.h"
#include "c10/value/object.h"

// The boxed form of an operator: one instantiation a signature, the operator as data.
namespace at::boxing {

using c10::IValue;
using c10::OperatorBase;
using c10::Stack;

// Unboxed<A> holds what an argument of type A refers to while the call lasts; get() gives the argument. kSlots: how many
// schema arguments it takes from the stack.
template <class A>
struct Unboxed;

template <class T>
struct UnboxedValue {
  static constexpr size_t kSlots = 1;
  T value;
  T& get() { return value; }
};

// A plain value, and the one way from IValue to it.
template <class T>
T from_ivalue(const IValue& value) {
  return value.to<T>();
}
// Booleans are integers, too, and integers truth values.
template <>
inline int64_t from_ivalue(const IValue& value) {
  return value.isBool() ? static_cast<int64_t>(value.toBool()) : value.toInt();
}
template <>
inline bool from_ivalue(const IValue& value) {
  return value.isInt() ? value.toInt() != 0 : value.toBool();
}
template <>
inline Dimname from_ivalue(const IValue& value) {
  return value.isNone() ? Dimname::wildcard() : Dimname(value.toStringRef());
}
// One number stands for a list of one.
std::vector<double> doubles_of(const IValue& value);
std::vector<int64_t> integers_of(const IValue& value);
template <>
inline std::vector<int64_t> from_ivalue(const IValue& value) {
  return integers_of(value);
}
template <>
inline std::vector<double> from_ivalue(const IValue& value) {
  return doubles_of(value);
}

std::vector<Tensor> tensors_of(const IValue& value);
c10::List<std::optional<Tensor>> optional_tensors_of(const IValue& value);
std::vector<Scalar> scalars_of(const IValue& value);
std::vector<Dimname> dimnames_of(const IValue& value);
// Throws unless there are exactly `count`.
std::vector<bool> bools_of(const IValue& value, size_t count);
TensorOptions options_of(const IValue* values);

template <class T>
struct Unboxed : UnboxedValue<T> {
  explicit Unboxed(IValue* v) : UnboxedValue<T>{from_ivalue<T>(*v)} {}
};
template <>
struct Unboxed<const Tensor&> : UnboxedValue<Tensor> {
  explicit Unboxed(IValue* v) : UnboxedValue{std::move(*v).toTensor()} {}
};
template <>
struct Unboxed<Tensor&> : Unboxed<const Tensor&> {
  using Unboxed<const Tensor&>::Unboxed;
};
template <>
struct Unboxed<const Scalar&> : Unboxed<Scalar> {
  using Unboxed<Scalar>::Unboxed;
};
template <class T>
struct Unboxed<std::optional<T>> : UnboxedValue<std::optional<T>> {
  explicit Unboxed(IValue* v) {
    if (!v->isNone()) this->value = from_ivalue<T>(*v);
  }
};
template <class T>
struct Unboxed<const std::optional<T>&> : Unboxed<std::optional<T>> {
  using Unboxed<std::optional<T>>::Unboxed;
};
template <class T>
struct Unboxed<const T&> : Unboxed<T> {
  using Unboxed<T>::Unboxed;
};
template <>
struct Unboxed<TensorOptions> : UnboxedValue<TensorOptions> {
  static constexpr size_t kSlots = 4;
  explicit Unboxed(IValue* v) : UnboxedValue{options_of(v)} {}
};
template <>
struct Unboxed<TensorList> {
  static constexpr size_t kSlots = 1;
  explicit Unboxed(IValue* v) : values(tensors_of(*v)) {}
  TensorList get() { return values; }
  std::vector<Tensor> values;
};
template <>
struct Unboxed<const c10::List<std::optional<Tensor>>&> : UnboxedValue<c10::List<std::optional<Tensor>>> {
  explicit Unboxed(IValue* v) : UnboxedValue{optional_tensors_of(*v)} {}
};
template <>
struct Unboxed<IntArrayRef> {
  static constexpr size_t kSlots = 1;
  explicit Unboxed(IValue* v) : values(integers_of(*v)) {}
  IntArrayRef get() { return values; }
  std::vector<int64_t> values;
};
template <>
struct Unboxed<OptionalIntArrayRef> {
  static constexpr size_t kSlots = 1;
  explicit Unboxed(IValue* v) : present(!v->isNone()) {
    if (present) values = integers_of(*v);
  }
  OptionalIntArrayRef get() { return present ? OptionalIntArrayRef(IntArrayRef(values)) : OptionalIntArrayRef(std::nullopt); }
  bool present;
  std::vector<int64_t> values;
};
template <>
struct Unboxed<ArrayRef<double>> {
  static constexpr size_t kSlots = 1;
  explicit Unboxed(IValue* v) : values(doubles_of(*v)) {}
  ArrayRef<double> get() { return values; }
  std::vector<double> values;
};
template <>
struct Unboxed<std::optional<ArrayRef<double>>> {
  static constexpr size_t kSlots = 1;
  explicit Unboxed(IValue* v) : present(!v->isNone()) {
    if (present) values = doubles_of(*v);
  }
  std::optional<ArrayRef<double>> get() { return present ? std::optional<ArrayRef<double>>(values) : std::nullopt; }
  bool present;
  std::vector<double> values;
};
template <>
struct Unboxed<ArrayRef<Scalar>> {
  static constexpr size_t kSlots = 1;
  explicit Unboxed(IValue* v) : values(scalars_of(*v)) {}
  ArrayRef<Scalar> get() { return values; }
  std::vector<Scalar> values;
};
template <size_t N>
struct Unboxed<std::array<bool, N>> : UnboxedValue<std::array<bool, N>> {
  explicit Unboxed(IValue* v) {
    const std::vector<bool> values = bools_of(*v, N);
    for (size_t i = 0; i < N; ++i) this->value[i] = values[i];
  }
};
template <>
struct Unboxed<DimnameList> {
  static constexpr size_t kSlots = 1;
  explicit Unboxed(IValue* v) : values(dimnames_of(*v)) {}
  DimnameList get() { return values; }
  std::vector<Dimname> values;
};
template <>
struct Unboxed<std::optional<DimnameList>> {
  static constexpr size_t kSlots = 1;
  explicit Unboxed(IValue* v) : present(!v->isNone()) {
    if (present) values = dimnames_of(*v);
  }
  std::optional<DimnameList> get() { return present ? std::optional<DimnameList>(values) : std::nullopt; }
  bool present;
  std::vector<Dimname> values;
};

// --- onto the stack ---
template <class T>
void push(Stack& stack, const T& value) {
  stack.emplace_back(value);
}
void push(Stack& stack, const Dimname& value);
void push(Stack& stack, DimnameList values);
// dtype, layout, device and pin_memory, each None where it is not given.
void push(Stack& stack, const TensorOptions& options);
template <class T>
void push(Stack& stack, const std::optional<T>& value) {
  if (value.has_value()) {
    push(stack, *value);
  } else {
    stack.emplace_back();
  }
}
template <class... R>
void push(Stack& stack, const std::tuple<R...>& results) {
  std::apply([&](const auto&... result) { (push(stack, result), ...); }, results);
}

// One argument: TensorOptions may bring a memory format along, which is an argument of its own in a schema.
template <class T>
void push_argument(Stack& stack, const T& value, std::optional<MemoryFormat>& format) {
  if constexpr (std::is_same_v<T, TensorOptions>) {
    format = value.memory_format_opt();
    push(stack, value);
  } else if constexpr (std::is_same_v<T, std::optional<MemoryFormat>>) {
    push(stack, value.has_value() ? value : format);
  } else {
    push(stack, value);
  }
}

// Names the operator and the argument in an error of its conversion.
[[noreturn]] void rethrow_for_argument(const OperatorBase& op, size_t argument);

// The slots before argument I.
template <class... A>
constexpr std::array<size_t, sizeof...(A)> slot_offsets() {
  std::array<size_t, sizeof...(A)> offsets{};
  size_t next = 0;
  size_t i = 0;
  ((offsets[i++] = next, next += Unboxed<A>::kSlots), ...);
  return offsets;
}

template <class U>
U unbox(const OperatorBase& op, Stack& stack, size_t offset) {
  try {
    return U(stack.data() + offset);
  } catch (...) {
    rethrow_for_argument(op, offset);
  }
}

// Calls `function` with what is on the stack, as arguments of the types A; its results replace them.
template <class R, class... A, size_t... I, class F>
void apply_to_stack(const OperatorBase& op, Stack& stack, std::index_sequence<I...>, const F& function) {
  static constexpr std::array<size_t, sizeof...(A)> kOffsets = slot_offsets<A...>();
  std::tuple<Unboxed<A>...> arguments{unbox<Unboxed<A>>(op, stack, kOffsets[I])...};
  if constexpr (std::is_void_v<R>) {
    function(static_cast<A>(std::get<I>(arguments).get())...);
    stack.clear();
  } else {
    decltype(auto) result = function(static_cast<A>(std::get<I>(arguments).get())...);
    stack.clear();
    push(stack, result);
  }
}

// --- results from the stack ---
template <class T>
T result_from(const IValue& value) {
  if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
    return tensors_of(value);
  } else if constexpr (std::is_same_v<T, QScheme>) {
    return static_cast<QScheme>(value.toInt());
  } else {
    return from_ivalue<T>(value);
  }
}

template <class R>
struct Result {
  template <class... A>
  static R of(const OperatorBase&, Stack& stack, A&...) {
    return result_from<R>(stack.at(0));
  }
};
template <>
struct Result<void> {
  template <class... A>
  static void of(const OperatorBase&, Stack&, A&...) {}
};
template <class... R>
  requires(!std::is_reference_v<R> && ...)
struct Result<std::tuple<R...>> {
  template <class... A>
  static std::tuple<R...> of(const OperatorBase& op, Stack& stack, A&...) {
    return with_indices(op, stack, std::index_sequence_for<R...>());
  }
  template <size_t... I>
  static std::tuple<R...> with_indices(const OperatorBase& op, Stack& stack, std::index_sequence<I...>) {
    TORCH_CHECK(stack.size() == sizeof...(R), op.name, ": its boxed kernel left ", stack.size(), " results, expected ", sizeof...(R));
    return {result_from<R>(stack[I])...};
  }
};

// A result that is an argument: the first of an in-place form, the last ones of an out= form.
template <>
struct Result<Tensor&> {
  template <class First, class... A>
  static Tensor& of(const OperatorBase&, Stack&, First& first, A&... rest) {
    if constexpr (std::is_same_v<First, Tensor>) {
      return first;
    } else {
      return const_cast<Tensor&>(std::get<sizeof...(A)>(std::tie(first, rest...)));
    }
  }
};
template <>
struct Result<const Tensor&> {
  template <class First, class... A>
  static const Tensor& of(const OperatorBase&, Stack&, First& first, A&...) {
    return first;
  }
};
template <class... R>
  requires(sizeof...(R) > 0 && (std::is_reference_v<R> && ...))
struct Result<std::tuple<R...>> {
  template <class... A>
  static std::tuple<R...> of(const OperatorBase&, Stack&, A&... arguments) {
    return last(std::tie(arguments...), std::index_sequence_for<R...>());
  }
  template <class Tie, size_t... I>
  static std::tuple<R...> last(Tie arguments, std::index_sequence<I...>) {
    constexpr size_t kFirst = std::tuple_size_v<Tie> - sizeof...(R);
    return {std::get<kFirst + I>(arguments)...};
  }
};

// "R (A...)", the same text in every library of a program.
template <class Signature>
constexpr const char* signature_text() {
  return __PRETTY_FUNCTION__;
}

template <class Signature>
struct BoxingOf;
template <class R, class... A>
struct BoxingOf<R(A...)> {
  static void from_stack(const OperatorBase& op, const c10::DispatchKeySet* keys, Stack& stack) {
    const auto& typed = static_cast<const c10::Operator<R(A...)>&>(op);
    apply_to_stack<R, A...>(op, stack, std::index_sequence_for<A...>(), [&](A... arguments) -> R {
      if (C10_UNLIKELY(keys != nullptr)) return typed.redispatch(*keys, std::forward<A>(arguments)...);
      if constexpr (kIsFactory) return typed.call_by_options(std::forward<A>(arguments)...);
      return typed(std::forward<A>(arguments)...);
    });
  }

  // Goes by the device it is asked for, having no tensor to go by.
  static constexpr bool kIsFactory =
      (std::is_same_v<std::remove_cvref_t<A>, TensorOptions> || ...) &&
      !(std::is_same_v<std::remove_cvref_t<A>, Tensor> || ...) &&
      !(std::is_same_v<std::remove_cvref_t<A>, std::optional<Tensor>> || ...) &&
      !(std::is_same_v<std::remove_cvref_t<A>, TensorList> || ...);

  static R to_stack(const c10::detail::SlowCall& call, A... arguments) {
    Stack stack;
    std::optional<MemoryFormat> format;
    (push_argument(stack, arguments, format), ...);
    c10::detail::call_boxed(call, stack);
    return Result<R>::of(call.op(), stack, arguments...);
  }

  static constexpr c10::TypedBoxing<R, A...> value{{signature_text<R(A...)>(), &from_stack}, &to_stack};
};
// A function that computes what an operator does from others, called with what is on the stack.
template <class R, class... A>
struct DecompositionOf {
  static void from_stack(const c10::Decomposition& decomposition, Stack& stack) {
    const auto& typed = static_cast<const c10::TypedDecomposition<R, A...>&>(decomposition);
    apply_to_stack<R, A...>(decomposition.op, stack, std::index_sequence_for<A...>(), typed.function);
  }
};
template <class R, class... A>
constexpr c10::TypedDecomposition<R, A...> decomposition_of(const OperatorBase& op, R (*function)(A...)) {
  return {{op, &DecompositionOf<R, A...>::from_stack}, function};
}

// From an operator object: boxing_of(operators::add_Tensor) needs no spelling of its type.
template <class Signature>
constexpr const c10::Boxing* boxing_of(const c10::Operator<Signature>&) {
  return &BoxingOf<Signature>::value;
}

}  // namespace at::boxing

namespace c10 {

template <class Signature>
TypedOperatorHandle<Signature> OperatorHandle::typed() const {
  use_signature(at::boxing::BoxingOf<Signature>::value);
  return TypedOperatorHandle<Signature>(*this);
}

}  // namespace c10
