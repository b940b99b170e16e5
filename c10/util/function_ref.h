// function_ref<R(Args...)>: a callable that the caller keeps alive, as an argument. Two words, no allocation.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace c10 {

template <class Function>
class function_ref;

template <class Result, class... Args>
class function_ref<Result(Args...)> {
 public:
  function_ref() = default;
  function_ref(std::nullptr_t) {}
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, function_ref> &&
             std::is_invocable_r_v<Result, Callable&, Args...>)
  function_ref(Callable&& callable) {
    using Object = std::remove_reference_t<Callable>;
    if constexpr (std::is_function_v<Object>) {
      object_ = reinterpret_cast<intptr_t>(&callable);
      call_ = [](intptr_t object, Args... args) -> Result {
        return reinterpret_cast<Object*>(object)(std::forward<Args>(args)...);
      };
    } else {
      object_ = reinterpret_cast<intptr_t>(std::addressof(callable));
      call_ = [](intptr_t object, Args... args) -> Result {
        return (*reinterpret_cast<Object*>(object))(std::forward<Args>(args)...);
      };
    }
  }
  Result operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }
  explicit operator bool() const { return call_ != nullptr; }

 private:
  Result (*call_)(intptr_t object, Args... args) = nullptr;
  intptr_t object_ = 0;
};

}  // namespace c10
