// torch::futures: values that come later, with their C++ type. Future<T> is a handle of a c10::ivalue::Future, which
// other parts of the library give and take (RPC, DDP's communication hooks): future() is that, Future<T>(future) the
// way back.
//
//   torch::futures::Future<int64_t> number;
//   torch::futures::Future<std::string> text = number.then([](auto& n) { return std::to_string(n.value()); });
//   number.set_result(5);      // from any thread; runs what waits for it there
//   text.wait();               // "5"
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "c10/util/exception.h"
#include "c10/value/future.h"
#include "c10/value/ivalue_to.h"
#include "c10/value/list.h"
#include "c10/value/type_of.h"

namespace torch::futures {

namespace detail {

// What an operator or TorchScript knows goes as itself, other types in an object that nobody else looks into.
template <class T>
struct Held final : c10::intrusive_ptr_target {
  explicit Held(T v) : value(std::move(v)) {}
  T value;
};

template <class T>
constexpr bool kIsValue = requires(const T& value, const c10::IValue& held) {
  c10::detail::TypeOf<T>::get();
  c10::IValue(value);
  held.to<T>();
};
template <class T>
constexpr bool kIsValue<std::vector<T>> = kIsValue<T>;
template <class T>
constexpr bool kIsValue<std::optional<T>> = kIsValue<T>;
template <class... T>
constexpr bool kIsValue<std::tuple<T...>> = (kIsValue<T> && ...);

template <class T>
c10::TypePtr type_of() {
  if constexpr (std::is_void_v<T>) {
    return c10::NoneType::get();
  } else if constexpr (kIsValue<T>) {
    return c10::getTypePtr<T>();
  } else {
    return c10::AnyType::get();
  }
}
template <class T>
c10::IValue held(T value) {
  if constexpr (kIsValue<T>) {
    return c10::IValue(std::move(value));
  } else {
    return c10::IValue::make_capsule(c10::make_intrusive<Held<T>>(std::move(value)));
  }
}
template <class T>
T value_of(const c10::IValue& value) {
  if constexpr (std::is_void_v<T>) {
    return;
  } else if constexpr (kIsValue<T>) {
    return value.to<T>();
  } else {
    return static_cast<const Held<T>&>(*value.toCapsule()).value;
  }
}

}  // namespace detail

/// A value of type T that comes later, or an error; `void` for one that only says when. Copies are the same future.
/// Thread-safe. T is copied out of it each time; tensors and what else is counted are not copied with that.
template <class T>
class Future {
 public:
  using value_type = T;

  Future() : Future(c10::make_intrusive<c10::ivalue::Future>(detail::type_of<T>())) {}
  /// A future of another part of the library, whose value is a T.
  explicit Future(c10::intrusive_ptr<c10::ivalue::Future> future) : future_(std::move(future)) {}

  /// Waits for the value. Throws what the future was completed with, if that was an exception.
  T wait() const {
    future_->waitAndThrow();
    return value();
  }
  /// The value of a future that is done(). Throws c10::Error where it is not, and the exception where it holds one.
  T value() const { return detail::value_of<T>(future_->value()); }
  /// Whether it has a value or an exception.
  bool done() const { return future_->completed(); }

  /// Completes it and runs its callbacks on this thread. Throws c10::Error where it is completed already.
  template <class U>
    requires(!std::is_void_v<T>)
  void set_result(U&& value) const {
    future_->markCompleted(detail::held<T>(std::forward<U>(value)));
  }
  void set_result() const
    requires std::is_void_v<T>
  {
    future_->markCompleted();
  }
  /// Completes it with an exception, which wait() and value() throw. Throws c10::Error where it is completed already.
  void set_exception(std::exception_ptr error) const {
    TORCH_CHECK_VALUE(error != nullptr, "Future::set_exception: expected an exception");
    future_->setError(std::move(error));
  }
  template <class E>
    requires std::is_base_of_v<std::exception, std::remove_cvref_t<E>>
  void set_exception(E&& error) const {
    set_exception(std::make_exception_ptr(std::forward<E>(error)));
  }

  /// A future of callback(*this), which is called when this one is done, with a value or an exception, on the thread
  /// that completes it; now, if it is done. What the callback throws is the result's exception.
  template <class F>
  auto then(F callback) const {
    using R = std::invoke_result_t<F&, const Future&>;
    auto run = [callback = std::move(callback)](c10::ivalue::Future& self) mutable -> c10::IValue {
      const Future done(c10::intrusive_ptr<c10::ivalue::Future>::reclaim_copy(&self));
      if constexpr (std::is_void_v<R>) {
        callback(done);
        return c10::IValue();
      } else {
        return detail::held<R>(callback(done));
      }
    };
    return Future<R>(future_->then(std::move(run), detail::type_of<R>()));
  }

  /// Runs callback(*this) as then() does, without a future of what it does: what it throws goes to standard error.
  template <class F>
  void add_done_callback(F callback) const {
    future_->addCallback([callback = std::move(callback)](c10::ivalue::Future& self) mutable {
      callback(Future(c10::intrusive_ptr<c10::ivalue::Future>::reclaim_copy(&self)));
    });
  }

  const c10::intrusive_ptr<c10::ivalue::Future>& future() const { return future_; }

 private:
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

/// A future of `futures`, done when all of them are, each with a value or an exception of its own.
///
///   collect_all<int64_t>({a, b}).wait()[1].wait()
template <class T>
Future<std::vector<Future<T>>> collect_all(std::vector<Future<T>> futures) {
  struct State {
    std::atomic<size_t> left;
    std::vector<Future<T>> futures;
  };
  Future<std::vector<Future<T>>> all;
  if (futures.empty()) {
    all.set_result(std::move(futures));
    return all;
  }
  const auto state = std::make_shared<State>();
  state->left = futures.size();
  state->futures = futures;
  for (const Future<T>& future : futures) {
    future.add_done_callback([state, all](const Future<T>&) {
      if (--state->left == 0) all.set_result(std::move(state->futures));
    });
  }
  return all;
}

/// The values of all. Throws the first exception that one of them is completed with, at once, without waiting for
/// others.
template <class T>
auto wait_all(const std::vector<Future<T>>& futures) {
  Future<void> finished;
  const auto left = std::make_shared<std::atomic<size_t>>(futures.size());
  if (futures.empty()) finished.set_result();
  for (const Future<T>& future : futures) {
    future.add_done_callback([finished, left](const Future<T>& one) {
      if (one.future()->hasError()) {
        finished.future()->setErrorIfNeeded(one.future()->exception_ptr());
      } else if (--*left == 0) {
        finished.set_result();
      }
    });
  }
  finished.wait();
  if constexpr (!std::is_void_v<T>) {
    std::vector<T> values;
    values.reserve(futures.size());
    for (const Future<T>& future : futures) values.push_back(future.value());
    return values;
  }
}

}  // namespace torch::futures
