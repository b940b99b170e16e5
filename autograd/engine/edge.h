#pragma once

#include <cstdint>
#include <vector>

#include "c10/util/intrusive_ptr.h"

namespace torch::autograd {

class Node;
using NodePtr = c10::intrusive_ptr<Node>;

// Where a gradient flows to: input `input_nr` of `function`. An edge without a function drops what it is given.
struct Edge {
  NodePtr function;
  uint32_t input_nr = 0;

  Edge() noexcept = default;
  Edge(NodePtr node, uint32_t nr) noexcept : function(static_cast<NodePtr&&>(node)), input_nr(nr) {}

  bool is_valid() const noexcept { return function.defined(); }
  friend bool operator==(const Edge& a, const Edge& b) noexcept {
    return a.function == b.function && a.input_nr == b.input_nr;
  }
};

using edge_list = std::vector<Edge>;

}  // namespace torch::autograd

// An edge owns a node, so whoever sees edges must see what a node is; node.h in turn needs the definition above.
#include "autograd/engine/node.h"
