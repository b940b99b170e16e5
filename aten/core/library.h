#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/boxing.h"
#include "c10/dispatch/function_schema.h"
#include "c10/dispatch/registry.h"

// Operators that a program defines itself, callable by name like those of the tables:
//
//   at::Tensor scale(const at::Tensor& x, double factor) { return at::mul(x, factor); }
//   TORCH_LIBRARY(mine, m) {
//     m.def("scale(Tensor x, float factor=2.0) -> Tensor", &scale);   // differentiable: it is composed of others
//     m.def("norm2(Tensor x) -> Tensor");                             // one kernel a backend, and its gradient:
//   }
//   TORCH_LIBRARY_IMPL(mine, CPU, m) { m.impl("norm2", &norm2_cpu); }
//   TORCH_LIBRARY_IMPL(mine, Autograd, m) { m.impl("norm2", &norm2_autograd); }
//
//   c10::Dispatcher::singleton().findSchemaOrThrow("mine::scale", "").typed<at::Tensor(const at::Tensor&, double)>()(x, 3);
//
// Arguments: Tensor, int64_t, double, bool, Scalar, std::string, std::string_view, ScalarType, Device, optionals of these,
// TensorList, IntArrayRef, ArrayRef<double>, and std::vector of Tensor, int64_t and double.
namespace at::boxing {

template <>
inline std::string from_ivalue(const IValue& value) {
  return value.toStringRef();
}
template <>
inline std::vector<Tensor> from_ivalue(const IValue& value) {
  return tensors_of(value);
}
template <>
inline std::vector<int64_t> from_ivalue(const IValue& value) {
  return integers_of(value);
}
template <>
inline std::vector<double> from_ivalue(const IValue& value) {
  return doubles_of(value);
}
template <class T>
struct Unboxed<const T&> : Unboxed<T> {
  using Unboxed<T>::Unboxed;
};
inline void push(Stack& stack, const std::string& value) { stack.emplace_back(value); }
inline void push(Stack& stack, const std::vector<int64_t>& value) { stack.emplace_back(value); }
inline void push(Stack& stack, const std::vector<double>& value) { stack.emplace_back(value); }

}  // namespace at::boxing

namespace torch {

namespace library_internal {

using SchemaKind = c10::SchemaType::Kind;

// The schema type that a C++ type stands for.
template <class T>
struct TypeOf;
template <SchemaKind kKind, bool kList = false>
struct PlainType {
  static c10::SchemaType get() { return {.kind = kKind, .list = kList}; }
};
// clang-format off
template <> struct TypeOf<at::Tensor> : PlainType<SchemaKind::Tensor> {};
template <> struct TypeOf<int64_t> : PlainType<SchemaKind::Int> {};
template <> struct TypeOf<double> : PlainType<SchemaKind::Float> {};
template <> struct TypeOf<bool> : PlainType<SchemaKind::Bool> {};
template <> struct TypeOf<at::Scalar> : PlainType<SchemaKind::Scalar> {};
template <> struct TypeOf<std::string> : PlainType<SchemaKind::String> {};
template <> struct TypeOf<std::string_view> : PlainType<SchemaKind::String> {};
template <> struct TypeOf<at::ScalarType> : PlainType<SchemaKind::ScalarType> {};
template <> struct TypeOf<at::Device> : PlainType<SchemaKind::Device> {};
template <> struct TypeOf<at::TensorList> : PlainType<SchemaKind::Tensor, true> {};
template <> struct TypeOf<std::vector<at::Tensor>> : PlainType<SchemaKind::Tensor, true> {};
template <> struct TypeOf<at::IntArrayRef> : PlainType<SchemaKind::Int, true> {};
template <> struct TypeOf<std::vector<int64_t>> : PlainType<SchemaKind::Int, true> {};
template <> struct TypeOf<at::ArrayRef<double>> : PlainType<SchemaKind::Float, true> {};
template <> struct TypeOf<std::vector<double>> : PlainType<SchemaKind::Float, true> {};
// clang-format on
template <class T>
struct TypeOf<std::optional<T>> {
  static c10::SchemaType get() {
    c10::SchemaType type = TypeOf<T>::get();
    type.optional = true;
    return type;
  }
};

template <class R>
struct ResultsOf {
  static std::vector<c10::SchemaType> get() { return {TypeOf<std::remove_cvref_t<R>>::get()}; }
};
template <>
struct ResultsOf<void> {
  static std::vector<c10::SchemaType> get() { return {}; }
};
template <class... R>
struct ResultsOf<std::tuple<R...>> {
  static std::vector<c10::SchemaType> get() { return {TypeOf<std::remove_cvref_t<R>>::get()...}; }
};

// What a library needs to know of a function: how to box it, what it takes and gives, and how to make its operator object.
struct FunctionFacts {
  c10::BoxedFunction boxed;
  std::vector<c10::SchemaType> arguments;
  std::vector<c10::SchemaType> results;
  c10::OperatorBase* (*make)(const char* name, const char* ns);
  void (*set)(c10::OperatorBase& op, c10::DispatchKey key, void (*function)());
};

template <class R, class... A>
FunctionFacts facts_of(R (*)(A...)) {
  using Op = c10::Operator<R(A...)>;
  return {
      &at::boxing::Boxed<R(A...)>::call,
      {TypeOf<std::remove_cvref_t<A>>::get()...},
      ResultsOf<R>::get(),
      [](const char* name, const char* ns) -> c10::OperatorBase* {
        return new Op(name, ns, c10::Autograd::kPass, nullptr, nullptr, nullptr, nullptr);
      },
      [](c10::OperatorBase& op, c10::DispatchKey key, void (*function)()) {
        static_cast<Op&>(op).set(key, reinterpret_cast<typename Op::Function>(function));
      },
  };
}

}  // namespace library_internal

// What a kernel that m.impl names stands for.
enum class LibraryKey : uint8_t { CPU, CUDA, Meta, Autograd, CompositeImplicitAutograd, CompositeExplicitAutograd };

// What TORCH_LIBRARY and TORCH_LIBRARY_IMPL hand to their blocks.
class Library {
 public:
  enum class Kind : uint8_t { kDefine, kFragment, kImplement };
  Library(Kind kind, const char* ns, LibraryKey key) : kind_(kind), ns_(ns), key_(key) {}

  // An operator by its schema; its kernels follow in TORCH_LIBRARY_IMPL. Throws for a schema that cannot be read and for a
  // name that is taken.
  Library& def(const std::string& schema);
  // An operator with the function that computes it on every device. It is differentiable if it calls differentiable operators.
  // `schema` may be a mere name: the types are then those of the function. Throws where schema and function disagree.
  template <class R, class... A>
  Library& def(const std::string& schema, R (*function)(A...)) {
    return define(schema, library_internal::facts_of(function), reinterpret_cast<void (*)()>(function));
  }
  // The kernel of an operator of this namespace for the block's key. For an operator of the tables (TORCH_LIBRARY_IMPL(aten,
  // CPU, m)) it takes the place of the one there. Throws where there is no such operator or the types differ.
  template <class R, class... A>
  Library& impl(const std::string& name, R (*function)(A...)) {
    return implement(name, library_internal::facts_of(function), reinterpret_cast<void (*)()>(function), key_);
  }

 private:
  Library& define(const std::string& schema, const library_internal::FunctionFacts& facts, void (*function)());
  Library& implement(const std::string& name, const library_internal::FunctionFacts& facts, void (*function)(), LibraryKey key);

  Kind kind_;
  const char* ns_;
  LibraryKey key_;
};

namespace library_internal {

class LibraryInit {
 public:
  LibraryInit(Library::Kind kind, const char* ns, LibraryKey key, void (*fill)(Library&)) {
    Library library(kind, ns, key);
    fill(library);
  }
};

}  // namespace library_internal
}  // namespace torch

#define KD_LIBRARY_(kind, ns, key, m, id)                                                                             \
  static void C10_CONCATENATE(torch_library_fill_##ns##_, id)(torch::Library&);                                       \
  static const torch::library_internal::LibraryInit C10_CONCATENATE(torch_library_init_##ns##_, id)(                  \
      torch::Library::Kind::kind, #ns, torch::LibraryKey::key, &C10_CONCATENATE(torch_library_fill_##ns##_, id));     \
  void C10_CONCATENATE(torch_library_fill_##ns##_, id)([[maybe_unused]] torch::Library & m)
#define TORCH_LIBRARY(ns, m) KD_LIBRARY_(kDefine, ns, CompositeImplicitAutograd, m, C10_UID)
#define TORCH_LIBRARY_FRAGMENT(ns, m) KD_LIBRARY_(kFragment, ns, CompositeImplicitAutograd, m, C10_UID)
#define TORCH_LIBRARY_IMPL(ns, key, m) KD_LIBRARY_(kImplement, ns, key, m, C10_UID)
