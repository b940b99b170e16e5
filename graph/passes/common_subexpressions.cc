#include "graph/passes/common_subexpressions.h"

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "c10/value/ivalue.h"
#include "graph/passes/effects.h"

namespace torch::graph {
namespace {

using Kind = Node::Kind;

// Bytes that are equal where two nodes compute the same.
class Key {
 public:
  static std::string of(const Node& node, const std::map<const Value*, const Value*>& replaced) {
    Key key(replaced);
    key.raw(node.kind());
    if (node.kind() == Kind::kCall) {
      key.raw(&node.callable().schema());
    } else {
      key.text(node.name());
    }
    key.raw(node.result_count());
    for (size_t i = 0; i < node.result_count(); ++i) key.text(node.result(i)->type()->str());
    for (const Operand& operand : node.operands()) key.operand(operand);
    return std::move(key.out_);
  }

 private:
  explicit Key(const std::map<const Value*, const Value*>& replaced) : replaced_(replaced) {}
  template <class T>
  void raw(const T& v) {
    static_assert(std::is_trivially_copyable_v<T>);
    const size_t at = out_.size();
    out_.resize(at + sizeof(T));
    std::memcpy(out_.data() + at, &v, sizeof(T));
  }
  void text(const std::string& s) {
    raw(s.size());
    out_ += s;
  }
  void operand(const Operand& o) {
    if (o.is_value()) {
      const auto other = replaced_.find(o.value());
      raw('v');
      raw(other == replaced_.end() ? static_cast<const Value*>(o.value()) : other->second);
    } else if (o.is_expr()) {
      raw('e');
      text(o.expr().str());
    } else if (o.is_list()) {
      raw('[');
      raw(o.list().size());
      for (const Operand& part : o.list()) operand(part);
    } else {
      constant(o.constant());
    }
  }
  void constant(const c10::IValue& v) {
    using Tag = c10::IValue::Tag;
    raw(v.tag());
    switch (v.tag()) {
      case Tag::None:
        return;
      case Tag::Int:
        return raw(v.toInt());
      case Tag::Double:
        return raw(v.toDouble());
      case Tag::Bool:
        return raw(v.toBool());
      case Tag::ComplexDouble:
        raw(v.toComplexDouble().real());
        return raw(v.toComplexDouble().imag());
      case Tag::Device:
        return text(v.toDevice().str());
      case Tag::String:
        return text(v.toStringRef());
      case Tag::Tensor:
        return raw(v.unsafe_tensor_impl());
      case Tag::GenericList:
        text(v.type()->str());
        raw(v.toListRef().size());
        for (const c10::IValue& part : v.toListRef()) constant(part);
        return;
      case Tag::Tuple:
        raw(v.toTupleRef().elements().size());
        for (const c10::IValue& part : v.toTupleRef().elements()) constant(part);
        return;
      default:
        // Equal to nothing but itself.
        raw(v.isPtrType() ? v.internalToPointer() : nullptr);
        raw(&v);
    }
  }

  const std::map<const Value*, const Value*>& replaced_;
  std::string out_;
};

class Merging {
 public:
  explicit Merging(const Graph& graph) : aliases_(graph) {}

  // `known`: of the blocks around it. Nodes are only marked, since aliases_ is of the graph as it is.
  void walk(const Block& block, std::map<std::string, std::vector<Node*>> known) {
    for (Node* node : block) {
      if (node->block_count() > 0) {
        for (size_t b = 0; b < node->block_count(); ++b) {
          walk(node->block(b), node->kind() == Kind::kScope ? std::map<std::string, std::vector<Node*>>() : known);
        }
        continue;
      }
      if (!may_merge(*node)) continue;
      std::vector<Node*>& equal = known[Key::of(*node, replaced_)];
      Node* const same = same_as(*node, equal);
      if (same == nullptr) {
        equal.push_back(node);
        continue;
      }
      merged_.emplace_back(node, same);
      for (size_t i = 0; i < node->result_count(); ++i) replaced_[node->result(i)] = same->result(i);
    }
  }

  int64_t apply() {
    for (const auto& [node, same] : merged_) {
      for (size_t i = 0; i < node->result_count(); ++i) node->result(i)->replace_all_uses_with(same->result(i));
      node->erase();
    }
    return static_cast<int64_t>(merged_.size());
  }

 private:
  static bool may_merge(const Node& node) {
    switch (node.kind()) {
      case Kind::kCall:
      case Kind::kTuple:
      case Kind::kList:
      case Kind::kDict:
      case Kind::kUnpack:
      case Kind::kGetAttr:
      case Kind::kCast:
        return node.result_count() > 0 && !has_effects(node) && written_operands(node).empty();
      default:
        return false;
    }
  }

  Node* same_as(const Node& node, const std::vector<Node*>& equal) const {
    for (auto one = equal.rbegin(); one != equal.rend(); ++one) {
      if (may_stand_for(**one, node)) return *one;
    }
    return nullptr;
  }

  bool may_stand_for(const Node& first, const Node& second) const {
    for (const Operand& operand : second.operands()) {
      for (const int set : aliases_.of(operand)) {
        if (aliases_.written_between(set, &first, &second)) return false;
      }
    }
    // The results of calls may be memory of their own: also those of views, such as reshape, that copy where they must.
    const bool shared = first.kind() == Kind::kUnpack || first.kind() == Kind::kCast || first.kind() == Kind::kGetAttr;
    for (size_t i = 0; i < first.result_count(); ++i) {
      const int a = aliases_.of(first.result(i)), b = aliases_.of(second.result(i));
      if (a == AliasSets::kNone) continue;
      if (!shared && (aliases_.is_written(a) || aliases_.is_written(b))) return false;
      if (aliases_.escapes(a) && aliases_.escapes(b)) return false;
    }
    return true;
  }

  AliasSets aliases_;
  std::map<const Value*, const Value*> replaced_;
  std::vector<std::pair<Node*, Node*>> merged_;
};

}  // namespace

PassResult eliminate_common_subexpressions(Graph& graph) {
  Merging merging(graph);
  merging.walk(graph.block(), {});
  return {merging.apply(), {}};
}

}  // namespace torch::graph
