#pragma once

// Operators that a program defines through the stable interface, callable by name like all others:
//
//   using torch::stable::Tensor;
//   Tensor scale(const Tensor& x, double factor) { ... }
//   STABLE_TORCH_LIBRARY(mine, m) { m.def("scale(Tensor x, float factor) -> Tensor"); }
//   STABLE_TORCH_LIBRARY_IMPL(mine, CPU, m) { m.impl("scale", TORCH_BOX(&scale)); }
//
// Arguments and results: Tensor, int64_t and other integers, double, bool, ScalarType, Layout, MemoryFormat, Device, Generator,
// std::string (arguments also std::string_view), std::vector (arguments also HeaderOnlyArrayRef) and std::optional of these, and
// a std::tuple of results.

#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "c10/dispatch/registry.h"
#include "c10/macros/macros.h"
#include "c10/util/type_traits.h"
#include "stable/accelerator.h"
#include "stable/conversions.h"
#include "stable/headeronly_core.h"
#include "stable/shim.h"
#include "stable/tensor.h"

namespace torch::stable::detail {

// What holds an argument of type A while the function runs.
template <class A>
struct Held {
  using type = A;
};
template <>
struct Held<std::string_view> {
  using type = std::string;
};
template <class T>
struct Held<c10::ArrayRef<T>> {
  using type = std::vector<typename Held<T>::type>;
};
template <class T>
struct Held<std::optional<T>> {
  using type = std::optional<typename Held<T>::type>;
};
template <class A>
using held_t = typename Held<std::remove_cvref_t<A>>::type;

template <class Signature>
struct SignatureOf;
template <class R, class... A>
struct SignatureOf<R(A...)> {
  template <auto function>
  static void call(StableIValue* stack, uint64_t num_args, uint64_t num_outputs) {
    check_counts(num_args, num_outputs);
    call_with<function>(stack, std::index_sequence_for<A...>());
  }

 private:
  static constexpr uint64_t kResults = [] {
    if constexpr (std::is_void_v<R>) {
      return 0;
    } else if constexpr (requires { std::tuple_size<R>::value; }) {
      return std::tuple_size_v<R>;
    } else {
      return 1;
    }
  }();

  static void check_counts(uint64_t num_args, uint64_t num_outputs) {
    if (num_args != sizeof...(A)) {
      throw WrongCounts(
          c10::str("Registered schema has ", num_args, " args, but the kernel to box has ", sizeof...(A)));
    }
    if (num_outputs != kResults) {
      throw WrongCounts(
          c10::str("Registered schema has ", num_outputs, " outputs, but the kernel to box has ", kResults));
    }
  }

  template <auto function, size_t... i>
  static void call_with([[maybe_unused]] StableIValue* stack, std::index_sequence<i...>) {
    [[maybe_unused]] std::tuple<held_t<A>...> held{to<held_t<A>>(stack[i])...};
    if constexpr (std::is_void_v<R>) {
      function(std::get<i>(held)...);
    } else if constexpr (requires { std::tuple_size<R>::value; }) {
      size_t slot = 0;
      std::apply([&](const auto&... results) { ((stack[slot++] = from(results)), ...); }, function(std::get<i>(held)...));
    } else {
      stack[0] = from(function(std::get<i>(held)...));
    }
  }
};

template <class F>
using signature_t = typename c10::guts::infer_function_traits_t<F>::func_type;

/// What STABLE_TORCH_LIBRARY and STABLE_TORCH_LIBRARY_IMPL hand to their blocks. What was registered through it is taken back
/// when it ends. Its functions throw std::runtime_error with what torch::Library's say of the same mistake.
class StableLibrary final {
 public:
  enum class Kind { DEF, IMPL, FRAGMENT };

  StableLibrary(Kind kind, const char* ns, const char* k, const char* file, uint32_t line) {
    switch (kind) {
      case Kind::DEF: STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_library_init_def(ns, file, line, &library_)); break;
      case Kind::IMPL: STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_library_init_impl(ns, k, file, line, &library_)); break;
      case Kind::FRAGMENT:
        STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_library_init_fragment(ns, file, line, &library_));
        break;
    }
  }
  StableLibrary(const StableLibrary&) = delete;
  StableLibrary& operator=(const StableLibrary&) = delete;
  ~StableLibrary() { aoti_torch_delete_library_object(library_); }

  /// The kernel of an operator for the block's key: TORCH_BOX(&f), or a function that reads the stack itself.
  StableLibrary& impl(const char* name, void (*fn)(StableIValue* stack, uint64_t num_args, uint64_t num_outputs)) {
    STABLE_TORCH_ERROR_CODE_CHECK(torch_library_impl(library_, name, fn, 0));
    return *this;
  }
  /// An operator by its whole schema.
  StableLibrary& def(const char* schema) {
    STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_library_def(library_, schema));
    return *this;
  }
  StableLibrary& def(const char* schema, const std::vector<at::Tag>& tags) {
    std::vector<int32_t> codes;
    for (const at::Tag tag : tags) codes.push_back(static_cast<int32_t>(tag));
    STABLE_TORCH_ERROR_CODE_CHECK(
        torch_library_def_with_tags(library_, schema, codes.data(), static_cast<int32_t>(codes.size())));
    return *this;
  }
  StableLibrary& set_python_module(const char* pymodule, const char* context = "") {
    STABLE_TORCH_ERROR_CODE_CHECK(torch_library_set_python_module(library_, pymodule, context));
    return *this;
  }

 private:
  TorchLibraryHandle library_ = nullptr;
};

class StableTorchLibraryInit final {
 public:
  using InitFn = void(StableLibrary&);
  StableTorchLibraryInit(StableLibrary::Kind kind, InitFn* fn, const char* ns, const char* k, const char* file,
                         uint32_t line)
      : library_(kind, ns, k, file, line) {
    fn(library_);
  }

 private:
  StableLibrary library_;
};

}  // namespace torch::stable::detail

/// A function with its arguments and results on a stack: TORCH_BOX(&f).
#define TORCH_BOX(func) \
  (&torch::stable::detail::SignatureOf<torch::stable::detail::signature_t<decltype(func)>>::template call<(func)>)

#define KD_STABLE_LIBRARY_(kind, ns, k, m, id)                                                                           \
  static void C10_CONCATENATE(stable_library_fill_##ns##_, id)(torch::stable::detail::StableLibrary&);                   \
  static const torch::stable::detail::StableTorchLibraryInit C10_CONCATENATE(stable_library_init_##ns##_, id)(           \
      torch::stable::detail::StableLibrary::Kind::kind, &C10_CONCATENATE(stable_library_fill_##ns##_, id), #ns, k,       \
      __FILE__, __LINE__);                                                                                               \
  void C10_CONCATENATE(stable_library_fill_##ns##_, id)([[maybe_unused]] torch::stable::detail::StableLibrary & m)
#define STABLE_TORCH_LIBRARY(ns, m) KD_STABLE_LIBRARY_(DEF, ns, nullptr, m, C10_UID)
#define STABLE_TORCH_LIBRARY_FRAGMENT(ns, m) KD_STABLE_LIBRARY_(FRAGMENT, ns, nullptr, m, C10_UID)
#define STABLE_TORCH_LIBRARY_IMPL(ns, k, m) KD_STABLE_LIBRARY_(IMPL, ns, #k, m, C10_UID)
