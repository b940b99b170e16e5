#include "quantization/pt2e/program_parts.h"

#include <algorithm>

#include "c10/dispatch/registry.h"
#include "c10/util/exception.h"
#include "export/capture/lifting.h"
#include "graph/passes/dead_code.h"
#include "graph/passes/effects.h"
#include "graph/passes/functionalize.h"
#include "graph/passes/shape_propagation.h"

namespace torch::quantization {

using at::Tensor;
using graph::Node;
using graph::Operand;
using graph::Value;

ExportedProgram renewed(ExportedProgram&& program) {
  ExportedProgram fresh;
  fresh.graph = std::move(program.graph);
  fresh.signature = std::move(program.signature);
  fresh.state_dict = std::move(program.state_dict);
  fresh.constants = std::move(program.constants);
  fresh.in_spec = std::move(program.in_spec);
  fresh.out_spec = std::move(program.out_spec);
  fresh.example_inputs = std::move(program.example_inputs);
  fresh.argument_names = std::move(program.argument_names);
  fresh.guards = std::move(program.guards);
  fresh.opaque_sizes = std::move(program.opaque_sizes);
  fresh.modules = std::move(program.modules);
  fresh.functional = program.functional;
  return fresh;
}

ExportedProgram functional_program(ExportedProgram&& program) {
  bool writes = false;
  program.graph->for_nodes([&](const Node* node) { writes = writes || !graph::written_operands(*node).empty(); });
  graph::propagate_shapes(*program.graph);
  if (!writes) return renewed(std::move(program));
  graph::Functionalized made = graph::functionalize(*program.graph);
  ExportedProgram fresh = renewed(std::move(program));
  fresh.graph = std::move(made.graph);
  export_detail::add_mutations(fresh, made.written_inputs);
  fresh.functional = true;
  graph::propagate_shapes(*fresh.graph);
  return fresh;
}

namespace {

const InputSpec* spec_of(const ExportedProgram& program, const Value* value) {
  if (value->node() != nullptr || value->block() != &program.graph->block()) return nullptr;
  const InputSpec& spec = program.signature.inputs.at(value->index());
  switch (spec.kind) {
    case InputSpec::Kind::kParameter:
    case InputSpec::Kind::kBuffer:
    case InputSpec::Kind::kConstantTensor:
      return &spec;
    default:
      return nullptr;
  }
}

}  // namespace

const Tensor* state_of(const ExportedProgram& program, const Value* value) {
  const InputSpec* const spec = spec_of(program, value);
  if (spec == nullptr) return nullptr;
  for (const auto* tensors : {&program.state_dict, &program.constants}) {
    const auto found = tensors->find(spec->target);
    if (found != tensors->end()) return &found->second;
  }
  return nullptr;
}

const std::string& state_name(const ExportedProgram& program, const Value* value) {
  const InputSpec* const spec = spec_of(program, value);
  TORCH_CHECK_VALUE(spec != nullptr, "%", value->name(), " is no parameter, buffer or constant of the program");
  return spec->target;
}

std::optional<Tensor> known_tensor(const ExportedProgram& program, const Operand& operand) {
  if (operand.is_value()) {
    const Tensor* const state = state_of(program, operand.value());
    return state != nullptr ? std::optional<Tensor>(*state) : std::nullopt;
  }
  if (!operand.is_constant()) return std::nullopt;
  if (operand.constant().isNone()) return Tensor();
  return operand.constant().isTensor() ? std::optional<Tensor>(operand.constant().toTensor()) : std::nullopt;
}

std::set<std::string> used_state(const ExportedProgram& program) {
  std::set<std::string> names;
  for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
    const Value* const value = program.graph->block().input(i);
    if (spec_of(program, value) != nullptr && !value->uses().empty()) names.insert(state_name(program, value));
  }
  return names;
}

void drop_unused_state(ExportedProgram& program, const std::set<std::string>& names) {
  std::set<std::string> written;
  for (const OutputSpec& output : program.signature.outputs) written.insert(output.target);
  std::set<std::string> gone, kept;
  for (size_t i = program.signature.inputs.size(); i-- > 0;) {
    const Value* const value = program.graph->block().input(i);
    if (spec_of(program, value) == nullptr) continue;
    const std::string name = state_name(program, value);
    if (!value->uses().empty() || names.count(name) == 0 || written.count(name) > 0) {
      kept.insert(name);
      continue;
    }
    gone.insert(name);
    program.graph->block().erase_input(i);
    program.signature.inputs.erase(program.signature.inputs.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (const std::string& name : gone) {
    if (kept.count(name) > 0) continue;
    program.state_dict.erase(name);
    program.constants.erase(name);
  }
}

graph::Callable operator_named(std::string_view name) {
  const size_t dot = name.find('.');
  const auto op = c10::Dispatcher::singleton().findSchema(
      name.substr(0, dot), dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1));
  TORCH_CHECK_NOT_IMPLEMENTED(op.has_value(), "quantization: the operator ", name, " is not linked");
  return graph::Callable(*op);
}

Node* insert_call(Node* place, std::string_view name, std::vector<Operand> operands) {
  return insert_call(place, name, std::move(operands), {});
}

Node* insert_call(Node* place, std::string_view name, std::vector<Operand> operands,
                  const std::vector<std::pair<std::string_view, Operand>>& named) {
  const graph::Callable callable = operator_named(name);
  const auto& arguments = callable.schema().arguments();
  for (size_t i = operands.size(); i < arguments.size(); ++i) {
    const auto given =
        std::find_if(named.begin(), named.end(), [&](const auto& one) { return one.first == arguments[i].name(); });
    if (given != named.end()) {
      operands.push_back(given->second);
      continue;
    }
    TORCH_CHECK(arguments[i].default_value().has_value(), name, ": no operand for ", arguments[i].name());
    operands.emplace_back(*arguments[i].default_value());
  }
  auto made = place->graph().call(callable, std::move(operands));
  made->set_source(place->source());
  Node* const node = made.release();
  node->move_before(place);
  return node;
}

void replace_use(Node* user, const Value* from, Value* to) {
  for (size_t i = 0; i < user->operands().size(); ++i) {
    bool used = false;
    user->operand(i).for_values([&](const Value* value) { used = used || value == from; });
    if (used) user->set_operand(i, user->operand(i).with(from, Operand(to)));
  }
}

}  // namespace torch::quantization
