// Programs of C++ functions and modules, as torch.export.export makes them of Python's.
//
//   torch::nn::Sequential net(torch::nn::Linear(4, 8), torch::nn::ReLU(), torch::nn::Linear(8, 2));
//   torch::ExportedProgram program =
//       torch::export_(net, torch::randn({3, 4}), {.dynamic_shapes = {{{0, torch::Dim("batch")}}}});
//   torch::save_exported(program, "net.pt2");                         // export/pt2/pt2.h
//   at::Tensor y = program({torch::randn({7, 4})}).toTensor();
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/exception.h"
#include "c10/value/ivalue.h"
#include "c10/value/stack.h"
#include "export/capture/dim.h"
#include "export/exported_program.h"
#include "nn/module/module.h"

namespace torch {

struct ExportOptions {
  /// Which sizes may differ: of the example inputs in a row (nested ones taken apart), by dimension. Others are fixed.
  std::vector<std::map<int64_t, Dim>> dynamic_shapes;
  /// Of the arguments. "args_0", "args_1" ... where there are none.
  std::vector<std::string> argument_names;
  /// What the program went on with though another run may have another value is an error: numbers read from tensors
  /// (item(), equal()).
  bool strict = false;
  /// No node of the graph writes: changes of buffers and inputs are outputs (BUFFER_MUTATION, USER_INPUT_MUTATION).
  /// Without it calls in place stay as they are, as torch.export's training IR has them.
  bool functional = false;
  /// Tensors that are neither state nor inputs become constants of the program, where they are not larger.
  int64_t max_constant_bytes = int64_t{16} << 20;
  /// The program is run, too, and its results compared with those of C++ bit for bit: for the example and, where sizes
  /// may differ, for sizes that it was not made of and at both ends of each range, as far as those inputs are not
  /// larger than this. 0: never.
  int64_t max_check_bytes = int64_t{64} << 20;
};

namespace export_detail {

// What export_() takes apart: a function over values, and the module whose state it uses.
struct Callable {
  std::function<c10::IValue(const c10::Stack&)> call;
  std::shared_ptr<const nn::Module> module;  // null for a function
};
ExportedProgram export_program(const Callable& callable, c10::Stack inputs, const ExportOptions& options);

template <class T>
c10::IValue value_of(const T& value) {
  if constexpr (requires {
                  value.first;
                  value.second;
                }) {
    return std::make_tuple(value_of(value.first), value_of(value.second));
  } else {
    return value;
  }
}

// f(inputs), each as what it was in the example.
template <class... Args, class F>
c10::IValue call(F& f, const c10::Stack& inputs) {
  return [&]<size_t... I>(std::index_sequence<I...>) {
    std::tuple<Args...> arguments(inputs.at(I).template to<Args>()...);
    if constexpr (std::is_base_of_v<nn::Module, F>) {
      return value_of(nn::call_module(f, std::get<I>(arguments)...));
    } else {
      return value_of(f(std::get<I>(arguments)...));
    }
  }
  (std::index_sequence_for<Args...>());
}

template <class T>
concept ModulePointer = requires(const T& pointer) {
  typename T::element_type;
  requires std::is_base_of_v<nn::Module, typename T::element_type>;
  pointer.get();
};

}  // namespace export_detail

/// The program that a module (itself, its holder or a shared_ptr to it) or a function is, for inputs like these: it is
/// run with them, its calls of operators are recorded (graph/capture/capture.h), and the state that they use becomes
/// inputs of the graph. Arguments are tensors, numbers, texts, None (std::nullopt for an optional) and vectors and
/// tuples of such; numbers and texts are fixed. Results are tensors, tuples, pairs and vectors.
///
/// The program has PyTorch's signature: all parameters, then all buffers of the module (also those it does not use, and
/// each name of a shared one), constants ("lifted_tensor_0"), then the inputs. Its tensors are the module's own. It has
/// the module's state and the generator's as they were: what running it changed is undone.
///
/// Where sizes may differ, the program is run at several of them, and each integer that changed is fitted as an
/// expression of the sizes (graph/passes/generalise.h); an example is repeated to get there. Runs with sizes out of the
/// ranges are refused.
///
/// Throws ValueError, naming what it is: where the graph is another at other sizes, an integer has no expression (with
/// the module it stands in and the values seen), the program fails at some of the sizes, or its results differ from
/// those of C++ (a function with state of its own does that); where dynamic_shapes do not fit the example; for tensors
/// that are no state and too large, or are written to; in strict mode for numbers read. NotImplementedError for
/// operators whose boxed form is not linked (//aten/ops:registry). What the program throws for the example passes.
template <class F, class... Args>
ExportedProgram export_(F&& callable, const std::tuple<Args...>& inputs, const ExportOptions& options = {}) {
  using T = std::decay_t<F>;
  export_detail::Callable made;
  if constexpr (nn::detail::is_module_holder<T>) {
    made.module = callable.ptr();
    made.call = [&](const c10::Stack& in) { return export_detail::call<Args...>(*callable.ptr(), in); };
  } else if constexpr (export_detail::ModulePointer<T>) {
    TORCH_CHECK_VALUE(callable != nullptr, "export_: the module is null");
    made.module = callable;
    made.call = [&](const c10::Stack& in) { return export_detail::call<Args...>(*callable, in); };
  } else {
    // A module is its owner's, and stays.
    if constexpr (std::is_base_of_v<nn::Module, T>) {
      made.module = std::shared_ptr<const nn::Module>(std::shared_ptr<void>(), &callable);
    }
    made.call = [&](const c10::Stack& in) { return export_detail::call<Args...>(callable, in); };
  }
  c10::Stack stack;
  std::apply([&](const auto&... one) { (stack.push_back(export_detail::value_of(one)), ...); }, inputs);
  return export_detail::export_program(made, std::move(stack), options);
}
/// Of one tensor.
template <class F>
ExportedProgram export_(F&& callable, const at::Tensor& input, const ExportOptions& options = {}) {
  return export_(std::forward<F>(callable), std::tuple<at::Tensor>(input), options);
}

}  // namespace torch
