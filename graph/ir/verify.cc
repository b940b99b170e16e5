#include <map>
#include <set>
#include <string>
#include <vector>

#include "c10/util/exception.h"
#include "graph/ir/graph.h"
#include "graph/ir/text.h"

namespace torch::graph {
namespace {

constexpr size_t kDeepest = 1000;  // blocks in blocks

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  void run() {
    block(graph_.block(), 0);
    for (const auto& [value, count] : uses_) {
      check(value->uses().size() == count, nullptr, "a value has ", value->uses().size(), " uses on record, but ",
            count, " in fact");
    }
  }

 private:
  template <class... Parts>
  void check(bool good, const Node* node, const Parts&... parts) const {
    if (good) return;
    TORCH_CHECK_VALUE(false, "graph ", graph_.name(), ": ", parts...,
                      node == nullptr ? "" : " in\n  " + print_node(*node));
  }

  void block(const Block& b, size_t depth) {
    check(depth <= kDeepest, b.owner(), "more than ", kDeepest, " blocks in each other");
    for (size_t i = 0; i < b.input_count(); ++i) count_value(b.input(i));
    for (const Node* node : b) {
      check(node->block() == &b, node, "a node that stands in another block than it says");
      for (size_t i = 0; i < node->result_count(); ++i) count_value(node->result(i));
      operands(*node);
      shape(*node);
      for (size_t i = 0; i < node->block_count(); ++i) {
        check(node->block(i).owner() == node, node, "a block of another node");
        block(node->block(i), depth + 1);
      }
    }
    operands(*b.return_node());
  }

  void count_value(const Value* value) {
    uses_.try_emplace(value, 0);
    check(value->type() != nullptr, value->node(), "a value without a type");
  }

  void operands(const Node& user) {
    for (size_t i = 0; i < user.operands().size(); ++i) {
      user.operand(i).for_values([&](const Value* value) {
        check(value != nullptr, &user, "operand ", i, " is a value that is not there");
        visible(*value, user);
        ++uses_[value];
      });
    }
  }

  // Made before, in the user's block or one around it.
  void visible(const Value& value, const Node& user) const {
    check(value.block() != nullptr, &user, "a value of a node that is in no block");
    const Node* at = &user;
    while (at->block() != value.block()) {
      at = at->block()->owner();
      check(at != nullptr, &user, "a value of a block that is not around its user");
    }
    check(value.node() == nullptr || value.node()->is_before(at), &user, "a value that is used before it is made");
  }

  void counts(const Node& node, size_t operands, size_t results, size_t blocks) const {
    check(node.operands().size() == operands, &node, "expected ", operands, " operands, but got ",
          node.operands().size());
    check(node.result_count() == results, &node, "expected ", results, " results, but got ", node.result_count());
    check(node.block_count() == blocks, &node, "expected ", blocks, " blocks, but got ", node.block_count());
  }
  void ends(const Node& node, size_t i, size_t inputs, size_t outputs) const {
    const Block& b = node.block(i);
    check(b.input_count() == inputs && b.outputs().size() == outputs, &node, "expected block ", i, " to have ", inputs,
          " inputs and ", outputs, " outputs, but it has ", b.input_count(), " and ", b.outputs().size());
  }
  size_t listed(const Node& node, size_t i) const {
    check(node.operand(i).is_list(), &node, "operand ", i, " is not a list");
    return node.operand(i).list().size();
  }

  void shape(const Node& node) const {
    using Kind = Node::Kind;
    const size_t operands = node.operands().size(), results = node.result_count();
    switch (node.kind()) {
      case Kind::kCall: {
        const c10::FunctionSchema& schema = node.callable().schema();
        check(operands == schema.arguments().size() || (schema.is_vararg() && operands > schema.arguments().size()),
              &node, "expected ", schema.arguments().size(), " operands, but got ", operands);
        check(results == schema.returns().size() || schema.is_varret(), &node, "expected ", schema.returns().size(),
              " results, but got ", results);
        return check(node.block_count() == 0, &node, "expected no blocks");
      }
      case Kind::kTuple:
      case Kind::kList:
        return counts(node, operands, 1, 0);
      case Kind::kDict:
        check(operands % 2 == 0, &node, "expected keys and values in turn");
        return counts(node, operands, 1, 0);
      case Kind::kUnpack:
        return counts(node, 1, results, 0);
      case Kind::kGetAttr:
        return counts(node, 1, 1, 0);
      case Kind::kSetAttr:
        return counts(node, 2, 0, 0);
      case Kind::kInvoke:
        return counts(node, operands, results, 0);
      case Kind::kCast:
        return counts(node, 1, 1, 0);
      case Kind::kIsInstance:
        check(node.tested_type() != nullptr, &node, "expected a type to test for");
        return counts(node, 1, 1, 0);
      case Kind::kIf:
        counts(node, 1, results, 2);
        ends(node, 0, 0, results);
        return ends(node, 1, 0, results);
      case Kind::kLoop: {
        counts(node, 3, results, 1);
        check(listed(node, 2) == results, &node, "expected as many results as carried values");
        return ends(node, 0, results + 1, results + 1);
      }
      case Kind::kWhile: {
        counts(node, 2, results, 2);
        check(listed(node, 0) == results, &node, "expected as many results as carried values");
        ends(node, 0, results + listed(node, 1), 1);
        return ends(node, 1, results + listed(node, 1), results);
      }
      case Kind::kMap:
        counts(node, 2, results, 1);
        return ends(node, 0, listed(node, 0) + listed(node, 1), results);
      case Kind::kScan:
        counts(node, 3, results, 1);
        check(listed(node, 0) <= results, &node, "expected a result for each carried value");
        return ends(node, 0, listed(node, 0) + listed(node, 1) + listed(node, 2), results);
      case Kind::kScope:
        counts(node, operands, results, 1);
        return ends(node, 0, 0, results);
      case Kind::kRaise:
        return counts(node, 1, 0, 0);
      case Kind::kReturn:
        return check(false, &node, "the end of a block before its end");
    }
  }

  const Graph& graph_;
  std::map<const Value*, size_t> uses_;
};

}  // namespace

void verify(const Graph& graph) {
  Verifier(graph).run();
}

}  // namespace torch::graph
