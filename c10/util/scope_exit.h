// What is done when a scope is left, however that happens.
//
//   auto close = c10::make_scope_exit([&] { ::close(fd); });
//   close.release();        // not, after all
#pragma once

#include <type_traits>
#include <utility>

namespace c10 {

template <class Callable>
class scope_exit {
 public:
  template <class Function>
  explicit scope_exit(Function&& function) : function_(std::forward<Function>(function)) {}
  scope_exit(scope_exit&& other) : function_(std::move(other.function_)), engaged_(other.engaged_) { other.release(); }
  scope_exit(const scope_exit&) = delete;
  scope_exit& operator=(const scope_exit&) = delete;
  scope_exit& operator=(scope_exit&&) = delete;
  ~scope_exit() {
    if (engaged_) function_();
  }
  void release() { engaged_ = false; }

 private:
  Callable function_;
  bool engaged_ = true;
};

template <class Callable>
[[nodiscard]] scope_exit<std::decay_t<Callable>> make_scope_exit(Callable&& function) {
  return scope_exit<std::decay_t<Callable>>(std::forward<Callable>(function));
}

}  // namespace c10
