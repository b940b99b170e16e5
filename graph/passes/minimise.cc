#include "graph/passes/minimise.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "c10/value/list.h"
#include "graph/interpreter/interpreter.h"

namespace torch::graph {
namespace {

using c10::IValue;

IValue copied(const IValue& v) {
  if (v.isTensor()) return at::clone(v.toTensor());
  if (!v.isTensorList()) return v;
  const c10::impl::GenericList list(c10::TensorType::get());
  for (const IValue& part : v.toListRef()) list.push_back(copied(part));
  return list;
}

// What each value is before nodes that write change it.
struct Recording : RunListener {
  void ran(const Node& node, c10::ArrayRef<IValue> results) override {
    for (size_t i = 0; i < results.size(); ++i) values.insert_or_assign(node.result(i), copied(results[i]));
  }
  std::map<const Value*, IValue> values;
};

class Minimising {
 public:
  Minimising(const Graph& graph, const c10::Stack& inputs,
             const std::function<bool(const Graph&, const c10::Stack&)>& fails)
      : graph_(graph), fails_(fails) {
    const Block& block = graph.block();
    for (Node* node : block) nodes_.push_back(node);
    for (size_t i = 0; i < block.input_count() && i < inputs.size(); ++i) values_.emplace(block.input(i), inputs[i]);
  }

  std::optional<Minimised> run() {
    if (nodes_.empty() || !shows(0, nodes_.size())) return std::nullopt;
    size_t low = 0, high = nodes_.size();  // the first `low` nodes are good, the first `high` are not
    while (high - low > 1) {
      const size_t middle = low + (high - low) / 2;
      (shows(0, middle) ? high : low) = middle;
    }
    const size_t last = high;
    record();
    low = 0;
    high = last;  // from `low` on it shows, from `high` on there is nothing
    while (high - low > 1) {
      const size_t middle = low + (high - low) / 2;
      (shows(middle, last) ? low : high) = middle;
    }
    Minimised found = part(low, last);
    found.node = nodes_[last - 1];
    return found;
  }

 private:
  bool shows(size_t first, size_t last) {
    const Minimised one = part(first, last);
    c10::Stack inputs;
    for (const IValue& v : one.inputs) inputs.push_back(copied(v));
    try {
      return fails_(*one.graph, inputs);
    } catch (const std::exception&) {
      return true;
    }
  }

  // The values of all nodes, for cuts at the beginning.
  void record() {
    const Interpreter interpreter(graph_);
    // The interpreter has a copy of the graph, with the same nodes in the same order.
    Recording recording;
    c10::Stack stack;
    const Block& block = graph_.block();
    for (size_t i = 0; i < block.input_count(); ++i) stack.push_back(copied(values_.at(block.input(i))));
    try {
      interpreter(stack, &recording);
    } catch (const std::exception&) {
      // The values up to there will do.
    }
    size_t n = 0;
    for (const Node* node : interpreter.graph().block()) {
      for (size_t i = 0; i < node->result_count(); ++i) {
        const auto found = recording.values.find(node->result(i));
        if (found != recording.values.end()) values_.insert_or_assign(nodes_[n]->result(i), found->second);
      }
      ++n;
    }
  }

  void outer_values(const Node& node, const std::set<const Value*>& inside, std::vector<const Value*>& outer,
                    std::set<const Value*>& seen) const {
    for (const Operand& operand : node.operands()) {
      operand.for_values([&](const Value* v) {
        const bool top = v->block() == &graph_.block();
        if (top && inside.count(v) == 0 && seen.insert(v).second) outer.push_back(v);
      });
    }
    for (size_t b = 0; b < node.block_count(); ++b) {
      for (const Node* inner : node.block(b)) outer_values(*inner, inside, outer, seen);
      outer_values(*node.block(b).return_node(), inside, outer, seen);
    }
  }

  // The nodes from `first` to before `last`.
  Minimised part(size_t first, size_t last) const {
    Minimised made;
    made.graph = std::make_unique<Graph>(graph_.name());
    made.graph->symbols() = graph_.symbols();
    std::vector<const Value*> outer;
    if (first == 0) {
      for (size_t i = 0; i < graph_.block().input_count(); ++i) outer.push_back(graph_.block().input(i));
    }
    std::set<const Value*> inside, seen(outer.begin(), outer.end());
    for (size_t n = first; n < last; ++n) {
      outer_values(*nodes_[n], inside, outer, seen);
      for (size_t i = 0; i < nodes_[n]->result_count(); ++i) inside.insert(nodes_[n]->result(i));
    }
    // A copy of the whole, of which the rest is taken away.
    const std::unique_ptr<Graph> whole = graph_.clone();
    std::vector<Node*> copies;
    for (Node* node : whole->block()) copies.push_back(node);
    std::map<const Value*, Operand> to;
    std::map<const Value*, const Value*> twin;
    for (size_t i = 0; i < graph_.block().input_count(); ++i) twin[graph_.block().input(i)] = whole->block().input(i);
    for (size_t n = 0; n < nodes_.size(); ++n) {
      for (size_t i = 0; i < nodes_[n]->result_count(); ++i) twin[nodes_[n]->result(i)] = copies[n]->result(i);
    }
    std::vector<Operand> results;
    for (size_t n = first; n < last; ++n) {
      for (size_t i = 0; i < copies[n]->result_count(); ++i) results.emplace_back(copies[n]->result(i));
    }
    whole->block().set_outputs(std::move(results));
    for (size_t n = nodes_.size(); n-- > last;) copies[n]->erase();
    for (const Value* value : outer) {
      Value* const input = made.graph->block().add_input(value->type(), value->name());
      if (value->info() != nullptr) input->set_info(*value->info());
      to.emplace(twin.at(value), Operand(input));
      const auto known = values_.find(value);
      made.inputs.push_back(known == values_.end() ? IValue() : known->second);
    }
    for (size_t n = first; n-- > 0;) {
      // What the rest uses of it is an input now.
      for (size_t i = 0; i < copies[n]->result_count(); ++i) {
        Value* const result = copies[n]->result(i);
        const auto input = to.find(result);
        if (input == to.end()) continue;
        Value* const stand_in = whole->block().add_input(result->type());
        result->replace_all_uses_with(stand_in);
        to.emplace(stand_in, input->second);
      }
      copies[n]->erase();
    }
    made.graph->block().set_outputs(copy_nodes(whole->block(), made.graph->block(), std::move(to)));
    return made;
  }

  const Graph& graph_;
  const std::function<bool(const Graph&, const c10::Stack&)>& fails_;
  std::vector<Node*> nodes_;
  std::map<const Value*, IValue> values_;
};

}  // namespace

std::optional<Minimised> minimise(const Graph& graph, const c10::Stack& inputs,
                                  const std::function<bool(const Graph&, const c10::Stack&)>& fails) {
  return Minimising(graph, inputs, fails).run();
}

}  // namespace torch::graph
