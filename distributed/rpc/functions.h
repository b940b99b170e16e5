// Functions that other workers call by name.
//
//   register_function("scaled_sum", [](at::Tensor a, at::Tensor b, double by) { return (a + b) * by; });
//   at::Tensor c = rpc_sync<at::Tensor>("worker1", "scaled_sum", {a, b, 2.0});       // rpc.h
//
// Arguments and results are what a c10::IValue holds, references (RRefPtr), and std::shared_ptr to anything, which
// stays on its worker: it can be the value of a reference, and where a reference that is this worker's own stands for
// another kind of argument, its value is passed. A function that returns a FuturePtr answers when that is completed,
// and takes none of the worker's threads until then.
//
// In a program that links //aten/ops:registry operators can be called, too, by positional arguments: "aten::add" or, by
// its overload, "aten::add.Tensor".
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "c10/util/exception.h"
#include "c10/value/ivalue.h"
#include "distributed/rpc/types.h"

namespace torch::distributed::rpc {

class RRef;
using RRefPtr = c10::intrusive_ptr<RRef>;

namespace detail {

// A C++ object as a value, which cannot leave its worker.
struct Local final : c10::intrusive_ptr_target {
  Local(std::shared_ptr<void> object_in, const std::type_info& type_in)
      : object(std::move(object_in)), type(&type_in) {}
  std::shared_ptr<void> object;
  const std::type_info* type;
};

c10::IValue reference_value(const RRefPtr& reference);
// The reference that a value is; throws c10::TypeError for another value.
RRefPtr to_reference(const c10::IValue& value);
// The value itself, or that of a reference which is this worker's own.
c10::IValue dereferenced(const c10::IValue& value);
std::shared_ptr<void> to_object(const c10::IValue& value, const std::type_info& type);

template <class T>
struct Convert {
  static c10::IValue from(T value) { return c10::IValue(std::move(value)); }
  static T to(const c10::IValue& value) {
    if constexpr (std::is_same_v<T, c10::IValue>) {
      return value;
    } else {
      return dereferenced(value).to<T>();
    }
  }
};
template <>
struct Convert<float> {
  static c10::IValue from(float value) { return static_cast<double>(value); }
  static float to(const c10::IValue& value) { return static_cast<float>(dereferenced(value).toDouble()); }
};
template <>
struct Convert<const char*> {
  static c10::IValue from(const char* value) { return c10::IValue(std::string(value)); }
};
template <class T>
struct Convert<c10::intrusive_ptr<T>> {
  static constexpr bool kIsReference = std::is_base_of_v<RRef, T> || std::is_same_v<T, RRef>;
  static c10::IValue from(const c10::intrusive_ptr<T>& value) {
    if constexpr (kIsReference) {
      return reference_value(value);
    } else {
      return c10::IValue(value);
    }
  }
  static c10::intrusive_ptr<T> to(const c10::IValue& value) {
    if constexpr (kIsReference) {
      static_assert(std::is_same_v<T, RRef>, "take an RRefPtr");
      return to_reference(value);
    } else {
      return dereferenced(value).to<c10::intrusive_ptr<T>>();
    }
  }
};
template <class T>
struct Convert<std::shared_ptr<T>> {
  static c10::IValue from(std::shared_ptr<T> value) {
    return c10::IValue::make_capsule(c10::make_intrusive<Local>(std::move(value), typeid(T)));
  }
  static std::shared_ptr<T> to(const c10::IValue& value) {
    return std::static_pointer_cast<T>(to_object(dereferenced(value), typeid(T)));
  }
};
template <class T>
struct Convert<std::vector<T>> {
  static c10::IValue from(const std::vector<T>& values) {
    if constexpr (std::is_same_v<T, RRefPtr>) {
      c10::List<c10::IValue> list(c10::AnyType::get());
      for (const T& value : values) list.push_back(Convert<T>::from(value));
      return list;
    } else {
      return c10::IValue(values);
    }
  }
  static std::vector<T> to(const c10::IValue& value) {
    const c10::IValue own = dereferenced(value);
    std::vector<T> values;
    for (const c10::IValue& one : own.toListRef()) values.push_back(Convert<T>::to(one));
    return values;
  }
};

template <class T>
struct Convert<std::optional<T>> {
  static c10::IValue from(const std::optional<T>& value) { return value ? Convert<T>::from(*value) : c10::IValue(); }
  static std::optional<T> to(const c10::IValue& value) {
    return value.isNone() ? std::optional<T>() : std::optional<T>(Convert<T>::to(value));
  }
};
template <class... T>
struct Convert<std::tuple<T...>> {
  static c10::IValue from(const std::tuple<T...>& values) {
    return std::apply(
        [](const T&... value) {
          return c10::ivalue::Tuple::create(std::vector<c10::IValue>{Convert<T>::from(value)...});
        },
        values);
  }
  static std::tuple<T...> to(const c10::IValue& value) {
    const c10::IValue own = dereferenced(value);
    const auto elements = own.toTupleRef().elementsArrayRef();
    TORCH_CHECK_TYPE(elements.size() == sizeof...(T), "rpc: expected a tuple of ", sizeof...(T), " elements, got ",
                     elements.size());
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return std::tuple<T...>(Convert<T>::to(elements[I])...);
    }
    (std::index_sequence_for<T...>());
  }
};

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A>
struct Signature<R (*)(A...)> {
  using Result = R;
  using Arguments = std::tuple<std::decay_t<A>...>;
};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};

}  // namespace detail

/// An argument of a call: anything that a function may take.
class Arg {
 public:
  template <class T>
  requires(!std::is_same_v<std::decay_t<T>, Arg>) Arg(T&& value)
      : value_(detail::Convert<std::decay_t<T>>::from(std::forward<T>(value))) {}
  const c10::IValue& value() const { return value_; }

 private:
  c10::IValue value_;
};
/// {x, 2, "text", reference}
using Args = std::vector<Arg>;

/// Takes the arguments, of which it may take what they hold.
using Function = std::function<c10::IValue(std::vector<c10::IValue>& arguments)>;

namespace detail {
void add_function(const std::string& name, Function function);
}  // namespace detail

/// Makes a function known under a name, to all workers that are threads of this process, too. Throws c10::ValueError
/// where the name is empty, taken, or one of an operator's ("...::..."). A call with another number of arguments, or
/// with others than the function takes, throws c10::TypeError at the caller.
template <class F>
void register_function(const std::string& name, F function) {
  using Signature = detail::Signature<std::decay_t<F>>;
  using Arguments = typename Signature::Arguments;
  detail::add_function(name, [name, function](std::vector<c10::IValue>& arguments) -> c10::IValue {
    constexpr size_t kCount = std::tuple_size_v<Arguments>;
    TORCH_CHECK_TYPE(arguments.size() == kCount, name, "() takes ", kCount, " arguments, but got ", arguments.size());
    return [&]<size_t... I>(std::index_sequence<I...>)->c10::IValue {
      const auto run = [&] {
        return function(detail::Convert<std::tuple_element_t<I, Arguments>>::to(arguments[I])...);
      };
      if constexpr (std::is_void_v<typename Signature::Result>) {
        run();
        return {};
      } else {
        return detail::Convert<std::decay_t<typename Signature::Result>>::from(run());
      }
    }
    (std::make_index_sequence<kCount>());
  });
}

namespace detail {
// Calls a function or an operator. Throws c10::ValueError for a name that is not known, and what the function throws.
c10::IValue call_function(const std::string& name, std::vector<c10::IValue> arguments);
}  // namespace detail

}  // namespace torch::distributed::rpc
