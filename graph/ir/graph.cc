#include "graph/ir/graph.h"

#include <algorithm>
#include <utility>

#include "c10/util/exception.h"

namespace torch::graph {

// --- values and operands ---

Block* Value::block() const {
  return node_ != nullptr ? node_->block() : block_;
}
void Value::set_info(std::optional<TensorInfo> info) {
  info_ = info.has_value() ? std::make_unique<TensorInfo>(std::move(*info)) : nullptr;
}
void Value::set_expr(std::optional<IntExpr> expr) {
  expr_ = expr.has_value() ? std::make_unique<IntExpr>(std::move(*expr)) : nullptr;
}
void Value::replace_all_uses_with(const Operand& other) {
  if (other.is_value() && other.value() == this) return;
  other.for_values([&](const Value* v) { TORCH_CHECK(v != this, "a value cannot be replaced by a list of itself"); });
  while (!uses_.empty()) {
    const Use use = uses_.back();
    use.node->set_operand(use.operand, use.node->operand(use.operand).with(this, other));
  }
}

Operand Operand::with(const Value* from, const Operand& to) const {
  if (is_value()) return value() == from ? to : *this;
  if (!is_list()) return *this;
  std::vector<Operand> parts;
  for (const Operand& part : list()) parts.push_back(part.with(from, to));
  return parts;
}

// --- nodes ---

Node::~Node() = default;

bool Node::calls(std::string_view name) const {
  if (kind_ != Kind::kCall) return false;
  const c10::OperatorName& own = callable_->schema().operator_name();
  if (name == own.name) return true;
  return !own.overload_name.empty() && name.size() == own.name.size() + 1 + own.overload_name.size() &&
         name.substr(0, own.name.size()) == own.name && name[own.name.size()] == '.' &&
         name.substr(own.name.size() + 1) == own.overload_name;
}

const Operand& Node::argument(std::string_view name) const {
  TORCH_CHECK(kind_ == Kind::kCall, "only calls have arguments by name");
  const std::optional<int> i = callable().schema().argument_index(name);
  TORCH_CHECK(i.has_value(), callable().schema().qualified_name(), " has no argument ", name);
  return operands_.at(static_cast<size_t>(*i));
}

void Node::add_uses(size_t i) {
  operands_[i].for_values([&](Value* v) { v->uses_.push_back({this, i}); });
}
void Node::drop_uses(size_t i) {
  operands_[i].for_values([&](Value* v) {
    const auto found = std::find(v->uses_.rbegin(), v->uses_.rend(), Use{this, i});
    v->uses_.erase(std::next(found).base());
  });
}
void Node::set_operand(size_t i, Operand operand) {
  TORCH_CHECK_INDEX(i < operands_.size(), "a node of ", operands_.size(), " operands has no number ", i);
  drop_uses(i);
  operands_[i] = std::move(operand);
  add_uses(i);
}
void Node::add_operand(Operand operand) {
  operands_.push_back(std::move(operand));
  add_uses(operands_.size() - 1);
}
void Node::set_operands(std::vector<Operand> operands) {
  for (size_t i = 0; i < operands_.size(); ++i) drop_uses(i);
  operands_ = std::move(operands);
  for (size_t i = 0; i < operands_.size(); ++i) add_uses(i);
}

Value* Node::add_result(c10::TypePtr type, std::string name) {
  results_.push_back(
      std::unique_ptr<Value>(new Value(this, nullptr, results_.size(), std::move(type), std::move(name))));
  return results_.back().get();
}
void Node::erase_result(size_t i) {
  TORCH_CHECK(result(i)->uses().empty(), "result ", i, " of a node is used, so that it cannot be erased");
  results_.erase(results_.begin() + static_cast<std::ptrdiff_t>(i));
  for (; i < results_.size(); ++i) results_[i]->index_ = i;
}
Block& Node::add_block() {
  blocks_.push_back(std::unique_ptr<Block>(new Block(graph_, this)));
  return *blocks_.back();
}

bool Node::has_uses() const {
  return std::any_of(results_.begin(), results_.end(), [](const auto& v) { return !v->uses().empty(); });
}

void Node::unlink() {
  if (block_ == nullptr) return;
  previous_->next_ = next_;
  next_->previous_ = previous_;
  block_ = nullptr;
  next_ = previous_ = nullptr;
}
void Node::move_before(Node* other) {
  TORCH_CHECK(other->block_ != nullptr && other != this && kind_ != Kind::kReturn,
              "a node is inserted before another one that is in a block");
  unlink();
  block_ = other->block_;
  next_ = other;
  previous_ = other->previous_;
  previous_->next_ = this;
  next_->previous_ = this;
  // Halfway between the neighbours; where there is no room, all are numbered anew.
  Node* const end = block_->return_node();
  constexpr int64_t kApart = int64_t{1} << 20;
  const int64_t before = previous_ == end ? 0 : previous_->place_,
                after = next_ == end ? before + 2 * kApart : next_->place_;
  place_ = before + (after - before) / 2;
  if (place_ > before && place_ < after && place_ < INT64_MAX / 2) return;
  int64_t place = 0;
  for (Node* node = end->next_; node != end; node = node->next_) node->place_ = place += kApart;
}
void Node::move_after(Node* other) {
  TORCH_CHECK(other->block_ != nullptr && other->kind_ != Kind::kReturn,
              "a node is inserted after another one in a block");
  if (other != this) move_before(other->next_ == this ? next_ : other->next_);
}
void Node::erase() {
  TORCH_CHECK(kind_ != Kind::kReturn, "the end of a block cannot be erased");
  TORCH_CHECK(!has_uses(), "a node whose results are used cannot be erased");
  set_operands({});
  // Its blocks use values from outside.
  for (const auto& block : blocks_) {
    while (!block->empty()) {
      Node* const last = block->return_node();
      last->set_operands({});
      last->previous()->erase();
    }
    block->return_node()->set_operands({});
  }
  unlink();
  delete this;
}
bool Node::is_before(const Node* other) const {
  TORCH_CHECK(block_ == other->block_ && block_ != nullptr, "only nodes of one block have an order");
  if (kind_ == Kind::kReturn) return false;
  return other->kind_ == Kind::kReturn || place_ < other->place_;
}

// --- blocks ---

Block::Block(Graph* graph, Node* owner) : graph_(graph), owner_(owner), end_(new Node(graph, Node::Kind::kReturn)) {
  end_->block_ = this;
  end_->next_ = end_->previous_ = end_.get();
}
Block::~Block() {
  for (Node* node = end_->next_; node != end_.get();) {
    Node* const next = node->next_;
    delete node;
    node = next;
  }
}
Value* Block::add_input(c10::TypePtr type, std::string name) {
  inputs_.push_back(std::unique_ptr<Value>(new Value(nullptr, this, inputs_.size(), std::move(type), std::move(name))));
  return inputs_.back().get();
}
void Block::erase_input(size_t i) {
  TORCH_CHECK(input(i)->uses().empty(), "input ", i, " of a block is used, so that it cannot be erased");
  inputs_.erase(inputs_.begin() + static_cast<std::ptrdiff_t>(i));
  for (; i < inputs_.size(); ++i) inputs_[i]->index_ = i;
}
Node* Block::append(std::unique_ptr<Node> node) {
  node->move_before(end_.get());
  return node.release();
}

// --- graphs ---

Graph::Graph(std::string name) : name_(std::move(name)), block_(new Block(this, nullptr)) {}
Graph::~Graph() = default;

std::unique_ptr<Node> Graph::make(Node::Kind kind, std::vector<Operand> operands) {
  std::unique_ptr<Node> node(new Node(this, kind));
  node->set_operands(std::move(operands));
  return node;
}
std::unique_ptr<Node> Graph::call(const Callable& callable, std::vector<Operand> operands) {
  std::unique_ptr<Node> node = make(Node::Kind::kCall, std::move(operands));
  node->callable_ = callable;
  for (const c10::Argument& result : callable.schema().returns()) node->add_result(result.type());
  return node;
}

namespace {

// Name and what is known of it.
void copy_about(const Value* from, Value* to) {
  to->set_name(from->name());
  if (from->info() != nullptr) to->set_info(*from->info());
  if (from->expr() != nullptr) to->set_expr(*from->expr());
}

}  // namespace

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>(name_);
  copy->symbols_ = symbols_;
  std::map<const Value*, Operand> values;
  for (size_t i = 0; i < block_->input_count(); ++i) {
    const Value* from = block_->input(i);
    Value* to = copy->block().add_input(from->type());
    copy_about(from, to);
    values.emplace(from, to);
  }
  copy->block().set_outputs(copy_nodes(*block_, copy->block(), std::move(values)));
  return copy;
}

namespace {

Operand replaced(const Operand& operand, const std::map<const Value*, Operand>& values) {
  if (operand.is_value()) {
    const auto found = values.find(operand.value());
    return found == values.end() ? operand : found->second;
  }
  if (!operand.is_list()) return operand;
  std::vector<Operand> parts;
  for (const Operand& part : operand.list()) parts.push_back(replaced(part, values));
  return parts;
}
std::vector<Operand> replaced(c10::ArrayRef<Operand> operands, const std::map<const Value*, Operand>& values) {
  std::vector<Operand> all;
  for (const Operand& operand : operands) all.push_back(replaced(operand, values));
  return all;
}

// The map grows by what is copied: inner blocks see it.
std::vector<Operand> copy_into(const Block& from, Block& to, std::map<const Value*, Operand>& values) {
  for (const Node* node : from) {
    std::vector<Operand> operands = replaced(node->operands(), values);
    std::unique_ptr<Node> made = node->kind() == Node::Kind::kCall
                                     ? to.graph().call(node->callable(), std::move(operands))
                                     : to.graph().make(node->kind(), std::move(operands));
    made->set_name(node->name());
    made->set_tested_type(node->tested_type());
    made->set_source(node->source());
    Node* const copy = to.append(std::move(made));
    for (size_t i = 0; i < node->result_count(); ++i) {
      const Value* result = node->result(i);
      Value* twin = i < copy->result_count() ? copy->result(i) : copy->add_result(result->type());
      twin->set_type(result->type());
      copy_about(result, twin);
      values.insert_or_assign(result, Operand(twin));
    }
    for (size_t b = 0; b < node->block_count(); ++b) {
      const Block& inner = node->block(b);
      Block& twin = copy->add_block();
      for (size_t i = 0; i < inner.input_count(); ++i) {
        Value* input = twin.add_input(inner.input(i)->type());
        copy_about(inner.input(i), input);
        values.insert_or_assign(inner.input(i), Operand(input));
      }
      twin.set_outputs(copy_into(inner, twin, values));
    }
  }
  return replaced(from.outputs(), values);
}

}  // namespace

std::vector<Operand> copy_nodes(const Block& from, Block& to, std::map<const Value*, Operand> values) {
  return copy_into(from, to, values);
}

}  // namespace torch::graph
