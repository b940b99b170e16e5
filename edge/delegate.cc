#include "edge/delegate.h"

#include <functional>
#include <utility>

#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "graph/passes/constant_folding.h"
#include "graph/passes/dead_code.h"
#include "graph/passes/effects.h"
#include "graph/passes/fold_batch_norm.h"
#include "graph/passes/functionalize.h"
#include "graph/passes/partition.h"
#include "graph/passes/shape_propagation.h"

namespace torch::edge {

using c10::IValue;
using graph::Graph;
using graph::Node;

struct DelegatedProgram::State {
  DelegateReport report;
  std::map<std::string, std::unique_ptr<CompiledPart>> parts;
  std::optional<graph::Interpreter> interpreter;
  std::vector<std::optional<IValue>> constants;  // one a user input: of those that are no inputs any more
};

namespace {

std::string name_of(const Node& node) {
  return node.kind() == Node::Kind::kCall ? toString(node.callable().schema().operator_name()) : "control flow";
}

// Weights in the places of the inputs that stand for them.
void bind_weights(const ExportedProgram& program, Graph& graph) {
  const auto stored = [&](const std::string& name) -> const at::Tensor& {
    const auto state = program.state_dict.find(name);
    if (state != program.state_dict.end()) return state->second;
    const auto constant = program.constants.find(name);
    TORCH_CHECK_INDEX(constant != program.constants.end(), "the program has no tensor '", name, "'");
    return constant->second;
  };
  for (size_t i = program.signature.inputs.size(); i-- > 0;) {
    const InputSpec& spec = program.signature.inputs[i];
    switch (spec.kind) {
      case InputSpec::Kind::kUser:
        break;
      case InputSpec::Kind::kConstant:
        graph::bind_input(graph, i, spec.value);
        break;
      default:
        graph::bind_input(graph, i, IValue(stored(spec.target).detach()));
    }
  }
}

void check_pure(const ExportedProgram& program) {
  for (const OutputSpec& spec : program.signature.outputs) {
    TORCH_CHECK_VALUE(spec.kind == OutputSpec::Kind::kUser, "delegates run programs for inference; this one changes '",
                      spec.target, "', or gives gradients");
  }
}

// No delegate runs calls that write: others take their places where the pass can find them.
std::unique_ptr<Graph> without_writes(std::unique_ptr<Graph> graph, std::vector<std::string>& notes) {
  const graph::AliasSets sets(*graph);
  for (size_t i = 0; i < graph->block().input_count(); ++i) {
    const int set = sets.of(graph->block().input(i));
    TORCH_CHECK_VALUE(set == graph::AliasSets::kNone || !sets.is_written(set),
                      "delegates run programs for inference; this one writes to '", graph->block().input(i)->name(),
                      "'");
  }
  try {
    return graph::functionalize(*graph).graph;
  } catch (const c10::ValueError& error) {
    notes.push_back("calls that write stay with the interpreter: " + error.msg());
    return graph;
  }
}

}  // namespace

std::string DelegateReport::text() const {
  std::string out;
  for (const std::string& note : notes) out += note + "\n";
  for (size_t i = 0; i < parts.size(); ++i) {
    out += "part " + std::to_string(i) + ": " + std::to_string(parts[i].nodes) + " nodes, " + parts[i].delegate + "\n";
  }
  for (const Left& one : left) {
    out += one.node + ": interpreter";
    for (const std::string& reason : one.reasons) out += "; " + reason;
    out += "\n";
  }
  return out;
}

DelegatedProgram::DelegatedProgram(const ExportedProgram& program, c10::ArrayRef<const Delegate*> delegates,
                                   const DelegateOptions& options)
    : state_(std::make_unique<State>()) {
  check_pure(program);
  for (const InputSpec& spec : program.signature.inputs) {
    if (spec.kind == InputSpec::Kind::kUser) state_->constants.emplace_back();
    if (spec.kind == InputSpec::Kind::kConstant) state_->constants.emplace_back(spec.value);
  }
  std::unique_ptr<Graph> graph = program.graph->clone();
  graph::propagate_shapes(*graph);
  if (!program.functional) graph = without_writes(std::move(graph), state_->report.notes);
  bind_weights(program, *graph);
  graph::propagate_shapes(*graph);
  graph::fold_batch_norm(*graph);
  graph::fold_constants(*graph);
  graph::eliminate_dead_code(*graph);
  graph::propagate_shapes(*graph);
  for (size_t d = 0; d < delegates.size(); ++d) {
    const Delegate& delegate = *delegates[d];
    const std::string name(delegate.name());
    const auto takes = [&](const Node& node) {
      return node.kind() == Node::Kind::kCall && delegate.why_not(node).empty();
    };
    std::vector<std::unique_ptr<Graph>> parts =
        graph::partition(*graph, takes, {.min_nodes = options.min_nodes, .name = name + "_" + std::to_string(d) + "_"});
    for (std::unique_ptr<Graph>& part : parts) {
      std::string own = part->name();
      state_->parts.emplace(std::move(own), delegate.compile(std::move(part)));
    }
  }
  for (const Node* node : graph->block()) {
    if (node->kind() == Node::Kind::kInvoke && state_->parts.count(node->name()) > 0) {
      const std::string& name = node->name();
      state_->report.parts.push_back({name.substr(0, name.find('_')), state_->parts.at(name)->nodes()});
      continue;
    }
    DelegateReport::Left left{name_of(*node), {}};
    for (const Delegate* delegate : delegates) {
      std::string why = node->kind() == Node::Kind::kCall ? delegate->why_not(*node) : "it is no call of an operator";
      if (why.empty()) why = "its part would be too small";
      left.reasons.push_back(std::string(delegate->name()) + ": " + why);
    }
    state_->report.left.push_back(std::move(left));
  }
  graph::Surroundings surroundings;
  surroundings.function = [state = state_.get()](const Node& node) -> std::function<void(c10::Stack&)> {
    CompiledPart* const part = state->parts.at(node.name()).get();
    return [part](c10::Stack& stack) { part->run(stack); };
  };
  state_->interpreter.emplace(*graph, surroundings);
}

DelegatedProgram::~DelegatedProgram() = default;
DelegatedProgram::DelegatedProgram(DelegatedProgram&&) noexcept = default;
DelegatedProgram& DelegatedProgram::operator=(DelegatedProgram&&) noexcept = default;
const DelegateReport& DelegatedProgram::report() const {
  return state_->report;
}
const Graph& DelegatedProgram::graph() const {
  return state_->interpreter->graph();
}

std::vector<IValue> DelegatedProgram::run(std::vector<IValue> inputs) const {
  TORCH_CHECK_VALUE(inputs.size() == state_->constants.size(), "expected ", state_->constants.size(),
                    " inputs, but got ", inputs.size());
  const c10::NoGradGuard no_grad;
  c10::Stack stack;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!state_->constants[i].has_value()) stack.push_back(std::move(inputs[i]));
  }
  (*state_->interpreter)(stack);
  return stack;
}

}  // namespace torch::edge
