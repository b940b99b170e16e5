// Functions that processes know by a name, and processes that begin anew and call one: PyTorch's start method "spawn".
//
//   void work(int rank, torch::Tensor results, torch::multiprocessing::Queue done) { ... }
//   const torch::multiprocessing::Function kWork("work", work);             // at namespace scope
//
//   int main() {
//     torch::multiprocessing::freeze_support();                             // first of all
//     torch::multiprocessing::Queue done;
//     torch::multiprocessing::spawn(kWork, {torch::zeros({4}), done}, 4);   // calls work(rank, results, done)
//   }
//
// Such a process is this program, started from its file: it has no threads, locks or CUDA contexts of this one, and
// nothing of its memory but the arguments. Tensors are shared, not copied, as Queue::put() does it. main() of that
// process reaches freeze_support(), which calls the function and ends the process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "c10/util/exception.h"
#include "c10/value/ivalue.h"
#include "utils/multiprocessing/queue.h"
#include "utils/multiprocessing/spawn.h"

namespace torch::multiprocessing {

/// A process that was started by "spawn", or a worker of a Pool of such, calls its function here and ends; others go
/// on. Call it at the beginning of main(), before flags are read: the process has no arguments but the program's name.
void freeze_support();

/// An argument of a function in another process: what Queue::put() takes, a queue, or an end of a pipe.
class Argument {
 public:
  template <class T, std::enable_if_t<!std::is_same_v<std::decay_t<T>, Argument> &&
                                          std::is_constructible_v<c10::IValue, T&&>,
                                      int> = 0>
  Argument(T&& value) : value_(std::forward<T>(value)) {}  // NOLINT(google-explicit-constructor)
  Argument(const Queue& queue);                            // NOLINT(google-explicit-constructor)
  Argument(const Connection& end);                         // NOLINT(google-explicit-constructor)

  /// Of a queue or a pipe, its descriptors.
  const c10::IValue& value() const { return value_; }
  const std::vector<int>& descriptors() const { return descriptors_; }

 private:
  c10::IValue value_;
  std::vector<int> descriptors_;
  std::shared_ptr<const void> held_;
};

namespace detail {

using Boxed = std::function<c10::IValue(const std::vector<c10::IValue>&)>;

template <class T>
T argument_to(const c10::IValue& value) {
  if constexpr (std::is_same_v<T, c10::IValue>) {
    return value;
  } else if constexpr (std::is_same_v<T, Queue>) {
    return Descriptors::queue(value.toIntVector());
  } else if constexpr (std::is_same_v<T, Connection>) {
    return Descriptors::connection(value.toIntVector());
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<T>(value.toInt());
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value.toDouble());
  } else {
    return value.to<T>();
  }
}

template <class R, class... A, size_t... I>
Boxed boxed(std::string name, R (*f)(A...), std::index_sequence<I...>) {
  return [name = std::move(name), f](const std::vector<c10::IValue>& args) -> c10::IValue {
    TORCH_CHECK_TYPE(args.size() == sizeof...(A), name, "() takes ", sizeof...(A), " arguments, got ", args.size());
    if constexpr (std::is_void_v<R>) {
      f(argument_to<std::decay_t<A>>(args[I])...);
      return {};
    } else {
      return c10::IValue(f(argument_to<std::decay_t<A>>(args[I])...));
    }
  };
}

void register_function(const std::string& name, Boxed function);
/// Throws c10::ValueError where this program has no such function.
const Boxed& find_function(const std::string& name);

}  // namespace detail

/// A function under a name, which is the same in all processes of a program: make it at namespace scope, or before
/// freeze_support(). Parameters and result are what IValue holds (tensors, numbers, texts, lists, tuples, dicts); a
/// process that "spawn" starts also takes a Queue and a Connection. Throws c10::ValueError for a name that is taken.
class Function {
 public:
  template <class R, class... A>
  Function(std::string name, R (*f)(A...)) : name_(std::move(name)) {
    detail::register_function(name_, detail::boxed(name_, f, std::index_sequence_for<A...>()));
  }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// Starts `nprocs` processes, of which each calls fn(rank, args...), 0 to nprocs - 1; joins them where `join` says so.
/// Failures and `daemon` are as with a fork (spawn.h). `start_method`: "spawn", or "fork".
///
/// Throws c10::ValueError where `nprocs` is negative and for another start method, what Queue::put() throws for
/// arguments, c10::Error where main() did not call freeze_support(), or with the system's reason.
ProcessContext start_processes(const Function& fn, const std::vector<Argument>& args = {}, int nprocs = 1,
                               bool join = true, bool daemon = false, const std::string& start_method = "spawn");
ProcessContext spawn(const Function& fn, const std::vector<Argument>& args = {}, int nprocs = 1, bool join = true,
                     bool daemon = false, const std::string& start_method = "spawn");

}  // namespace torch::multiprocessing
