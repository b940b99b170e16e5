#include "compile/aot/parts.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "aten/ops/view/ops.h"
#include "c10/dispatch/registry.h"
#include "c10/util/exception.h"
#include "compile/aot/prepare.h"
#include "graph/ir/text.h"
#include "graph/passes/tensor_info.h"

namespace torch::aot {
namespace {

using c10::IValue;
using graph::Block;
using graph::Graph;
using graph::IntExpr;
using graph::Node;
using graph::Operand;
using graph::TensorInfo;
using graph::Value;
using Kind = Node::Kind;

TensorInfo row_major(TensorInfo info) {
  info.storage_offset = 0;
  info.requires_grad = false;
  info.strides.assign(info.sizes.size(), 1);
  for (size_t d = info.sizes.size(); d-- > 1;) info.strides[d - 1] = info.strides[d] * info.sizes[d];
  return info;
}

bool is_number(const Operand& operand) {
  if (operand.is_expr()) return true;
  if (operand.is_constant()) return !operand.constant().isTensor();
  return operand.is_value() && operand.value()->expr() != nullptr;
}
// What takes its place inside.
Operand number(const Operand& operand) {
  return operand.is_value() ? Operand(*operand.value()->expr()) : operand;
}
std::optional<IntExpr> expression(const Operand& operand) {
  if (operand.is_expr()) return operand.expr();
  if (operand.is_value() && operand.value()->expr() != nullptr) return *operand.value()->expr();
  if (operand.is_constant() && operand.constant().isInt()) return IntExpr(operand.constant().toInt());
  return std::nullopt;
}

bool is_true(const IValue& condition) {
  return condition.isTensor() ? at::is_nonzero(condition.toTensor()) : condition.toBool();
}

// The truth of sizes, as programs of Python compare them.
std::optional<SizeCondition> size_condition(const Operand& condition) {
  if (!condition.is_value() || condition.value()->node() == nullptr) return std::nullopt;
  const Node& node = *condition.value()->node();
  if (node.kind() != Kind::kCall || node.operands().size() != 2) return std::nullopt;
  static constexpr std::array<std::pair<const char*, const char*>, 6> kComparisons{
      {{"gt", ">"}, {"ge", ">="}, {"lt", "<"}, {"le", "<="}, {"eq", "=="}, {"ne", "!="}}};
  for (const auto& [name, comparison] : kComparisons) {
    if (!node.calls(std::string("_operator::") + name)) continue;
    const std::optional<IntExpr> left = expression(node.operand(0)), right = expression(node.operand(1));
    if (left.has_value() && right.has_value()) return SizeCondition{comparison, *left, *right};
  }
  return std::nullopt;
}

class Outlining {
 public:
  Outlining(Graph& graph, const PreparePart& prepare_part) : graph_(graph), prepare_part_(prepare_part) {}

  std::map<std::string, ProgramPart> run() {
    for (Node* node = graph_.block().first(); node != graph_.block().return_node();) {
      Node* const next = node->block_count() > 0 ? replace(*node) : node->next();
      node = next;
    }
    return std::move(parts_);
  }

 private:
  // Returns the node to go on with.
  Node* replace(Node& node) {
    node_ = &node;
    part_ = ProgramPart{};
    operands_.clear();
    places_.clear();
    switch (node.kind()) {
      case Kind::kIf:
        if (!is_part(node)) return put_in_place(node.block(is_true(node.operand(0).constant()) ? 0 : 1));
        branch();
        break;
      case Kind::kScope:
        check(node.name() == "set_grad_enabled", "a scope of " + node.name());
        return put_in_place(node.block(0));
      case Kind::kLoop:
        loop();
        break;
      case Kind::kWhile:
        part_.kind = Kind::kWhile;
        part_.carried = add(node.operand(0).list());
        for (size_t b = 0; b < 2; ++b) body(node.block(b), {node.operand(0).list(), node.operand(1).list()});
        break;
      case Kind::kMap:
        part_.kind = Kind::kScan;
        slice(node.operand(0).list());
        body(node.block(0), {node.operand(0).list(), node.operand(1).list()});
        break;
      case Kind::kScan:
        part_.kind = Kind::kScan;
        part_.carried = add(node.operand(0).list());
        slice(node.operand(1).list());
        body(node.block(0), {node.operand(0).list(), node.operand(1).list(), node.operand(2).list()});
        break;
      default:
        check(false, "control flow of this kind");
    }
    return invoke(results());
  }

  void check(bool held, const std::string& why) const {
    TORCH_CHECK_VALUE(held, "the program cannot be compiled ahead of time:\n  ", graph::print_node(*node_), ": ", why);
  }

  Node* put_in_place(const Block& block) {
    Node* const before = node_->previous();
    Block& to = graph_.block();
    Node* const last = to.return_node()->previous();
    const std::vector<Operand> outputs = graph::copy_nodes(block, to, {});
    // They were appended behind all others.
    for (Node* moved = last->next(); moved != to.return_node();) {
      Node* const next = moved->next();
      moved->move_before(node_);
      moved = next;
    }
    for (size_t i = 0; i < node_->result_count(); ++i) node_->result(i)->replace_all_uses_with(outputs[i]);
    node_->erase();
    return before == to.return_node() ? to.first() : before->next();
  }

  void branch() {
    part_.kind = Kind::kIf;
    part_.condition = size_condition(node_->operand(0));
    if (!part_.condition.has_value()) {
      check(!is_number(node_->operand(0)) && node_->operand(0).is_value() &&
                node_->operand(0).value()->type()->kind() == c10::TypeKind::TensorType,
            "a condition that is neither a tensor nor a comparison of sizes");
      info(node_->operand(0));
      place(node_->operand(0));
    }
    for (size_t b = 0; b < 2; ++b) body(node_->block(b), {});
  }

  // Of a known number of turns, whose number nothing reads.
  void loop() {
    const Block& block = node_->block(0);
    const auto goes_on = [](const Operand& o) {
      return o.is_constant() && o.constant().isBool() && o.constant().toBool();
    };
    const std::optional<IntExpr> turns = expression(node_->operand(0));
    check(turns.has_value() && goes_on(node_->operand(1)) && goes_on(block.outputs()[0]) &&
              block.input(0)->uses().empty(),
          "a loop whose turns depend on elements, or on their number");
    part_.kind = Kind::kScan;
    part_.turns = *turns;
    part_.carried = add(node_->operand(2).list());
    body(block, {{Operand(IValue(0))}, node_->operand(2).list()}, /*numbers=*/1);
  }

  // The place of a tensor among the operands.
  size_t place(const Operand& operand) {
    if (operand.is_value()) {
      const auto known = places_.find(operand.value());
      if (known != places_.end()) return known->second;
      places_.emplace(operand.value(), operands_.size());
    }
    operands_.push_back(operand);
    return operands_.size() - 1;
  }
  // Carried and sliced operands have places of their own, in order.
  size_t add(const std::vector<Operand>& operands) {
    for (const Operand& operand : operands) {
      check(!is_number(operand), "a number that is carried from turn to turn, or sliced");
      operands_.push_back(operand);
    }
    return operands.size();
  }
  void slice(const std::vector<Operand>& operands) {
    part_.sliced = add(operands);
    check(part_.sliced > 0 && !info(operands[0]).sizes.empty(), "nothing that it slices");
    part_.turns = info(operands[0]).sizes[0];
  }
  TensorInfo info(const Operand& operand) const {
    if (operand.is_constant()) return graph::info_of(operand.constant().toTensor());
    check(operand.is_value() && operand.value()->info() != nullptr, "a tensor of which nothing is known");
    return *operand.value()->info();
  }

  static void find_outer(const Block& block, std::set<const Value*>& inner, std::vector<const Value*>& outer) {
    const auto read = [&](c10::ArrayRef<Operand> operands) {
      for (const Operand& operand : operands) {
        operand.for_values([&](const Value* v) {
          if (inner.insert(v).second) outer.push_back(v);
        });
      }
    };
    for (size_t i = 0; i < block.input_count(); ++i) inner.insert(block.input(i));
    for (const Node* node : block) {
      read(node->operands());
      for (size_t b = 0; b < node->block_count(); ++b) find_outer(node->block(b), inner, outer);
      for (size_t i = 0; i < node->result_count(); ++i) inner.insert(node->result(i));
    }
    read(block.outputs());
  }

  // A block as a program. `given`: the node's lists, for which its inputs stand one after the other, what is carried
  // and then what is sliced first. The first `numbers` outputs are no results.
  void body(const Block& block, const std::vector<std::vector<Operand>>& given, size_t numbers = 0) {
    auto graph = std::make_unique<Graph>(graph_.name() + "_part");
    graph->symbols() = graph_.symbols();
    ProgramPart::Body body;
    std::map<const Value*, Operand> values;
    std::vector<Operand> all;
    for (const auto& list : given) all.insert(all.end(), list.begin(), list.end());
    TORCH_INTERNAL_ASSERT(all.size() == block.input_count());
    // Of the node's lists, what is carried or sliced has a place of its own already.
    size_t own = 0;
    const size_t placed = part_.carried + part_.sliced;
    const auto add_input = [&](const Value* value, const TensorInfo& info, size_t operand) {
      Value* const input = graph->block().add_input(c10::TensorType::get(), value->name());
      input->set_info(row_major(info));
      values.emplace(value, Operand(input));
      body.operands.push_back(operand);
    };
    for (size_t i = 0; i < all.size(); ++i) {
      if (is_number(all[i])) {
        values.emplace(block.input(i), number(all[i]));
        continue;
      }
      TensorInfo known = info(all[i]);
      if (own >= part_.carried && own < placed) known.sizes.erase(known.sizes.begin());
      add_input(block.input(i), known, own < placed ? own : place(all[i]));
      ++own;
    }
    std::set<const Value*> inner;
    std::vector<const Value*> outer;
    find_outer(block, inner, outer);
    for (const Value* value : outer) {
      Value* const captured = const_cast<Value*>(value);
      if (value->expr() != nullptr) {
        values.emplace(value, Operand(*value->expr()));
        continue;
      }
      check(value->type()->kind() == c10::TypeKind::TensorType && value->info() != nullptr,
            "it reads a number that depends on elements, a list, or a tensor of which nothing is known");
      add_input(value, *value->info(), place(Operand(captured)));
    }
    std::vector<Operand> outputs = graph::copy_nodes(block, graph->block(), values);
    outputs.erase(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(numbers));
    graph->block().set_outputs(std::move(outputs));
    body.program = prepare_part_(std::move(graph));
    check(body.program->numbers.empty(), "it gives a number");
    part_.bodies.push_back(std::move(body));
  }

  static std::vector<TensorInfo> output_infos(const ProgramPart::Body& body) {
    std::vector<TensorInfo> infos;
    for (const Operand& output : body.program->graph->block().outputs()) infos.push_back(*output.value()->info());
    return infos;
  }
  static bool same_form(const TensorInfo& a, const TensorInfo& b) { return a.dtype == b.dtype && a.sizes == b.sizes; }

  // Of what the invocation gives.
  std::vector<TensorInfo> results() const {
    std::vector<TensorInfo> infos = output_infos(part_.bodies.back());
    if (part_.kind == Kind::kIf) {
      const std::vector<TensorInfo> others = output_infos(part_.bodies[0]);
      for (size_t i = 0; i < infos.size(); ++i) {
        check(same_form(infos[i], others[i]), "branches with results of different sizes or dtypes");
      }
      return infos;
    }
    for (size_t i = 0; i < part_.carried; ++i) {
      check(same_form(infos[i], info(operands_[i])), "turns that change the sizes or the dtype of what they carry");
    }
    if (part_.kind == Kind::kWhile) {
      const std::vector<TensorInfo> condition = output_infos(part_.bodies[0]);
      check(condition.size() == 1 && condition[0].dtype == c10::ScalarType::Bool,
            "a condition that is no tensor of bool");
    }
    for (size_t i = part_.carried; i < infos.size(); ++i) infos[i].sizes.insert(infos[i].sizes.begin(), part_.turns);
    for (TensorInfo& info : infos) info = row_major(info);
    return infos;
  }

  Node* invoke(const std::vector<TensorInfo>& infos) {
    const auto clone_op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::clone", "");
    for (Operand& operand : operands_) {
      if (operand.is_constant() || graph::is_row_major(*operand.value()->info())) continue;
      std::unique_ptr<Node> made = graph_.call(
          graph::Callable(clone_op), {operand, Operand(IValue(static_cast<int64_t>(c10::MemoryFormat::Contiguous)))});
      Node* const clone = graph_.block().append(std::move(made));
      clone->move_before(node_);
      clone->result()->set_info(row_major(*operand.value()->info()));
      operand = Operand(clone->result());
    }
    Node* const invoke = graph_.block().append(graph_.make(Kind::kInvoke, operands_));
    invoke->set_name("part" + std::to_string(parts_.size()));
    invoke->move_before(node_);
    TORCH_INTERNAL_ASSERT(infos.size() == node_->result_count());
    for (size_t i = 0; i < infos.size(); ++i) {
      Value* const result = invoke->add_result(c10::TensorType::get(), node_->result(i)->name());
      result->set_info(infos[i]);
      node_->result(i)->replace_all_uses_with(Operand(result));
    }
    parts_.emplace(invoke->name(), std::move(part_));
    Node* const next = node_->next();
    node_->erase();
    return next;
  }

  Graph& graph_;
  const PreparePart& prepare_part_;
  std::map<std::string, ProgramPart> parts_;
  // Of the node that is looked at.
  Node* node_ = nullptr;
  ProgramPart part_;
  std::vector<Operand> operands_;
  std::map<const Value*, size_t> places_;  // of what bodies read besides
};

}  // namespace

bool is_part(const Node& node) {
  if (node.block_count() == 0 || node.kind() == Kind::kScope) return false;
  return node.kind() != Kind::kIf || !node.operand(0).is_constant();
}

void lay_out_parts(Graph& graph) {
  const auto clone_op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::clone", "");
  // A copy that is appended to the block, where one is needed.
  const auto laid_out = [&](const Operand& operand, Block& block) -> std::optional<Operand> {
    if (!operand.is_value() || operand.value()->type()->kind() != c10::TypeKind::TensorType) return std::nullopt;
    const TensorInfo* const info = operand.value()->info();
    if (info != nullptr && graph::is_row_major(*info) && info->storage_offset == IntExpr(0)) return std::nullopt;
    const Operand contiguous(IValue(static_cast<int64_t>(c10::MemoryFormat::Contiguous)));
    return Operand(block.append(graph.call(graph::Callable(clone_op), {operand, contiguous}))->result());
  };
  std::vector<Node*> nodes;
  graph.for_nodes([&](Node* node) {
    if (node->block_count() > 0) nodes.push_back(node);
  });
  for (Node* node : nodes) {
    for (size_t b = 0; b < node->block_count(); ++b) {
      Block& block = node->block(b);
      std::vector<Operand> outputs(block.outputs().begin(), block.outputs().end());
      for (Operand& output : outputs) output = laid_out(output, block).value_or(output);
      block.set_outputs(std::move(outputs));
    }
    const bool others = node->kind() == Kind::kIf || node->kind() == Kind::kScope;
    for (size_t i = 0; !others && i < node->operands().size(); ++i) {
      if (!node->operand(i).is_list()) continue;
      std::vector<Operand> parts = node->operand(i).list();
      for (Operand& part : parts) {
        const std::optional<Operand> copy = laid_out(part, *node->block());
        if (!copy.has_value()) continue;
        copy->value()->node()->move_before(node);
        part = *copy;
      }
      node->set_operand(i, Operand(std::move(parts)));
    }
  }
}

std::map<std::string, ProgramPart> outline_parts(Graph& graph, const PreparePart& prepare_part) {
  return Outlining(graph, prepare_part).run();
}

}  // namespace torch::aot
