// The one place where a module's forward is called by holders and containers, so that hooks see it.
//
//   torch::nn::call_module(*net, x)   // as a holder's `net(x)`: with the hooks of the module
//   net->forward(x)                   // forward itself, without its hooks (those of the modules it calls do run)
//
// A program in which nobody registers a hook pays one comparison a call. Hooks see arguments and results flattened to
// lists of tensors: those in tuples, pairs, vectors, arrays, optionals and maps have an entry each, in order, and
// whatever holds no tensor has one entry that is undefined. A class of one's own with tensors inside takes part if it
// has a member `template <typename F> void for_each_tensor(const F& f)` that calls f(tensor) for each.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"

namespace torch {

template <typename Key, typename Value>
class OrderedDict;

namespace nn {

class Module;

namespace detail {

// One pass over the tensors of arguments or results, which reads them into a list or writes a list's back.
class TensorWalk {
 public:
  TensorWalk(std::vector<at::Tensor>& list, bool writes) : list_(list), writes_(writes) {}
  void tensor(at::Tensor& t);
  // What holds no tensor. Throws where a list has a tensor for it.
  void other();
  // Throws where a list has more or fewer than were asked for.
  void check_end() const;
  bool writes() const { return writes_; }

 private:
  std::vector<at::Tensor>& list_;
  bool writes_;
  size_t next_ = 0;
};

// TensorsOf<T>::any: whether a T can hold tensors; walk() passes them on.
template <typename T>
struct TensorsOf;

template <typename T>
void walk_tensors(TensorWalk& walk, T& value) {
  if constexpr (TensorsOf<T>::any) {
    TensorsOf<T>::walk(walk, value);
  } else {
    walk.other();
  }
}

template <typename Tuple>
struct TensorsOfTuple;
template <template <typename...> typename Tuple, typename... T>
struct TensorsOfTuple<Tuple<T...>> {
  static constexpr bool any = (TensorsOf<std::decay_t<T>>::any || ...);
  static void walk(TensorWalk& walk, Tuple<T...>& value) {
    std::apply([&](auto&... element) { (walk_tensors(walk, element), ...); }, value);
  }
};

template <typename Range>
struct TensorsOfRange {
  static void walk(TensorWalk& walk, Range& range) {
    for (auto& element : range) {
      if constexpr (requires { element.second; }) {
        walk_tensors(walk, element.second);
      } else if constexpr (requires { element.value(); }) {
        walk_tensors(walk, element.value());
      } else {
        walk_tensors(walk, element);
      }
    }
  }
};

template <typename T>
concept WalksItself = requires(T& value) {
  value.for_each_tensor([](at::Tensor&) {});
};
template <typename T>
concept Map = requires {
  typename T::mapped_type;
};

template <typename T>
struct TensorsOf {
  static constexpr bool any = WalksItself<T>;
  static void walk(TensorWalk& walk, T& value) {
    value.for_each_tensor([&](at::Tensor& t) { walk.tensor(t); });
  }
};
template <Map T>
struct TensorsOf<T> : TensorsOfRange<T> {
  static constexpr bool any = TensorsOf<typename T::mapped_type>::any;
};
template <>
struct TensorsOf<at::Tensor> {
  static constexpr bool any = true;
  static void walk(TensorWalk& walk, at::Tensor& value) { walk.tensor(value); }
};
template <typename... T>
struct TensorsOf<std::tuple<T...>> : TensorsOfTuple<std::tuple<T...>> {};
template <typename A, typename B>
struct TensorsOf<std::pair<A, B>> : TensorsOfTuple<std::pair<A, B>> {};
template <typename T, typename A>
struct TensorsOf<std::vector<T, A>> : TensorsOfRange<std::vector<T, A>> {
  static constexpr bool any = TensorsOf<T>::any;
};
template <typename T, size_t N>
struct TensorsOf<std::array<T, N>> : TensorsOfRange<std::array<T, N>> {
  static constexpr bool any = TensorsOf<T>::any;
};
template <typename K, typename V>
struct TensorsOf<OrderedDict<K, V>> : TensorsOfRange<OrderedDict<K, V>> {
  static constexpr bool any = TensorsOf<V>::any;
};
template <typename T>
struct TensorsOf<std::optional<T>> {
  static constexpr bool any = TensorsOf<T>::any;
  static void walk(TensorWalk& walk, std::optional<T>& value) {
    if (value.has_value()) {
      walk_tensors(walk, *value);
    } else if constexpr (std::is_same_v<T, at::Tensor>) {
      at::Tensor t;
      walk.tensor(t);
      if (t.defined()) value = std::move(t);
    } else {
      walk.other();
    }
  }
};

// An argument as it waits for the call: a copy where hooks may replace tensors in it, else the caller's own.
template <typename Arg>
class KeptArgument {
  using Value = std::decay_t<Arg>;
  static constexpr bool kCopies = TensorsOf<Value>::any && std::is_constructible_v<Value, Arg&&>;

 public:
  explicit KeptArgument(Arg&& argument) : value_(static_cast<Arg&&>(argument)) {}
  void walk(TensorWalk& walk) {
    if constexpr (kCopies) {
      walk_tensors(walk, value_);
    } else {
      walk.other();
    }
  }
  Arg&& pass() { return static_cast<Arg&&>(value_); }

 private:
  std::conditional_t<kCopies, Value, Arg&&> value_;
};
template <typename Arg>
requires std::is_same_v<std::decay_t<Arg>, at::TensorList>
class KeptArgument<Arg> {
 public:
  explicit KeptArgument(at::TensorList list) : values_(list.begin(), list.end()) {}
  void walk(TensorWalk& walk) { walk_tensors(walk, values_); }
  Arg&& pass() {
    list_ = values_;
    return static_cast<Arg&&>(list_);
  }

 private:
  std::vector<at::Tensor> values_;
  at::TensorList list_;
};

[[noreturn]] void cannot_replace_reference();

// A call of forward that hooks can look into, without its types.
class HookedCall {
 public:
  virtual void walk_arguments(TensorWalk& walk) = 0;
  virtual void walk_result(TensorWalk& walk) = 0;
  virtual void forward() = 0;
  // The result, without a forward.
  virtual void set_result(std::vector<at::Tensor>& tensors) = 0;

 protected:
  ~HookedCall() = default;
};

template <typename M, typename R, typename... Args>
class HookedForward final : public HookedCall {
 public:
  HookedForward(M& module, Args&&... arguments) : module_(module), arguments_(static_cast<Args&&>(arguments)...) {}

  void walk_arguments(TensorWalk& walk) override {
    std::apply([&](auto&... argument) { (argument.walk(walk), ...); }, arguments_);
  }
  void walk_result(TensorWalk& walk) override {
    if constexpr (std::is_void_v<R>) {
      return;
    } else if constexpr (std::is_reference_v<R>) {
      // The module's own: seen, but not replaced.
      if (walk.writes()) cannot_replace_reference();
      std::remove_cvref_t<R> copy = **result_;
      walk_tensors(walk, copy);
    } else {
      walk_tensors(walk, *result_);
    }
  }
  void forward() override {
    std::apply(
        [&](auto&... argument) {
          if constexpr (std::is_void_v<R>) {
            module_.forward(argument.pass()...);
          } else if constexpr (std::is_reference_v<R>) {
            result_ = &module_.forward(argument.pass()...);
          } else {
            result_.emplace(module_.forward(argument.pass()...));
          }
        },
        arguments_);
  }
  void set_result(std::vector<at::Tensor>& tensors) override {
    if constexpr (std::is_void_v<R>) {
      return;
    } else if constexpr (std::is_reference_v<R> || !std::is_default_constructible_v<Stored>) {
      cannot_replace_reference();
    } else {
      TensorWalk walk(tensors, /*writes=*/true);
      walk_tensors(walk, result_.emplace());
      walk.check_end();
    }
  }
  R result() {
    if constexpr (std::is_void_v<R>) {
      return;
    } else if constexpr (std::is_reference_v<R>) {
      return static_cast<R>(**result_);
    } else {
      return std::move(*result_);
    }
  }

 private:
  using Stored =
      std::conditional_t<std::is_void_v<R>, bool,
                         std::conditional_t<std::is_reference_v<R>, std::remove_reference_t<R>*, std::remove_cv_t<R>>>;
  M& module_;
  std::tuple<KeptArgument<Args>...> arguments_;
  std::optional<Stored> result_;
};

// What runs hooks. Hooks are linked by what registers them, so that programs without any carry none of it.
class HookRunner {
 public:
  virtual bool has_call_hooks(const Module& module) const noexcept = 0;
  virtual void run(Module& module, HookedCall& call) const = 0;
  // The registration hooks: each may replace what is about to be registered.
  virtual void on_parameter(Module& module, const std::string& name, at::Tensor& parameter) const = 0;
  virtual void on_buffer(Module& module, const std::string& name, at::Tensor& buffer) const = 0;
  virtual void on_module(Module& module, const std::string& name, std::shared_ptr<Module>& child) const = 0;

 protected:
  ~HookRunner() = default;
};
// Null until the first hook of the process is registered.
extern constinit std::atomic<const HookRunner*> hook_runner;

// The hooks of one module, seen by those that only own them.
class HookSet {
 public:
  virtual ~HookSet() = default;
  virtual std::shared_ptr<HookSet> copy() const = 0;
};

// Apart from the call without hooks, which then stays as small as it was.
template <typename R, typename M, typename... Args>
[[gnu::noinline, gnu::cold]] R call_with_hooks(const HookRunner& runner, M& module, Args&&... args) {
  if (!runner.has_call_hooks(module)) return module.forward(std::forward<Args>(args)...);
  HookedForward<M, R, Args...> call(module, std::forward<Args>(args)...);
  runner.run(module, call);
  return call.result();
}

}  // namespace detail

// Calls forward between the module's hooks.
template <typename M, typename... Args>
requires std::is_base_of_v<Module, M>
auto call_module(M& module, Args&&... args) -> decltype(module.forward(std::forward<Args>(args)...)) {
  using R = decltype(module.forward(std::forward<Args>(args)...));
  if constexpr (std::is_void_v<R> || std::is_reference_v<R> || std::is_move_constructible_v<R>) {
    const detail::HookRunner* const runner = detail::hook_runner.load(std::memory_order_acquire);
    if (runner != nullptr) [[unlikely]] {
      return detail::call_with_hooks<R>(*runner, module, std::forward<Args>(args)...);
    }
  }
  return module.forward(std::forward<Args>(args)...);
}

}  // namespace nn
}  // namespace torch
