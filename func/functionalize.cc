#include "func/functionalize.h"

#include <memory>

#include "aten/ops/copy/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/dispatch/registry.h"
#include "c10/util/exception.h"
#include "func/active_levels.h"
#include "graph/capture/capture.h"
#include "graph/capture/kept_generator.h"
#include "graph/interpreter/interpreter.h"
#include "graph/passes/effects.h"
#include "graph/passes/functionalize.h"
#include "graph/passes/shape_propagation.h"

namespace torch::func::detail {
namespace {

// Views by the operators that copy them.
void copy_views(graph::Graph& graph) {
  graph.for_nodes([&](graph::Node* node) {
    if (node->kind() != graph::Node::Kind::kCall || !graph::is_view(*node)) return;
    const c10::FunctionSchema& schema = node->callable().schema();
    const auto copy = c10::Dispatcher::singleton().findSchema({schema.name() + "_copy", schema.overload_name()});
    if (!copy.has_value()) return;
    const c10::ArrayRef<graph::Operand> operands = node->operands();
    graph::Node* const made = node->block()->append(graph.call(graph::Callable(*copy), {operands.begin(), operands.end()}));
    made->move_before(node);
    for (size_t i = 0; i < node->result_count(); ++i) {
      made->result(i)->set_name(node->result(i)->name());
      node->result(i)->replace_all_uses_with(made->result(i));
    }
    node->erase();
  });
}

}  // namespace

bool removes_views(const std::string& remove) {
  TORCH_CHECK(remove == "mutations" || remove == "mutations_and_views", "functionalize(f, remove): received invalid argument for remove=",
              remove, ". Valid options are: mutations, mutations_and_views");
  return remove == "mutations_and_views";
}

TensorList functionalized(const std::function<TensorList(const TensorList& inputs)>& function, const TensorList& inputs,
                          bool without_views) {
  const ActiveLevels levels;
  c10::Stack stack, copies;
  for (const at::Tensor& input : inputs) {
    stack.emplace_back(levels.physical(input));
    copies.emplace_back(at::clone(at::detach(stack.back().toTensor())));
  }
  std::unique_ptr<graph::Graph> program;
  {
    const c10::NoGradGuard no_grad;
    const graph::KeptGenerator kept;
    const auto traced = [&](const c10::Stack& in) {
      TensorList tensors;
      for (const c10::IValue& value : in) tensors.push_back(levels.batched(value.toTensor()));
      c10::Stack out;
      for (const at::Tensor& t : function(tensors)) out.emplace_back(levels.physical(t));
      return out;
    };
    program = graph::capture(traced, copies).graph;
  }
  graph::propagate_shapes(*program, stack);
  const graph::Functionalized functional = graph::functionalize(*program);
  if (without_views) copy_views(*functional.graph);
  c10::Stack values = stack;
  graph::Interpreter (*functional.graph)(values);
  TensorList outputs;
  const size_t written = functional.written_inputs.size();
  for (size_t i = written; i < values.size(); ++i) outputs.push_back(levels.batched(values[i].toTensor()));
  for (size_t i = 0; i < written; ++i) {
    at::Tensor input = inputs[functional.written_inputs[i]];
    at::copy_(input, levels.batched(values[i].toTensor()));
  }
  return outputs;
}

}  // namespace torch::func::detail
