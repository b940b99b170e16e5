#include "graph/passes/specialise.h"

#include <utility>
#include <vector>

namespace torch::graph {
namespace {

using Known = std::map<std::string, IntExpr>;

Operand specialised(const Operand& operand, const Known& known) {
  if (operand.is_expr()) {
    const IntExpr e = operand.expr().substitute(known);
    return e.is_constant() ? Operand(c10::IValue(e.value())) : Operand(e);
  }
  if (!operand.is_list()) return operand;
  std::vector<Operand> parts;
  for (const Operand& part : operand.list()) parts.push_back(specialised(part, known));
  return parts;
}

void specialise_value(Value* value, const Known& known) {
  if (value->expr() != nullptr) value->set_expr(value->expr()->substitute(known));
  if (value->info() == nullptr) return;
  TensorInfo info = *value->info();
  for (IntExpr& e : info.sizes) e = e.substitute(known);
  for (IntExpr& e : info.strides) e = e.substitute(known);
  info.storage_offset = info.storage_offset.substitute(known);
  value->set_info(std::move(info));
}

void specialise_block(Block& block, const Known& known) {
  for (size_t i = 0; i < block.input_count(); ++i) specialise_value(block.input(i), known);
  for (Node* node = block.first();; node = node->next()) {
    for (size_t i = 0; i < node->operands().size(); ++i) {
      if (!node->operand(i).is_value()) node->set_operand(i, specialised(node->operand(i), known));
    }
    for (size_t i = 0; i < node->result_count(); ++i) specialise_value(node->result(i), known);
    for (size_t b = 0; b < node->block_count(); ++b) specialise_block(node->block(b), known);
    if (node == block.return_node()) return;
  }
}

}  // namespace

std::unique_ptr<Graph> specialise(const Graph& graph, const std::map<std::string, int64_t>& symbols) {
  std::unique_ptr<Graph> made = graph.clone();
  Known known;
  for (const auto& [name, value] : symbols) {
    known.emplace(name, IntExpr(value));
    made->symbols().erase(name);
  }
  specialise_block(made->block(), known);
  return made;
}

}  // namespace torch::graph
