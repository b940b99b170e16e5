#include "compile/training/training.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "autograd/autograd.h"
#include "autograd/function/custom_function.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/value/list.h"
#include "c10/value/object.h"
#include "graph/capture/capture.h"
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

// Numbers that stand beside tensors; larger tensors that nobody knows would be values of this one run.
constexpr size_t kNumberBytes = 16;

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
  return at::empty_with_strides(sizes, strides, info.dtype);
}

// The constants that are these tensors become values.
Operand with_values(const Operand& operand, const std::vector<at::Tensor>& tensors, const std::vector<Value*>& values) {
  if (operand.is_constant() && operand.constant().isTensor()) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (operand.constant().toTensor().is_same(tensors[i])) return Operand(values[i]);
    }
    return operand;
  }
  if (!operand.is_list()) return operand;
  std::vector<Operand> parts;
  for (const Operand& part : operand.list()) parts.push_back(with_values(part, tensors, values));
  return parts;
}

// The first constant that no forward operator was given, if there is one.
std::optional<at::Tensor> unknown_constant(const Operand& operand, const std::set<const void*>& known) {
  std::optional<at::Tensor> found;
  if (operand.is_constant()) {
    for_tensors(operand.constant(), [&](const at::Tensor& t) {
      if (t.nbytes() > kNumberBytes && known.count(storage_of(t)) == 0) found = t;
    });
  } else if (operand.is_list()) {
    for (const Operand& part : operand.list()) {
      if (!found.has_value()) found = unknown_constant(part, known);
    }
  }
  return found;
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

  std::set<const void*> known;
  bool in_forward = true;
  std::vector<at::Tensor> outputs, tangents, wanted;
  graph::CaptureOptions capturing;
  capturing.name = "joint";
  capturing.state = options.state;
  capturing.max_constant_bytes = INT64_MAX;
  capturing.expand = [&](const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack& stack) {
    if (in_forward) {
      for (const IValue& v : stack) {
        for_tensors(v, [&](const at::Tensor& t) { known.insert(storage_of(t)); });
      }
    }
    if (op.op().kernels != c10::Kernels::kComposite) return false;
    op.redispatchBoxed(keys & c10::kBackendKeys, &stack);
    return true;
  };
  bool ran = false;
  std::optional<graph::Captured> captured;
  try {
    captured = graph::capture(
        [&](const Stack& given) {
          made.results = program(given);
          ran = true;
          TORCH_CHECK_VALUE(made.results.size() == 1, "a program of ", made.results.size(), " results");
          in_forward = false;
          run->result_ = numbered(made.results[0], outputs);
          std::vector<at::Tensor> differentiated;
          for (const at::Tensor& output : outputs) {
            run->differentiable_.push_back(output.requires_grad());
            if (!output.requires_grad()) continue;
            const bool is_input = std::any_of(tensors.begin(), tensors.end(),
                                              [&](const at::Tensor& t) { return storage_of(t) == storage_of(output); });
            TORCH_CHECK_VALUE(!is_input, "a result shares memory with an argument");
            differentiated.push_back(output);
            run->tangents_.push_back(graph::info_of(output));
            tangents.push_back(zeros_like_layout(run->tangents_.back()));
            std::memset(tangents.back().data_ptr(), 0, tangents.back().storage().nbytes());
            known.insert(storage_of(tangents.back()));
          }
          TORCH_CHECK_VALUE(!differentiated.empty(), "no result wants a gradient");
          for (size_t i = 0; i < tensors.size(); ++i) {
            if (tensors[i].requires_grad()) wanted.push_back(tensors[i]);
          }
          const variable_list gradients = autograd::grad(differentiated, wanted, tangents, /*retain_graph=*/true,
                                                         /*create_graph=*/false, /*allow_unused=*/true);
          Stack all(outputs.begin(), outputs.end());
          for (const at::Tensor& gradient : gradients) all.emplace_back(gradient);
          return all;
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
  if (!captured->notes.empty()) {
    return refuse("the program's steps depend on elements of tensors: " + captured->notes[0]);
  }
  std::unique_ptr<Graph> joint = std::move(captured->graph);
  made.state = captured->state;
  try {
    // The graph's inputs: state that is used, the arguments, the tangents.
    Stack examples;
    std::vector<at::Tensor> graph_inputs;
    for (size_t i = 0, k = 0; i < options.state.size() && k < made.state.size(); ++i) {
      if (options.state[i].first != made.state[k]) continue;
      graph_inputs.push_back(options.state[i].second);
      ++k;
    }
    for (size_t i = state_count; i < tensors.size(); ++i) graph_inputs.push_back(tensors[i]);
    TORCH_CHECK_VALUE(graph_inputs.size() == joint->block().input_count(), "a program with inputs that are one");
    std::vector<Value*> values;
    for (size_t i = 0; i < tangents.size(); ++i) {
      values.push_back(joint->block().add_input(c10::TensorType::get(), "tangent" + std::to_string(i)));
      values.back()->set_info(run->tangents_[i]);
    }
    joint->for_nodes([&](Node* node) {
      for (size_t i = 0; i < node->operands().size(); ++i) {
        node->set_operand(i, with_values(node->operand(i), tangents, values));
      }
    });
    std::vector<Operand> results;
    for (const Operand& o : joint->block().outputs()) results.push_back(with_values(o, tangents, values));
    joint->block().set_outputs(std::move(results));
    for (const at::Tensor& t : graph_inputs) examples.emplace_back(t);
    for (const at::Tensor& t : tangents) examples.emplace_back(t);

    std::string unknown;
    joint->for_nodes([&](const Node* node) {
      for (const Operand& operand : node->operands()) {
        const std::optional<at::Tensor> t = unknown_constant(operand, known);
        if (t.has_value() && unknown.empty()) {
          unknown = c10::str("the backward pass reads a tensor of sizes ", t->sizes(), " in ",
                             node->callable().schema().name(), " that no operator gave");
        }
      }
    });
    if (!unknown.empty()) return refuse(unknown);

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
    TrainingGraphs graphs = split_training(*joint, run->written_.size() + outputs.size(), tangents.size());
    for (const Saved& one : graphs.saved) {
      const bool written = one.is_input && std::count(run->written_.begin(), run->written_.end(), one.index) > 0;
      if (written) return refuse("the backward pass reads what the forward pass writes to");
    }
    run->saved_bytes_ = graphs.saved_bytes;
    run->unsplit_bytes_ = graphs.unsplit_bytes;
    run->saved_ = graphs.saved;
    run->outputs_ = outputs.size();
    const graph::Block& backward = graphs.backward->block();
    size_t next = 0;
    for (const at::Tensor& t : wanted) {
      const auto at =
          std::find_if(graph_inputs.begin(), graph_inputs.end(), [&](const at::Tensor& o) { return o.is_same(t); });
      const Operand& gradient = backward.outputs()[next++];
      if (at == graph_inputs.end() || (gradient.is_constant() && gradient.constant().isNone())) continue;
      run->inputs_of_gradients_.push_back(static_cast<size_t>(at - graph_inputs.begin()));
      run->gradients_.push_back(next - 1);
    }
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
    for (size_t i = 0; i < run.gradients_.size(); ++i) {
      result[run.inputs_of_gradients_[i]] = stack.at(run.gradients_[i]).toTensor();
    }
    return result;
  }
};

IValue TrainingExecutable::operator()(std::vector<at::Tensor> inputs) const {
  return filled(result_, TrainingFunction::apply(inputs, *this));
}

}  // namespace torch::compiler
