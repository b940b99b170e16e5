#include "graph/passes/decompose.h"

#include <map>
#include <optional>
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
#include "graph/passes/relayout.h"
#include "graph/passes/tensor_info.h"

namespace torch::graph {
namespace {

using c10::IValue;

// The arguments of a call on meta, each tensor bound to what stands for it. Throws ValueError that says what is
// missing.
class Arguments {
 public:
  explicit Arguments(Recorder& recorder) : recorder_(recorder) {}

  c10::Stack of(const Node& node) {
    c10::Stack stack;
    for (size_t i = 0; i < node.operands().size(); ++i) {
      stack.push_back(value(node.operand(i), node.callable().schema().arguments().at(i).type()));
    }
    return stack;
  }

 private:
  IValue tensor(const Operand& operand, const TensorInfo& info) {
    for (const auto* list : {&info.sizes, &info.strides}) {
      for (const IntExpr& e : *list) {
        TORCH_CHECK_VALUE(e.is_constant(), "an operand has the size ", e.str());
      }
    }
    const at::Tensor made = meta_tensor(info, {});
    recorder_.bind(made, operand);
    return made;
  }
  IValue value(const Operand& operand, const c10::TypePtr& wanted) {
    if (operand.is_value()) {
      const auto known = tensors_.find(operand.value());
      if (known != tensors_.end()) return known->second;
      TORCH_CHECK_VALUE(operand.value()->info() != nullptr, "nothing is known of an operand's sizes");
      return tensors_.emplace(operand.value(), tensor(operand, *operand.value()->info())).first->second;
    }
    if (operand.is_expr()) {
      TORCH_CHECK_VALUE(operand.expr().is_constant(), "an operand is ", operand.expr().str());
      return operand.expr().value();
    }
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
    if (constant.isTensor()) return tensor(operand, info_of(constant.toTensor()));
    if (constant.isTensorList() && !constant.toListRef().empty()) {
      const c10::impl::GenericList list(c10::TensorType::get());
      for (const IValue& part : constant.toListRef()) list.push_back(tensor(Operand(part), info_of(part.toTensor())));
      return list;
    }
    return constant;
  }

  Recorder& recorder_;
  std::map<const Value*, IValue> tensors_;
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
      Node* const before = node->previous();
      try {
        replace(node);
        ++result_.changes;
      } catch (const std::exception& error) {
        const auto* own = dynamic_cast<const c10::Error*>(&error);
        result_.notes.push_back(print_node(*node) + ": " + (own != nullptr ? own->msg() : error.what()));
        while (node->previous() != before) node->previous()->erase();
      }
    }
  }
  PassResult result() { return std::move(result_); }

 private:
  void replace(Node* node) {
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
    options.device = device_of(*node);
    Recorder recorder(node, std::move(options));
    c10::Stack stack = Arguments(recorder).of(*node);
    const c10::NoGradGuard no_grad;
    {
      const Recording on(recorder);
      node->callable().call(stack);
    }
    std::vector<Operand> results;
    for (const IValue& v : stack) results.push_back(recorder.operand(v));
    for (size_t i = 0; i < results.size(); ++i) {
      Value* const old = node->result(i);
      if (results[i].is_list()) {
        // A list that is a value for others.
        auto list = node->graph().make(Node::Kind::kList, results[i].list());
        Value* const whole = list->add_result(old->type());
        list.release()->move_before(node);
        results[i] = Operand(whole);
      }
      if (results[i].is_value() && stack[i].isTensor() && old->info() != nullptr) {
        // Views of it need the strides that the operator gives.
        if (results[i].value()->info() == nullptr) {
          TensorInfo info = info_of(stack[i].toTensor());
          info.device = old->info()->device;
          results[i].value()->set_info(std::move(info));
        }
        results[i] = Operand(with_strides(results[i].value(), *old->info(), node));
      }
      if (results[i].is_value()) {
        if (results[i].value()->name().empty()) results[i].value()->set_name(old->name());
        if (results[i].value()->info() == nullptr && old->info() != nullptr) results[i].value()->set_info(*old->info());
      }
      old->replace_all_uses_with(results[i]);
    }
    node->erase();
  }

  const std::function<bool(const c10::OperatorHandle&)>& wanted_;
  PassResult result_;
};

}  // namespace

bool is_decomposable(const c10::OperatorHandle& op) {
  return at::has_decomposition(op) || op.op().kernels == c10::Kernels::kComposite;
}

bool is_decomposed_to_core(const c10::OperatorHandle& op) {
  return is_decomposable(op) && !is_core_operator(op.operator_name());
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
