// Graphs of what C++ functions do with tensors.
//
//   const auto captured = torch::graph::capture(
//       [](const c10::Stack& in) { return c10::Stack{at::relu(at::mm(in[0].toTensor(), in[1].toTensor()))}; }, {x, y});
//   print(*captured.graph);
//   // graph forward(%0: Tensor<Float, cpu, [2, 3], [3, 1]>, %1: Tensor<...>) {
//   //   %2: Tensor = aten::mm(%0, %1)
//   //   %3: Tensor = aten::relu(%2)
//   //   return %3
//   // }
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/value/stack.h"
#include "graph/capture/recorder.h"
#include "graph/ir/graph.h"

namespace torch::graph {

struct CaptureOptions {
  std::string name = "forward";
  /// Tensors that are inputs of the graph, before all others, where the program uses them: a module's parameters and
  /// buffers, with their names.
  std::vector<std::pair<std::string, at::Tensor>> state;
  /// Other tensors become constants of the graph, where they are not larger.
  int64_t max_constant_bytes = int64_t{16} << 20;
  /// See Recorder::Options: operators that are recorded as what they are made of.
  std::function<bool(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack& stack)> expand;
  /// State is an input of the graph also where the program does not use it. A tensor under several names is an input
  /// for each, of which the last is used.
  bool keep_state = false;
  /// Values say what they are (Value::info).
  bool infos = false;
  /// See Recorder::Options: where calls come from.
  std::function<std::shared_ptr<const Source>()> source;
  /// Told of each tensor of `state` before an operator writes to it. May be null.
  std::function<void(const at::Tensor&)> before_write;
};

struct Captured {
  std::unique_ptr<Graph> graph;
  /// Of the graph's first inputs: names of options.state.
  std::vector<std::string> state;
  /// What the graph does not say though the program may depend on it: numbers that it read from tensors, constants.
  std::vector<std::string> notes;
};

/// Runs `program` once on these inputs, with its effects, and records the operators that it calls. Tensors among the
/// inputs, also in lists, tuples and dicts' values, become inputs of the graph in order; numbers and strings are what
/// they are. The outputs are the graph's, nested values as they are.
///
/// Sizes, numbers read by item() and all that C++ decides are those of these inputs. Calls in place and views are
/// recorded as they are. Elements read or written through pointers are not seen; with inputs on meta such reads fail.
/// What depends on tensors' elements and shall be kept is said by cond(), while_loop() and the like (control_flow.h).
///
/// Throws, naming the operator: ValueError for a tensor that is too large for a constant, and for a call that writes to
/// one, since each run of the graph would find what the last has left; NotImplementedError for operators whose boxed
/// form is not linked. What the program throws passes. Not within another capture of the thread.
Captured capture(const std::function<c10::Stack(const c10::Stack& inputs)>& program, c10::Stack inputs,
                 const CaptureOptions& options = {});

}  // namespace torch::graph
