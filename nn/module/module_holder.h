// ModuleHolder<Impl>: what TORCH_MODULE makes a module's public name: a std::shared_ptr with value-like construction.
// Copies share the module.
//
//   torch::nn::Linear a(3, 2);        // makes a LinearImpl
//   torch::nn::Linear b = a;          // the same one
//   torch::nn::Linear none(nullptr);  // nothing yet
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "c10/util/exception.h"
#include "nn/module/module_call.h"

namespace torch::nn {

class Module;

namespace detail {
struct ModuleHolderIndicator {};

template <typename M>
inline constexpr bool is_module_holder = std::is_base_of_v<ModuleHolderIndicator, std::decay_t<M>>;

template <typename M, bool = is_module_holder<M>>
struct contained_type {
  using type = M;
};
template <typename M>
struct contained_type<M, true> {
  using type = typename std::decay_t<M>::ContainedType;
};
template <typename M>
using contained_type_t = typename contained_type<M>::type;

// A module implementation itself (not a holder, not a pointer).
template <typename M>
concept ModuleImpl = std::is_base_of_v<Module, std::decay_t<M>>;
template <typename M>
concept ModuleHolderType = is_module_holder<M>;
}  // namespace detail

template <typename Contained>
class ModuleHolder : detail::ModuleHolderIndicator {
 public:
  using ContainedType = Contained;
  using Impl = Contained;

  ModuleHolder() : impl_(construct()) {
    static_assert(std::is_default_constructible_v<Contained>,
                  "this module has no default constructor; write `Holder name{nullptr}` for an empty holder");
  }
  ModuleHolder(std::nullptr_t) {}
  template <typename Head, typename... Tail>
  requires(!(std::is_base_of_v<ModuleHolder, std::decay_t<Head>> && sizeof...(Tail) == 0) &&
           !(std::is_convertible_v<Head, std::shared_ptr<Contained>> &&
             sizeof...(Tail) == 0)) explicit ModuleHolder(Head&& head, Tail&&... tail)
      : impl_(std::make_shared<Contained>(std::forward<Head>(head), std::forward<Tail>(tail)...)) {}
  ModuleHolder(std::shared_ptr<Contained> module) : impl_(std::move(module)) {}
  // Written out, so that declaring a holder does not make the compiler weigh every constructor of std::shared_ptr.
  ModuleHolder(const ModuleHolder& other) : impl_(other.impl_) {}
  ModuleHolder(ModuleHolder&& other) noexcept : impl_(std::move(other.impl_)) {}
  ModuleHolder& operator=(const ModuleHolder& other) {
    impl_ = other.impl_;
    return *this;
  }
  ModuleHolder& operator=(ModuleHolder&& other) noexcept {
    impl_ = std::move(other.impl_);
    return *this;
  }

  explicit operator bool() const noexcept { return !is_empty(); }
  bool is_empty() const noexcept { return impl_ == nullptr; }

  Contained* operator->() { return get(); }
  const Contained* operator->() const { return get(); }
  Contained& operator*() { return *get(); }
  const Contained& operator*() const { return *get(); }
  const std::shared_ptr<Contained>& ptr() const {
    TORCH_CHECK(!is_empty(), "Accessing empty ModuleHolder");
    return impl_;
  }
  Contained* get() {
    TORCH_CHECK(!is_empty(), "Accessing empty ModuleHolder");
    return impl_.get();
  }
  const Contained* get() const { return const_cast<ModuleHolder*>(this)->get(); }

  // Calls forward, with the module's hooks.
  template <typename... Args, typename M = Contained>
  auto operator()(Args&&... args) -> decltype(std::declval<M&>().forward(std::forward<Args>(args)...)) {
    return call_module(*get(), std::forward<Args>(args)...);
  }
  template <typename Arg>
  decltype(auto) operator[](Arg&& arg) {
    return (*get())[std::forward<Arg>(arg)];
  }

 protected:
  std::shared_ptr<Contained> impl_;

 private:
  static std::shared_ptr<Contained> construct() {
    if constexpr (std::is_default_constructible_v<Contained>) {
      return std::make_shared<Contained>();
    } else {
      return nullptr;
    }
  }
};

template <typename Stream, typename M>
requires requires(Stream& s) {
  s.flush();
}
Stream& operator<<(Stream& stream, const ModuleHolder<M>& holder) {
  stream << *holder;
  return stream;
}
template <typename M>
void to_text(std::string& out, const ModuleHolder<M>& holder) {
  to_text(out, *holder);
}

}  // namespace torch::nn

// `class Name : ModuleHolder<ImplType>`.
#define TORCH_MODULE_IMPL(Name, ImplType)                              \
  class Name : public torch::nn::ModuleHolder<ImplType> { /* NOLINT */ \
   public:                                                             \
    using torch::nn::ModuleHolder<ImplType>::ModuleHolder;             \
    using Impl [[maybe_unused]] = ImplType;                            \
  }
#define TORCH_MODULE(Name) TORCH_MODULE_IMPL(Name, Name##Impl)
