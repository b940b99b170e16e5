#include "graph/passes/effects.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "c10/util/exception.h"

namespace torch::graph {
namespace {

using Kind = Node::Kind;

bool contains(std::initializer_list<std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "add" of "aten::add.Tensor"; empty for other namespaces.
std::string_view aten_name(const Callable& callable) {
  std::string_view name = callable.schema().name();
  if (name.substr(0, 6) != "aten::") return {};
  return name.substr(6);
}

// The operand of that argument, where it is a constant.
const c10::IValue* constant_argument(const Node& node, std::string_view name) {
  const std::optional<int> i = node.callable().schema().argument_index(name);
  if (!i.has_value() || static_cast<size_t>(*i) >= node.operands().size()) return nullptr;
  const Operand& operand = node.operand(static_cast<size_t>(*i));
  return operand.is_constant() ? &operand.constant() : nullptr;
}
bool is_false(const c10::IValue* v) {
  return v != nullptr && v->isBool() && !v->toBool();
}
bool is_zero(const c10::IValue* v) {
  return v != nullptr && ((v->isDouble() && v->toDouble() == 0) || (v->isInt() && v->toInt() == 0));
}

bool is_of(const c10::TypePtr& type, c10::TypeKind kind) {
  if (type->kind() == kind) return true;
  return type->kind() == c10::TypeKind::OptionalType && type->containedType(0)->kind() == kind;
}

// Whether a value of the type is memory, or leads to some.
bool holds_memory(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::NoneType:
    case c10::TypeKind::DeviceObjType:
    case c10::TypeKind::SymIntType:
    case c10::TypeKind::SymFloatType:
    case c10::TypeKind::SymBoolType:
    case c10::TypeKind::ScalarTypeType:
    case c10::TypeKind::LayoutType:
    case c10::TypeKind::MemoryFormatType:
      return false;
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::TupleType: {
      const auto parts = type.containedTypes();
      return std::any_of(parts.begin(), parts.end(), [](const c10::TypePtr& part) { return holds_memory(*part); });
    }
    default:
      return true;
  }
}

bool holds_tensor(const c10::IValue& v) {
  return v.isTensor() || v.isList() || v.isTuple() || v.isGenericDict() || v.isObject();
}

void collect_sets(const c10::AliasInfo& info, std::vector<std::string>& names) {
  names.insert(names.end(), info.beforeSets().begin(), info.beforeSets().end());
  names.insert(names.end(), info.afterSets().begin(), info.afterSets().end());
  for (const c10::AliasInfo& part : info.containedTypes()) collect_sets(part, names);
}
std::vector<std::string> sets_of(const c10::Argument& argument) {
  std::vector<std::string> names;
  if (argument.alias_info() != nullptr) collect_sets(*argument.alias_info(), names);
  return names;
}
bool writes(const c10::AliasInfo& info) {
  return info.isWrite() || std::any_of(info.containedTypes().begin(), info.containedTypes().end(), writes);
}
bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && writes(*argument.alias_info());
}

// A batch norm that changes its running statistics without saying so in its schema.
bool updates_statistics(const Node& node) {
  const c10::FunctionSchema& schema = node.callable().schema();
  const std::string_view name = aten_name(node.callable());
  if (name.empty() || name.find("norm") == std::string_view::npos) return false;
  if (name.find("backward") != std::string_view::npos || name.find("no_training") != std::string_view::npos ||
      name.find("functional") != std::string_view::npos) {
    return false;
  }
  if (!schema.argument_index("running_mean").has_value() || !schema.argument_index("momentum").has_value()) {
    return false;
  }
  for (const char* training : {"training", "train", "use_input_stats"}) {
    if (is_false(constant_argument(node, training))) return false;
  }
  return true;
}

}  // namespace

bool draws_random_numbers(const Node& node) {
  if (node.kind() != Kind::kCall) return false;
  for (const char* training : {"training", "train"}) {
    if (is_false(constant_argument(node, training))) return false;
  }
  for (const c10::Argument& argument : node.callable().schema().arguments()) {
    if (is_of(argument.type(), c10::TypeKind::GeneratorType)) return true;
  }
  for (const char* p : {"dropout", "dropout_p"}) {
    if (is_zero(constant_argument(node, p))) return false;
    if (node.callable().schema().argument_index(p).has_value()) return true;
  }
  std::string_view name = aten_name(node.callable());
  if (!name.empty() && name.back() == '_') name.remove_suffix(1);
  return contains({"rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "dropout",
                   "alpha_dropout", "feature_dropout", "feature_alpha_dropout", "native_dropout", "_fused_dropout"},
                  name);
}

std::vector<size_t> written_operands(const Node& node) {
  std::vector<size_t> all;
  if (node.kind() != Kind::kCall) return all;
  const std::vector<c10::Argument>& arguments = node.callable().schema().arguments();
  const bool statistics = updates_statistics(node);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (node.operand(i).is_constant() && node.operand(i).constant().isNone()) continue;
    const bool running = arguments[i].name() == "running_mean" || arguments[i].name() == "running_var";
    if (is_written(arguments[i]) || (statistics && running)) all.push_back(i);
  }
  return all;
}

bool has_effects(const Node& node) {
  switch (node.kind()) {
    case Kind::kSetAttr:
    case Kind::kInvoke:
    case Kind::kRaise:
    case Kind::kReturn:
      return true;
    case Kind::kCall:
      return (node.result_count() == 0 && written_operands(node).empty()) || draws_random_numbers(node);
    default:
      break;
  }
  for (size_t i = 0; i < node.block_count(); ++i) {
    for (const Node* inner : node.block(i)) {
      if (has_effects(*inner)) return true;
    }
  }
  return false;
}

bool is_view(const Node& node) {
  if (node.kind() != Kind::kCall || node.callable().handle() == nullptr || !written_operands(node).empty())
    return false;
  const std::vector<c10::Argument>& returns = node.callable().schema().returns();
  return !returns.empty() &&
         std::all_of(returns.begin(), returns.end(), [](const c10::Argument& r) { return !sets_of(r).empty(); });
}

bool may_return_arguments(const Callable& callable) {
  if (callable.handle() == nullptr) return true;
  const std::string_view name = aten_name(callable);
  if (name.empty()) return true;
  return contains({"_cast_Byte",
                   "_cast_Char",
                   "_cast_Double",
                   "_cast_Float",
                   "_cast_Half",
                   "_cast_Int",
                   "_cast_Long",
                   "_cast_Short",
                   "_reshape_from_tensor",
                   "_saturate_weight_to_fp16",
                   "_unsafe_view",
                   "alpha_dropout",
                   "atleast_1d",
                   "atleast_2d",
                   "atleast_3d",
                   "broadcast_tensors",
                   "conj_physical",
                   "cumprod_backward",
                   "dropout",
                   "feature_alpha_dropout",
                   "feature_dropout",
                   "meshgrid",
                   "pixel_shuffle",
                   "pixel_unshuffle",
                   "sum_to_size",
                   "type_as",
                   "unflatten_dense_tensors",
                   "unsafe_chunk",
                   "unsafe_split",
                   "unsafe_split_with_sizes",
                   "value_selecting_reduction_backward"},
                  name);
}

AliasSets::AliasSets(const Graph& graph) {
  parent_.push_back(0);  // constants
  flags_.push_back({true, false});
  const Block& block = graph.block();
  for (size_t i = 0; i < block.input_count(); ++i) {
    const int set = add(block.input(i));
    if (set != kNone) flags_[static_cast<size_t>(set)].enters = true;
  }
  walk(block);
  for (const Operand& output : block.outputs()) {
    for (const int set : of(output)) flags_[static_cast<size_t>(set)].escapes = true;
  }
  writers_.resize(parent_.size());
  for (const auto& [set, node] : writes_) {
    std::vector<const Node*>& all = writers_[static_cast<size_t>(find(set))];
    if (all.empty() || all.back() != node) all.push_back(node);
  }
}

int AliasSets::add(const Value* value) {
  if (!holds_memory(*value->type())) return kNone;
  const auto [place, fresh] = index_.try_emplace(value, static_cast<int>(parent_.size()));
  if (fresh) {
    parent_.push_back(place->second);
    flags_.emplace_back();
  }
  return find(place->second);
}
int AliasSets::find(int i) const {
  int root = i;
  while (parent_[static_cast<size_t>(root)] != root) root = parent_[static_cast<size_t>(root)];
  while (i != root) i = std::exchange(parent_[static_cast<size_t>(i)], root);
  return root;
}
void AliasSets::join(int a, int b) {
  if (a == kNone || b == kNone) return;
  a = find(a);
  b = find(b);
  if (a == b) return;
  if (b < a) std::swap(a, b);
  parent_[static_cast<size_t>(b)] = a;
  flags_[static_cast<size_t>(a)].enters |= flags_[static_cast<size_t>(b)].enters;
  flags_[static_cast<size_t>(a)].escapes |= flags_[static_cast<size_t>(b)].escapes;
}
void AliasSets::join(int set, const Operand& operand) {
  for (const int other : of(operand)) join(set, other);
}

int AliasSets::of(const Value* value) const {
  const auto found = index_.find(value);
  return found == index_.end() ? kNone : find(found->second);
}
std::vector<int> AliasSets::of(const Operand& operand) const {
  std::vector<int> sets;
  if (operand.is_constant()) {
    if (holds_tensor(operand.constant())) sets.push_back(of_constants());
  } else if (operand.is_list()) {
    for (const Operand& part : operand.list()) {
      const std::vector<int> inner = of(part);
      sets.insert(sets.end(), inner.begin(), inner.end());
    }
  } else if (operand.is_value()) {
    const int set = of(operand.value());
    if (set != kNone) sets.push_back(set);
  }
  return sets;
}
const std::vector<const Node*>& AliasSets::writers(int set) const {
  return writers_[static_cast<size_t>(set)];
}

void AliasSets::wrote(const Node& node, const Operand& operand) {
  for (const int set : of(operand)) writes_.emplace_back(set, &node);
}
void AliasSets::join_all(const Node& node) {
  int first = kNone;
  const auto take = [&](int set) {
    if (first == kNone) first = set;
    join(first, set);
  };
  for (const Operand& operand : node.operands()) {
    for (const int set : of(operand)) take(set);
  }
  for (size_t i = 0; i < node.result_count(); ++i) take(of(node.result(i)));
}

void AliasSets::walk(const Block& block) {
  for (const Node* one : block) {
    for (size_t i = 0; i < one->result_count(); ++i) add(one->result(i));
    for (size_t b = 0; b < one->block_count(); ++b) {
      for (size_t i = 0; i < one->block(b).input_count(); ++i) add(one->block(b).input(i));
    }
    node(*one);
  }
}

void AliasSets::call(const Node& node) {
  const c10::FunctionSchema& schema = node.callable().schema();
  for (const size_t i : written_operands(node)) wrote(node, node.operand(i));
  if (may_return_arguments(node.callable()) || schema.is_vararg() || schema.is_varret()) return join_all(node);
  const std::vector<c10::Argument>& arguments = schema.arguments();
  bool wildcard = false;
  std::map<std::string, std::vector<int>> by_name;
  for (size_t i = 0; i < arguments.size(); ++i) {
    for (const std::string& name : sets_of(arguments[i])) {
      // "a -> *" of a view stands for its results; what is put into a list stands beside what is written.
      wildcard |= name == "*" && schema.is_mutable();
      for (const int set : of(node.operand(i))) by_name[name].push_back(set);
    }
  }
  for (size_t i = 0; i < schema.returns().size(); ++i) {
    for (const std::string& name : sets_of(schema.returns()[i])) {
      if (name == "*") wildcard = true;
      const int result = of(node.result(i));
      for (const int set : by_name[name]) join(result, set);
    }
  }
  if (wildcard) join_all(node);
}

void AliasSets::node(const Node& node) {
  // What a block is given, and what it gives, in turn.
  const auto pass_in = [&](const Block& block, size_t first, c10::ArrayRef<Operand> given) {
    for (size_t i = 0; i < given.size() && first + i < block.input_count(); ++i) {
      join(of(block.input(first + i)), given[i]);
    }
  };
  const auto pass_out = [&](const Block& block, size_t first, size_t count) {
    for (size_t i = 0; i < count && first + i < block.outputs().size(); ++i) {
      join(of(node.result(i)), block.outputs()[first + i]);
    }
  };
  const auto carry = [&](const Block& block, size_t input, size_t output, size_t count) {
    for (size_t i = 0; i < count; ++i) join(of(block.input(input + i)), block.outputs()[output + i]);
  };
  const auto all_blocks = [&] {
    for (size_t b = 0; b < node.block_count(); ++b) walk(node.block(b));
  };
  switch (node.kind()) {
    case Kind::kCall:
      return call(node);
    case Kind::kTuple:
    case Kind::kList:
    case Kind::kDict:
    case Kind::kUnpack:
    case Kind::kCast:
      return join_all(node);
    case Kind::kGetAttr:
      join_all(node);
      for (size_t i = 0; i < node.result_count(); ++i) {
        if (of(node.result(i)) != kNone) flags_[static_cast<size_t>(of(node.result(i)))].enters = true;
      }
      return;
    case Kind::kSetAttr:
      join_all(node);
      for (const int set : of(node.operand(1))) flags_[static_cast<size_t>(set)].escapes = true;
      return wrote(node, node.operand(0));
    case Kind::kInvoke:
      join_all(node);
      for (const Operand& operand : node.operands()) {
        for (const int set : of(operand)) flags_[static_cast<size_t>(set)] = {true, true};
        wrote(node, operand);
      }
      for (size_t i = 0; i < node.result_count(); ++i) {
        if (of(node.result(i)) != kNone) flags_[static_cast<size_t>(of(node.result(i)))] = {true, true};
      }
      return;
    case Kind::kIf:
    case Kind::kScope:
      all_blocks();
      for (size_t b = 0; b < node.block_count(); ++b) pass_out(node.block(b), 0, node.result_count());
      return;
    case Kind::kLoop: {
      const auto& carried = node.operand(2).list();
      pass_in(node.block(0), 1, carried);
      all_blocks();
      carry(node.block(0), 1, 1, carried.size());
      pass_out(node.block(0), 1, node.result_count());
      // No turn: the carried values themselves.
      for (size_t i = 0; i < carried.size(); ++i) join(of(node.result(i)), carried[i]);
      return;
    }
    case Kind::kWhile: {
      const auto &carried = node.operand(0).list(), &others = node.operand(1).list();
      for (size_t b = 0; b < 2; ++b) {
        pass_in(node.block(b), 0, carried);
        pass_in(node.block(b), carried.size(), others);
      }
      all_blocks();
      carry(node.block(1), 0, 0, carried.size());
      pass_out(node.block(1), 0, node.result_count());
      for (size_t i = 0; i < carried.size(); ++i) join(of(node.result(i)), carried[i]);
      return;
    }
    case Kind::kMap:
      pass_in(node.block(0), 0, node.operand(0).list());
      pass_in(node.block(0), node.operand(0).list().size(), node.operand(1).list());
      return all_blocks();
    case Kind::kScan: {
      const auto &carried = node.operand(0).list(), &scanned = node.operand(1).list();
      pass_in(node.block(0), 0, carried);
      pass_in(node.block(0), carried.size(), scanned);
      pass_in(node.block(0), carried.size() + scanned.size(), node.operand(2).list());
      all_blocks();
      carry(node.block(0), 0, 0, carried.size());
      pass_out(node.block(0), 0, carried.size());
      for (size_t i = 0; i < carried.size(); ++i) join(of(node.result(i)), carried[i]);
      return;
    }
    case Kind::kIsInstance:
    case Kind::kRaise:
    case Kind::kReturn:
      return;
  }
}

bool AliasSets::written_between(int set, const Node* first, const Node* last) const {
  // The node of `first`'s block that `node` is in; null where it is in none.
  const auto in_block = [&](const Node* node) {
    while (node != nullptr && node->block() != first->block()) node = node->block()->owner();
    return node;
  };
  const Node* const end = in_block(last);
  TORCH_CHECK(end != nullptr, "expected a node that stands in a block of the first or inside of it");
  for (const Node* writer : writers(set)) {
    const Node* const at = in_block(writer);
    if (at != nullptr && at != first && first->is_before(at) && (at == end || at->is_before(end))) return true;
  }
  return false;
}

}  // namespace torch::graph
