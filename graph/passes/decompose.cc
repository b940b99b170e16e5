#include "graph/passes/decompose.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/decompositions/decompose.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/value/list.h"
#include "graph/capture/recorder.h"
#include "graph/ir/text.h"
#include "graph/passes/core_operators.h"
#include "graph/passes/fit.h"
#include "graph/passes/generalise.h"
#include "graph/passes/relayout.h"
#include "graph/passes/tensor_info.h"

namespace torch::graph {
namespace {

using c10::IValue;

using Symbols = std::map<std::string, int64_t>;

void collect_symbols(const Operand& operand, std::set<std::string>& names) {
  if (operand.is_expr()) operand.expr().collect_symbols(names);
  if (operand.is_list()) {
    for (const Operand& part : operand.list()) collect_symbols(part, names);
  }
  if (!operand.is_value() || operand.value()->info() == nullptr) return;
  for (const auto* list : {&operand.value()->info()->sizes, &operand.value()->info()->strides}) {
    for (const IntExpr& e : *list) e.collect_symbols(names);
  }
}

// The arguments of a call on meta, where symbols have those values: each tensor is an input of a graph, or a constant.
class Arguments {
 public:
  Arguments(Recorder& recorder, Block& inputs, const Symbols& symbols)
      : recorder_(recorder), inputs_(inputs), symbols_(symbols) {}

  c10::Stack of(const Node& node) {
    c10::Stack stack;
    for (size_t i = 0; i < node.operands().size(); ++i) {
      stack.push_back(value(node.operand(i), node.callable().schema().arguments().at(i).type()));
    }
    return stack;
  }
  // What the inputs stand for.
  const std::vector<Value*>& values() const { return values_; }

 private:
  IValue tensor(const TensorInfo& info, Operand operand) {
    const at::Tensor made = meta_tensor(info, symbols_);
    recorder_.bind(made, std::move(operand));
    return made;
  }
  IValue value(const Operand& operand, const c10::TypePtr& wanted) {
    if (operand.is_value()) {
      Value* const from = operand.value();
      const auto known = tensors_.find(from);
      if (known != tensors_.end()) return known->second;
      TORCH_CHECK_VALUE(from->info() != nullptr, "nothing is known of an operand's sizes");
      Value* const input = inputs_.add_input(from->type(), from->name());
      input->set_info(*from->info());
      values_.push_back(from);
      return tensors_.emplace(from, tensor(*from->info(), input)).first->second;
    }
    if (operand.is_expr()) return operand.expr().evaluate(symbols_);
    if (operand.is_list()) {
      c10::TypePtr element = c10::AnyType::get();
      const auto optional = wanted->cast<c10::OptionalType>();
      const auto list_type = (optional == nullptr ? wanted : optional->getElementType())->cast<c10::ListType>();
      if (list_type != nullptr) element = list_type->getElementType();
      const c10::impl::GenericList list(element);
      for (const Operand& part : operand.list()) list.push_back(value(part, element));
      return list;
    }
    const IValue& constant = operand.constant();
    if (constant.isTensor()) return tensor(info_of(constant.toTensor()), operand);
    if (constant.isTensorList() && !constant.toListRef().empty()) {
      const c10::impl::GenericList list(c10::TensorType::get());
      for (const IValue& part : constant.toListRef()) list.push_back(tensor(info_of(part.toTensor()), Operand(part)));
      return list;
    }
    return constant;
  }

  Recorder& recorder_;
  Block& inputs_;
  const Symbols& symbols_;
  std::map<const Value*, IValue> tensors_;
  std::vector<Value*> values_;
};

// Where the results of a call are put: where its first tensor is.
c10::Device device_of(const Node& node) {
  std::optional<c10::Device> device;
  for (const Operand& operand : node.operands()) {
    operand.for_values([&](const Value* v) {
      if (!device.has_value() && v->info() != nullptr) device = v->info()->device;
    });
    if (operand.is_constant() && operand.constant().isTensor() && !device.has_value()) {
      device = operand.constant().toTensor().device();
    }
  }
  for (size_t i = 0; i < node.result_count() && !device.has_value(); ++i) {
    if (node.result(i)->info() != nullptr) device = node.result(i)->info()->device;
  }
  return device.value_or(c10::Device(c10::DeviceType::CPU));
}

class Decomposing {
 public:
  explicit Decomposing(const std::function<bool(const c10::OperatorHandle&)>& wanted) : wanted_(wanted) {}

  void block(const Block& block) {
    for (Node* node : block) {
      for (size_t b = 0; b < node->block_count(); ++b) this->block(node->block(b));
      if (node->kind() != Node::Kind::kCall || node->callable().handle() == nullptr) continue;
      if (!is_decomposable(*node->callable().handle()) || !wanted_(*node->callable().handle())) continue;
      try {
        replace(node);
        ++result_.changes;
      } catch (const std::exception& error) {
        const auto* own = dynamic_cast<const c10::Error*>(&error);
        result_.notes.push_back(print_node(*node) + ": " + (own != nullptr ? own->msg() : error.what()));
      }
    }
  }
  PassResult result() { return std::move(result_); }

 private:
  // The decomposition for one choice of sizes.
  struct Recorded {
    std::unique_ptr<Graph> graph = std::make_unique<Graph>("decomposition");
    std::vector<Value*> inputs;
    std::vector<std::optional<TensorInfo>> results;
  };
  Recorded record(const Node& node, const Symbols& symbols) const {
    Recorded made;
    Recorder::Options options;
    options.expand = [&](const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack& stack) {
      return wanted_(op) && expand_operator(op, keys, stack);
    };
    // Numbers that stand beside tensors.
    options.unknown = [](const at::Tensor& t) {
      TORCH_CHECK_VALUE(t.dim() == 0 && t.device().type() == c10::DeviceType::CPU, "a tensor of sizes ", t.sizes(),
                        " that no call made");
      return Operand(IValue(t));
    };
    options.device = device_of(node);
    const c10::Device device = *options.device;
    Block& block = made.graph->block();
    Recorder recorder(block.return_node(), std::move(options));
    Arguments arguments(recorder, block, symbols);
    c10::Stack stack = arguments.of(node);
    const c10::NoGradGuard no_grad;
    {
      const Recording on(recorder);
      node.callable().call(stack);
    }
    std::vector<Operand> outputs;
    for (const IValue& v : stack) {
      outputs.push_back(recorder.operand(v));
      made.results.emplace_back();
      if (!v.isTensor()) continue;
      made.results.back() = info_of(v.toTensor());
      made.results.back()->device = device;
    }
    block.set_outputs(std::move(outputs));
    made.inputs = arguments.values();
    return made;
  }

  // The decomposition for several sizes, as one graph.
  struct General {
    std::vector<Symbols> points;
    std::vector<Recorded> all;
    std::unique_ptr<Graph> graph;
  };
  General general(const Node& node, const std::set<std::string>& names,
                  const std::map<std::string, IntRange>& ranges) const {
    General made;
    made.points = sample_points(names, ranges);
    std::vector<const Graph*> graphs;
    for (const Symbols& symbols : made.points) {
      graphs.push_back(made.all.emplace_back(record(node, symbols)).graph.get());
    }
    made.graph = made.points.size() == 1 ? std::move(made.all[0].graph)
                                         : generalise(graphs, made.points, node.graph().symbols());
    return made;
  }

  void replace(Node* node) {
    std::set<std::string> names;
    for (const Operand& operand : node->operands()) collect_symbols(operand, names);
    std::map<std::string, IntRange> ranges = node->graph().symbols();
    const bool has_ones = std::any_of(ranges.begin(), ranges.end(),
                                      [](const auto& one) { return one.second.min < 2 && one.second.max >= 2; });
    std::optional<General> found;
    try {
      found = general(*node, names, ranges);
    } catch (const c10::ValueError&) {
      if (!has_ones) throw;
      // At 1 something may be left out that does nothing there, such as a copy into other strides.
      for (auto& [name, range] : ranges) range.min = std::max(range.min, std::min<int64_t>(2, range.max));
      found = general(*node, names, ranges);
    }
    const std::vector<Symbols>& points = found->points;
    const std::vector<Recorded>& all = found->all;
    const Graph& graph = *found->graph;

    std::map<const Value*, Operand> values;
    for (size_t i = 0; i < all[0].inputs.size(); ++i) {
      values.emplace(graph.block().input(i), Operand(all[0].inputs[i]));
    }
    Block& block = *node->block();
    Node* const last = block.return_node()->previous();
    std::vector<Operand> results = copy_nodes(graph.block(), block, std::move(values));
    while (last->next() != block.return_node()) last->next()->move_before(node);
    for (size_t i = 0; i < results.size(); ++i) {
      std::vector<TensorInfo> infos;
      for (const Recorded& one : all) {
        if (one.results[i].has_value()) infos.push_back(*one.results[i]);
      }
      finish(node, i, results[i], infos.size() == points.size() ? fit_info(infos, points) : std::nullopt);
    }
    node->erase();
  }

  // Puts `made` in the place of a result.
  void finish(Node* node, size_t i, Operand made, const std::optional<TensorInfo>& info) const {
    Value* const old = node->result(i);
    if (made.is_list()) {
      // A list that is a value for others.
      auto list = node->graph().make(Node::Kind::kList, made.list());
      Value* const whole = list->add_result(old->type());
      list.release()->move_before(node);
      made = Operand(whole);
    }
    if (made.is_value()) {
      if (made.value()->info() == nullptr && info.has_value()) made.value()->set_info(*info);
      // Views of it need the strides that the operator gives.
      if (old->info() != nullptr) made = Operand(with_strides(made.value(), *old->info(), node));
      if (made.value()->name().empty()) made.value()->set_name(old->name());
      if (made.value()->info() == nullptr && old->info() != nullptr) made.value()->set_info(*old->info());
    }
    old->replace_all_uses_with(made);
  }

  const std::function<bool(const c10::OperatorHandle&)>& wanted_;
  PassResult result_;
};

}  // namespace

bool is_decomposable(const c10::OperatorHandle& op) {
  return at::has_decomposition(op) || op.op().kernels == c10::Kernels::kComposite;
}

bool is_decomposed_to_core(const c10::OperatorHandle& op) {
  const c10::OperatorName name = op.operator_name();
  // Layers whose steps are one operator of this library.
  for (const char* layer : {"aten::lstm", "aten::gru", "aten::rnn_tanh", "aten::rnn_relu"}) {
    if (name.name == layer) return false;
  }
  return is_decomposable(op) && !is_core_operator(name);
}

bool expand_operator(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack& stack) {
  if (at::has_decomposition(op)) {
    at::decompose(op, stack);
    return true;
  }
  if (op.op().kernels != c10::Kernels::kComposite) return false;
  // The function that all backends share, which the keys of the thread do not keep from its calls.
  op.redispatchBoxed(keys & c10::kBackendKeys, &stack);
  return true;
}

PassResult decompose(Graph& graph, const std::function<bool(const c10::OperatorHandle&)>& wanted) {
  Decomposing decomposing(wanted);
  decomposing.block(graph.block());
  return decomposing.result();
}

}  // namespace torch::graph
