#include "compile/training/training.h"

#include <algorithm>
#include <utility>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "autograd/function/custom_function.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/value/list.h"
#include "c10/value/object.h"
#include "graph/capture/joint.h"
#include "graph/passes/common_subexpressions.h"
#include "graph/passes/dead_code.h"
#include "graph/passes/effects.h"
#include "graph/passes/functionalize.h"
#include "graph/passes/shape_propagation.h"
#include "graph/passes/tensor_info.h"

namespace torch::compiler {
namespace {

using autograd::variable_list;
using c10::IValue;
using c10::Stack;
using graph::Graph;
using graph::Node;
using graph::Operand;
using graph::Value;

template <class F>
void for_tensors(const IValue& v, const F& f) {
  if (v.isTensor()) return f(v.toTensor());
  if (!v.isList() && !v.isTuple()) return;
  for (const IValue& part : v.isList() ? v.toListRef() : v.toTupleRef().elementsArrayRef()) for_tensors(part, f);
}

const void* storage_of(const at::Tensor& t) {
  return t.has_storage() ? t.storage().unsafeGetStorageImpl() : nullptr;
}

at::Tensor zeros_like_layout(const graph::TensorInfo& info) {
  std::vector<int64_t> sizes, strides;
  for (const graph::IntExpr& e : info.sizes) sizes.push_back(e.evaluate({}));
  for (const graph::IntExpr& e : info.strides) strides.push_back(e.evaluate({}));
  return at::empty_with_strides(sizes, strides, info.dtype, info.device);
}

}  // namespace

IValue TrainingExecutable::numbered(const IValue& result, std::vector<at::Tensor>& tensors) {
  if (result.isTensor()) {
    tensors.push_back(result.toTensor());
    return static_cast<int64_t>(tensors.size() - 1);
  }
  if (!result.isList() && !result.isTuple()) {
    TORCH_CHECK_VALUE(result.isNone(), "a result is a ", result.tag_name(), ", not a tensor");
    return result;
  }
  std::vector<IValue> parts;
  for (const IValue& part : result.isList() ? result.toListRef() : result.toTupleRef().elementsArrayRef()) {
    parts.push_back(numbered(part, tensors));
  }
  if (result.isTuple()) return c10::ivalue::Tuple::create(std::move(parts));
  return IValue(std::move(parts));
}
IValue TrainingExecutable::filled(const IValue& result, const std::vector<at::Tensor>& tensors) {
  if (result.isInt()) return tensors.at(static_cast<size_t>(result.toInt()));
  if (!result.isList() && !result.isTuple()) return result;
  std::vector<IValue> parts;
  for (const IValue& part : result.isList() ? result.toListRef() : result.toTupleRef().elementsArrayRef()) {
    parts.push_back(filled(part, tensors));
  }
  if (result.isTuple()) return c10::ivalue::Tuple::create(std::move(parts));
  const c10::impl::GenericList list(c10::TensorType::get());
  for (IValue& part : parts) list.push_back(std::move(part));
  return list;
}

TrainingExecutable::Recorded TrainingExecutable::record(const std::function<Stack(const Stack& inputs)>& program,
                                                        const Stack& inputs, const TrainingOptions& options) {
  Recorded made;
  auto run = c10::make_intrusive<TrainingExecutable>();
  // All that may want a gradient, each once, as graph::capture() has its inputs.
  std::vector<at::Tensor> tensors;
  const auto take = [&](const at::Tensor& t) {
    const bool known = std::any_of(tensors.begin(), tensors.end(), [&](const at::Tensor& o) { return o.is_same(t); });
    if (!known) tensors.push_back(t);
  };
  for (const auto& [name, tensor] : options.state) take(tensor);
  const size_t state_count = tensors.size();
  for (const IValue& v : inputs) for_tensors(v, take);

  std::vector<at::Tensor> outputs;
  graph::JointOptions capturing;
  capturing.name = "joint";
  capturing.state = options.state;
  capturing.max_constant_bytes = INT64_MAX;
  capturing.infos = true;
  capturing.retain_graph = true;
  // Also those that no gradient goes through: their parts may be fused.
  capturing.expand = [](const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack& stack) {
    if (op.op().kernels != c10::Kernels::kComposite) return false;
    op.redispatchBoxed(keys & c10::kBackendKeys, &stack);
    return true;
  };
  bool ran = false;
  graph::JointCapture captured;
  try {
    captured = graph::capture_joint(
        [&](const Stack& given) {
          made.results = program(given);
          ran = true;
          TORCH_CHECK_VALUE(made.results.size() == 1, "a program of ", made.results.size(), " results");
          run->result_ = numbered(made.results[0], outputs);
          for (const at::Tensor& output : outputs) {
            run->differentiable_.push_back(output.requires_grad());
            const bool is_input = std::any_of(tensors.begin(), tensors.end(), [&](const at::Tensor& t) {
              return output.requires_grad() && storage_of(t) == storage_of(output);
            });
            TORCH_CHECK_VALUE(!is_input, "a result shares memory with an argument");
          }
          return Stack(outputs.begin(), outputs.end());
        },
        inputs, capturing);
  } catch (const c10::Error& error) {
    if (!ran) throw;
    made.why = error.msg();
    return made;
  }

  const auto refuse = [&](std::string why) {
    made.why = std::move(why);
    return std::move(made);
  };
  if (!captured.notes.empty()) {
    return refuse("the program's steps depend on elements of tensors: " + captured.notes[0]);
  }
  std::unique_ptr<Graph> joint = std::move(captured.graph);
  made.state = captured.state;
  try {
    // The graph's inputs: state that is used, the arguments, the tangents.
    std::vector<at::Tensor> graph_inputs;
    for (size_t i = 0, k = 0; i < options.state.size() && k < made.state.size(); ++i) {
      if (options.state[i].first != made.state[k]) continue;
      graph_inputs.push_back(options.state[i].second);
      ++k;
    }
    for (size_t i = state_count; i < tensors.size(); ++i) graph_inputs.push_back(tensors[i]);
    const size_t tangents = captured.differentiated.size();
    TORCH_CHECK_VALUE(graph_inputs.size() + tangents == joint->block().input_count(),
                      "a program with inputs that are one");
    Stack examples(graph_inputs.begin(), graph_inputs.end());
    for (size_t i = graph_inputs.size(); i < joint->block().input_count(); ++i) {
      run->tangents_.push_back(*joint->block().input(i)->info());
      examples.emplace_back(graph::meta_tensor(run->tangents_.back(), {}));
    }

    graph::propagate_shapes(*joint, examples);
    bool writes = false;
    joint->for_nodes([&](const Node* node) { writes = writes || !graph::written_operands(*node).empty(); });
    if (writes) {
      graph::Functionalized functional = graph::functionalize(*joint);
      joint = std::move(functional.graph);
      run->written_ = std::move(functional.written_inputs);
      graph::propagate_shapes(*joint, examples);
    }
    graph::eliminate_common_subexpressions(*joint);
    graph::eliminate_dead_code(*joint);
    TrainingGraphs graphs = split_training(*joint, run->written_.size() + outputs.size(), tangents);
    for (const Saved& one : graphs.saved) {
      const bool written = one.is_input && std::count(run->written_.begin(), run->written_.end(), one.index) > 0;
      if (written) return refuse("the backward pass reads what the forward pass writes to");
    }
    run->saved_bytes_ = graphs.saved_bytes;
    run->unsplit_bytes_ = graphs.unsplit_bytes;
    run->saved_ = graphs.saved;
    run->outputs_ = outputs.size();
    run->inputs_of_gradients_ = captured.gradients;
    graph_inputs.resize(graphs.forward->block().input_count());
    run->forward_ = std::make_unique<Executable>(*graphs.forward, Stack(graph_inputs.begin(), graph_inputs.end()),
                                                 options.executable);
    run->backward_ = std::make_unique<Executable>(*graphs.backward, Stack(), options.executable);
  } catch (const c10::Error& error) {
    return refuse(error.msg());
  }
  made.run = std::move(run);
  return made;
}

// The node of the autograd graph.
struct TrainingFunction : autograd::Function<TrainingFunction> {
  static constexpr bool once_differentiable = true;

  static variable_list forward(autograd::AutogradContext* ctx, const variable_list& inputs,
                               const TrainingExecutable& run) {
    Stack stack(inputs.begin(), inputs.end());
    run.forward()(stack);
    variable_list outputs, saved, fixed;
    const size_t first = run.written_.size();
    for (size_t i = 0; i < first; ++i) {
      at::Tensor written = inputs[run.written_[i]];
      at::copy_(written, stack[i].toTensor());
    }
    for (size_t i = 0; i < run.outputs_; ++i) {
      outputs.push_back(stack[first + i].toTensor());
      if (!run.differentiable_[i]) fixed.push_back(outputs.back());
    }
    for (const Saved& one : run.saved_) {
      if (one.is_input) {
        saved.push_back(inputs.at(one.index));
      } else {
        saved.push_back(stack.at(one.index).toTensor());
      }
    }
    ctx->save_for_backward(std::move(saved));
    ctx->mark_non_differentiable(fixed);
    ctx->saved_data["run"] = IValue::make_capsule(
        c10::intrusive_ptr<c10::intrusive_ptr_target>::reclaim_copy(const_cast<TrainingExecutable*>(&run)));
    ctx->saved_data["inputs"] = static_cast<int64_t>(inputs.size());
    return outputs;
  }

  static variable_list backward(autograd::AutogradContext* ctx, variable_list gradients) {
    const auto capsule = ctx->saved_data.at("run").toCapsule();
    const auto& run = static_cast<const TrainingExecutable&>(*capsule);
    Stack stack;
    for (at::Tensor& t : ctx->get_saved_variables()) stack.emplace_back(std::move(t));
    size_t next = 0;
    for (size_t i = 0; i < run.outputs_; ++i) {
      if (!run.differentiable_[i]) continue;
      // In the layout that the backward pass was recorded with.
      const at::Tensor wanted = zeros_like_layout(run.tangents_[next++]);
      if (gradients[i].strides() == wanted.strides() && gradients[i].scalar_type() == wanted.scalar_type()) {
        stack.emplace_back(gradients[i]);
      } else {
        at::Tensor copied = wanted;
        stack.emplace_back(at::copy_(copied, gradients[i]));
      }
    }
    run.backward()(stack);
    // One for each argument of forward(), of which the last is no tensor.
    variable_list result(static_cast<size_t>(ctx->saved_data.at("inputs").toInt()) + 1);
    for (size_t i = 0; i < run.inputs_of_gradients_.size(); ++i) {
      result[run.inputs_of_gradients_[i]] = stack.at(i).toTensor();
    }
    return result;
  }
};

IValue TrainingExecutable::operator()(std::vector<at::Tensor> inputs) const {
  return filled(result_, TrainingFunction::apply(inputs, *this));
}

}  // namespace torch::compiler
