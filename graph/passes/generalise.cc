#include "graph/passes/generalise.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "aten/core/tensor.h"
#include "c10/util/exception.h"
#include "c10/value/list.h"
#include "c10/value/object.h"
#include "graph/ir/text.h"
#include "graph/passes/fit.h"

namespace torch::graph {
namespace {

using c10::IValue;
using Kind = Node::Kind;

bool same_tensor(const at::Tensor& a, const at::Tensor& b) {
  if (a.unsafeGetTensorImpl() == b.unsafeGetTensorImpl()) return true;
  // Literals are made anew in each run.
  const auto plain = [](const at::Tensor& t) {
    return t.layout() == c10::kStrided && !t.is_nested() && t.device().type() == c10::DeviceType::CPU &&
           t.is_contiguous();
  };
  return plain(a) && plain(b) && a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
         (a.nbytes() == 0 || std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0);
}

class Generalising {
 public:
  Generalising(const std::vector<const Graph*>& graphs, const std::vector<std::map<std::string, int64_t>>& points)
      : graphs_(graphs), points_(points), made_(std::make_unique<Graph>(graphs.at(0)->name())) {}

  std::unique_ptr<Graph> run() {
    std::vector<const Block*> blocks;
    for (const Graph* graph : graphs_) {
      TORCH_CHECK_VALUE(graph->block().input_count() == graphs_[0]->block().input_count(),
                        "one program gave graphs with other inputs at other sizes");
      blocks.push_back(&graph->block());
    }
    block(blocks, made_->block());
    return std::move(made_);
  }

 private:
  static std::string text_of(const Node& node) {
    return print_node(node) + (node.source() == nullptr ? "" : "\n" + node.source()->text());
  }
  template <class... Parts>
  static void check(bool good, const Node& node, const Parts&... parts) {
    if (!good) {
      TORCH_CHECK_VALUE(false, "one program gave other graphs at other sizes: ", parts..., " in\n  ", text_of(node));
    }
  }
  static void next(std::vector<const Node*>& nodes) {
    for (const Node*& node : nodes) node = node->next();
  }

  void info(const std::vector<const Value*>& values, Value* to) const {
    std::vector<TensorInfo> infos;
    for (const Value* value : values) {
      if (value->info() == nullptr) return;
      infos.push_back(*value->info());
    }
    to->set_info(fit_info(infos, points_));
  }
  void number(const std::vector<const Value*>& values, Value* to) const {
    std::vector<int64_t> numbers;
    for (const Value* value : values) {
      if (value->expr() == nullptr || !value->expr()->is_constant()) return;
      numbers.push_back(value->expr()->value());
    }
    to->set_expr(fit(numbers, points_));
  }
  std::vector<const Value*> all(const std::vector<const Node*>& nodes, size_t result) const {
    std::vector<const Value*> values;
    for (const Node* node : nodes) values.push_back(node->result(result));
    return values;
  }

  // Blocks with as many inputs each.
  void block(const std::vector<const Block*>& blocks, Block& to) {
    for (size_t i = 0; i < blocks[0]->input_count(); ++i) {
      std::vector<const Value*> values;
      for (const Block* one : blocks) values.push_back(one->input(i));
      Value* const input = to.add_input(values[0]->type(), values[0]->name());
      info(values, input);
      number(values, input);
      for (const Value* value : values) twins_[value] = input;
    }
    std::vector<const Node*> nodes;
    for (const Block* one : blocks) nodes.push_back(one->first());
    for (; nodes[0]->kind() != Kind::kReturn; next(nodes)) node(nodes, to);
    for (const Node* end : nodes) {
      check(end->kind() == Kind::kReturn && end->operands().size() == nodes[0]->operands().size(), *nodes[0],
            "graphs of other lengths");
    }
    to.set_outputs(operands(nodes));
  }

  void node(const std::vector<const Node*>& nodes, Block& to) {
    const Node& first = *nodes[0];
    for (const Node* other : nodes) {
      bool alike = other->kind() == first.kind() && other->name() == first.name() &&
                   other->result_count() == first.result_count() &&
                   other->operands().size() == first.operands().size() && other->block_count() == first.block_count() &&
                   (first.kind() != Kind::kCall || other->callable() == first.callable());
      for (size_t b = 0; alike && b < first.block_count(); ++b) {
        alike = other->block(b).input_count() == first.block(b).input_count();
      }
      check(alike, first, "where one has\n  ", text_of(*other), "\nanother is");
    }
    std::vector<Operand> given = operands(nodes);
    std::unique_ptr<Node> made = first.kind() == Kind::kCall ? made_->call(first.callable(), std::move(given))
                                                             : made_->make(first.kind(), std::move(given));
    made->set_name(first.name());
    made->set_tested_type(first.tested_type());
    made->set_source(first.source());
    Node* const copy = to.append(std::move(made));
    for (size_t i = 0; i < first.result_count(); ++i) {
      Value* const result = i < copy->result_count() ? copy->result(i) : copy->add_result(first.result(i)->type());
      result->set_type(first.result(i)->type());
      result->set_name(first.result(i)->name());
      info(all(nodes, i), result);
      number(all(nodes, i), result);
      for (const Node* one : nodes) twins_[one->result(i)] = result;
    }
    for (size_t b = 0; b < first.block_count(); ++b) {
      std::vector<const Block*> blocks;
      for (const Node* one : nodes) blocks.push_back(&one->block(b));
      block(blocks, copy->add_block());
    }
  }

  std::vector<Operand> operands(const std::vector<const Node*>& nodes) {
    std::vector<Operand> made;
    for (size_t i = 0; i < nodes[0]->operands().size(); ++i) {
      std::vector<Operand> each;
      for (const Node* node : nodes) each.push_back(node->operand(i));
      made.push_back(operand(each, *nodes[0]));
    }
    return made;
  }

  Operand operand(const std::vector<Operand>& each, const Node& node) {
    const Operand& first = each[0];
    for (const Operand& other : each) {
      check(other.is_value() == first.is_value() && other.is_list() == first.is_list() &&
                other.is_constant() == first.is_constant(),
            node, "operands of other kinds");
    }
    if (first.is_value()) {
      Value* const twin = twins_.at(first.value());
      for (const Operand& other : each)
        check(twins_.at(other.value()) == twin, node, "operands that come from elsewhere");
      return twin;
    }
    if (first.is_list()) {
      std::vector<Operand> parts;
      for (size_t i = 0; i < first.list().size(); ++i) {
        std::vector<Operand> column;
        for (const Operand& other : each) {
          check(other.list().size() == first.list().size(), node, "lists of other lengths");
          column.push_back(other.list()[i]);
        }
        parts.push_back(operand(column, node));
      }
      return parts;
    }
    if (first.is_expr()) {
      for (const Operand& other : each) check(other.expr() == first.expr(), node, "other expressions");
      return first;
    }
    std::vector<IValue> values;
    for (const Operand& other : each) values.push_back(other.constant());
    return constant(values, node);
  }

  Operand constant(const std::vector<IValue>& each, const Node& node) {
    const IValue& first = each[0];
    for (const IValue& other : each) check(other.tag() == first.tag(), node, "constants of other types");
    const auto equal = [&](const auto& same) { return std::all_of(each.begin(), each.end(), same); };
    switch (first.tag()) {
      case IValue::Tag::Int: {
        std::vector<int64_t> numbers;
        for (const IValue& v : each) numbers.push_back(v.toInt());
        if (equal([&](const IValue& v) { return v.toInt() == first.toInt(); })) return first;
        const std::optional<IntExpr> found = fit(numbers, points_);
        check(found.has_value(), node, "integers that no expression of the sizes gives, ",
              c10::ArrayRef<int64_t>(numbers), ",");
        return *found;
      }
      case IValue::Tag::GenericList: {
        const auto parts = first.toListRef();
        std::vector<Operand> made;
        bool constants = true;
        for (size_t i = 0; i < parts.size(); ++i) {
          std::vector<IValue> column;
          for (const IValue& other : each) {
            check(other.toListRef().size() == parts.size(), node, "lists of other lengths");
            column.push_back(other.toListRef()[i]);
          }
          made.push_back(constant(column, node));
          constants = constants && made.back().is_constant();
        }
        if (constants) return first;
        return made;
      }
      case IValue::Tag::None:
        return first;
      case IValue::Tag::Double:
        check(equal([&](const IValue& v) { return v.toDouble() == first.toDouble(); }), node, "other numbers");
        return first;
      case IValue::Tag::Bool:
        check(equal([&](const IValue& v) { return v.toBool() == first.toBool(); }), node, "other truth values");
        return first;
      case IValue::Tag::String:
        check(equal([&](const IValue& v) { return v.toStringRef() == first.toStringRef(); }), node, "other strings");
        return first;
      case IValue::Tag::Device:
        check(equal([&](const IValue& v) { return v.toDevice() == first.toDevice(); }), node, "other devices");
        return first;
      case IValue::Tag::Tensor:
        check(equal([&](const IValue& v) { return same_tensor(v.toTensor(), first.toTensor()); }), node,
              "other constant tensors");
        return first;
      case IValue::Tag::ComplexDouble:
        check(equal([&](const IValue& v) { return v.toComplexDouble() == first.toComplexDouble(); }), node,
              "other numbers");
        return first;
      default:
        check(first.isPtrType() &&
                  equal([&](const IValue& v) { return v.internalToPointer() == first.internalToPointer(); }),
              node, "other constants");
        return first;
    }
  }

  const std::vector<const Graph*>& graphs_;
  const std::vector<std::map<std::string, int64_t>>& points_;
  std::unique_ptr<Graph> made_;
  std::map<const Value*, Value*> twins_;
};

}  // namespace

std::unique_ptr<Graph> generalise(const std::vector<const Graph*>& graphs,
                                  const std::vector<std::map<std::string, int64_t>>& points,
                                  const std::map<std::string, IntRange>& ranges) {
  TORCH_CHECK_VALUE(!graphs.empty() && graphs.size() == points.size(), "expected a graph for each of ", points.size(),
                    " points, but got ", graphs.size());
  std::unique_ptr<Graph> made = Generalising(graphs, points).run();
  for (const auto& [name, value] : points[0]) {
    const auto range = ranges.find(name);
    made->symbols()[name] = range == ranges.end() ? IntRange{2, INT64_MAX} : range->second;
  }
  return made;
}

}  // namespace torch::graph
