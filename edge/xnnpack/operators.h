// The operators that XNNPACK runs: whether one is among them as it is called, and what defines it there.
#pragma once

#include <xnnpack.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "graph/ir/graph.h"

namespace torch::edge {

/// A subgraph that is being defined.
class Definition {
 public:
  Definition(xnn_subgraph_t subgraph, std::deque<at::Tensor>& kept) : subgraph_(subgraph), kept_(kept) {}

  xnn_subgraph_t subgraph() const { return subgraph_; }
  /// The number of a value; a new inner one where it has none. Its sizes are known and constant.
  uint32_t id(const graph::Value& value);
  /// Of an operand that is a value or a tensor, as an activation.
  uint32_t id(const graph::Operand& operand);
  void set_id(const graph::Value& value, uint32_t id) { ids_[&value] = id; }
  /// Of elements that stay as they are; kept for the life of the part.
  uint32_t constant(const at::Tensor& tensor);
  uint32_t number(double value);
  /// A value between two nodes of one operator.
  uint32_t inner(const std::vector<int64_t>& sizes);
  /// An inner value of a node's.
  uint32_t fresh_like(const graph::Value& value);

 private:
  xnn_subgraph_t subgraph_;
  std::deque<at::Tensor>& kept_;
  std::map<const graph::Value*, uint32_t> ids_;
};

/// The sizes as XNNPACK has them: pictures channels-last.
std::vector<size_t> own_sizes(const std::vector<int64_t>& sizes);
/// Of a value whose info has constant sizes.
std::vector<int64_t> sizes_of(const graph::Value& value);

/// Why an operator is not run; empty: it is.
std::string why_not_run(const graph::Node& node);
/// Adds a node for which why_not_run() is empty. What XNNPACK says.
xnn_status define(Definition& definition, const graph::Node& node);

}  // namespace torch::edge
