#include "graph/plan/plan.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "aten/core/tensor.h"
#include "c10/util/exception.h"
#include "c10/value/list.h"
#include "graph/ir/text.h"
#include "graph/passes/shape_propagation.h"
#include "graph/passes/tensor_info.h"

namespace torch::graph {
namespace {

using c10::IValue;
using Kind = Node::Kind;

int64_t sum(int64_t a, int64_t b) {
  int64_t result = 0;
  TORCH_CHECK_VALUE(!__builtin_add_overflow(a, b, &result), "the buffers have more bytes than 64 bits hold");
  return result;
}

const void* storage_of(const at::Tensor& t) {
  return t.storage().unsafeGetStorageImpl();
}

class Planning {
 public:
  Planning(const Graph& graph, const PlanOptions& options) : graph_(graph), options_(options) {}

  Plan run() {
    const Block& block = graph_.block();
    for (size_t i = 0; i < block.input_count(); ++i) plan_.values[block.input(i)];
    for (const Node* node : block) {
      placed_ = !options_.places || options_.places(*node);
      this->node(*node);
      ++step_;
    }
    read(block.outputs());
    if (!options_.outputs) leave_out(block.outputs());
    if (options_.may_replace) replace();
    plan_.layout = lay_out(plan_.buffers, options_.alignment);
    for (const Buffer& buffer : plan_.buffers) plan_.unshared_bytes = sum(plan_.unshared_bytes, buffer.bytes);
    return std::move(plan_);
  }

 private:
  // The buffers of an operand are needed now.
  std::vector<size_t> buffers(const Operand& operand) const {
    std::vector<size_t> all;
    operand.for_values([&](const Value* v) {
      const std::vector<size_t>& own = plan_.values.at(v);
      all.insert(all.end(), own.begin(), own.end());
    });
    return all;
  }
  void read(c10::ArrayRef<Operand> operands) {
    for (const Operand& operand : operands) {
      for (const size_t i : buffers(operand)) plan_.buffers[i].last = step_;
    }
  }
  // Results take the places of operands that end where they begin.
  void replace() {
    std::vector<size_t> at(plan_.buffers.size());
    std::iota(at.begin(), at.end(), size_t{0});
    int64_t step = 0;
    for (const Node* node : graph_.block()) {
      // What runs with it may read the operand in another way.
      const bool alone = joined_.count(node) == 0;
      for (size_t i = 0; alone && i < node->result_count(); ++i) {
        const std::vector<size_t>& own = plan_.values.at(node->result(i));
        if (own.size() != 1 || node->result(i)->info() == nullptr) continue;
        Buffer& buffer = plan_.buffers[own[0]];
        if (buffer.bytes == 0 || buffer.first != step || at[own[0]] != own[0]) continue;
        for (size_t k = 0; k < node->operands().size(); ++k) {
          const std::optional<size_t> place = replaceable(*node, i, k, at);
          if (!place.has_value() || plan_.buffers[*place].last != step || plan_.buffers[*place].bytes != buffer.bytes ||
              !options_.may_replace(*node, i, k)) {
            continue;
          }
          plan_.buffers[*place].last = buffer.last;
          buffer.bytes = 0;
          at[own[0]] = *place;
          break;
        }
      }
      ++step;
    }
    for (auto& [value, own] : plan_.values) {
      for (size_t& buffer : own) buffer = at[buffer];
    }
  }
  // The buffer of an operand whose elements lie as the result's, as do those of all operands in it.
  std::optional<size_t> replaceable(const Node& node, size_t result, size_t k, const std::vector<size_t>& at) const {
    const TensorInfo& wanted = *node.result(result)->info();
    const auto buffer_of = [&](const Operand& operand) -> std::optional<size_t> {
      if (!operand.is_value()) return std::nullopt;
      const std::vector<size_t>& own = plan_.values.at(operand.value());
      return own.size() == 1 ? std::optional<size_t>(at[own[0]]) : std::nullopt;
    };
    const std::optional<size_t> place = buffer_of(node.operand(k));
    if (!place.has_value()) return std::nullopt;
    for (size_t i = 0; i < node.result_count(); ++i) {
      const std::vector<size_t>& own = plan_.values.at(node.result(i));
      if (std::any_of(own.begin(), own.end(), [&](size_t buffer) { return at[buffer] == *place; })) return std::nullopt;
    }
    for (const Operand& operand : node.operands()) {
      const std::vector<size_t> all = buffers(operand);
      if (std::none_of(all.begin(), all.end(), [&](size_t buffer) { return at[buffer] == *place; })) continue;
      const TensorInfo* const info = operand.is_value() ? operand.value()->info() : nullptr;
      if (info == nullptr || !(info->sizes == wanted.sizes) || !(info->strides == wanted.strides) ||
          !(info->storage_offset == wanted.storage_offset) ||
          c10::elementSize(info->dtype) != c10::elementSize(wanted.dtype)) {
        return std::nullopt;
      }
    }
    return place;
  }
  // The caller has memory for what is returned.
  void leave_out(c10::ArrayRef<Operand> outputs) {
    for (const Operand& operand : outputs) {
      for (const size_t i : buffers(operand)) plan_.buffers[i].bytes = 0;
    }
  }

  size_t add(int64_t bytes) {
    plan_.buffers.push_back({placed_ ? bytes : 0, step_, step_});
    return plan_.buffers.size() - 1;
  }

  void node(const Node& node) {
    const auto later = options_.runs_with.find(&node);
    if (later != options_.runs_with.end()) {
      joined_[later->second].push_back(&node);
      for (size_t i = 0; i < node.result_count(); ++i) plan_.values[node.result(i)];
      return;
    }
    const auto joined = joined_.find(&node);
    if (joined != joined_.end()) {
      for (const Node* one : joined->second) read(one->operands());
    }
    read(node.operands());
    switch (node.kind()) {
      case Kind::kCall:
        return call(node);
      case Kind::kTuple:
      case Kind::kList:
      case Kind::kCast: {
        std::vector<size_t>& own = plan_.values[node.result()];
        for (const Operand& operand : node.operands()) {
          const std::vector<size_t> parts = buffers(operand);
          own.insert(own.end(), parts.begin(), parts.end());
        }
        return;
      }
      case Kind::kUnpack: {
        const std::vector<size_t> all = buffers(node.operand(0));
        for (size_t i = 0; i < node.result_count(); ++i) {
          // Where each part has one buffer, its own.
          plan_.values[node.result(i)] = all.size() == node.result_count() ? std::vector<size_t>{all[i]} : all;
        }
        return;
      }
      case Kind::kInvoke:
        if (options_.places) return invoke(node);
        [[fallthrough]];
      default:
        TORCH_CHECK_VALUE(false, "graph ", graph_.name(), " has a node that memory cannot be planned for:\n  ",
                          print_node(node));
    }
  }

  void invoke(const Node& node) {
    memory_.clear();
    held_.clear();
    for (size_t i = 0; i < node.result_count(); ++i) {
      const Value* result = node.result(i);
      TORCH_CHECK_VALUE(result->info() != nullptr, "graph ", graph_.name(), ": nothing is known of the sizes of\n  ",
                        print_node(node));
      place(meta_tensor(*result->info(), options_.symbols), plan_.values[result]);
    }
  }

  // A tensor on meta that stands for the value, and whose memory is known again.
  IValue stand_in(const Operand& operand, const c10::TypePtr& wanted) {
    if (operand.is_value()) {
      const Value* value = operand.value();
      if (value->type()->kind() == c10::TypeKind::IntType) return IValue();
      TORCH_CHECK_VALUE(value->info() != nullptr || made_.count(value) > 0, "graph ", graph_.name(),
                        ": nothing is known of the sizes of a value that ",
                        value->node() == nullptr ? "is an input" : print_node(*value->node()), " gives");
      const auto made = made_.find(value);
      if (made != made_.end()) {
        const std::vector<size_t>& own = plan_.values.at(value);
        const auto parts = made->second.toListRef();
        for (size_t i = 0; i < parts.size(); ++i) {
          memory_[storage_of(parts[i].toTensor())] = i < own.size() ? std::optional<size_t>(own[i]) : std::nullopt;
        }
        return made->second;
      }
      const at::Tensor t = meta_tensor(*value->info(), options_.symbols);
      remember(t, value);
      return t;
    }
    if (operand.is_expr()) return operand.expr().evaluate(options_.symbols);
    if (operand.is_constant()) return operand.constant();
    c10::TypePtr element = c10::AnyType::get();
    const auto optional = wanted->cast<c10::OptionalType>();
    const auto type = (optional == nullptr ? wanted : optional->getElementType())->cast<c10::ListType>();
    if (type != nullptr) element = type->getElementType();
    const c10::impl::GenericList list(element);
    for (const Operand& part : operand.list()) list.push_back(stand_in(part, element));
    return list;
  }
  void remember(const at::Tensor& t, const Value* value) {
    const std::vector<size_t>& own = plan_.values.at(value);
    memory_[storage_of(t)] = own.empty() ? std::optional<size_t>() : std::optional<size_t>(own[0]);
    held_.push_back(t);
  }

  void call(const Node& node) {
    memory_.clear();
    held_.clear();
    for (size_t i = 0; i < node.result_count(); ++i) plan_.values[node.result(i)];
    std::optional<c10::Stack> results;
    c10::Stack stack;
    for (size_t i = 0; i < node.operands().size(); ++i) {
      stack.push_back(stand_in(node.operand(i), node.callable().schema().arguments().at(i).type()));
    }
    try {
      results = call_on_meta(node.callable(), stack);
    } catch (const c10::Error&) {
      // Numbers that it needs are not known: its infos say what it gives.
    }
    for (size_t i = 0; i < node.result_count(); ++i) {
      std::vector<size_t>& own = plan_.values[node.result(i)];
      if (!results.has_value()) {
        if (node.result(i)->type()->kind() != c10::TypeKind::TensorType) continue;
        TORCH_CHECK_VALUE(node.result(i)->info() != nullptr, "graph ", graph_.name(),
                          ": nothing is known of the sizes of\n  ", print_node(node));
        place(meta_tensor(*node.result(i)->info(), options_.symbols), own);
        continue;
      }
      const IValue& v = results->at(i);
      if (v.isTensor()) {
        place(v.toTensor(), own);
      } else if (v.isTensorList()) {
        made_[node.result(i)] = v;
        for (const IValue& part : v.toListRef()) place(part.toTensor(), own);
      }
    }
  }
  // The buffer of a result: its base's, or a new one.
  void place(const at::Tensor& t, std::vector<size_t>& own) {
    if (!t.defined()) return;
    const auto known = memory_.find(storage_of(t));
    if (known != memory_.end()) {
      if (known->second.has_value()) own.push_back(*known->second);
      return;
    }
    own.push_back(add(static_cast<int64_t>(t.storage().nbytes())));
    memory_[storage_of(t)] = own.back();
    held_.push_back(t);
  }

  const Graph& graph_;
  const PlanOptions& options_;
  Plan plan_;
  int64_t step_ = 0;
  bool placed_ = true;  // of the node that is looked at
  // Of the call that is looked at: the buffer of each argument's memory; nothing for what lies outside.
  std::map<const void*, std::optional<size_t>> memory_;
  std::vector<at::Tensor> held_;
  std::map<const Value*, IValue> made_;  // lists
  std::map<const Node*, std::vector<const Node*>> joined_;
};

}  // namespace

Layout lay_out(c10::ArrayRef<Buffer> buffers, int64_t alignment) {
  TORCH_CHECK_VALUE(alignment > 0 && (alignment & (alignment - 1)) == 0,
                    "expected an alignment that is a power of two, but got ", alignment);
  const size_t count = buffers.size();
  Layout layout;
  layout.offsets.assign(count, 0);
  std::vector<int64_t> bytes(count);
  for (size_t i = 0; i < count; ++i) {
    TORCH_CHECK_VALUE(buffers[i].bytes >= 0, "buffer ", i, " has ", buffers[i].bytes, " bytes");
    TORCH_CHECK_VALUE(buffers[i].first <= buffers[i].last, "buffer ", i, " is needed from step ", buffers[i].first,
                      " to step ", buffers[i].last);
    bytes[i] = sum(buffers[i].bytes, alignment - 1) & ~(alignment - 1);
  }

  // What is needed in each step, by the changes from one to the next.
  std::map<int64_t, int64_t> begins, ends;
  for (size_t i = 0; i < count; ++i) {
    begins[buffers[i].first] = sum(begins[buffers[i].first], bytes[i]);
    ends[buffers[i].last] = sum(ends[buffers[i].last], bytes[i]);
  }
  int64_t live = 0;
  auto end = ends.begin();
  for (const auto& [step, more] : begins) {
    for (; end != ends.end() && end->first < step; ++end) live -= end->second;
    live = sum(live, more);
    layout.lower_bound = std::max(layout.lower_bound, live);
  }

  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (bytes[a] != bytes[b]) return bytes[a] > bytes[b];
    return buffers[a].first != buffers[b].first ? buffers[a].first < buffers[b].first : a < b;
  });
  std::vector<size_t> placed;  // by their offsets
  for (const size_t i : order) {
    if (bytes[i] == 0) continue;
    int64_t free_from = 0, best = -1, best_gap = INT64_MAX;
    for (const size_t other : placed) {
      if (buffers[other].last < buffers[i].first || buffers[i].last < buffers[other].first) continue;
      const int64_t gap = layout.offsets[other] - free_from;
      if (gap >= bytes[i] && gap < best_gap) {
        best = free_from;
        best_gap = gap;
      }
      free_from = std::max(free_from, sum(layout.offsets[other], bytes[other]));
    }
    layout.offsets[i] = best >= 0 ? best : free_from;
    layout.bytes = std::max(layout.bytes, sum(layout.offsets[i], bytes[i]));
    const auto place = std::upper_bound(placed.begin(), placed.end(), i,
                                        [&](size_t a, size_t b) { return layout.offsets[a] < layout.offsets[b]; });
    placed.insert(place, i);
  }
  return layout;
}

const std::vector<size_t>& Plan::buffers_of(const Value* value) const {
  const auto found = values.find(value);
  TORCH_CHECK_INDEX(found != values.end(), "the plan is of another graph than the value");
  return found->second;
}

Plan plan_memory(const Graph& graph, const PlanOptions& options) {
  return Planning(graph, options).run();
}

}  // namespace torch::graph
