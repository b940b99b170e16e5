// Programs that are compiled when they are called.
//
//   auto f = torch::compile([](const torch::Tensor& x, const torch::Tensor& w) { return torch::gelu(x * w) + x; });
//   y = f(x, w);          // runs the program and records it
//   y = f(x, w);          // runs what was recorded: pointwise operators together, in one pass over memory
//
//   torch::nn::Sequential net(...);
//   auto fast = torch::compile(net);
//   torch::NoGradGuard no_grad;
//   y = fast(x);          // parameters are inputs: what an optimiser changes is seen
//
//   CompileOptions options;
//   options.freeze = true;              // parameters are constants as long as they stay what they are:
//   auto served = torch::compile(net, options);   // products and convolutions with weights that are laid out once
//
// Results have the bits that the program itself gives (of NaNs only that they are NaN), but with `freeze`. An entry is
// for arguments of these dtypes, devices, sizes and strides, these numbers, and this state of the thread (gradient and
// inference mode, default dtype) and of the modules (training). A call whose operators a mode of the thread wants to
// see (autocast, a capture around it) runs as it is; one that records gradients has a forward and a backward pass, each
// compiled.
//
// What cannot be compiled: programs whose steps depend on elements (item(), nonzero used as a size), that write to
// tensors which are neither arguments nor state, or take arguments other than tensors, numbers, strings and lists of
// such. Reads and writes through pointers are not seen: a program does none, and calls the same operators for all
// arguments of a kind. Replacing a module's parameter by another tensor is not seen either; clear() and compile anew.
#pragma once

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "c10/value/ivalue.h"
#include "compile/cache.h"
#include "nn/module/module.h"
#include "nn/module/module_holder.h"

namespace torch {

namespace compiler {

/// The tensors of a module, and whether it and those below it train.
Cache::State state_of(const nn::Module& module);

}  // namespace compiler

/// What compile() gives. Copies share their entries. Any number of threads may call it, where they may call the
/// program.
template <class F>
class Compiled {
 public:
  Compiled(F program, CompileOptions options, compiler::Cache::State state = {})
      : program_(std::make_shared<F>(std::move(program))),
        cache_(std::make_shared<compiler::Cache>(std::move(options), std::move(state))) {}

  template <class... Args>
  auto operator()(Args&&... args) {
    using Result = std::decay_t<std::invoke_result_t<F&, std::decay_t<Args>&...>>;
    c10::Stack stack;
    stack.reserve(sizeof...(Args));
    (stack.emplace_back(std::forward<Args>(args)), ...);
    cache_->call(stack, [this](const c10::Stack& inputs) {
      return [&]<size_t... I>(std::index_sequence<I...>) {
        std::tuple<std::decay_t<Args>...> given{inputs[I].template to<std::decay_t<Args>>()...};
        return c10::Stack{c10::IValue((*program_)(std::get<I>(given)...))};
      }
      (std::index_sequence_for<Args...>());
    });
    return stack.at(0).template to<Result>();
  }

  CompileStatistics statistics() const { return cache_->statistics(); }
  /// Forgets all entries.
  void clear() { cache_->clear(); }

 private:
  std::shared_ptr<F> program_;
  std::shared_ptr<compiler::Cache> cache_;
};

namespace compiler {

template <class F>
inline constexpr bool is_module = nn::detail::is_module_holder<F>;
template <class M>
inline constexpr bool is_module<std::shared_ptr<M>> = std::is_base_of_v<nn::Module, M>;

}  // namespace compiler

/// A program that takes and returns tensors, numbers, and tuples and vectors of such.
template <class F>
requires(!compiler::is_module<std::decay_t<F>>) Compiled<std::decay_t<F>> compile(F&& program,
                                                                                  const CompileOptions& options = {}) {
  return {std::forward<F>(program), options};
}
/// A module, which is called with its hooks.
template <class M>
Compiled<nn::ModuleHolder<M>> compile(const nn::ModuleHolder<M>& module, const CompileOptions& options = {}) {
  return {module, options, compiler::state_of(*module)};
}
template <class M>
requires std::is_base_of_v<nn::Module, M> Compiled<nn::ModuleHolder<M>> compile(const std::shared_ptr<M>& module,
                                                                                const CompileOptions& options = {}) {
  return compile(nn::ModuleHolder<M>(module), options);
}
/// TORCH_MODULE's own types.
template <nn::detail::ModuleHolderType H>
Compiled<nn::ModuleHolder<typename H::ContainedType>> compile(const H& module, const CompileOptions& options = {}) {
  return compile(module.ptr(), options);
}

}  // namespace torch
