#include <algorithm>
#include <set>

#include "c10/util/exception.h"
#include "examples/serve/loading.h"
#include "export/exported_program.h"
#include "export/onnx/onnx.h"
#include "export/pt2/pt2.h"
#include "graph/passes/effects.h"
#include "graph/passes/fold_batch_norm.h"

namespace serve {

using c10::IValue;
using torch::ExportedProgram;
using torch::InputSpec;
using torch::OutputSpec;
using torch::graph::Graph;
using torch::graph::Node;
using torch::graph::TensorInfo;
using torch::graph::Value;

namespace {

bool is_state(const OutputSpec& spec) {
  return spec.kind == OutputSpec::Kind::kBufferMutation || spec.kind == OutputSpec::Kind::kParameterMutation;
}
bool is_result(const OutputSpec& spec) {
  return !is_state(spec) && spec.kind != OutputSpec::Kind::kInputMutation;
}

// Whether a run writes to tensors that the program holds.
bool changes_state(const ExportedProgram& program) {
  if (std::any_of(program.signature.outputs.begin(), program.signature.outputs.end(), is_state)) return true;
  if (program.functional) return false;
  const torch::graph::AliasSets sets(*program.graph);
  for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
    const InputSpec::Kind kind = program.signature.inputs[i].kind;
    if (kind == InputSpec::Kind::kUser || kind == InputSpec::Kind::kConstant) continue;
    const int set = sets.of(program.graph->block().input(i));
    if (set != torch::graph::AliasSets::kNone && sets.is_written(set)) return true;
  }
  return sets.is_written(sets.of_constants());
}

// Of a value whose TensorInfo is known, or that is a number; false where neither is.
bool describe(const Value& value, TensorSpec& spec) {
  const auto number = [&](TensorSpec::Kind kind, c10::ScalarType dtype) {
    spec.kind = kind;
    spec.dtype = dtype;
    spec.sizes.emplace();
    return true;
  };
  if (const TensorInfo* info = value.info()) {
    spec.dtype = info->dtype;
    spec.sizes = info->sizes;
    return true;
  }
  switch (value.type()->kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return number(TensorSpec::Kind::kInt, c10::ScalarType::Long);
    case c10::TypeKind::FloatType:
    case c10::TypeKind::SymFloatType:
      return number(TensorSpec::Kind::kFloat, c10::ScalarType::Double);
    case c10::TypeKind::BoolType:
    case c10::TypeKind::SymBoolType:
      return number(TensorSpec::Kind::kBool, c10::ScalarType::Bool);
    default:
      return false;
  }
}

class ExportedModel final : public Model {
 public:
  ExportedModel(ExportedProgram program, const std::string& format, const std::string& path)
      : program_(std::move(program)) {
    info_.format = format;
    info_.path = path;
    info_.signature.symbols = program_.graph->symbols();
    read_inputs();
    const std::unique_ptr<Graph> known = with_sizes(*program_.graph);
    read_outputs(*known);
    info_.stateful = changes_state(program_);
    hide_weights(*known);
    info_.graph_svg = picture_of(*known);
    try_batches_of();
  }

  std::vector<NamedTensor> run(std::vector<at::Tensor> inputs) override {
    std::vector<IValue> row;
    size_t given = 0;
    for (const InputSpec& spec : program_.signature.inputs) {
      if (spec.kind == InputSpec::Kind::kConstant) row.push_back(spec.value);
      if (spec.kind == InputSpec::Kind::kUser) {
        row.push_back(argument_of(info_.signature.inputs.at(given), inputs.at(given)));
        ++given;
      }
    }
    return translated([&] {
      const std::vector<IValue> results = program_.run(std::move(row));
      std::vector<NamedTensor> outputs;
      for (size_t i = 0; i < results.size(); ++i) append_outputs(outputs, names_.at(i), results[i]);
      return outputs;
    });
  }

 private:
  void read_inputs() {
    const torch::graph::Block& block = program_.graph->block();
    std::set<std::string> taken;
    for (size_t i = 0; i < program_.signature.inputs.size(); ++i) {
      if (program_.signature.inputs[i].kind != InputSpec::Kind::kUser) continue;
      TensorSpec spec;
      spec.name = block.input(i)->name();
      if (spec.name.empty()) spec.name = "input_" + std::to_string(info_.signature.inputs.size());
      TORCH_CHECK_VALUE(taken.insert(spec.name).second, info_.path, ": two inputs have the name '", spec.name, "'");
      if (!describe(*block.input(i), spec)) {
        TORCH_CHECK_NOT_IMPLEMENTED(block.input(i)->type()->kind() == c10::TypeKind::TensorType, info_.path,
                                    ": input '", spec.name, "' is a ", block.input(i)->type()->annotation_str(),
                                    ", which requests have no form for");
      }
      info_.signature.inputs.push_back(std::move(spec));
    }
  }
  void read_outputs(const Graph& known) {
    info_.outputs_known = true;
    std::set<std::string> taken;
    for (size_t i = 0; i < program_.signature.outputs.size(); ++i) {
      const OutputSpec& output = program_.signature.outputs[i];
      if (!is_result(output)) continue;
      const torch::graph::Operand& operand = known.block().outputs()[i];
      TensorSpec spec;
      // ONNX names its outputs, torch.export the values.
      spec.name = output.kind == OutputSpec::Kind::kUser ? output.target : "";
      if (spec.name.empty() && operand.is_value()) spec.name = operand.value()->name();
      if (spec.name.empty() || taken.count(spec.name) > 0) spec.name = "output_" + std::to_string(names_.size());
      taken.insert(spec.name);
      names_.push_back(spec.name);
      const bool none = operand.is_constant() && operand.constant().isNone();
      if (operand.is_value() && !describe(*operand.value(), spec) &&
          operand.value()->type()->kind() != c10::TypeKind::TensorType) {
        info_.outputs_known = false;
      }
      if (!none) info_.outputs.push_back(std::move(spec));
    }
  }
  // Makes constants of them: a row of a hundred boxes would be most of the picture.
  void hide_weights(Graph& graph) const {
    for (size_t i = program_.signature.inputs.size(); i-- > 0;) {
      const InputSpec& spec = program_.signature.inputs[i];
      if (spec.kind == InputSpec::Kind::kUser) continue;
      IValue value = spec.value;
      for (const auto* tensors : {&program_.state_dict, &program_.constants}) {
        const auto found = tensors->find(spec.target);
        if (found != tensors->end()) value = found->second;
      }
      torch::graph::bind_input(graph, i, value);
    }
  }
  void try_batches_of() {
    if (info_.stateful) {
      info_.not_batched = "a run changes the model's buffers";
      return;
    }
    bool branches = false;
    program_.graph->for_nodes([&](const Node* node) {
      branches = branches || node->kind() == Node::Kind::kIf || node->kind() == Node::Kind::kLoop ||
                 node->kind() == Node::Kind::kWhile;
    });
    if (branches) {
      info_.not_batched = "control flow may depend on all rows";
      return;
    }
    try_batches(info_, [&](std::vector<at::Tensor> inputs) { return run(std::move(inputs)); });
  }

  ExportedProgram program_;
  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<Model> make_exported_model(const std::string& path, const std::string& program) {
  return std::make_unique<ExportedModel>(torch::load_exported(path, program), "torch.export (.pt2)", path);
}

std::unique_ptr<Model> make_onnx_model(const std::string& path) {
  return std::make_unique<ExportedModel>(torch::onnx::load(path), "ONNX", path);
}

}  // namespace serve
