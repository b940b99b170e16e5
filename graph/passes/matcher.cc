#include "graph/passes/matcher.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "c10/dispatch/registry.h"
#include "c10/util/exception.h"
#include "c10/value/list.h"
#include "c10/value/object.h"
#include "graph/ir/text.h"
#include "graph/passes/effects.h"

namespace torch::graph {

TextNames dispatcher_names() {
  TextNames names;
  names.callable = [](std::string_view name) -> std::optional<Callable> {
    const size_t dot = name.find('.');
    const auto op = c10::Dispatcher::singleton().findSchema(
        name.substr(0, dot), dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1));
    if (!op.has_value()) return std::nullopt;
    return Callable(*op);
  };
  return names;
}

namespace {

using c10::IValue;
using Kind = Node::Kind;

constexpr size_t kMostNodes = 10000;  // in a pattern

bool equal(const IValue& a, const IValue& b) {
  if (a.tag() != b.tag()) return false;
  switch (a.tag()) {
    case IValue::Tag::None:
      return true;
    case IValue::Tag::Int:
      return a.toInt() == b.toInt();
    case IValue::Tag::Double:
      return a.toDouble() == b.toDouble();
    case IValue::Tag::Bool:
      return a.toBool() == b.toBool();
    case IValue::Tag::String:
      return a.toStringRef() == b.toStringRef();
    case IValue::Tag::Device:
      return a.toDevice() == b.toDevice();
    case IValue::Tag::Tensor:
      return a.unsafe_tensor_impl() == b.unsafe_tensor_impl();
    case IValue::Tag::GenericList:
    case IValue::Tag::Tuple: {
      const auto x = a.isList() ? a.toListRef() : a.toTupleRef().elementsArrayRef();
      const auto y = b.isList() ? b.toListRef() : b.toTupleRef().elementsArrayRef();
      return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), equal);
    }
    default:
      return false;
  }
}

bool equal(const Operand& a, const Operand& b) {
  if (a.is_value()) return b.is_value() && a.value() == b.value();
  if (a.is_constant()) return b.is_constant() && equal(a.constant(), b.constant());
  if (a.is_expr()) return b.is_expr() && a.expr() == b.expr();
  return b.is_list() && a.list().size() == b.list().size() &&
         std::equal(a.list().begin(), a.list().end(), b.list().begin(),
                    [](const Operand& x, const Operand& y) { return equal(x, y); });
}

const Value* returned(const Graph& pattern) {
  const auto outputs = pattern.block().outputs();
  TORCH_CHECK_VALUE(outputs.size() == 1 && outputs[0].is_value() && outputs[0].value()->node() != nullptr,
                    "expected a pattern that returns one result of a node, but got\n", print(pattern));
  return outputs[0].value();
}

}  // namespace

// Goes along a pattern and a graph at once.
class Matcher {
 public:
  explicit Matcher(const Graph& pattern) : pattern_(pattern), holes_(pattern.block().input_count()) {
    pattern.for_nodes([&](const Node* node) {
      TORCH_CHECK_VALUE(node->block_count() == 0, "expected a pattern without blocks, but got\n", print(pattern));
      TORCH_CHECK_VALUE(++count_ <= kMostNodes, "a pattern of more than ", kMostNodes, " nodes");
    });
  }

  std::optional<Match> run(Node* anchor) {
    const Value* result = returned(pattern_);
    if (!same(*result->node(), anchor)) return std::nullopt;
    // What is open is matched operand by operand, without recursion: patterns may be deep.
    while (!open_.empty()) {
      const auto [wanted, node] = open_.back();
      open_.pop_back();
      for (size_t i = 0; i < wanted->operands().size(); ++i) {
        if (!same(wanted->operand(i), node->operand(i))) return std::nullopt;
      }
    }
    Match found;
    found.pattern_ = &pattern_;
    for (const std::optional<Operand>& hole : holes_) found.holes_.push_back(hole.value_or(Operand(IValue())));
    for (const auto& [wanted, node] : nodes_) found.nodes_.push_back(node);
    std::sort(found.nodes_.begin(), found.nodes_.end(), [](const Node* a, const Node* b) { return b->is_before(a); });
    if (found.anchor() != anchor || !is_closed(found.nodes_, anchor->result(result->index()))) return std::nullopt;
    return found;
  }

 private:
  bool same(const Node& wanted, Node* node) {
    const auto known = nodes_.find(&wanted);
    if (known != nodes_.end()) return known->second == node;
    if (taken_.count(node) > 0 || node->kind() != wanted.kind() || node->name() != wanted.name()) return false;
    if (node->kind() == Kind::kCall && !(node->callable() == wanted.callable())) return false;
    if (node->operands().size() != wanted.operands().size() || node->result_count() != wanted.result_count())
      return false;
    if (!nodes_.empty() && node->block() != nodes_.begin()->second->block()) return false;
    if (has_effects(*node) || !written_operands(*node).empty()) return false;
    nodes_.emplace(&wanted, node);
    taken_.insert(node);
    open_.emplace_back(&wanted, node);
    return true;
  }
  bool same(const Operand& wanted, const Operand& operand) {
    if (wanted.is_value()) {
      const Value* value = wanted.value();
      if (value->node() == nullptr) {
        std::optional<Operand>& hole = holes_.at(value->index());
        if (hole.has_value()) return equal(*hole, operand);
        hole = operand;
        return true;
      }
      if (!operand.is_value() || operand.value()->node() == nullptr) return false;
      return operand.value()->index() == value->index() && same(*value->node(), operand.value()->node());
    }
    if (wanted.is_list() && operand.is_list()) {
      if (wanted.list().size() != operand.list().size()) return false;
      for (size_t i = 0; i < wanted.list().size(); ++i) {
        if (!same(wanted.list()[i], operand.list()[i])) return false;
      }
      return true;
    }
    return equal(wanted, operand);
  }

  // Nothing outside uses what is inside, but the result.
  bool is_closed(const std::vector<Node*>& nodes, const Value* result) const {
    for (const Node* node : nodes) {
      for (size_t i = 0; i < node->result_count(); ++i) {
        if (node->result(i) == result) continue;
        for (const Use& use : node->result(i)->uses()) {
          if (taken_.count(use.node) == 0) return false;
        }
      }
    }
    return true;
  }

  const Graph& pattern_;
  size_t count_ = 0;
  std::vector<std::optional<Operand>> holes_;
  std::map<const Node*, Node*> nodes_;
  std::set<const Node*> taken_;
  std::vector<std::pair<const Node*, Node*>> open_;
};

const Operand& Match::hole(std::string_view name) const {
  const Block& block = pattern_->block();
  for (size_t i = 0; i < block.input_count(); ++i) {
    if (block.input(i)->name() == name) return holes_[i];
  }
  TORCH_CHECK_INDEX(false, "the pattern has no input '", name, "'");
}

namespace {

// Whether memory that inner nodes read is written before the anchor.
bool is_disturbed(const Match& match, const AliasSets& aliases) {
  for (const Node* node : match.nodes()) {
    if (node == match.anchor()) continue;
    for (const Operand& operand : node->operands()) {
      for (const int set : aliases.of(operand)) {
        if (aliases.written_between(set, node, match.anchor())) return true;
      }
    }
    for (size_t i = 0; i < node->result_count(); ++i) {
      const int set = aliases.of(node->result(i));
      if (set != AliasSets::kNone && aliases.written_between(set, node, match.anchor())) return true;
    }
  }
  return false;
}

class Rewriting {
 public:
  Rewriting(Graph& graph, const Graph& pattern, const std::function<std::optional<Operand>(const Match&)>& make)
      : graph_(graph), pattern_(pattern), make_(make) {}

  void block(const Block& block) {
    for (Node* node : block) {
      for (size_t b = 0; b < node->block_count(); ++b) this->block(node->block(b));
      const std::optional<Match> found = Matcher(pattern_).run(node);
      if (!found.has_value()) continue;
      // The sets are of the graph as it is, so that they are made again after each change.
      if (aliases_ == nullptr) aliases_ = std::make_unique<AliasSets>(graph_);
      if (is_disturbed(*found, *aliases_)) continue;
      const std::optional<Operand> made = make_(*found);
      if (!made.has_value()) continue;
      Value* const result = node->result(returned(pattern_)->index());
      if (made->is_value() && made->value()->name().empty()) made->value()->set_name(result->name());
      if (made->is_value() && made->value()->info() == nullptr && result->info() != nullptr) {
        made->value()->set_info(*result->info());
      }
      result->replace_all_uses_with(*made);
      for (Node* one : found->nodes()) {
        if (!one->has_uses()) one->erase();
      }
      aliases_.reset();
      ++changes;
    }
  }
  int64_t changes = 0;

 private:
  Graph& graph_;
  const Graph& pattern_;
  const std::function<std::optional<Operand>(const Match&)>& make_;
  std::unique_ptr<AliasSets> aliases_;
};

}  // namespace

std::optional<Match> match(const Graph& pattern, Node* anchor) {
  std::optional<Match> found = Matcher(pattern).run(anchor);
  if (found.has_value() && is_disturbed(*found, AliasSets(anchor->graph()))) return std::nullopt;
  return found;
}

PassResult rewrite(Graph& graph, const Graph& pattern,
                   const std::function<std::optional<Operand>(const Match&)>& make) {
  returned(pattern);
  Rewriting rewriting(graph, pattern, make);
  rewriting.block(graph.block());
  return {rewriting.changes, {}};
}

PassResult replace_pattern(Graph& graph, const Graph& pattern, const Graph& replacement,
                           const std::function<bool(const Match&)>& where) {
  returned(pattern);
  const Block &from = replacement.block(), &holes = pattern.block();
  TORCH_CHECK_VALUE(from.outputs().size() == 1, "expected a replacement that returns one value, but got\n",
                    print(replacement));
  std::vector<size_t> numbers;  // of the pattern's inputs
  for (size_t i = 0; i < from.input_count(); ++i) {
    const std::string& name = from.input(i)->name();
    if (name.empty() && from.input_count() == holes.input_count()) {
      numbers.push_back(i);
      continue;
    }
    size_t k = 0;
    while (k < holes.input_count() && holes.input(k)->name() != name) ++k;
    TORCH_CHECK_VALUE(k < holes.input_count(), "a replacement has the input '", name, "', which its pattern has not");
    numbers.push_back(k);
  }
  return rewrite(graph, pattern, [&](const Match& found) -> std::optional<Operand> {
    if (where && !where(found)) return std::nullopt;
    std::map<const Value*, Operand> values;
    for (size_t i = 0; i < numbers.size(); ++i) values.emplace(from.input(i), found.hole(numbers[i]));
    Block& block = *found.anchor()->block();
    Node* const last = block.return_node()->previous();
    const std::vector<Operand> outputs = copy_nodes(from, block, std::move(values));
    while (last->next() != block.return_node()) last->next()->move_before(found.anchor());
    return outputs[0];
  });
}

}  // namespace torch::graph
