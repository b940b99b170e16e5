// Another function in the place of the one by which an operator is composed of others. For the files of this folder.
#pragma once

#include <atomic>
#include <mutex>
#include <utility>

#include "aten/core/boxing.h"
#include "c10/dispatch/registry.h"

namespace torch::distributed::tensor::parallel {

inline std::mutex installing;

/// `Function` takes the place of operator `name`'s, for the whole program and from the first install() on; it calls
/// before() where it has nothing to do on the calling thread. What is linked, but never asked for, changes nothing.
template <class Signature>
class CompositeOverride;
template <class R, class... A>
class CompositeOverride<R(A...)> {
 public:
  using Function = R (*)(A...);

  void install(const char* name, Function function) {
    if (before_.load(std::memory_order_acquire) != nullptr) return;
    const std::lock_guard<std::mutex> one_at_a_time(installing);
    if (before_.load(std::memory_order_relaxed) != nullptr) return;
    constexpr auto kKey = c10::DispatchKey::CompositeImplicitAutograd;
    const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<R(A...)>();
    before_.store(reinterpret_cast<Function>(c10::detail::get_function(op.op(), kKey)), std::memory_order_release);
    c10::detail::set_function(op.op(), kKey, reinterpret_cast<c10::detail::ErasedFunction>(function));
  }
  R before(A... arguments) const { return before_.load(std::memory_order_acquire)(std::forward<A>(arguments)...); }

 private:
  std::atomic<Function> before_{nullptr};
};

}  // namespace torch::distributed::tensor::parallel
