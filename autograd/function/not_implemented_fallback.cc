#include "autograd/function/not_implemented_fallback.h"

#include <vector>

#include "autograd/engine/autograd_meta.h"
#include "autograd/engine/record.h"
#include "autograd/function/basic_ops.h"
#include "c10/core/grad_mode.h"
#include "c10/core/thread_state.h"
#include "c10/dispatch/registry.h"
#include "c10/util/exception.h"

namespace torch::autograd {
namespace {

using c10::FunctionSchema;
using c10::IValue;

template <class F>
void for_each_tensor(const IValue& value, const F& each) {
  if (value.isTensor()) {
    each(value.toTensor());
  } else if (value.isList()) {
    for (const IValue& element : value.toListRef()) for_each_tensor(element, each);
  }
}

bool is_view_of(const c10::Argument& argument) { return argument.alias_info() != nullptr && !argument.is_write(); }

// The one relation of views that a call without a derivative may have.
void check_views(const std::string& name, const FunctionSchema& schema) {
  int64_t views = 0;
  for (const c10::Argument& result : schema.returns()) views += is_view_of(result);
  TORCH_CHECK(views <= 1, "Expected only a single output in the operator schema to have a non-write alias annotation "
              "(i.e., 'Tensor(a)'). Non-composite functions where multiple outputs are aliased with inputs aren't "
              "supported. Please rewrite your function as a composite function: ", name);
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    TORCH_CHECK(i == 0 || views == 0 || !is_view_of(schema.arguments()[i]),
                "Fallback registered for autograd can only create view relationships between the first input and the "
                "first output (the output can be a vector of tensors). Please change the order of your operator's "
                "parameters so that this is the case: ", name);
  }
}

// Undefined gradients, with a warning.
struct WarnNotImplemented : public Node {
  WarnNotImplemented(std::string forward_fn, edge_list&& next_edges)
      : Node(std::move(next_edges)), name(std::move(forward_fn)) {}
  variable_list apply(variable_list&&) override {
    TORCH_WARN_ONCE(name, ": an autograd kernel was not registered to the Autograd key(s) but we are trying to "
                    "backprop through it. The gradients of its arguments are undefined.");
    return variable_list(num_outputs());
  }
  std::string name;
};

template <class NodeType>
void record_not_implemented(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) {
  const FunctionSchema& schema = op.schema();
  const std::string name = op.operator_name().name;
  check_views(name, schema);
  const size_t first = stack->size() - schema.arguments().size();
  variable_list inputs;
  for (size_t i = first; i < stack->size(); ++i)
    for_each_tensor((*stack)[i], [&](const at::Tensor& t) { inputs.push_back(t); });
  const bool record = c10::GradMode::is_enabled() && requires_grad(inputs);
  c10::intrusive_ptr<NodeType> node;
  if (record) {
    for (size_t i = 0; i < schema.arguments().size(); ++i) {
      if (!schema.arguments()[i].is_write()) continue;
      for_each_tensor((*stack)[first + i], [](const at::Tensor& t) {
        if (requires_grad(static_cast<const at::TensorBase&>(t))) check_inplace(t, true);
      });
    }
    node = c10::make_intrusive<NodeType>(name, collect_next_edges(inputs));
  }
  {
    const c10::AutoDispatchBelowAutograd below;
    op.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
  }
  if (!record) return;
  const size_t results = stack->size() - schema.returns().size();
  for (size_t i = 0; i < schema.returns().size(); ++i) {
    const c10::Argument& result = schema.returns()[i];
    for_each_tensor((*stack)[results + i], [&](const at::Tensor& t) {
      if (!t.defined() || !is_differentiable_type(t.scalar_type())) return;
      const uint32_t number = node->add_input_metadata(t);
      if (result.is_write()) {
        rebase_history(t, node, number);
      } else {
        set_history(t, node, number);
        if (t.is_view()) t.unsafeGetTensorImpl()->set_creation_meta(c10::CreationMeta::kNotImplemented);
      }
    });
  }
}

}  // namespace

torch::CppFunction autogradNotImplementedFallback() {
  return torch::CppFunction::makeFromBoxedFunction<&record_not_implemented<NotImplemented>>();
}

torch::CppFunction basicAutogradNotImplementedFallback() {
  return torch::CppFunction::makeFromBoxedFunction<&record_not_implemented<WarnNotImplemented>>();
}

torch::CppFunction autogradNotImplementedInplaceOrViewFallback() { return torch::CppFunction::makeFallthrough(); }

}  // namespace torch::autograd
