#include "export/capture/lifting.h"

#include <set>

#include "c10/util/exception.h"
#include "c10/value/list.h"
#include "graph/passes/tensor_info.h"

namespace torch::export_detail {
namespace {

using c10::IValue;
using graph::Block;
using graph::Node;
using graph::Operand;
using graph::Value;

std::string word(const std::string& text) {
  std::string made;
  for (const char c : text) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    made += good ? c : '_';
  }
  return made;
}

void collect_tensors(const IValue& v, std::vector<at::Tensor>& all) {
  if (v.isTensor()) {
    for (const at::Tensor& known : all) {
      if (known.unsafeGetTensorImpl() == v.toTensor().unsafeGetTensorImpl()) return;
    }
    all.push_back(v.toTensor());
  } else if (v.isList()) {
    for (const IValue& part : v.toListRef()) collect_tensors(part, all);
  }
}
void collect_tensors(const Operand& o, std::vector<at::Tensor>& all) {
  if (o.is_constant()) collect_tensors(o.constant(), all);
  if (!o.is_list()) return;
  for (const Operand& part : o.list()) collect_tensors(part, all);
}

template <class F>
void for_all(const Block& block, const F& f) {
  for (Node* node : block) {
    f(node);
    for (size_t i = 0; i < node->block_count(); ++i) for_all(node->block(i), f);
  }
  f(block.return_node());
}

using Inputs = std::map<const c10::TensorImpl*, Value*>;

bool holds_tensor(const IValue& v) {
  std::vector<at::Tensor> all;
  collect_tensors(v, all);
  return !all.empty();
}

// With tensors as inputs.
Operand replaced(const Operand& o, const Inputs& inputs) {
  std::vector<Operand> parts;
  if (o.is_list()) {
    for (const Operand& part : o.list()) parts.push_back(replaced(part, inputs));
    return parts;
  }
  if (!o.is_constant() || !holds_tensor(o.constant())) return o;
  if (o.constant().isTensor()) return inputs.at(o.constant().toTensor().unsafeGetTensorImpl());
  for (const IValue& part : o.constant().toListRef()) parts.push_back(replaced(Operand(part), inputs));
  return parts;
}

// Names of leaves: "x", "x_0", "x_1_0".
void leaf_names(const TreeSpec& spec, const std::string& name, std::vector<std::string>& out) {
  if (spec.kind == TreeSpec::Kind::kLeaf) return out.push_back(name);
  for (size_t i = 0; i < spec.children.size(); ++i) {
    const bool text = spec.kind == TreeSpec::Kind::kDict && spec.keys[i].isString();
    leaf_names(spec.children[i], name + "_" + (text ? word(spec.keys[i].toStringRef()) : std::to_string(i)), out);
  }
}

class Lifting {
 public:
  explicit Lifting(ExportedProgram& program) : program_(program) {}

  void run(const Lifted& lifted, const std::vector<StateTensor>& state, const TreeSpec& in_spec,
           const std::vector<IValue>& leaves, const std::map<std::pair<size_t, int64_t>, graph::IntExpr>& sizes) {
    const Block& from = lifted.graph->block();
    program_.graph = std::make_unique<graph::Graph>(lifted.graph->name());
    program_.graph->symbols() = lifted.graph->symbols();
    size_t next = 0;
    for (const StateTensor& one : state) stored(one, from.input(next++));
    std::vector<at::Tensor> constants;
    for_all(from, [&](const Node* node) {
      for (const Operand& o : node->operands()) collect_tensors(o, constants);
    });
    for (const at::Tensor& tensor : constants) constant(tensor);
    std::vector<std::string> names;
    for (size_t i = 0; i < in_spec.children.size(); ++i) {
      const bool named = i < lifted.argument_names.size();
      leaf_names(in_spec.children[i], named ? lifted.argument_names[i] : "args_" + std::to_string(i), names);
    }
    std::vector<size_t> places;  // of the graph's inputs in the program's
    for (size_t i = 0; i < next; ++i) places.push_back(i);
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!leaves[i].isTensor()) {
        InputSpec spec;
        spec.kind = InputSpec::Kind::kConstant;
        spec.value = leaves[i];
        input(spec, names[i], leaves[i].type());
        continue;
      }
      places.push_back(block().input_count());
      Value* const value = input(InputSpec(), names[i], c10::TensorType::get());
      const Value* old = from.input(next++);
      values_.emplace(old, Operand(value));
      TORCH_CHECK(old->info() != nullptr, "nothing is known of input ", i);
      graph::TensorInfo info = *old->info();
      for (size_t d = 0; d < info.sizes.size(); ++d) {
        const auto expr = sizes.find({i, static_cast<int64_t>(d)});
        if (expr != sizes.end()) info.sizes[d] = expr->second;
      }
      value->set_info(std::move(info));
    }
    block().set_outputs(graph::copy_nodes(from, block(), std::move(values_)));
    for_all(block(), [&](Node* node) {
      for (size_t i = 0; i < node->operands().size(); ++i) {
        std::vector<at::Tensor> any;
        collect_tensors(node->operand(i), any);
        if (!any.empty()) node->set_operand(i, replaced(node->operand(i), constants_));
      }
    });
    program_.signature.outputs.resize(block().outputs().size() - lifted.written.size());
    std::vector<size_t> written;
    for (const size_t i : lifted.written) written.push_back(places.at(i));
    add_mutations(program_, written);
  }

 private:
  Block& block() const { return program_.graph->block(); }

  Value* input(const InputSpec& spec, const std::string& name, const c10::TypePtr& type) {
    std::string unique = word(name);
    for (int64_t i = 1; !taken_.insert(unique).second; ++i) unique = word(name) + "_" + std::to_string(i);
    program_.signature.inputs.push_back(spec);
    return block().add_input(type, unique);
  }

  void stored(const StateTensor& one, const Value* old) {
    InputSpec spec;
    spec.kind = one.kind;
    spec.target = one.name;
    spec.persistent = one.persistent;
    (one.persistent ? program_.state_dict : program_.constants).emplace(one.name, one.tensor);
    Value* const value =
        input(spec, (one.kind == InputSpec::Kind::kParameter ? "p_" : "b_") + one.name, c10::TensorType::get());
    if (old->info() != nullptr) value->set_info(*old->info());
    values_.emplace(old, Operand(value));
  }

  void constant(const at::Tensor& tensor) {
    InputSpec spec;
    spec.kind = InputSpec::Kind::kConstantTensor;
    do {
      spec.target = "lifted_tensor_" + std::to_string(next_constant_++);
    } while (program_.constants.count(spec.target) > 0 || program_.state_dict.count(spec.target) > 0);
    program_.constants.emplace(spec.target, tensor);
    Value* const value = input(spec, "c_" + spec.target, c10::TensorType::get());
    value->set_info(graph::info_of(tensor));
    constants_.emplace(tensor.unsafeGetTensorImpl(), value);
  }

  ExportedProgram& program_;
  std::set<std::string> taken_;
  std::map<const Value*, Operand> values_;
  Inputs constants_;
  int64_t next_constant_ = 0;
};

}  // namespace

void lift(ExportedProgram& program, Lifted lifted, const std::vector<StateTensor>& state, const TreeSpec& in_spec,
          const std::vector<IValue>& leaves, const std::map<std::pair<size_t, int64_t>, graph::IntExpr>& sizes) {
  Lifting(program).run(lifted, state, in_spec, leaves, sizes);
}

void add_mutations(ExportedProgram& program, const std::vector<size_t>& written) {
  std::vector<OutputSpec> outputs;
  for (const size_t i : written) {
    const InputSpec& input = program.signature.inputs.at(i);
    switch (input.kind) {
      case InputSpec::Kind::kParameter:
        outputs.push_back({OutputSpec::Kind::kParameterMutation, input.target});
        break;
      case InputSpec::Kind::kBuffer:
        outputs.push_back({OutputSpec::Kind::kBufferMutation, input.target});
        break;
      case InputSpec::Kind::kUser:
        outputs.push_back({OutputSpec::Kind::kInputMutation, program.graph->block().input(i)->name()});
        break;
      default:
        TORCH_CHECK_VALUE(false, "the program writes to the constant '", input.target, "'");
    }
  }
  outputs.insert(outputs.end(), program.signature.outputs.begin(), program.signature.outputs.end());
  program.signature.outputs = std::move(outputs);
}

}  // namespace torch::export_detail
