// A graph for inputs of one kind, prepared to be run often: pointwise operators and rows as groups, layers with weights
// that stay laid out once, their results in one block of memory that is planned before.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "c10/value/stack.h"
#include "compile/group/fuse.h"
#include "compile/layers/layer.h"
#include "graph/ir/graph.h"

namespace torch::compiler {

struct ExecutableOptions {
  bool fuse = true;  ///< whether groups are looked for
  FuseOptions groups;
  /// So many inputs, the first ones, are what `examples` has in their places, and are not given to runs: batch norms
  /// are folded into the layers before them, weights of convolutions and products laid out once, images kept with their
  /// channels side by side, and what follows a layer is computed with it (compile/layers). Results are as exact, but
  /// not the same bits. They stay inputs where the graph writes to one of them, and a note says so.
  size_t constants = 0;
  /// Where weights are that other executables may have laid out already; null: none.
  LayerWeights* weights = nullptr;
};

/// What was made of a graph.
struct ExecutableReport {
  size_t nodes = 0;  ///< that the graph had
  size_t groups = 0;
  size_t grouped_nodes = 0;
  size_t layers = 0;  ///< whose weights are laid out once
  size_t layer_nodes = 0;
  int64_t arena_bytes = 0;     ///< of the groups' results that are not returned
  int64_t unshared_bytes = 0;  ///< what these would need one beside the other
  std::vector<std::string> notes;
};

class Executable {
 public:
  /// `examples`: inputs like those that it will run with, whose sizes and strides count, and not their elements; where
  /// there are none, the infos of the graph's inputs do. Calls that write become ones that give new tensors
  /// (graph::functionalize), and inputs that were written are at the end; where that cannot be, the graph runs node by
  /// node, and a note says why. Throws ValueError for a graph that is not well-formed.
  Executable(const graph::Graph& graph, const c10::Stack& examples, const ExecutableOptions& options = {});
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  /// Replaces the inputs, which are all that is on the stack, by the outputs: bit for bit what graph::Interpreter gives
  /// (of NaNs only that they are NaN), but for constants. Gradients are not recorded. Any number of threads may run it.
  void operator()(c10::Stack& stack) const;

  /// The first inputs of the graph that runs are not given, as `constants` says.
  size_t constants() const;

  const ExecutableReport& report() const;
  /// What it holds beside the weights of layers, with the memory of the runs that there were at a time.
  size_t bytes() const;
  /// The graph that runs, which invokes the groups.
  const graph::Graph& graph() const;
  const std::vector<FusedPart>& parts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace torch::compiler
