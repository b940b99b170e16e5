#include "compile/group/fuse.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "c10/util/exception.h"
#include "compile/group/operators.h"
#include "graph/ir/text.h"
#include "graph/passes/effects.h"
#include "graph/passes/partition.h"

namespace torch::compiler {
namespace {

using graph::Graph;
using graph::Node;
using graph::Operand;
using graph::Value;

const std::vector<graph::IntExpr>& sizes_of(const Node& node) {
  return node.result()->info()->sizes;
}

class Describing {
 public:
  explicit Describing(const Graph& graph) : graph_(graph) {}

  Group run() {
    const graph::Block& block = graph_.block();
    for (size_t i = 0; i < block.input_count(); ++i) {
      TORCH_CHECK_VALUE(block.input(i)->info() != nullptr, "graph ", graph_.name(), ": nothing is known of input ", i);
      refs_[block.input(i)] = {Ref::Kind::kInput, static_cast<uint32_t>(i)};
      group_.inputs.push_back({*block.input(i)->info(), {}});
    }
    // What depends on the row goes behind all that does not.
    std::vector<std::pair<const Node*, Lowered>> before, after;
    std::set<const Value*> of_row;
    const Node* row = nullptr;
    for (const Node* node : block) {
      std::optional<Lowered> lowered = lower(*node);
      TORCH_CHECK_VALUE(lowered.has_value(), "a group cannot compute\n  ", print_node(*node));
      if (before.empty() && after.empty() && row == nullptr) group_.sizes = sizes_of(*node);
      TORCH_CHECK_VALUE(sizes_of(*node) == group_.sizes, "a group cannot compute results of other sizes:\n  ",
                        print_node(*node));
      bool depends = false;
      for (const Operand& operand : node->operands()) {
        operand.for_values([&](const Value* v) { depends = depends || of_row.count(v) > 0; });
      }
      if (lowered->row.has_value()) {
        TORCH_CHECK_VALUE(row == nullptr, "a group cannot compute a second function of rows:\n  ", print_node(*node));
        row = node;
        row_ = std::move(*lowered);
        depends = true;
      } else {
        (depends ? after : before).emplace_back(node, std::move(*lowered));
      }
      if (depends) of_row.insert(node->result());
    }
    for (const auto& [node, lowered] : before) add(*node, lowered);
    if (row != nullptr) add(*row, row_);
    group_.row_begin = group_.operations.size();
    for (const auto& [node, lowered] : after) add(*node, lowered);
    for (const Operand& output : block.outputs()) {
      TORCH_CHECK_VALUE(output.is_value() && output.value()->node() != nullptr, "graph ", graph_.name(),
                        " returns what it does not compute");
      group_.outputs.push_back({refs_.at(output.value()), *output.value()->info()});
    }
    return std::move(group_);
  }

 private:
  Ref input(const Operand& operand) {
    if (operand.is_value()) return refs_.at(operand.value());
    const auto [place, fresh] = constants_.try_emplace(
        operand.constant().unsafe_tensor_impl(), Ref{Ref::Kind::kInput, static_cast<uint32_t>(group_.inputs.size())});
    if (fresh) group_.inputs.push_back({*tensor_info(operand), operand.constant()});
    return place->second;
  }

  void add(const Node& node, const Lowered& lowered) {
    const auto first_constant = static_cast<uint32_t>(group_.constants.size());
    const auto first = static_cast<uint32_t>(group_.operations.size());
    const auto moved = [&](Ref ref) -> Ref {
      switch (ref.kind) {
        case Ref::Kind::kInput:
          return input(node.operand(ref.index));
        case Ref::Kind::kConstant:
          return {ref.kind, first_constant + ref.index};
        default:
          return {ref.kind, first + ref.index};
      }
    };
    group_.constants.insert(group_.constants.end(), lowered.constants.begin(), lowered.constants.end());
    for (Operation op : lowered.operations) {
      for (Ref& ref : op.operands) ref = moved(ref);
      group_.operations.push_back(std::move(op));
    }
    Ref result{Ref::Kind::kOperation, static_cast<uint32_t>(group_.operations.size() - 1)};
    if (lowered.row.has_value()) {
      group_.row = *lowered.row;
      group_.row->operand = moved(lowered.row->operand);
      for (std::optional<Ref>* part : {&group_.row->weight, &group_.row->bias}) {
        if (part->has_value()) *part = moved(**part);
      }
      result = {Ref::Kind::kRow, 0};
    }
    refs_[node.result()] = result;
  }

  const Graph& graph_;
  Group group_;
  Lowered row_;
  std::map<const Value*, Ref> refs_;
  std::map<const void*, Ref> constants_;
};

// What is asked of nodes more than once.
class Candidates {
 public:
  Candidates(const Graph& graph, const FuseOptions& options) : aliases_(graph), options_(options) {}

  bool takes(const Node& node) {
    if (options_.allows && !options_.allows(node)) return false;
    const std::optional<Lowered> lowered = lower(node);
    if (!lowered.has_value() || touches_written(node)) return false;
    if (!lowered->row.has_value()) return true;
    if (!options_.rows) return false;
    rows_.insert(&node);
    return true;
  }

  bool joins(c10::ArrayRef<const Node*> part, const Node& node) const {
    if (part.size() >= options_.max_nodes || !(sizes_of(*part[0]) == sizes_of(node))) return false;
    if (part[0]->result()->info()->device != node.result()->info()->device) return false;
    if (rows_.count(&node) > 0) {
      for (const Node* one : part) {
        if (rows_.count(one) > 0) return false;
      }
    }
    // What goes in and out, and whether there is anything in common.
    std::vector<const void*> read;
    size_t results = 1;
    bool related = false;
    const auto inside = [&](const Node* one) {
      return one == &node || std::find(part.begin(), part.end(), one) != part.end();
    };
    const auto reads = [&](const Node& one) {
      for (const Operand& operand : one.operands()) {
        const void* what = nullptr;
        if (operand.is_value() && !inside(operand.value()->node())) what = operand.value();
        if (operand.is_constant() && operand.constant().isTensor()) {
          what = operand.constant().unsafe_tensor_impl();
        }
        if (operand.is_value() && &one == &node && inside(operand.value()->node())) related = true;
        if (what == nullptr) continue;
        if (std::find(read.begin(), read.end(), what) == read.end()) {
          read.push_back(what);
        } else if (&one == &node) {
          related = true;
        }
      }
    };
    for (const Node* one : part) {
      reads(*one);
      const auto uses = one->result()->uses();
      results += std::any_of(uses.begin(), uses.end(), [&](const graph::Use& use) { return !inside(use.node); });
    }
    reads(node);
    return related && read.size() + results <= options_.max_operands;
  }

 private:
  bool touches_written(const Node& node) const {
    const auto written = [&](int set) { return set != graph::AliasSets::kNone && aliases_.is_written(set); };
    if (written(aliases_.of(node.result()))) return true;
    for (const Operand& operand : node.operands()) {
      for (const int set : aliases_.of(operand)) {
        if (written(set)) return true;
      }
    }
    return false;
  }

  graph::AliasSets aliases_;
  const FuseOptions& options_;
  std::set<const Node*> rows_;
};

}  // namespace

Group describe(const Graph& graph) {
  return Describing(graph).run();
}

std::vector<FusedPart> fuse(Graph& graph, const FuseOptions& options) {
  Candidates candidates(graph, options);
  graph::PartitionOptions wanted;
  wanted.min_nodes = options.min_nodes;
  wanted.name = options.name;
  wanted.joins = [&](c10::ArrayRef<const Node*> part, const Node& node) { return candidates.joins(part, node); };
  std::vector<FusedPart> parts;
  for (std::unique_ptr<Graph>& part : graph::partition(
           graph, [&](const Node& node) { return candidates.takes(node); }, wanted)) {
    Group group = describe(*part);
    parts.push_back({std::move(part), std::move(group)});
  }
  return parts;
}

}  // namespace torch::compiler
