#include "graph/capture/joint.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "autograd/autograd.h"
#include "autograd/engine/multithreading.h"
#include "c10/core/grad_mode.h"
#include "c10/core/thread_state.h"
#include "c10/util/exception.h"
#include "graph/capture/capturing.h"

namespace torch::graph {
namespace {

using c10::DispatchKey;
using c10::IValue;

bool requires_grad(const IValue& v) {
  bool any = false;
  for_tensors(v, [&](const at::Tensor& t) { any = any || t.requires_grad(); });
  return any;
}

// Made of other operators where a gradient is recorded: for all backends, or beside a kernel of the CPU.
bool is_composed(const c10::OperatorBase& op) {
  if (op.kernels == c10::Kernels::kComposite) return true;
  const c10::detail::ErasedFunction records = c10::detail::get_function(op, DispatchKey::Autograd);
  return op.kernels == c10::Kernels::kAny && records != nullptr &&
         records == c10::detail::get_function(op, DispatchKey::CompositeExplicitAutograd);
}

// The operator that gives what one that writes to its first argument leaves there.
std::optional<c10::OperatorHandle> functional_form(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  std::string name = schema.name();
  // What is copied in keeps nothing of what was there; the others change what their tensor is, or fill it.
  for (const char* other : {"aten::copy_", "aten::fill_", "aten::zero_", "aten::detach_", "aten::requires_grad_"}) {
    if (name == other) return std::nullopt;
  }
  const auto* alias = schema.arguments().empty() ? nullptr : schema.arguments()[0].alias_info();
  if (name.back() != '_' || alias == nullptr || !alias->isWrite() || schema.returns().size() != 1) return std::nullopt;
  for (const at::Tag tag : op.getTags()) {
    if (tag == at::Tag::inplace_view) return std::nullopt;
  }
  name.pop_back();
  const auto found = c10::Dispatcher::singleton().findSchema(name, schema.overload_name());
  if (!found.has_value() || found->schema().is_mutable()) return std::nullopt;
  const auto &own = schema.arguments(), &theirs = found->schema().arguments();
  const bool alike = std::equal(own.begin(), own.end(), theirs.begin(), theirs.end(), [](const auto& a, const auto& b) {
    return a.name() == b.name() && a.type()->equals(*b.type());
  });
  return alike ? found : std::nullopt;
}

// Where a gradient is recorded: composed operators as what they are made of, and calls in place as a call of a copy
// that is copied back, since the derivatives of those keep what was there before, which no operator gave.
bool expand_composed(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack& stack) {
  if (!c10::GradMode::is_enabled() || std::none_of(stack.begin(), stack.end(), requires_grad)) return false;
  if (is_composed(op.op())) {
    op.redispatchBoxed(keys.remove(DispatchKey::Tracer), &stack);
    return true;
  }
  const std::optional<c10::OperatorHandle> functional = functional_form(op);
  if (!functional.has_value()) return false;
  at::Tensor self = stack[0].toTensor();
  stack[0] = at::clone(self);
  functional->callBoxed(stack);
  at::copy_(self, stack[0].toTensor());
  stack = {self};
  return true;
}

std::vector<size_t> differentiated_outputs(const c10::Stack& outputs, const JointOptions& options) {
  std::vector<size_t> all = options.outputs;
  for (size_t i = 0; options.outputs.empty() && i < outputs.size(); ++i) {
    if (outputs[i].isTensor() && outputs[i].toTensor().requires_grad()) all.push_back(i);
  }
  TORCH_CHECK_VALUE(!all.empty(), "none of the program's ", outputs.size(), " outputs requires a gradient");
  for (const size_t i : all) {
    TORCH_CHECK_VALUE(i < outputs.size(), "output ", i, " of a program with ", outputs.size());
    TORCH_CHECK_VALUE(outputs[i].isTensor() && outputs[i].toTensor().requires_grad(), "output ", i,
                      " of the program is not a tensor that requires a gradient");
    TORCH_CHECK_VALUE(!options.unit_gradients || outputs[i].toTensor().numel() == 1, "output ", i,
                      " of the program has sizes ", outputs[i].toTensor().sizes(),
                      "; only the gradient of one element can be left out");
  }
  return all;
}

}  // namespace

JointCapture capture_joint(const std::function<c10::Stack(const c10::Stack& inputs)>& program, c10::Stack inputs,
                           const JointOptions& options) {
  CaptureOptions own = options;
  own.expand = [&](const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack& stack) {
    return (options.expand && options.expand(op, keys, stack)) || expand_composed(op, keys, stack);
  };
  JointCapture joint;
  Capturing capturing(own, inputs);
  std::vector<std::pair<at::Tensor, Value*>> wanted;
  for (const auto& input : capturing.inputs()) {
    if (input.first.requires_grad()) wanted.push_back(input);
  }
  TORCH_CHECK_VALUE(!wanted.empty(), "no input of the program requires a gradient");
  c10::Stack outputs;
  std::vector<Value*> sources;
  {
    const Recording on(capturing.recorder());
    outputs = program(inputs);
    joint.outputs = outputs.size();
    joint.differentiated = differentiated_outputs(outputs, options);
    std::vector<at::Tensor> from, given, to;
    for (const size_t i : joint.differentiated) {
      from.push_back(outputs[i].toTensor());
      // Known before the formulas, so that they are no tensors from nowhere.
      capturing.recorder().operand(outputs[i]);
      if (options.unit_gradients) continue;
      const c10::ExcludeDispatchKeyGuard unrecorded{c10::DispatchKeySet(DispatchKey::Tracer)};
      given.push_back(at::ones_like(from.back().detach()));
      capturing.bind(given.back(), "gradient_" + std::to_string(i));
    }
    for (const auto& [tensor, value] : wanted) to.push_back(tensor);
    capturing.refuse_constants("a derivative keeps, as it does of control flow, what no recorded operator gave:");
    // The recording is this thread's.
    const autograd::MultithreadingGuard in_this_thread(false);
    const std::vector<at::Tensor> gradients = torch::autograd::grad(from, to, given, options.retain_graph,
                                                                    /*create_graph=*/false, /*allow_unused=*/true);
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined()) continue;
      outputs.emplace_back(gradients[i]);
      sources.push_back(wanted[i].second);
    }
  }
  Captured captured = capturing.finish(outputs);
  // Inputs that nothing uses are gone, and have no gradient.
  for (const Value* value : sources) joint.gradients.push_back(value->index());
  joint.graph = std::move(captured.graph);
  joint.state = std::move(captured.state);
  joint.notes = std::move(captured.notes);
  return joint;
}

}  // namespace torch::graph
