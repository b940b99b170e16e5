// What nodes do beside computing results, and which values may be, or hold, the same memory.
#pragma once

#include <map>
#include <vector>

#include "graph/ir/graph.h"

namespace torch::graph {

/// Whether a call's results depend on a generator, which it moves on. Known by the argument that is one, and by the
/// name.
bool draws_random_numbers(const Node& node);

/// Whether a node does more than compute results and write to its arguments: it raises, stores attributes, calls
/// functions nothing is known of, checks or prints (calls without results), or moves a generator on. Blocks inside
/// count.
bool has_effects(const Node& node);

/// The operands of a call that it writes to, by their numbers: those that its schema marks, and the running statistics
/// of a batch norm that trains, which it does not.
std::vector<size_t> written_operands(const Node& node);

/// Whether a call returns views of its arguments, as its schema says, and writes to none.
bool is_view(const Node& node);

/// Whether some results of an operator may share memory with its arguments though its schema does not say so.
bool may_return_arguments(const Callable& callable);

/// Sorts the values of a graph into sets: those of two sets share no memory. Graph inputs are taken to be different
/// tensors. Numbers and strings are in none. The graph must not change while this is asked.
class AliasSets {
 public:
  static constexpr int kNone = -1;
  explicit AliasSets(const Graph& graph);

  int of(const Value* value) const;
  /// The set of all tensors that nodes have as constants.
  int of_constants() const { return find(0); }
  /// The sets of all values and constants in it.
  std::vector<int> of(const Operand& operand) const;
  /// The nodes that write to memory of the set.
  const std::vector<const Node*>& writers(int set) const;
  bool is_written(int set) const { return !writers(set).empty(); }
  /// Whether it holds memory from outside: an input, a constant or an attribute.
  bool enters(int set) const { return flags_[static_cast<size_t>(set)].enters; }
  /// Whether it holds memory that is returned or kept by others.
  bool escapes(int set) const { return flags_[static_cast<size_t>(set)].escapes; }
  /// Whether memory of the set may be written after `first` and before the end of `last`. `first` stands before `last`
  /// in one block, or in one around it.
  bool written_between(int set, const Node* first, const Node* last) const;

 private:
  struct Flags {
    bool enters = false, escapes = false;
  };
  void walk(const Block& block);
  void node(const Node& node);
  void call(const Node& node);
  int add(const Value* value);
  int find(int i) const;
  void join(int a, int b);
  void join(int set, const Operand& operand);
  void join_all(const Node& node);
  void wrote(const Node& node, const Operand& operand);

  std::map<const Value*, int> index_;
  mutable std::vector<int> parent_;
  std::vector<Flags> flags_;
  std::vector<std::pair<int, const Node*>> writes_;
  std::vector<std::vector<const Node*>> writers_;
};

}  // namespace torch::graph
