// Programs as data: blocks of nodes that compute values from values, each of which is made once.
//
//   Graph graph("forward");
//   Value* x = graph.block().add_input(c10::TensorType::get(), "x");
//   Node* relu = graph.block().append(graph.call(relu_callable, {x}));
//   graph.block().set_outputs({relu->result(0)});
//   print(graph);                                 // graph/ir/text.h
//   // graph forward(%x: Tensor) {
//   //   %0: Tensor = aten::relu(%x)
//   //   return %0
//   // }
//
// A node may use the values before it in its own block and in those around it. Nodes may be inserted and erased while a
// block is gone through; one whose results are used cannot be erased.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "c10/core/device.h"
#include "c10/core/layout.h"
#include "c10/core/scalar_type.h"
#include "c10/util/array_ref.h"
#include "c10/value/ivalue.h"
#include "c10/value/type.h"
#include "graph/ir/callable.h"
#include "graph/ir/int_expr.h"

namespace torch::graph {

class Block;
class Graph;
class Node;
class Operand;
class Value;

/// Where a value is read: one of a node's operands, perhaps inside a list.
struct Use {
  Node* node;
  size_t operand;
  friend bool operator==(const Use&, const Use&) = default;
};

/// What is known of a tensor before it exists.
struct TensorInfo {
  c10::ScalarType dtype = c10::ScalarType::Float;
  c10::Device device = c10::Device(c10::DeviceType::CPU);
  c10::Layout layout = c10::Layout::Strided;
  std::vector<IntExpr> sizes;
  std::vector<IntExpr> strides;  ///< of a strided tensor
  IntExpr storage_offset = 0;
  bool requires_grad = false;
  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

class Value {
 public:
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;

  /// The node whose result it is; null for a block's input.
  Node* node() const { return node_; }
  /// The block whose input it is, or the one that the node is in.
  Block* block() const;
  /// Among the results of the node, or the inputs of the block.
  size_t index() const { return index_; }
  const c10::TypePtr& type() const { return type_; }
  void set_type(c10::TypePtr type) { type_ = std::move(type); }
  /// May be empty. Names are for people; two values may have the same.
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  /// Null where nothing is known.
  const TensorInfo* info() const { return info_.get(); }
  void set_info(std::optional<TensorInfo> info);
  /// Of a number: what it is in terms of the sizes. Null where nothing is known.
  const IntExpr* expr() const { return expr_.get(); }
  void set_expr(std::optional<IntExpr> expr);
  c10::ArrayRef<Use> uses() const { return uses_; }
  /// By another value, a constant or an expression. Throws for a list that holds this value itself.
  void replace_all_uses_with(const Operand& other);

 private:
  friend class Block;
  friend class Node;
  Value(Node* node, Block* block, size_t index, c10::TypePtr type, std::string name)
      : node_(node), block_(block), index_(index), type_(std::move(type)), name_(std::move(name)) {}
  Node* node_;
  Block* block_;  // of an input
  size_t index_;
  c10::TypePtr type_;
  std::string name_;
  std::unique_ptr<TensorInfo> info_;
  std::unique_ptr<IntExpr> expr_;
  std::vector<Use> uses_;
};

/// An argument of a node: a value, a constant, a number that depends on sizes, or a list of such.
class Operand {
 public:
  Operand(Value* value) : content_(value) {}
  Operand(c10::IValue constant) : content_(std::move(constant)) {}
  Operand(IntExpr number) : content_(std::move(number)) {}
  Operand(std::vector<Operand> list) : content_(std::move(list)) {}

  bool is_value() const { return std::holds_alternative<Value*>(content_); }
  bool is_constant() const { return std::holds_alternative<c10::IValue>(content_); }
  bool is_expr() const { return std::holds_alternative<IntExpr>(content_); }
  bool is_list() const { return std::holds_alternative<std::vector<Operand>>(content_); }
  Value* value() const { return std::get<Value*>(content_); }
  const c10::IValue& constant() const { return std::get<c10::IValue>(content_); }
  const IntExpr& expr() const { return std::get<IntExpr>(content_); }
  const std::vector<Operand>& list() const { return std::get<std::vector<Operand>>(content_); }

  /// f(value) for each value in it, in order.
  template <class F>
  void for_values(const F& f) const {
    if (is_value()) return f(value());
    if (is_list()) {
      for (const Operand& part : list()) part.for_values(f);
    }
  }
  /// The same with `from` replaced by `to`.
  Operand with(const Value* from, const Operand& to) const;

 private:
  std::variant<Value*, c10::IValue, IntExpr, std::vector<Operand>> content_;
};

/// Where a node comes from, for messages.
class Source {
 public:
  virtual ~Source() = default;
  virtual std::string text() const = 0;
};

class Node {
 public:
  enum class Kind : uint8_t {
    kCall,     ///< callable(operands): a result each
    kTuple,    ///< (operands)
    kList,     ///< [operands]
    kDict,     ///< {keys and values in turn}
    kUnpack,   ///< the elements of a tuple or list, one a result
    kGetAttr,  ///< operand.name
    kSetAttr,  ///< operand.name = operand
    kInvoke,   ///< function `name` of the operands: the method of an object, or a function of the program
    kCast,     ///< the operand, which is of the result's type or fails
    kIsInstance,  ///< whether the operand is of tested_type()
    kIf,       ///< operand: condition. Two blocks without inputs, of which one gives the results
    kLoop,     ///< operands: most turns or None, condition, [carried]. Block: turn, carried -> condition, carried
    kWhile,    ///< operands: [carried], [others]. Blocks of all of them: -> condition; -> carried
    kMap,    ///< operands: [tensors], [others]. Block: slices of the tensors along 0, others -> results, to be stacked
    kScan,   ///< operands: [carried], [tensors], [others]. Block: carried, slices, others -> carried, slices of results
    kScope,  ///< a block run in the mode `name`, of which the operands say more
    kRaise,  ///< operand: message; the class of the exception is `name`
    kReturn,  ///< the end of a block: its results
  };

  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node();

  Kind kind() const { return kind_; }
  Graph& graph() const { return *graph_; }
  /// Null until it is inserted.
  Block* block() const { return block_; }
  Node* next() const { return next_; }
  Node* previous() const { return previous_; }

  /// Of kCall.
  const Callable& callable() const { return *callable_; }
  bool calls(std::string_view name) const;  ///< "aten::add.Tensor", or "aten::add" for all overloads
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  /// Of kIsInstance; null for others.
  const c10::TypePtr& tested_type() const { return tested_type_; }
  void set_tested_type(c10::TypePtr type) { tested_type_ = std::move(type); }
  const std::shared_ptr<const Source>& source() const { return source_; }
  void set_source(std::shared_ptr<const Source> source) { source_ = std::move(source); }

  c10::ArrayRef<Operand> operands() const { return operands_; }
  const Operand& operand(size_t i) const { return operands_.at(i); }
  /// That of an argument of kCall by its name.
  const Operand& argument(std::string_view name) const;
  void set_operand(size_t i, Operand operand);
  void add_operand(Operand operand);
  void set_operands(std::vector<Operand> operands);

  size_t result_count() const { return results_.size(); }
  Value* result(size_t i = 0) const { return results_.at(i).get(); }
  Value* add_result(c10::TypePtr type, std::string name = "");
  /// Throws where it is used.
  void erase_result(size_t i);

  size_t block_count() const { return blocks_.size(); }
  Block& block(size_t i) const { return *blocks_.at(i); }
  Block& add_block();

  /// Into the block of `other`; from where it was, if anywhere.
  void move_before(Node* other);
  void move_after(Node* other);
  /// Throws where a result is used.
  void erase();
  bool has_uses() const;
  /// Whether it stands before `other` in one block.
  bool is_before(const Node* other) const;

 private:
  friend class Block;
  friend class Graph;
  friend class Value;
  Node(Graph* graph, Kind kind) : graph_(graph), kind_(kind) {}
  void add_uses(size_t i);
  void drop_uses(size_t i);
  void unlink();

  Graph* graph_;
  Kind kind_;
  Block* block_ = nullptr;
  Node* next_ = nullptr;
  Node* previous_ = nullptr;
  mutable int64_t place_ = 0;  // rises along a block
  std::optional<Callable> callable_;
  std::string name_;
  c10::TypePtr tested_type_;
  std::shared_ptr<const Source> source_;
  std::vector<Operand> operands_;
  std::vector<std::unique_ptr<Value>> results_;
  std::vector<std::unique_ptr<Block>> blocks_;
};

class Block {
 public:
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

  Graph& graph() const { return *graph_; }
  /// The node that has it; null for a graph's own block.
  Node* owner() const { return owner_; }

  size_t input_count() const { return inputs_.size(); }
  Value* input(size_t i) const { return inputs_.at(i).get(); }
  Value* add_input(c10::TypePtr type, std::string name = "");
  void erase_input(size_t i);

  c10::ArrayRef<Operand> outputs() const { return end_->operands(); }
  void set_outputs(std::vector<Operand> outputs) { end_->set_operands(std::move(outputs)); }
  Node* return_node() const { return end_.get(); }

  /// Before the end; returns it.
  Node* append(std::unique_ptr<Node> node);
  bool empty() const { return end_->next_ == end_.get(); }
  Node* first() const { return end_->next_; }  ///< return_node() where there is none

  /// Its nodes in order. The current one may be erased or moved, others inserted.
  class Iterator {
   public:
    explicit Iterator(Node* node) : node_(node), next_(node->next()) {}
    Node* operator*() const { return node_; }
    Iterator& operator++() {
      node_ = next_;
      next_ = node_->next();
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.node_ == b.node_; }

   private:
    Node* node_;
    Node* next_;
  };
  Iterator begin() const { return Iterator(first()); }
  Iterator end() const { return Iterator(return_node()); }

 private:
  friend class Graph;
  friend class Node;
  Block(Graph* graph, Node* owner);
  Graph* graph_;
  Node* owner_;
  std::vector<std::unique_ptr<Value>> inputs_;
  std::unique_ptr<Node> end_;  // of a ring: its next is the first node
};

/// A function: a block, and what is known of the sizes it is for.
class Graph {
 public:
  explicit Graph(std::string name = "forward");
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  Block& block() const { return *block_; }
  /// What the symbols in its sizes may be.
  std::map<std::string, IntRange>& symbols() { return symbols_; }
  const std::map<std::string, IntRange>& symbols() const { return symbols_; }

  /// Nodes that are in no block yet.
  std::unique_ptr<Node> make(Node::Kind kind, std::vector<Operand> operands = {});
  /// With a result for each that the schema has, of its types.
  std::unique_ptr<Node> call(const Callable& callable, std::vector<Operand> operands);

  /// A copy with its own nodes and values; constants are shared.
  std::unique_ptr<Graph> clone() const;
  /// f(node) for all nodes, also those of inner blocks: a block's in order, inner blocks after the one around them. A
  /// node that f erases has no blocks.
  template <class F>
  void for_nodes(const F& f) const;

 private:
  std::string name_;
  std::map<std::string, IntRange> symbols_;
  std::unique_ptr<Block> block_;
};

/// Appends copies of the nodes of `from` to `to`, with the values of the map replaced, and returns its outputs there.
std::vector<Operand> copy_nodes(const Block& from, Block& to, std::map<const Value*, Operand> values);

/// Throws ValueError that says what is wrong, where something is: a value used before or outside of where it is made,
/// uses that are not recorded, operands, results or blocks that a node's kind or schema does not have.
void verify(const Graph& graph);

template <class F>
void Graph::for_nodes(const F& f) const {
  std::vector<const Block*> open{block_.get()};
  while (!open.empty()) {
    const Block* block = open.back();
    open.pop_back();
    for (Node* node : *block) {
      for (size_t i = 0; i < node->block_count(); ++i) open.push_back(&node->block(i));
      f(node);
    }
  }
}

}  // namespace torch::graph
