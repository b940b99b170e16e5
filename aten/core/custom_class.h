// torch::class_: C++ classes that operators, programs and files may hold as values.
//
//   struct Stack : torch::CustomClassHolder {
//     explicit Stack(std::vector<std::string> items) : items(std::move(items)) {}
//     void push(std::string item) { items.push_back(std::move(item)); }
//     std::vector<std::string> items;
//   };
//   TORCH_LIBRARY(my, m) {
//     m.class_<Stack>("Stack")
//         .def(torch::init<std::vector<std::string>>())
//         .def("push", &Stack::push)
//         .def("size", [](const c10::intrusive_ptr<Stack>& self) { return static_cast<int64_t>(self->items.size()); })
//         .def_readwrite("items", &Stack::items);
//   }
//   c10::IValue stack = torch::make_custom_class<Stack>(std::vector<std::string>{"a"});
//   stack.toObject()->type()->getMethod("push")({stack, "b"});
//   stack.toCustomClass<Stack>()->items.size();  // 2
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

#include "aten/core/boxing.h"
#include "aten/core/library.h"
#include "c10/dispatch/function_schema.h"
#include "c10/value/custom_class_registry.h"
#include "c10/value/function.h"
#include "c10/value/object.h"

namespace torch {

// A named argument of a method, with a default if one is given: torch::arg("k") = 5.
class arg {
 public:
  explicit arg(std::string name) : name_(std::move(name)) {}
  static c10::IValue none() { return c10::IValue(); }
  arg& operator=(const c10::IValue& value) {
    value_ = value;
    return *this;
  }

 private:
  friend class class_base;
  std::string name_;
  std::optional<c10::IValue> value_;
};

namespace detail {

template <class... Args>
struct types {};

template <class F>
struct InitLambda {
  F f;
};

// The types of what can be called.
template <class F>
struct SignatureOf : SignatureOf<decltype(&F::operator())> {};
template <class R, class... A>
struct SignatureOf<R (*)(A...)> {
  using Result = R;
  using Arguments = types<A...>;
};
#define KD_MEMBER_(qualifiers)                     \
  template <class C, class R, class... A>          \
  struct SignatureOf<R (C::*)(A...) qualifiers> {  \
    using Result = R;                              \
    using Arguments = types<A...>;                 \
  };
KD_MEMBER_()
KD_MEMBER_(const)
KD_MEMBER_(noexcept)
KD_MEMBER_(const noexcept)
#undef KD_MEMBER_

// A member function as a function of an object.
template <class C, class F>
auto of_object(F f) {
  if constexpr (std::is_member_function_pointer_v<F>) {
    return []<class R, class... A>(F member, std::type_identity<R>, types<A...>) {
      return [member](const c10::intrusive_ptr<C>& self, A... arguments) -> R {
        return ((*self).*member)(std::forward<A>(arguments)...);
      };
    }(f, std::type_identity<typename SignatureOf<F>::Result>(), typename SignatureOf<F>::Arguments());
  } else {
    return f;
  }
}

struct MethodTypes {
  std::vector<c10::TypePtr> arguments;
  std::optional<c10::TypePtr> result;
};

template <class R, class... A>
MethodTypes method_types(types<A...>) {
  MethodTypes result{{c10::getRealTypePtr<std::remove_cvref_t<A>>()...}, std::nullopt};
  if constexpr (!std::is_void_v<R>) result.result = c10::getRealTypePtr<std::remove_cvref_t<R>>();
  return result;
}

// Calls `f` with the arguments on the stack, which its result replaces.
template <class R, class F, class... A, size_t... I>
void call_with_stack(const F& f, c10::Stack& stack, types<A...>, std::index_sequence<I...>) {
  std::tuple<at::boxing::Unboxed<A>...> arguments{at::boxing::Unboxed<A>(stack.data() + I)...};
  c10::IValue result;
  if constexpr (std::is_void_v<R>) {
    f(static_cast<A>(std::get<I>(arguments).get())...);
  } else {
    result = c10::IValue(f(static_cast<A>(std::get<I>(arguments).get())...));
  }
  stack.clear();
  stack.push_back(std::move(result));
}

template <class F>
std::function<void(c10::Stack&)> boxed_method(F f) {
  return [f = std::move(f)](c10::Stack& stack) {
    using Arguments = typename SignatureOf<F>::Arguments;
    [&]<class... A>(types<A...> list) {
      call_with_stack<typename SignatureOf<F>::Result>(f, stack, list, std::index_sequence_for<A...>());
    }(Arguments());
  };
}

}  // namespace detail

// What makes objects of a class: its constructor for these arguments, or a function that gives a c10::intrusive_ptr of it.
template <class... Args>
detail::types<Args...> init() {
  return {};
}
template <class F>
detail::InitLambda<std::decay_t<F>> init(F&& f) {
  return {std::forward<F>(f)};
}

// What class_ does whatever the class.
class class_base {
 protected:
  // Throws where a name is no identifier or is taken.
  class_base(const std::string& ns, const std::string& name, std::string doc, const std::type_info& cpp_class);
  torch::jit::Function* add(
      const std::string& name, std::function<void(c10::Stack&)> boxed, detail::MethodTypes types, std::initializer_list<arg> arguments,
      bool is_static = false);
  void add_property(const std::string& name, torch::jit::Function* getter, torch::jit::Function* setter);
  // Throws unless what __getstate__ gives is what __setstate__ takes.
  void check_pickle() const;

  c10::ClassTypePtr type_;
};

// Makes C known to values under "__torch__.torch.classes.<ns>.<name>". Methods are member functions of C, or functions, lambdas
// and functors whose first argument is a c10::intrusive_ptr<C>. Arguments and results are those of operators (TORCH_LIBRARY).
template <class C>
class class_ : public class_base {
  static_assert(std::is_base_of_v<CustomClassHolder, C>, "torch::class_<C>: C derives from torch::CustomClassHolder");
  using Self = c10::intrusive_ptr<C>;

 public:
  class_(const std::string& ns, const std::string& name, std::string doc = "") : class_base(ns, name, std::move(doc), typeid(C)) {}

  template <class... Args>
  class_& def(detail::types<Args...>, std::string doc = "", std::initializer_list<arg> arguments = {}) {
    return def(init([](Args... values) { return c10::make_intrusive<C>(std::forward<Args>(values)...); }), std::move(doc), arguments);
  }
  template <class F>
  class_& def(detail::InitLambda<F> init, std::string doc = "", std::initializer_list<arg> arguments = {}) {
    define_maker("__init__", std::move(init.f), arguments, typename detail::SignatureOf<F>::Arguments());
    return *this;
  }
  template <class F>
  class_& def(const std::string& name, F f, std::string doc = "", std::initializer_list<arg> arguments = {}) {
    define(name, detail::of_object<C>(std::move(f)), arguments);
    return *this;
  }
  template <class F>
  class_& def_static(const std::string& name, F f, std::string doc = "") {
    using Signature = detail::SignatureOf<F>;
    auto types = detail::method_types<typename Signature::Result>(typename Signature::Arguments());
    add(name, detail::boxed_method(std::move(f)), std::move(types), {}, /*is_static=*/true);
    return *this;
  }
  template <class T>
  class_& def_readwrite(const std::string& name, T C::*field) {
    return def_property(
        name, [field](const Self& self) -> T { return (*self).*field; },
        [field](const Self& self, T value) { (*self).*field = std::move(value); });
  }
  template <class T>
  class_& def_readonly(const std::string& name, T C::*field) {
    return def_property(name, [field](const Self& self) -> T { return (*self).*field; });
  }
  template <class G>
  class_& def_property(const std::string& name, G getter, std::string doc = "") {
    add_property(name, define(name + "_getter", detail::of_object<C>(std::move(getter)), {}), nullptr);
    return *this;
  }
  template <class G, class S>
    requires(!std::is_convertible_v<S, std::string>)
  class_& def_property(const std::string& name, G getter, S setter, std::string doc = "") {
    torch::jit::Function* get = define(name + "_getter", detail::of_object<C>(std::move(getter)), {});
    add_property(name, get, define(name + "_setter", detail::of_object<C>(std::move(setter)), {}));
    return *this;
  }
  // `get_state` gives a value of the object; `set_state` makes an object, a c10::intrusive_ptr<C>, of such a value. Deep copies
  // and files use them.
  template <class G, class S>
  class_& def_pickle(G get_state, S set_state) {
    define("__getstate__", detail::of_object<C>(std::move(get_state)), {});
    define_maker("__setstate__", std::move(set_state), {}, typename detail::SignatureOf<S>::Arguments());
    check_pickle();
    return *this;
  }

 private:
  template <class F>
  torch::jit::Function* define(const std::string& name, F f, std::initializer_list<arg> arguments) {
    using Signature = detail::SignatureOf<F>;
    auto types = detail::method_types<typename Signature::Result>(typename Signature::Arguments());
    return add(name, detail::boxed_method(std::move(f)), std::move(types), arguments);
  }
  // A method that fills an empty object with what `f` makes.
  template <class F, class... A>
  void define_maker(const std::string& name, F f, std::initializer_list<arg> arguments, detail::types<A...>) {
    auto fill = [f = std::move(f)](const c10::intrusive_ptr<c10::ivalue::Object>& self, A... values) {
      const c10::intrusive_ptr<CustomClassHolder> made = f(std::forward<A>(values)...);
      self->setSlot(0, c10::IValue::make_capsule(made));
    };
    detail::MethodTypes types = detail::method_types<void>(detail::types<A...>());
    types.arguments.insert(types.arguments.begin(), type_);
    add(name, detail::boxed_method(std::move(fill)), std::move(types), arguments);
  }
};

template <class C>
class_<C> Library::class_(const std::string& name, std::string doc) {
  return torch::class_<C>(ns_, name, std::move(doc));
}

// An object as a value. Throws where torch::class_ did not register C.
template <class C, class... Args>
c10::IValue make_custom_class(Args&&... args) {
  return c10::IValue(c10::make_intrusive<C>(std::forward<Args>(args)...));
}

}  // namespace torch
