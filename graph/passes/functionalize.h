// Graphs without calls that write, and back.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/passes/pass.h"

namespace torch::graph {

struct Functionalized {
  std::unique_ptr<Graph> graph;
  /// The inputs that the graph wrote to. Their values afterwards are the new graph's first outputs, one each, before
  /// those that it had: as an exported program's signature has them (OutputSpec::Kind::kInputMutation,
  /// kBufferMutation).
  std::vector<size_t> written_inputs;
  int64_t changes = 0;  ///< calls that wrote
};

/// The same graph with every call that writes replaced by the one that gives a new tensor: add_ by add, out= forms by
/// the functional ones. What is written through a view goes into its base by slice_scatter, select_scatter and the
/// views' inverses, and views that are read afterwards are made again. Gives the same bits; inputs are taken to be
/// different tensors.
///
/// The infos of tensors (propagate_shapes) say which results are views. Where sizes have symbols, this is done for
/// several values of each, and one graph is made of the results (generalise), which may fail.
///
/// Throws ValueError that names the node: writes in inner blocks, to constants, to expanded tensors, through views that
/// have no inverse; calls that change the sizes of their tensor (t_, resize_, set_); calls without a functional form;
/// and values without info whose memory is written.
Functionalized functionalize(const Graph& graph);

/// Lets calls write their result into their first argument where nothing reads that afterwards: add becomes add_. Of
/// tensors that the graph itself made, does not return otherwise, and that have the result's sizes and dtype by their
/// infos. Gives the same bits. `wanted`: of which calls; null for all. `changes`: calls that write now.
PassResult reinplace(Graph& graph, const std::function<bool(const Node&)>& wanted = nullptr);

}  // namespace torch::graph
