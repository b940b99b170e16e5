#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/boxing.h"
#include "c10/dispatch/function_schema.h"
#include "c10/dispatch/registry.h"

/// Operators that a program defines itself, callable by name like those of the tables, and kernels for operators that exist:
///
///   at::Tensor scale(const at::Tensor& x, double factor) { return at::mul(x, factor); }
///   TORCH_LIBRARY(mine, m) {
///     m.def("scale(Tensor x, float factor=2.0) -> Tensor", &scale);   // differentiable: it is composed of others
///     m.def("twice", [](const at::Tensor& x) { return at::add(x, x); });
///     m.def("norm2(Tensor x) -> Tensor");                             // one kernel a backend, and its gradient:
///   }
///   TORCH_LIBRARY_IMPL(mine, CPU, m) { m.impl("norm2", &norm2_cpu); }
///   TORCH_LIBRARY_IMPL(mine, Autograd, m) { m.impl("norm2", &norm2_autograd); }
///   TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&to_the_cpu>()); }
///
///   c10::Dispatcher::singleton().findSchemaOrThrow("mine::scale", "").typed<at::Tensor(const at::Tensor&, double)>().call(x, 3);
///
/// Arguments of kernels: Tensor, int64_t, double, bool, Scalar, std::string, std::string_view, ScalarType, Layout, MemoryFormat,
/// Device, Generator, Storage, Stream, classes of torch::class_; std::optional, std::vector, c10::List, c10::Dict and std::tuple
/// of these; TensorList, IntArrayRef, ArrayRef<double>, and TensorOptions (four arguments of the schema). A first parameter of type
/// c10::DispatchKeySet is no argument of the schema: it gets the call's keys.
namespace c10 {

/// What boxed kernels that are objects derive from.
///
///   struct Count final : c10::OperatorKernel {
///     void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) { ... }
///   };
struct OperatorKernel {
  virtual ~OperatorKernel() = default;
};

template <TextStream Stream, SameType<OperatorName> X>
Stream& operator<<(Stream& out, const X& name) {
  out << toString(name).c_str();
  return out;
}

}  // namespace c10

namespace torch {

template <class C>
class class_;

namespace jit {
using c10::Stack;
}  // namespace jit

namespace library_internal {

// The schema types that a C++ type stands for.
template <class T>
void add_types(std::vector<c10::TypePtr>& types) {
  if constexpr (std::is_same_v<T, at::TensorOptions>) {
    add_types<std::optional<at::ScalarType>>(types);
    add_types<std::optional<at::Layout>>(types);
    add_types<std::optional<at::Device>>(types);
    add_types<std::optional<bool>>(types);
  } else {
    types.push_back(c10::getRealTypePtr<T>());
  }
}

template <class R>
struct ResultsOf {
  static void add(std::vector<c10::TypePtr>& types) { add_types<std::remove_cvref_t<R>>(types); }
};
template <>
struct ResultsOf<void> {
  static void add(std::vector<c10::TypePtr>&) {}
};
template <class... R>
struct ResultsOf<std::tuple<R...>> {
  static void add(std::vector<c10::TypePtr>& types) { (add_types<std::remove_cvref_t<R>>(types), ...); }
};

// The arguments and results of a function, as a schema has them.
struct FunctionTypes {
  std::vector<c10::TypePtr> arguments;
  std::vector<c10::TypePtr> results;
};

template <class R, class... A>
FunctionTypes types_of() {
  FunctionTypes types;
  (add_types<std::remove_cvref_t<A>>(types.arguments), ...);
  ResultsOf<R>::add(types.results);
  return types;
}

// R (*)(A...) of a callable object.
template <class T>
struct CallOf;
template <class R, class C, class... A>
struct CallOf<R (C::*)(A...)> {
  using type = R(A...);
};
template <class R, class C, class... A>
struct CallOf<R (C::*)(A...) const> {
  using type = R(A...);
};

// A boxed kernel that owns what it calls.
template <class F>
struct OwnedKernel : c10::BoxedKernel {
  explicit OwnedKernel(F owned) : object(std::move(owned)) {}
  F object;
};

// Calls a function of typed arguments with what is on the stack.
template <class F, class Signature>
struct Unboxing;
template <class F, class R, class... A>
struct Unboxing<F, R(A...)> {
  static void call(void* object, const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) {
    at::boxing::apply_to_stack<R, A...>(op.op(), *stack, std::index_sequence_for<A...>(), *static_cast<F*>(object));
  }
  static FunctionTypes types() { return types_of<R, A...>(); }
};
template <class F, class R, class... A>
struct Unboxing<F, R(c10::DispatchKeySet, A...)> {
  static void call(void* object, const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) {
    at::boxing::apply_to_stack<R, A...>(op.op(), *stack, std::index_sequence_for<A...>(), [&](A... arguments) -> R {
      return (*static_cast<F*>(object))(keys, std::forward<A>(arguments)...);
    });
  }
  static FunctionTypes types() { return types_of<R, A...>(); }
};

template <class Signature>
inline constexpr bool kTakesKeys = false;
template <class R, class... A>
inline constexpr bool kTakesKeys<R(c10::DispatchKeySet, A...)> = true;

// Throws where a schema and a function disagree.
void check_types(const std::string& name, const c10::FunctionSchema& schema, const FunctionTypes& types);

}  // namespace library_internal

/// A kernel: a function, a lambda, a functor or a boxed kernel, with the key it is for, if it names one.
class CppFunction final {
 public:
  template <class R, class... A>
  explicit(false) CppFunction(R (*function)(A...)) {
    set_types(&library_internal::Unboxing<R (*)(A...), R(A...)>::types);
    set_boxed<R(A...)>(function);
    if constexpr (!library_internal::kTakesKeys<R(A...)>) {
      boxing_ = &at::boxing::BoxingOf<R(A...)>::value;
      function_ = reinterpret_cast<c10::detail::ErasedFunction>(function);
    }
  }
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, CppFunction> && requires { &std::remove_cvref_t<F>::operator(); })
  explicit(false) CppFunction(F&& object) {
    using Object = std::remove_cvref_t<F>;
    using Signature = typename library_internal::CallOf<decltype(&Object::operator())>::type;
    if constexpr (std::is_convertible_v<Object, Signature*>) {
      *this = CppFunction(static_cast<Signature*>(object));
    } else {
      set_types(&library_internal::Unboxing<Object, Signature>::types);
      set_boxed<Signature>(std::forward<F>(object));
    }
  }

  /// The call passes by: it goes on to the next key.
  static CppFunction makeFallthrough();
  /// `f` is void(const c10::OperatorHandle&, torch::jit::Stack*), or takes a c10::DispatchKeySet between the two.
  template <auto f>
  static CppFunction makeFromBoxedFunction() {
    return from_boxed(std::make_shared<const c10::BoxedKernel>(c10::BoxedKernel{
        [](void*, const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) {
          if constexpr (std::is_invocable_v<decltype(f), const c10::OperatorHandle&, c10::DispatchKeySet, c10::Stack*>) {
            f(op, keys, stack);
          } else {
            f(op, stack);
          }
        },
        nullptr}));
  }
  template <class Functor>
  static CppFunction makeFromBoxedFunctor(std::unique_ptr<Functor> functor) {
    auto owned = std::make_shared<library_internal::OwnedKernel<std::unique_ptr<Functor>>>(std::move(functor));
    owned->functor = owned->object.get();
    owned->call = [](void* object, const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) {
      (*static_cast<Functor*>(object))(op, keys, stack);
    };
    return from_boxed(std::move(owned));
  }
  template <class R, class... A>
  static CppFunction makeFromUnboxedFunction(R (*function)(A...)) {
    return CppFunction(function);
  }
  template <class R, class... A>
  static CppFunction makeFromUnboxedOnlyFunction(R (*function)(A...)) {
    return CppFunction(function);
  }
  /// Throws NotImplementedError with the operator's name where it is called.
  static CppFunction makeNamedNotSupported();

  CppFunction&& debug(std::string) && { return std::move(*this); }

 private:
  friend class Library;
  template <class Func>
  friend CppFunction dispatch(c10::DispatchKey key, Func&& function);
  CppFunction() = default;

  static CppFunction from_boxed(std::shared_ptr<const c10::BoxedKernel> kernel) {
    CppFunction function;
    function.boxed_ = std::move(kernel);
    return function;
  }
  void set_types(library_internal::FunctionTypes (*types)()) { types_ = types; }
  template <class Signature, class F>
  void set_boxed(F&& object) {
    using Object = std::remove_cvref_t<F>;
    auto owned = std::make_shared<library_internal::OwnedKernel<Object>>(std::forward<F>(object));
    owned->functor = &owned->object;
    owned->call = &library_internal::Unboxing<Object, Signature>::call;
    boxed_ = std::move(owned);
  }

  std::optional<c10::DispatchKey> key_;
  const c10::Boxing* boxing_ = nullptr;
  c10::detail::ErasedFunction function_ = nullptr;
  std::shared_ptr<const c10::BoxedKernel> boxed_;
  library_internal::FunctionTypes (*types_)() = nullptr;
};

/// A kernel for one key, whatever the block's key: m.impl("f", torch::dispatch(c10::kCPU, &f_cpu)).
template <class Func>
CppFunction dispatch(c10::DispatchKey key, Func&& function) {
  CppFunction kernel(std::forward<Func>(function));
  kernel.key_ = key;
  return kernel;
}
c10::DispatchKey dispatch_key_of(c10::DeviceType type);
template <class Func>
CppFunction dispatch(c10::DeviceType type, Func&& function) {
  return dispatch(dispatch_key_of(type), std::forward<Func>(function));
}

}  // namespace torch

namespace c10 {
/// What a compiler of graphs may assume of an operator's results: nothing, that they are new, or what the schema says.
enum class AliasAnalysisKind : uint8_t { INTERNAL_SPECIAL_CASE, CONSERVATIVE, FROM_SCHEMA, PURE_FUNCTION };
}  // namespace c10

namespace torch {

/// A schema read from its text, m.def(torch::schema("f(Tensor x) -> Tensor")). Throws for one that cannot be read. The kind says
/// to a compiler of graphs what it may assume of aliases; nothing here assumes more than the schema says.
inline c10::FunctionSchema schema(const char* text, c10::AliasAnalysisKind /*kind*/ = c10::AliasAnalysisKind::FROM_SCHEMA) {
  return c10::parse_schema(text);
}

/// What TORCH_LIBRARY and TORCH_LIBRARY_IMPL hand to their blocks. What was registered through it is taken back when it ends,
/// as when a shared library is closed.
class Library final {
 public:
  enum Kind { DEF, IMPL, FRAGMENT };
  /// `ns` is "_" for kernels of operators of any namespace. Throws for a namespace that another DEF library has.
  Library(Kind kind, std::string ns, std::optional<c10::DispatchKey> key, const char* file, uint32_t line);
  Library(Library&&) = default;
  Library& operator=(Library&&) = default;

  /// An operator by its schema; its kernels follow in TORCH_LIBRARY_IMPL. Throws for a schema that cannot be read and for a
  /// name that is taken.
  Library& def(const std::string& schema, const std::vector<at::Tag>& tags = {});
  /// An operator with the function that computes it on every device. It is differentiable if it calls differentiable operators.
  /// `schema` may be a mere name: the types are then those of the function. Throws where schema and function disagree.
  template <class F>
    requires std::constructible_from<CppFunction, F>
  Library& def(const std::string& schema, F&& function, const std::vector<at::Tag>& tags = {}) {
    return define(schema, CppFunction(std::forward<F>(function)), tags);
  }
  /// The same with a schema that torch::schema made.
  Library& def(const c10::FunctionSchema& schema, const std::vector<at::Tag>& tags = {}) { return def(schema.str(), tags); }
  template <class F>
    requires std::constructible_from<CppFunction, F>
  Library& def(const c10::FunctionSchema& schema, F&& function, const std::vector<at::Tag>& tags = {}) {
    return def(schema.str(), std::forward<F>(function), tags);
  }
  /// The kernel of an operator for the block's key, or the one that the function names. For an operator of the tables
  /// (TORCH_LIBRARY_IMPL(aten, CPU, m)) it takes the place of the one there. The operator may be defined later. Throws where
  /// the types differ from the schema's.
  template <class F>
    requires std::constructible_from<CppFunction, F>
  Library& impl(const std::string& name, F&& function) {
    return implement(name, CppFunction(std::forward<F>(function)));
  }
  template <class Key, class F>
    requires(std::same_as<Key, c10::DispatchKey> || std::same_as<Key, c10::DeviceType>)
  Library& impl(const std::string& name, Key key, F&& function) {
    return implement(name, dispatch(key, std::forward<F>(function)));
  }
  /// impl, under the name of before 1.8.
  template <class F>
    requires std::constructible_from<CppFunction, F>
  Library& impl_UNBOXED(const std::string& name, F&& function) {
    return impl(name, std::forward<F>(function));
  }
  /// A boxed kernel that handles the block's key for all operators that have none of their own for it (namespace "_").
  template <class F>
    requires std::constructible_from<CppFunction, F>
  Library& fallback(F&& function) {
    return set_fallback(CppFunction(std::forward<F>(function)));
  }
  /// Python's business: says where the Meta functions are. Nothing here.
  Library& set_python_module(const char*, const char* = "") { return *this; }

  /// A class of this namespace, which values may hold (aten/core/custom_class.h, which defines this).
  template <class C>
  torch::class_<C> class_(const std::string& name, std::string doc = "");

  const std::string& ns() const { return ns_; }
  /// Takes everything back.
  void reset() { registrations_.clear(); }
  ~Library() { reset(); }

 private:
  Library& define(const std::string& schema, CppFunction&& function, const std::vector<at::Tag>& tags);
  Library& implement(const std::string& name, CppFunction&& function);
  Library& set_fallback(CppFunction&& function);
  void check_may_define(const std::string& schema) const;
  std::string define_operator(const std::string& schema, const std::vector<at::Tag>& tags);

  Kind kind_;
  std::string ns_;
  std::optional<c10::DispatchKey> key_;
  std::vector<c10::RegistrationHandleRAII> registrations_;
};

namespace detail {

class TorchLibraryInit final {
 public:
  TorchLibraryInit(Library::Kind kind, void (*fill)(Library&), const char* ns, std::optional<c10::DispatchKey> key,
                   const char* file, uint32_t line)
      : library_(kind, ns, key, file, line) {
    fill(library_);
  }

 private:
  Library library_;
};

}  // namespace detail
}  // namespace torch

#define KD_LIBRARY_(kind, ns, key, m, id)                                                                              \
  static void C10_CONCATENATE(torch_library_fill_##ns##_, id)(torch::Library&);                                        \
  static const torch::detail::TorchLibraryInit C10_CONCATENATE(torch_library_init_##ns##_, id)(                        \
      torch::Library::kind, &C10_CONCATENATE(torch_library_fill_##ns##_, id), #ns, key, __FILE__, __LINE__);           \
  void C10_CONCATENATE(torch_library_fill_##ns##_, id)([[maybe_unused]] torch::Library & m)
#define TORCH_LIBRARY(ns, m) KD_LIBRARY_(DEF, ns, std::nullopt, m, C10_UID)
#define TORCH_LIBRARY_FRAGMENT(ns, m) KD_LIBRARY_(FRAGMENT, ns, std::nullopt, m, C10_UID)
#define TORCH_LIBRARY_IMPL(ns, k, m) KD_LIBRARY_(IMPL, ns, c10::DispatchKey::k, m, C10_UID)

/// A library object of one's own, to be kept: auto m = MAKE_TORCH_LIBRARY(mine); m.def(...).
#define MAKE_TORCH_LIBRARY(ns) torch::Library(torch::Library::DEF, #ns, std::nullopt, __FILE__, __LINE__)
#define MAKE_TORCH_LIBRARY_IMPL(ns, k) \
  torch::Library(torch::Library::IMPL, #ns, c10::DispatchKey::k, __FILE__, __LINE__)

#define TORCH_FN(function) (&function)
#define TORCH_SELECTIVE_NAME(name) name
#define TORCH_SELECTIVE_SCHEMA(schema) schema
