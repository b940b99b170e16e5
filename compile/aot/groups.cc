#include "compile/aot/groups.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "compile/aot/runtime/groups.h"
#include "compile/group/operators.h"
#include "graph/passes/tensor_info.h"

namespace torch::aot {

using compiler::FusedPart;
using compiler::Group;
using compiler::Ref;
using compiler::RowFunction;
using graph::Graph;
using graph::IntExpr;
using graph::Node;
using graph::Operand;
using graph::TensorInfo;
using graph::Value;

namespace {

bool is_one(const IntExpr& e) {
  return e == IntExpr(1);
}

// By the largest sizes: which dimension is further out matters for speed alone.
int64_t about(const IntExpr& e) {
  std::set<std::string> names;
  e.collect_symbols(names);
  std::map<std::string, int64_t> symbols;
  for (const std::string& name : names) symbols[name] = 64;
  return e.evaluate(symbols);
}

// Strides of an operand along the group's dimensions; nothing where it is not clear that it broadcasts.
std::optional<std::vector<IntExpr>> along(const std::vector<IntExpr>& sizes, const TensorInfo& info) {
  if (info.sizes.size() > sizes.size()) return std::nullopt;
  std::vector<IntExpr> strides(sizes.size(), IntExpr(0));
  const size_t missing = sizes.size() - info.sizes.size();
  for (size_t d = 0; d < info.sizes.size(); ++d) {
    if (is_one(info.sizes[d])) continue;
    if (!(info.sizes[d] == sizes[missing + d])) return std::nullopt;
    strides[missing + d] = info.strides[d];
  }
  return strides;
}

// Whether it is read element by element.
bool is_read(const Group& group, uint32_t input) {
  const Ref ref{Ref::Kind::kInput, input};
  for (const auto& op : group.operations) {
    if (std::find(op.operands.begin(), op.operands.end(), ref) != op.operands.end()) return true;
  }
  return !group.row.has_value() || group.row->operand == ref;
}

// `fixed`: so many of the last dimensions must be gone through in order, in one run.
std::optional<Nest> nest_of(const Group& group, size_t fixed) {
  const size_t rank = group.sizes.size(), count = group.outputs.size() + group.inputs.size();
  std::vector<std::vector<IntExpr>> by_operand;
  for (size_t k = 0; k < count; ++k) {
    std::optional<std::vector<IntExpr>> strides = along(group.sizes, operand_info(group, k));
    if (!strides.has_value()) return std::nullopt;
    // Whole rows are given to the function of rows.
    if (k >= group.outputs.size() && !is_read(group, static_cast<uint32_t>(k - group.outputs.size()))) {
      strides->assign(rank, IntExpr(0));
    }
    by_operand.push_back(std::move(*strides));
  }
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(rank - fixed),
                   [&](size_t a, size_t b) { return about(by_operand[0][a]) > about(by_operand[0][b]); });
  Nest nest;  // innermost first, until the end
  size_t in_run = 0;
  for (size_t i = rank; i-- > 0;) {
    const size_t d = order[i];
    const IntExpr& size = group.sizes[d];
    if (is_one(size)) {
      in_run += nest.sizes.size() <= 1;
      continue;
    }
    std::vector<IntExpr> strides;
    for (size_t k = 0; k < count; ++k) strides.push_back(by_operand[k][d]);
    bool joins = !nest.sizes.empty();
    for (size_t k = 0; k < count && joins; ++k) joins = strides[k] == nest.strides.back()[k] * nest.sizes.back();
    if (joins) {
      nest.sizes.back() = nest.sizes.back() * size;
    } else {
      nest.sizes.push_back(size);
      nest.strides.push_back(std::move(strides));
    }
    in_run += nest.sizes.size() == 1;
  }
  if (in_run < fixed || nest.sizes.size() > kMostGroupDims) return std::nullopt;
  if (nest.sizes.empty()) {
    nest.sizes.emplace_back(1);
    nest.strides.emplace_back(count, IntExpr(1));
  }
  std::reverse(nest.sizes.begin(), nest.sizes.end());
  std::reverse(nest.strides.begin(), nest.strides.end());
  return nest;
}

constexpr const char* kNoPlace = "no place that the row could be computed in";

bool is_late(const Group& group, Ref value) {
  return value.kind == Ref::Kind::kRow || (value.kind == Ref::Kind::kOperation && value.index >= group.row_begin);
}

// What is computed behind the row.
std::vector<Ref> late_values(const Group& group) {
  std::vector<Ref> values;
  for (const auto& output : group.outputs) {
    if (is_late(group, output.value)) values.push_back(output.value);
  }
  return values;
}

std::optional<GroupPlan> plan_rows(const Group& group, std::string& why) {
  const compiler::RowOperation& row = *group.row;
  const auto refuse = [&](const char* reason) {
    why = reason;
    return std::nullopt;
  };
  const c10::ScalarType held = compiler::register_type(row.dtype);
  GroupPlan plan;
  std::optional<Nest> nest = nest_of(group, static_cast<size_t>(row.dims));
  if (!nest.has_value()) return refuse("rows that do not lie in one piece");
  plan.nest = std::move(*nest);
  plan.row = 1;
  for (size_t d = group.sizes.size() - static_cast<size_t>(row.dims); d < group.sizes.size(); ++d) {
    plan.row = plan.row * group.sizes[d];
  }
  for (const std::optional<Ref>& part : {row.weight, row.bias}) {
    if (!part.has_value()) continue;
    const TensorInfo info = operand_info(group, group.outputs.size() + part->index);
    if (info.dtype != held || !graph::is_row_major(info)) return refuse("a weight of rows of another dtype");
  }
  const auto is_dense = [&](size_t k) {
    return operand_info(group, k).dtype == held && (is_one(plan.nest.step(k)) || is_one(plan.nest.run()));
  };
  bool found = false;
  // Rather the row itself, whose memory nothing else needs.
  for (size_t i = 0; i < group.outputs.size(); ++i) {
    const Ref value = group.outputs[i].value;
    if (!is_late(group, value) || !is_dense(i) || (found && value.kind != Ref::Kind::kRow)) continue;
    plan.target = i;
    found = true;
  }
  if (!found) return refuse(kNoPlace);
  if (row.operand.kind == Ref::Kind::kInput && is_dense(group.outputs.size() + row.operand.index)) {
    plan.source = group.outputs.size() + row.operand.index;
  }
  return plan;
}

}  // namespace

TensorInfo operand_info(const Group& group, size_t operand) {
  if (operand < group.outputs.size()) return group.outputs[operand].info;
  const compiler::GroupInput& input = group.inputs[operand - group.outputs.size()];
  if (input.constant.isNone()) return input.info;
  // Among the weights it is dense.
  TensorInfo info = input.info;
  info.storage_offset = 0;
  IntExpr stride = 1;
  for (size_t d = info.sizes.size(); d-- > 0;) {
    info.strides[d] = stride;
    stride = stride * info.sizes[d];
  }
  return info;
}

std::optional<GroupPlan> plan_group(const Group& group, std::string& why) {
  if (group.outputs.empty() || group.outputs.size() + group.inputs.size() > kMostGroupOperands) {
    why = "too many tensors";
    return std::nullopt;
  }
  if (group.row.has_value()) return plan_rows(group, why);
  std::optional<Nest> nest = nest_of(group, 0);
  if (!nest.has_value()) {
    why = "sizes that are not known to be the same";
    return std::nullopt;
  }
  GroupPlan plan;
  plan.nest = std::move(*nest);
  return plan;
}

Needed needed_by(const Group& group, const std::vector<Ref>& values, bool to_row) {
  Needed needed;
  std::set<size_t> inputs, operations;
  std::vector<Ref> open = values;
  while (!open.empty()) {
    const Ref ref = open.back();
    open.pop_back();
    if (ref.kind == Ref::Kind::kInput) inputs.insert(ref.index);
    if (ref.kind == Ref::Kind::kRow) needed.row = to_row;
    if (ref.kind != Ref::Kind::kOperation || !operations.insert(ref.index).second) continue;
    const auto& operands = group.operations[ref.index].operands;
    open.insert(open.end(), operands.begin(), operands.end());
  }
  needed.operations.assign(operations.begin(), operations.end());
  needed.inputs.assign(inputs.begin(), inputs.end());
  return needed;
}

bool may_replace(const Group& group, const GroupPlan& plan, size_t result, size_t operand) {
  if (!group.row.has_value()) return true;
  const compiler::RowOperation& row = *group.row;
  for (const std::optional<Ref>& part : {row.weight, row.bias}) {
    if (part.has_value() && part->index == operand) return false;
  }
  // What is written before the end must not be what is read behind the row.
  if (is_late(group, group.outputs[result].value) && result != plan.target) return true;
  const std::vector<size_t> late = needed_by(group, late_values(group), true).inputs;
  if (std::find(late.begin(), late.end(), operand) != late.end()) return false;
  // Nor may the row's source be overwritten by what is computed before it.
  return !plan.source.has_value() || result == plan.target || *plan.source != group.outputs.size() + operand;
}

std::string operators_of(const Graph& part) {
  std::string text;
  for (const Node* node : part.block()) {
    if (node->kind() != Node::Kind::kCall) continue;
    const std::string name = node->callable().schema().qualified_name();
    text += (text.empty() ? "" : ", ") + name.substr(name.rfind("::") == std::string::npos ? 0 : name.rfind("::") + 2);
  }
  return text;
}

namespace {

// A copy by itself, or between layouts, is no matter of elements.
bool is_copy(const Node& node) {
  return node.calls("aten::clone") || node.calls("aten::_to_copy");
}
bool changes_layout(const Node& node) {
  const std::optional<TensorInfo> from = compiler::tensor_info(node.operand(0));
  const TensorInfo* to = node.result()->info();
  return from.has_value() && to != nullptr && !(from->strides == to->strides);
}

// Another output, which nothing reads: the row's place.
void add_place(Group& group, Node& invoke) {
  TensorInfo info;
  info.dtype = compiler::register_type(group.row->dtype);
  info.device = group.outputs[0].info.device;
  info.sizes = group.sizes;
  info.strides.resize(group.sizes.size(), IntExpr(1));
  for (size_t d = info.sizes.size(); d-- > 1;) info.strides[d - 1] = info.strides[d] * info.sizes[d];
  invoke.add_result(c10::TensorType::get(), "row")->set_info(info);
  group.outputs.push_back({{Ref::Kind::kRow, 0}, std::move(info)});
}

// The nodes of a part go back to where it is invoked.
void put_back(const FusedPart& part, Node* invoke) {
  std::map<const Value*, Operand> values;
  const graph::Block& from = part.graph->block();
  for (size_t i = 0; i < from.input_count(); ++i) values.emplace(from.input(i), invoke->operand(i));
  graph::Block& to = *invoke->block();
  Node* const last = to.return_node()->previous();
  const std::vector<Operand> outputs = graph::copy_nodes(from, to, std::move(values));
  for (Node* node = last->next(); node != to.return_node();) {
    Node* const next = node->next();
    node->move_before(invoke);
    node = next;
  }
  for (size_t i = 0; i < outputs.size(); ++i) invoke->result(i)->replace_all_uses_with(outputs[i]);
  invoke->erase();
}

}  // namespace

FoundGroups find_groups(Graph& graph, const std::set<const Node*>& taken) {
  compiler::FuseOptions options;
  options.min_nodes = 1;
  options.max_operands = kMostGroupOperands - 1;
  options.name = "group";
  options.allows = [&](const Node& node) {
    return taken.count(&node) == 0 && !(is_copy(node) && changes_layout(node));
  };
  std::map<std::string, Node*> invoked;
  std::vector<FusedPart> parts = compiler::fuse(graph, options);
  for (Node* node : graph.block()) {
    if (node->kind() == Node::Kind::kInvoke) invoked[node->name()] = node;
  }
  FoundGroups found;
  for (FusedPart& part : parts) {
    Node* const invoke = invoked.at(part.graph->name());
    const Node* const first = part.graph->block().first();
    const bool alone = first->next() == part.graph->block().return_node();
    std::string why;
    std::optional<GroupPlan> plan;
    if (!(alone && is_copy(*first))) plan = plan_group(part.group, why);
    if (why == kNoPlace) {
      why.clear();
      add_place(part.group, *invoke);
      plan = plan_group(part.group, why);
    }
    if (plan.has_value()) {
      found.groups.push_back({std::move(part), std::move(*plan)});
      continue;
    }
    if (!why.empty()) found.refused.push_back(operators_of(*part.graph) + ": " + why);
    put_back(part, invoke);
  }
  return found;
}

}  // namespace torch::aot
