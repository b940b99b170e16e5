#include "graph/passes/dead_code.h"

#include <set>
#include <vector>

#include "graph/passes/effects.h"

namespace torch::graph {
namespace {

class Liveness {
 public:
  explicit Liveness(const Graph& graph) : aliases_(graph) {
    keep(graph.block().return_node());
    graph.for_nodes([&](const Node* node) {
      if (has_effects(*node)) keep(node);
      for (const size_t i : written_operands(*node)) {
        for (const int set : aliases_.of(node->operand(i))) {
          if (aliases_.enters(set) || aliases_.escapes(set)) keep(node);
        }
      }
    });
    while (!open_.empty()) {
      const Node* node = open_.back();
      open_.pop_back();
      follow(*node);
    }
  }

  bool is_live(const Node* node) const { return live_.count(node) > 0; }

 private:
  void keep(const Node* node) {
    if (node != nullptr && live_.insert(node).second) open_.push_back(node);
  }
  void follow(const Node& node) {
    for (const Operand& operand : node.operands()) {
      operand.for_values([&](const Value* value) {
        keep(value->node());
        if (value->block() != nullptr) keep(value->block()->owner());
      });
      for (const int set : aliases_.of(operand)) read(set);
    }
    if (node.block() != nullptr) keep(node.block()->owner());
    for (size_t b = 0; b < node.block_count(); ++b) keep(node.block(b).return_node());
  }
  // Something that stays reads memory of the set: what is written to it matters.
  void read(int set) {
    if (!read_.insert(set).second) return;
    for (const Node* writer : aliases_.writers(set)) keep(writer);
  }

  AliasSets aliases_;
  std::set<const Node*> live_;
  std::set<int> read_;
  std::vector<const Node*> open_;
};

int64_t erase_dead(const Block& block, const Liveness& liveness) {
  int64_t erased = 0;
  for (Node* node = block.return_node()->previous(); node != block.return_node();) {
    Node* const before = node->previous();
    if (!liveness.is_live(node)) {
      node->erase();
      ++erased;
    } else {
      for (size_t b = 0; b < node->block_count(); ++b) erased += erase_dead(node->block(b), liveness);
    }
    node = before;
  }
  return erased;
}

}  // namespace

PassResult eliminate_dead_code(Graph& graph) {
  // Without some nodes, others may share no memory any more.
  PassResult result;
  for (int64_t erased = -1; erased != 0; result.changes += erased) {
    const Liveness liveness(graph);
    erased = erase_dead(graph.block(), liveness);
  }
  return result;
}

}  // namespace torch::graph
