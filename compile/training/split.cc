#include "compile/training/split.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "c10/util/exception.h"
#include "compile/group/operators.h"
#include "compile/training/max_flow.h"
#include "graph/ir/text.h"
#include "graph/passes/effects.h"

namespace torch::compiler {
namespace {

using graph::Graph;
using graph::Node;
using graph::Operand;
using graph::Value;
using Kind = Node::Kind;

int64_t bytes_of(const Value* value) {
  const graph::TensorInfo* info = value->info();
  if (info == nullptr) return 0;
  int64_t bytes = static_cast<int64_t>(c10::elementSize(info->dtype));
  for (const graph::IntExpr& size : info->sizes) bytes *= size.evaluate({});
  return bytes;
}

class Splitting {
 public:
  Splitting(const Graph& joint, size_t outputs, size_t tangents)
      : joint_(joint), outputs_(outputs), primals_(joint.block().input_count() - tangents) {}

  TrainingGraphs run() {
    find_backward();
    find_read();
    cut();
    build_forward();
    build_backward();
    return std::move(made_);
  }

 private:
  template <class F>
  static void for_operands(const Node& node, const F& f) {
    for (const Operand& operand : node.operands()) operand.for_values(f);
  }
  bool is_backward(const Value* value) const { return backward_.count(value) > 0; }

  // What depends on a tangent.
  void find_backward() {
    const graph::Block& block = joint_.block();
    for (size_t i = primals_; i < block.input_count(); ++i) backward_.insert(block.input(i));
    for (const Node* node : block) {
      TORCH_CHECK_VALUE(node->block_count() == 0, "a graph to be trained has control flow:\n  ", print_node(*node));
      bool depends = false;
      for_operands(*node, [&](const Value* v) { depends = depends || is_backward(v); });
      for (size_t i = 0; i < node->result_count() && depends; ++i) backward_.insert(node->result(i));
    }
  }
  // The forward values that the backward pass reads, gradients that are one among them.
  void find_read() {
    const graph::Block& block = joint_.block();
    const auto read = [&](const Value* v) {
      if (!is_backward(v)) read_.insert(v);
    };
    for (const Node* node : block) {
      if (node->result_count() > 0 && is_backward(node->result())) for_operands(*node, read);
    }
    for (size_t i = outputs_; i < block.outputs().size(); ++i) block.outputs()[i].for_values(read);
    for (size_t i = 0; i < outputs_; ++i) block.outputs()[i].for_values([&](const Value* v) { kept_.insert(v); });
  }

  static bool is_tensor(const Value* v) { return v->type()->kind() == c10::TypeKind::TensorType; }
  // What the backward pass may do once more: what costs less than reading its result would.
  static bool may_repeat(const Node& node) {
    if (is_free(node)) return true;
    const std::optional<Lowered> lowered = lower(node);
    if (!lowered.has_value() || lowered->row.has_value()) return false;
    return std::all_of(lowered->operations.begin(), lowered->operations.end(), [](const Operation& op) {
      const Form form = info_of(op.primitive).form;
      return form == Form::kVector || form == Form::kPredicate || info_of(op.primitive).loop == nullptr;
    });
  }
  static bool is_free(const Node& node) {
    return graph::is_view(node) || node.kind() == Kind::kTuple || node.kind() == Kind::kList ||
           node.kind() == Kind::kUnpack;
  }

  void cut() {
    std::map<const Value*, size_t> index;
    const auto number = [&](const Value* v) { return index.try_emplace(v, index.size()).first->second; };
    for (size_t i = 0; i < primals_; ++i) number(joint_.block().input(i));
    for (const Node* node : joint_.block()) {
      for (size_t i = 0; i < node->result_count(); ++i) {
        if (!is_backward(node->result(i))) number(node->result(i));
      }
    }
    const size_t source = 2 * index.size(), sink = source + 1;
    MaxFlow flow(sink + 1);
    for (const auto& [value, i] : index) {
      const size_t in = 2 * i, out = in + 1;
      const Node* node = value->node();
      int64_t cost = MaxFlow::kInfinity;
      if (node == nullptr) {
        cost = 0;
      } else if (kept_.count(value) > 0) {
        cost = 1;  // the caller has it anyway
      } else if (is_tensor(value) && !graph::is_view(*node)) {
        cost = std::min(std::max<int64_t>(bytes_of(value), 1), MaxFlow::kInfinity - 1);
      }
      flow.add(in, out, cost);
      if (node == nullptr || !may_repeat(*node)) flow.add(source, in, MaxFlow::kInfinity);
      if (read_.count(value) > 0) flow.add(out, sink, MaxFlow::kInfinity);
      if (node == nullptr) continue;
      for_operands(*node, [&](const Value* v) {
        if (!is_backward(v)) flow.add(2 * index.at(v) + 1, in, MaxFlow::kInfinity);
      });
    }
    flow.run(source, sink);
    // In the graph's order.
    const auto saved = [&](const Value* v) {
      const size_t i = index.at(v);
      return flow.on_source_side(2 * i) && !flow.on_source_side(2 * i + 1);
    };
    // Those that lie on a way to what is read, in the graph's order.
    std::set<const Value*> seen;
    std::vector<const Value*> open(read_.begin(), read_.end());
    while (!open.empty()) {
      const Value* v = open.back();
      open.pop_back();
      if (!seen.insert(v).second || saved(v)) continue;
      TORCH_CHECK_VALUE(v->node() != nullptr, "a backward pass reads what cannot be saved");
      for_operands(*v->node(), [&](const Value* operand) { open.push_back(operand); });
    }
    const auto save = [&](const Value* v) {
      if (seen.count(v) > 0 && saved(v)) saved_.push_back(v);
    };
    for (size_t i = 0; i < primals_; ++i) save(joint_.block().input(i));
    for (const Node* node : joint_.block()) {
      for (size_t i = 0; i < node->result_count(); ++i) {
        if (!is_backward(node->result(i))) save(node->result(i));
      }
    }
    for (const Value* v : read_) {
      if (v->node() != nullptr && is_tensor(v) && !graph::is_view(*v->node())) made_.unsplit_bytes += bytes_of(v);
    }
  }

  // Copies what the outputs need of the joint graph, down to what is given.
  std::unique_ptr<Graph> copy(const char* name, const std::vector<const Value*>& inputs,
                              const std::vector<Operand>& outputs, bool effects) {
    auto graph = std::make_unique<Graph>(name);
    std::map<const Value*, Operand> values;
    std::set<const Value*> given(inputs.begin(), inputs.end()), needed;
    for (const Value* v : inputs) {
      Value* const input = graph->block().add_input(v->type(), v->name());
      if (v->info() != nullptr) input->set_info(*v->info());
      values.emplace(v, Operand(input));
    }
    const auto need = [&](const Value* v) { needed.insert(v); };
    for (const Operand& output : outputs) output.for_values(need);
    std::vector<const Node*> order;
    for (const Node* node = joint_.block().return_node()->previous(); node != joint_.block().return_node();
         node = node->previous()) {
      bool wanted = effects && graph::has_effects(*node) && !(node->result_count() > 0 && is_backward(node->result()));
      for (size_t i = 0; i < node->result_count(); ++i) {
        wanted = wanted || (needed.count(node->result(i)) > 0 && given.count(node->result(i)) == 0);
      }
      if (!wanted) continue;
      order.push_back(node);
      for_operands(*node, need);
    }
    std::reverse(order.begin(), order.end());
    for (const Node* node : order) {
      std::vector<Operand> operands;
      for (const Operand& operand : node->operands()) operands.push_back(replaced(operand, values));
      std::unique_ptr<Node> made = node->kind() == Kind::kCall ? graph->call(node->callable(), std::move(operands))
                                                               : graph->make(node->kind(), std::move(operands));
      made->set_name(node->name());
      made->set_source(node->source());
      Node* const twin = graph->block().append(std::move(made));
      for (size_t i = 0; i < node->result_count(); ++i) {
        const Value* from = node->result(i);
        Value* const to = i < twin->result_count() ? twin->result(i) : twin->add_result(from->type());
        to->set_name(from->name());
        if (from->info() != nullptr) to->set_info(*from->info());
        values.try_emplace(from, Operand(to));
      }
    }
    std::vector<Operand> results;
    for (const Operand& output : outputs) results.push_back(replaced(output, values));
    graph->block().set_outputs(std::move(results));
    graph::verify(*graph);
    return graph;
  }
  static Operand replaced(const Operand& operand, const std::map<const Value*, Operand>& values) {
    if (operand.is_value()) {
      const auto found = values.find(operand.value());
      TORCH_CHECK_VALUE(found != values.end(), "a backward pass reads what is neither saved nor computed again");
      return found->second;
    }
    if (!operand.is_list()) return operand;
    std::vector<Operand> parts;
    for (const Operand& part : operand.list()) parts.push_back(replaced(part, values));
    return parts;
  }

  void build_forward() {
    const graph::Block& block = joint_.block();
    std::vector<const Value*> inputs;
    for (size_t i = 0; i < primals_; ++i) inputs.push_back(block.input(i));
    std::vector<Operand> outputs(block.outputs().begin(),
                                 block.outputs().begin() + static_cast<std::ptrdiff_t>(outputs_));
    for (const Value* v : saved_) {
      if (v->node() == nullptr) {
        made_.saved.push_back({true, v->index()});
        continue;
      }
      made_.saved.push_back({false, outputs.size()});
      made_.saved_bytes += bytes_of(v);
      outputs.emplace_back(const_cast<Value*>(v));
    }
    made_.forward = copy("forward", inputs, outputs, /*effects=*/true);
  }
  void build_backward() {
    const graph::Block& block = joint_.block();
    std::vector<const Value*> inputs = saved_;
    for (size_t i = primals_; i < block.input_count(); ++i) inputs.push_back(block.input(i));
    const std::vector<Operand> outputs(block.outputs().begin() + static_cast<std::ptrdiff_t>(outputs_),
                                       block.outputs().end());
    made_.backward = copy("backward", inputs, outputs, /*effects=*/false);
  }

  const Graph& joint_;
  size_t outputs_, primals_;
  std::set<const Value*> backward_, read_, kept_;
  std::vector<const Value*> saved_;
  TrainingGraphs made_;
};

}  // namespace

TrainingGraphs split_training(const Graph& joint, size_t outputs, size_t tangents) {
  TORCH_CHECK_VALUE(tangents <= joint.block().input_count() && outputs <= joint.block().outputs().size(),
                    "a joint graph with ", joint.block().input_count(), " inputs and ", joint.block().outputs().size(),
                    " outputs has no ", tangents, " tangents of ", outputs);
  return Splitting(joint, outputs, tangents).run();
}

}  // namespace torch::compiler
