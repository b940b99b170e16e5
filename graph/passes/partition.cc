#include "graph/passes/partition.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <utility>

#include "graph/passes/effects.h"

namespace torch::graph {
namespace {

// Nodes of one block, by their order, and which must come before which.
class Partitioning {
 public:
  Partitioning(Graph& graph, const std::function<bool(const Node&)>& supports, const PartitionOptions& options)
      : graph_(graph), options_(options) {
    for (Node* node : graph.block()) {
      numbers_[node] = nodes_.size();
      nodes_.push_back(node);
    }
    before_.resize(nodes_.size());
    group_.assign(nodes_.size(), kNone);
    reached_.assign(nodes_.size(), std::vector<uint64_t>((std::min(nodes_.size(), kWindow) + 63) / 64));
    depend();
    for (size_t n = 0; n < nodes_.size(); ++n) {
      const Node& node = *nodes_[n];
      const bool asked = node.block_count() == 0 && !has_effects(node) && written_operands(node).empty();
      if (asked && supports(node)) join(n);
      reach(n);
    }
    for (std::vector<size_t>& members : members_) {
      if (members.size() >= std::max<size_t>(options.min_nodes, 1)) continue;
      for (const size_t n : members) group_[n] = kNone;
      members.clear();
    }
  }

  std::vector<std::unique_ptr<Graph>> run() {
    std::vector<std::unique_ptr<Graph>> parts;
    Node* const end = graph_.block().return_node();
    for (const size_t unit : order()) {
      if (unit < nodes_.size()) {
        nodes_[unit]->move_before(end);
      } else {
        std::vector<size_t>& members = members_[unit - nodes_.size()];
        std::sort(members.begin(), members.end());
        parts.push_back(extract(members, options_.name + std::to_string(parts.size())));
      }
    }
    return parts;
  }

 private:
  static constexpr size_t kNone = ~size_t{0};
  static constexpr size_t kMostCandidates = 16;  // groups that a node is tried with
  static constexpr size_t kWindow = 4096;        // nodes

  void depend(size_t later, const Value* value) {
    const Node* node = value->node();
    while (node != nullptr && node->block() != &graph_.block()) node = node->block()->owner();
    if (node != nullptr) before_[later].insert(numbers_.at(node));
  }
  void depend_on_operands(size_t later, const Node& node) {
    for (const Operand& operand : node.operands()) {
      operand.for_values([&](const Value* v) { depend(later, v); });
    }
    for (size_t b = 0; b < node.block_count(); ++b) {
      for (const Node* inner : node.block(b)) depend_on_operands(later, *inner);
      depend_on_operands(later, *node.block(b).return_node());
    }
  }
  void touched_sets(const Node& node, const AliasSets& aliases, std::set<int>& sets) const {
    for (const Operand& operand : node.operands()) {
      for (const int set : aliases.of(operand)) sets.insert(set);
    }
    for (size_t i = 0; i < node.result_count(); ++i) {
      if (aliases.of(node.result(i)) != AliasSets::kNone) sets.insert(aliases.of(node.result(i)));
    }
    for (size_t b = 0; b < node.block_count(); ++b) {
      for (const Node* inner : node.block(b)) touched_sets(*inner, aliases, sets);
    }
  }
  void depend() {
    const AliasSets aliases(graph_);
    std::map<int, size_t> last_of_set;
    size_t last_effect = kNone;
    for (size_t n = 0; n < nodes_.size(); ++n) {
      depend_on_operands(n, *nodes_[n]);
      std::set<int> sets;
      touched_sets(*nodes_[n], aliases, sets);
      for (const int set : sets) {
        if (!aliases.is_written(set)) continue;
        const auto [place, fresh] = last_of_set.try_emplace(set, n);
        if (!fresh) before_[n].insert(std::exchange(place->second, n));
      }
      if (!has_effects(*nodes_[n])) continue;
      if (last_effect != kNone) before_[n].insert(last_effect);
      last_effect = n;
    }
    for (size_t n = 0; n < nodes_.size(); ++n) before_[n].erase(n);
  }

  // A unit is a node or a group. What must come before it:
  template <class F>
  void for_before(size_t unit, const F& f) const {
    if (unit < nodes_.size()) {
      for (const size_t n : before_[unit]) f(unit_of(n));
      return;
    }
    for (const size_t member : members_[unit - nodes_.size()]) {
      for (const size_t n : before_[member]) {
        if (unit_of(n) != unit) f(unit_of(n));
      }
    }
  }
  size_t unit_of(size_t n) const { return group_[n] == kNone ? n : nodes_.size() + group_[n]; }

  // --- what has been reached: of a node, or of a group by its first node, all that it depends on in its window ---

  // No group goes beyond the window that it begins in: what lies on a way between two nodes does not either.
  static size_t window_of(size_t n) { return n / kWindow * kWindow; }
  size_t first_of(size_t n) const { return group_[n] == kNone ? n : members_[group_[n]].front(); }
  bool has_reached(size_t from, size_t to) const {
    const size_t bit = to - window_of(from);
    return (reached_[from][bit / 64] >> (bit % 64) & 1) != 0;
  }
  // Node n is where it stays: what it depends on, those that depend on it do, too.
  void reach(size_t n) {
    const size_t own = first_of(n), window = window_of(n);
    std::vector<uint64_t> more(reached_[own].size());
    for (const size_t other : before_[n]) {
      const size_t unit = first_of(other);
      if (unit == own || unit < window) continue;
      more[(unit - window) / 64] |= uint64_t{1} << ((unit - window) % 64);
      for (size_t i = 0; i < more.size(); ++i) more[i] |= reached_[unit][i];
    }
    for (size_t unit = own == n ? n : window; unit <= n; ++unit) {
      if (unit != own && !has_reached(unit, own)) continue;
      for (size_t i = 0; i < more.size(); ++i) reached_[unit][i] |= more[i];
    }
  }
  // Whether node n depends on the group by way of something outside of it.
  bool depends_indirectly(size_t n, size_t group) const {
    const size_t wanted = members_[group].front();
    for (const size_t other : before_[n]) {
      const size_t unit = first_of(other);
      if (unit != wanted && unit >= window_of(n) && has_reached(unit, wanted)) return true;
    }
    return false;
  }
  bool may_join(size_t n, size_t group) const {
    if (members_[group].front() < window_of(n)) return false;
    if (!options_.joins) return true;
    std::vector<const Node*> part;
    for (const size_t member : members_[group]) part.push_back(nodes_[member]);
    return options_.joins(part, *nodes_[n]);
  }

  void join(size_t n) {
    // The groups that it reads first, then the others, the latest first.
    std::vector<size_t> candidates;
    for_before(n, [&](size_t unit) {
      if (unit >= nodes_.size()) candidates.push_back(unit - nodes_.size());
    });
    for (size_t g = members_.size(); g-- > 0;) candidates.push_back(g);
    if (candidates.size() > kMostCandidates) candidates.resize(kMostCandidates);
    for (const size_t group : candidates) {
      if (!may_join(n, group) || depends_indirectly(n, group)) continue;
      group_[n] = group;
      members_[group].push_back(n);
      return;
    }
    group_[n] = members_.size();
    members_.push_back({n});
  }

  // Units so that all comes after what it depends on; otherwise as it was.
  std::vector<size_t> order() const {
    std::map<size_t, std::set<size_t>> after;
    std::map<size_t, size_t> missing;
    std::set<size_t> units;
    for (size_t n = 0; n < nodes_.size(); ++n) units.insert(unit_of(n));
    for (const size_t unit : units) {
      std::set<size_t> before;
      for_before(unit, [&](size_t other) { before.insert(other); });
      missing[unit] = before.size();
      for (const size_t other : before) after[other].insert(unit);
    }
    // By the place of the first node.
    const auto place = [&](size_t unit) {
      if (unit < nodes_.size()) return unit;
      const std::vector<size_t>& members = members_[unit - nodes_.size()];
      return *std::min_element(members.begin(), members.end());
    };
    using Entry = std::pair<size_t, size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    for (const size_t unit : units) {
      if (missing[unit] == 0) ready.emplace(place(unit), unit);
    }
    std::vector<size_t> all;
    while (!ready.empty()) {
      const size_t unit = ready.top().second;
      ready.pop();
      all.push_back(unit);
      for (const size_t later : after[unit]) {
        if (--missing[later] == 0) ready.emplace(place(later), later);
      }
    }
    return all;
  }

  std::unique_ptr<Graph> extract(const std::vector<size_t>& members, const std::string& name) {
    auto part = std::make_unique<Graph>(name);
    part->symbols() = graph_.symbols();
    std::set<const Node*> inside;
    for (const size_t n : members) inside.insert(nodes_[n]);
    std::map<const Value*, Operand> values;
    std::vector<Operand> given;
    for (const size_t n : members) {
      for (const Operand& operand : nodes_[n]->operands()) {
        operand.for_values([&](Value* v) {
          if (inside.count(v->node()) > 0 || values.count(v) > 0) return;
          Value* const input = part->block().add_input(v->type(), v->name());
          if (v->info() != nullptr) input->set_info(*v->info());
          values.emplace(v, Operand(input));
          given.emplace_back(v);
        });
      }
    }
    std::vector<Value*> results;
    for (const size_t n : members) {
      Node* const node = nodes_[n];
      std::vector<Operand> operands;
      for (const Operand& operand : node->operands()) operands.push_back(replaced(operand, values));
      std::unique_ptr<Node> made = node->kind() == Node::Kind::kCall ? part->call(node->callable(), std::move(operands))
                                                                     : part->make(node->kind(), std::move(operands));
      made->set_name(node->name());
      made->set_source(node->source());
      Node* const copy = part->block().append(std::move(made));
      for (size_t i = 0; i < node->result_count(); ++i) {
        Value* const result = node->result(i);
        Value* const twin = i < copy->result_count() ? copy->result(i) : copy->add_result(result->type());
        twin->set_type(result->type());
        twin->set_name(result->name());
        if (result->info() != nullptr) twin->set_info(*result->info());
        values.insert_or_assign(result, Operand(twin));
        const auto uses = result->uses();
        if (std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return inside.count(use.node) == 0; })) {
          results.push_back(result);
        }
      }
    }
    std::unique_ptr<Node> invoke = graph_.make(Node::Kind::kInvoke, std::move(given));
    invoke->set_name(name);
    std::vector<Operand> outputs;
    for (Value* result : results) {
      outputs.push_back(values.at(result));
      Value* const outside = invoke->add_result(result->type(), result->name());
      if (result->info() != nullptr) outside->set_info(*result->info());
      result->replace_all_uses_with(outside);
    }
    part->block().set_outputs(std::move(outputs));
    graph_.block().append(std::move(invoke));
    for (auto n = members.rbegin(); n != members.rend(); ++n) nodes_[*n]->erase();
    return part;
  }
  static Operand replaced(const Operand& operand, const std::map<const Value*, Operand>& values) {
    if (operand.is_value()) return values.at(operand.value());
    if (!operand.is_list()) return operand;
    std::vector<Operand> parts;
    for (const Operand& one : operand.list()) parts.push_back(replaced(one, values));
    return parts;
  }

  Graph& graph_;
  const PartitionOptions& options_;
  std::vector<Node*> nodes_;
  std::map<const Node*, size_t> numbers_;
  std::vector<std::set<size_t>> before_;
  std::vector<size_t> group_;                 // of each node
  std::vector<std::vector<size_t>> members_;  // of each group, in order
  std::vector<std::vector<uint64_t>> reached_;
};

}  // namespace

std::vector<std::unique_ptr<Graph>> partition(Graph& graph, const std::function<bool(const Node&)>& supports,
                                              const PartitionOptions& options) {
  return Partitioning(graph, supports, options).run();
}

}  // namespace torch::graph
