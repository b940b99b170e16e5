// Graphs of programs with their gradients: forward and backward in one.
//
//   const torch::graph::JointCapture joint = torch::graph::capture_joint(
//       [&](const c10::Stack& in) { return c10::Stack{net(in[0].toTensor())}; }, {x}, {.state = named_parameters});
//   // inputs:  state that is used, x, the gradient of the output
//   // outputs: the output, the gradients of the parameters
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "c10/value/stack.h"
#include "graph/capture/capture.h"
#include "graph/ir/graph.h"

namespace torch::graph {

struct JointOptions : CaptureOptions {
  /// Of the program's outputs: those that gradients come in for. Empty: all tensors among them that require one.
  std::vector<size_t> outputs;
  /// The gradient of each of these is 1, and no input: of a loss. They have one element.
  bool unit_gradients = false;
  /// Whether autograd keeps what it needs for another pass back from the program's outputs.
  bool retain_graph = false;
};

struct JointCapture {
  std::unique_ptr<Graph> graph;
  /// Of the graph's first inputs: names of options.state.
  std::vector<std::string> state;
  /// The graph's first outputs, as many, are the program's.
  size_t outputs = 0;
  /// The program's outputs that gradients come in for. The graph's last inputs, one each, are these gradients.
  std::vector<size_t> differentiated;
  /// The graph's inputs that gradients come out for. Its last outputs, one each, are these gradients.
  std::vector<size_t> gradients;
  std::vector<std::string> notes;
};

/// Captures a program as capture() does, then autograd's pass back through what it did: the operators that the
/// derivatives' formulas call. Gradients are those of all inputs, state included, that require one and that the
/// differentiated outputs depend on, summed where several are given. An operator that is composed of others is recorded
/// as these where a gradient goes through it, so that what autograd keeps of it is in the graph.
///
/// Nothing is added to grad(). What the program does in place is recorded as it is, or where a gradient goes through it
/// as a call that gives a new tensor, which is copied (functionalize() makes one call of it).
///
/// Throws what capture() does; ValueError where no output requires a gradient, one that is named does not or is no
/// tensor, and for a unit gradient of several elements; NotImplementedError, naming the operator, where a derivative
/// keeps a tensor that no recorded operator gave: those of cond(), while_loop(), map() and scan().
JointCapture capture_joint(const std::function<c10::Stack(const c10::Stack& inputs)>& program, c10::Stack inputs,
                           const JointOptions& options = {});

}  // namespace torch::graph
