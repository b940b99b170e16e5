#include "export/onnx/exporter.h"

#include <algorithm>
#include <cstring>

#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/value/list.h"
#include "export/onnx/inner_graph.h"
#include "export/onnx/tensors.h"
#include "graph/ir/text.h"

namespace torch::onnx {

using c10::IValue;
using c10::ScalarType;
using graph::Block;
using graph::IntExpr;
using graph::Node;
using graph::Operand;
using graph::Value;
using ::onnx::AttributeProto;
using ::onnx::TensorProto;

int64_t number_of(ScalarType dtype) {
  for (int64_t number = 1; number <= 24; ++number) {
    if (dtype_of(number) == dtype) return number;
  }
  throw Unsupported{c10::str("ONNX has no tensors of dtype ", dtype)};
}

const Operand& plain(const Operand& operand) {
  const Node* node = operand.is_value() ? operand.value()->node() : nullptr;
  return node != nullptr && node->calls("torch::wrapped_number") ? node->operand(0) : operand;
}

const Form* form_of(std::string_view name) {
  static const auto* const all = [] {
    auto* forms = new std::map<std::string_view, const Form*>;
    for (const auto& family : {math_forms(), reduction_forms(), shape_forms(), network_forms(), recurrent_forms()}) {
      for (const Form& form : family) forms->emplace(form.name, &form);
    }
    return forms;
  }();
  const auto found = all->find(name);
  return found == all->end() ? nullptr : found->second;
}

namespace {

std::string name_of(const Node& node) {
  const c10::FunctionSchema& schema = node.callable().schema();
  return schema.overload_name().empty() ? schema.name() : schema.name() + "." + schema.overload_name();
}

}  // namespace

Exporter::Exporter(const ExportedProgram& program, const Options& options, ::onnx::ModelProto& model)
    : program_(program), options_(options), model_(model), graph_(model.mutable_graph()), sizes_(1) {}
Exporter::~Exporter() = default;

std::string Exporter::fresh(const std::string& base) {
  std::string name = base;
  for (int64_t& i = next_[base]; !taken_.insert(name).second;) name = base + "_" + std::to_string(++i);
  return name;
}

// --- nodes ---

::onnx::NodeProto& Exporter::add_node(const char* op, const Names& inputs, const Names& outputs) {
  ::onnx::NodeProto& node = *graph_->add_node();
  node.set_op_type(op);
  node.set_name("node_" + (outputs.empty() ? std::string(op) : outputs[0]));
  for (const Name& name : inputs) node.add_input(name);
  for (const Name& name : outputs) node.add_output(name);
  return node;
}

Names Exporter::nodes(const char* op, const Names& inputs, const Attributes& attributes, size_t outputs) {
  Names made;
  std::string base = op;
  std::transform(base.begin(), base.end(), base.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  for (size_t i = 0; i < outputs; ++i) made.push_back(fresh(base));
  Names given = inputs;
  while (!given.empty() && given.back().empty()) given.pop_back();
  ::onnx::NodeProto& node = add_node(op, given, made);
  for (const Attribute& one : attributes) {
    AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(one.name);
    if (const auto* whole = std::get_if<int64_t>(&one.value)) {
      attribute.set_type(AttributeProto::INT);
      attribute.set_i(*whole);
    } else if (const auto* real = std::get_if<double>(&one.value)) {
      attribute.set_type(AttributeProto::FLOAT);
      attribute.set_f(static_cast<float>(*real));
    } else if (const auto* text = std::get_if<std::string>(&one.value)) {
      attribute.set_type(AttributeProto::STRING);
      attribute.set_s(*text);
    } else {
      attribute.set_type(AttributeProto::INTS);
      for (const int64_t v : std::get<std::vector<int64_t>>(one.value)) attribute.add_ints(v);
    }
  }
  return made;
}

Names Exporter::inlined(const Block& block, const Names& inputs) {
  for (size_t i = 0; i < block.input_count(); ++i) define(block.input(i), inputs.at(i));
  for (const Node* node : block) one(*node);
  Names outputs;
  for (const Operand& output : block.outputs()) outputs.push_back(tensor(output));
  return outputs;
}

// --- constants ---

Name Exporter::constant(const at::Tensor& tensor) {
  const c10::NoGradGuard no_grad;
  const at::Tensor plain = at::clone(tensor.detach(), c10::MemoryFormat::Contiguous);
  std::string key = c10::str(plain.scalar_type(), plain.sizes(), " ");
  const bool small = plain.nbytes() <= 1024;
  if (small) key.append(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes());
  if (small) {
    const auto known = constants_.find(key);
    if (known != constants_.end()) return known->second;
  }
  const Name name = fresh("constant");
  TensorProto& initializer = *model_.mutable_graph()->add_initializer();
  initializer.set_name(name);
  initializer.set_data_type(static_cast<int>(number_of(plain.scalar_type())));
  for (const int64_t size : plain.sizes()) initializer.add_dims(size);
  weights_.push_back(plain);
  if (small) constants_.emplace(std::move(key), name);
  return name;
}
Name Exporter::ints(const std::vector<int64_t>& values) {
  const at::Tensor t = at::empty({static_cast<int64_t>(values.size())}, at::kLong);
  std::copy(values.begin(), values.end(), t.mutable_data_ptr<int64_t>());
  return constant(t);
}
Name Exporter::scalar(const IValue& value, ScalarType dtype) {
  supported(value.isScalar(), "a ", value.tagKind(), " is no number");
  return constant(at::full(at::IntArrayRef(), value.toScalar(), at::TensorOptions().dtype(dtype)));
}
Name Exporter::cast(const Name& x, ScalarType from, ScalarType to) {
  if (from == to) return x;
  return node("Cast", {x}, {{"to", number_of(to)}});
}

// --- values ---

Name Exporter::tensor(const Operand& given) {
  const Operand& operand = plain(given);
  if (operand.is_value()) {
    const auto found = names_.find(operand.value());
    supported(found != names_.end() && !found->second.empty(), "one of its tensors was not written");
    return found->second;
  }
  if (operand.is_expr()) return node("Squeeze", {size(operand.expr()), ints({0})});
  supported(operand.is_constant(), "it takes a list as a tensor");
  const IValue& v = operand.constant();
  if (v.isTensor()) return constant(v.toTensor());
  if (v.isBool()) return scalar(v, ScalarType::Bool);
  supported(v.isInt() || v.isDouble(), "it takes a ", v.tagKind(), " as a tensor");
  return scalar(v, v.isInt() ? ScalarType::Long : ScalarType::Float);
}
Names Exporter::tensors(const Operand& list) {
  Names all;
  if (list.is_value()) {
    const auto found = lists_.find(list.value());
    supported(found != lists_.end(), "it takes a list whose parts are not known");
    return found->second;
  }
  if (list.is_list()) {
    for (const Operand& part : list.list()) all.push_back(tensor(part));
    return all;
  }
  supported(list.constant().isList(), "it takes no list");
  for (const IValue& part : list.constant().toListRef()) all.push_back(tensor(Operand(part)));
  return all;
}

Name Exporter::number(const Operand& operand) {
  if (operand.is_expr()) return size(operand.expr());
  if (operand.is_constant()) {
    supported(operand.constant().isInt(), "it takes a ", operand.constant().tagKind(), " as a whole number");
    return ints({operand.constant().toInt()});
  }
  supported(operand.is_value(), "it takes a list as a number");
  if (operand.value()->expr() != nullptr && names_.count(operand.value()) == 0) return size(*operand.value()->expr());
  const bool is_tensor = operand.value()->type()->kind() == c10::TypeKind::TensorType;
  return is_tensor ? node("Reshape", {tensor(operand), ints({1})}) : tensor(operand);
}
Name Exporter::numbers(const Operand& list) {
  std::vector<Operand> parts;
  if (list.is_list()) {
    parts = list.list();
  } else {
    supported(list.is_constant() && list.constant().isList(), "it takes numbers that are not known");
    for (const IValue& v : list.constant().toListRef()) parts.emplace_back(v);
  }
  // Neighbours that are known are one constant.
  Names pieces;
  std::vector<int64_t> known;
  const auto flush = [&] {
    if (!known.empty()) pieces.push_back(ints(known));
    known.clear();
  };
  for (const Operand& part : parts) {
    if (part.is_constant() && part.constant().isInt()) {
      known.push_back(part.constant().toInt());
    } else if (part.is_expr() && part.expr().is_constant()) {
      known.push_back(part.expr().value());
    } else {
      flush();
      pieces.push_back(number(part));
    }
  }
  if (pieces.empty()) return ints(known);
  flush();
  return pieces.size() == 1 ? pieces[0] : node("Concat", pieces, {{"axis", int64_t{0}}});
}

Name Exporter::size(const IntExpr& e) {
  if (e.is_constant()) return ints({e.value()});
  for (const auto& known : sizes_) {
    const auto found = known.find(e);
    if (found != known.end()) return found->second;
  }
  const auto joined = [&](const char* op) {
    Name all = size(e.operands()[0]);
    for (size_t i = 1; i < e.operands().size(); ++i) all = node(op, {all, size(e.operands()[i])});
    return all;
  };
  Name made;
  switch (e.kind()) {
    case IntExpr::Kind::kSum:
      made = joined("Add");
      break;
    case IntExpr::Kind::kProduct:
      made = joined("Mul");
      break;
    case IntExpr::Kind::kMin:
      made = joined("Min");
      break;
    case IntExpr::Kind::kMax:
      made = joined("Max");
      break;
    case IntExpr::Kind::kMod:
      made = joined("Mod");
      break;
    case IntExpr::Kind::kFloorDiv: {
      const Name a = size(e.operands()[0]), b = size(e.operands()[1]);
      made = node("Div", {node("Sub", {a, node("Mod", {a, b})}), b});
      break;
    }
    default:
      supported(false, "a size is ", e.str(), ", which no input has");
  }
  sizes_.back().emplace(e, made);
  return made;
}

// --- one node ---

void Exporter::no_form(const Node& node, const std::string& why) {
  const std::string name = node.kind() == Node::Kind::kCall ? name_of(node) : graph::print_node(node);
  missing_.emplace(name, why);
}

void Exporter::one(const Node& node) {
  try {
    switch (node.kind()) {
      case Node::Kind::kCall: {
        if (node.calls("torch::wrapped_number")) return;
        const Form* form = form_of(name_of(node));
        supported(form != nullptr, "");
        return form->write(Call(*this, node, form->target));
      }
      case Node::Kind::kList:
      case Node::Kind::kTuple: {
        Names parts;
        for (const Operand& part : node.operands()) parts.push_back(tensor(part));
        return define_list(node.result(), std::move(parts));
      }
      case Node::Kind::kUnpack: {
        const Names parts = tensors(node.operand(0));
        supported(parts.size() == node.result_count(), "a list has ", parts.size(), " parts");
        for (size_t i = 0; i < parts.size(); ++i) define(node.result(i), parts[i]);
        return;
      }
      default:
        return control(node);
    }
  } catch (const Unsupported& why) {
    no_form(node, why.why);
    // So that what uses it is looked at, too.
    for (size_t i = 0; i < node.result_count(); ++i) {
      define(node.result(i), "missing");
      Names parts;
      for (const graph::Use& use : node.result(i)->uses()) {
        if (use.node->kind() == Node::Kind::kUnpack) parts.assign(use.node->result_count(), "missing");
      }
      define_list(node.result(i), std::move(parts));
    }
  }
}

// --- the model ---

void Exporter::info(::onnx::ValueInfoProto& to, const Name& name, const graph::TensorInfo& about) {
  to.set_name(name);
  auto& type = *to.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<int>(number_of(about.dtype)));
  const auto named = options_.dynamic_axes.find(name);
  type.mutable_shape();
  for (size_t d = 0; d < about.sizes.size(); ++d) {
    auto& dim = *type.mutable_shape()->add_dim();
    if (about.sizes[d].is_constant()) {
      dim.set_dim_value(about.sizes[d].value());
      continue;
    }
    dim.set_dim_param(about.sizes[d].str());
    if (named == options_.dynamic_axes.end()) continue;
    const auto own = named->second.find(static_cast<int64_t>(d));
    if (own != named->second.end()) dim.set_dim_param(own->second);
  }
}

void Exporter::inputs() {
  const Block& block = program_.graph->block();
  size_t user = 0;
  for (size_t i = 0; i < block.input_count(); ++i) {
    const InputSpec& spec = program_.signature.inputs[i];
    const Value* value = block.input(i);
    switch (spec.kind) {
      case InputSpec::Kind::kUser: {
        TORCH_CHECK_VALUE(value->info() != nullptr, "onnx::export_: nothing is known of input ", user);
        const bool named = user < options_.input_names.size();
        const std::string& wanted = named ? options_.input_names[user] : value->name();
        TORCH_CHECK_VALUE(!wanted.empty() && (!named || taken_.count(wanted) == 0), "onnx::export_: input ", user,
                          " cannot have the name '", wanted, "'");
        ++user;
        const Name name = fresh(wanted);
        define(value, name);
        info(*model_.mutable_graph()->add_input(), name, *value->info());
        for (size_t d = 0; d < value->info()->sizes.size(); ++d) {
          const IntExpr& size = value->info()->sizes[d];
          if (size.kind() != IntExpr::Kind::kSymbol || sizes_[0].count(size) > 0) continue;
          const auto at = static_cast<int64_t>(d);
          sizes_[0].emplace(size, node("Shape", {name}, {{"start", at}, {"end", at + 1}}));
        }
        break;
      }
      case InputSpec::Kind::kConstant:
        break;
      default: {
        if (value->uses().empty()) break;
        const auto state = program_.state_dict.find(spec.target);
        const at::Tensor& tensor =
            state != program_.state_dict.end() ? state->second : program_.constants.at(spec.target);
        const c10::NoGradGuard no_grad;
        weights_.push_back(tensor.detach().cpu().contiguous());
        const Name name = fresh(spec.target);
        TensorProto& initializer = *model_.mutable_graph()->add_initializer();
        initializer.set_name(name);
        initializer.set_data_type(static_cast<int>(number_of(tensor.scalar_type())));
        for (const int64_t size : tensor.sizes()) initializer.add_dims(size);
        define(value, name);
      }
    }
  }
  TORCH_CHECK_VALUE(options_.input_names.size() <= user, "onnx::export_: ", options_.input_names.size(), " names for ",
                    user, " inputs");
}

void Exporter::outputs() {
  const Block& block = program_.graph->block();
  TORCH_CHECK_VALUE(options_.output_names.size() <= block.outputs().size(),
                    "onnx::export_: ", options_.output_names.size(), " names for ", block.outputs().size(), " outputs");
  for (size_t i = 0; i < block.outputs().size(); ++i) {
    const bool named = i < options_.output_names.size();
    const std::string wanted = named ? options_.output_names[i] : "output_" + std::to_string(i);
    TORCH_CHECK_VALUE(!wanted.empty() && (!named || taken_.count(wanted) == 0), "onnx::export_: output ", i,
                      " cannot have the name '", wanted, "'");
    const Operand& output = block.outputs()[i];
    if (output.is_constant() && output.constant().isNone()) continue;
    try {
      const Name from = tensor(output);
      const Name name = fresh(wanted);
      add_node("Identity", {from}, {name});
      graph::TensorInfo about;
      about.dtype = ScalarType::Long;
      if (output.is_value()) {
        TORCH_CHECK_VALUE(output.value()->info() != nullptr ||
                              output.value()->type()->kind() != c10::TypeKind::TensorType || !missing_.empty(),
                          "onnx::export_: nothing is known of output ", i);
        if (output.value()->info() != nullptr) about = *output.value()->info();
      } else if (output.is_constant() && output.constant().isTensor()) {
        about.dtype = output.constant().toTensor().scalar_type();
        for (const int64_t size : output.constant().toTensor().sizes()) about.sizes.emplace_back(size);
      } else if (output.is_constant()) {
        about.dtype = output.constant().isDouble() ? ScalarType::Float
                      : output.constant().isBool() ? ScalarType::Bool
                                                   : ScalarType::Long;
      }
      info(*model_.mutable_graph()->add_output(), name, about);
    } catch (const Unsupported& why) {
      missing_.emplace("output " + std::to_string(i), why.why);
    }
  }
}

void Exporter::run() {
  // Names that the caller gives are theirs.
  model_.mutable_graph()->set_name(program_.graph->name());
  inputs();
  for (const std::string& name : options_.output_names) {
    TORCH_CHECK_VALUE(taken_.count(name) == 0, "onnx::export_: the name '", name, "' is an input's or a weight's");
  }
  std::set<std::string> reserved(options_.output_names.begin(), options_.output_names.end());
  TORCH_CHECK_VALUE(reserved.size() == options_.output_names.size(), "onnx::export_: two outputs of one name");
  for (const std::string& name : reserved) next_.emplace(name, 0), taken_.insert(name);
  for (const Node* node : program_.graph->block()) one(*node);
  for (const std::string& name : reserved) taken_.erase(name);
  outputs();
  std::string list;
  for (const auto& [name, why] : missing_) list += "\n  " + name + (why.empty() ? "" : ": " + why);
  TORCH_CHECK_NOT_IMPLEMENTED(missing_.empty(), "onnx::export_: there is no form in ONNX for", list);
  for (const auto& [name, axes] : options_.dynamic_axes) {
    const ::onnx::ValueInfoProto* found = nullptr;
    for (const auto& one : model_.graph().input()) found = one.name() == name ? &one : found;
    for (const auto& one : model_.graph().output()) found = one.name() == name ? &one : found;
    TORCH_CHECK_VALUE(found != nullptr, "onnx::export_: dynamic_axes name '", name, "', which is no input or output");
    for (const auto& [dim, text] : axes) {
      const auto& shape = found->type().tensor_type().shape();
      TORCH_CHECK_VALUE(
          dim >= 0 && dim < shape.dim_size() && shape.dim(static_cast<int>(dim)).has_dim_param() && !text.empty(),
          "onnx::export_: dynamic_axes name dimension ", dim, " of '", name, "', which is fixed");
    }
  }
}

// --- arguments ---

const IValue& Call::known(size_t i) const {
  supported(operand(i).is_constant(), "argument '", node.callable().schema().arguments()[i].name(),
            "' is known when it runs only");
  return operand(i).constant();
}
std::vector<int64_t> Call::is(size_t i) const {
  const Operand& operand = this->operand(i);
  std::vector<int64_t> all;
  if (!operand.is_list()) {
    const IValue& v = known(i);
    if (v.isNone()) return all;
    if (v.isInt()) return {v.toInt()};
    supported(v.isIntList() || v.toListRef().empty(), "it takes no whole numbers");
    return v.toIntVector();
  }
  for (const Operand& part : operand.list()) {
    const bool fixed = part.is_expr() && part.expr().is_constant();
    supported(fixed || (part.is_constant() && part.constant().isInt()), "argument '",
              node.callable().schema().arguments()[i].name(), "' is known when it runs only");
    all.push_back(fixed ? part.expr().value() : part.constant().toInt());
  }
  return all;
}
int64_t Call::dim(size_t index, int64_t dims) const {
  const int64_t d = i(index);
  return d < 0 ? d + std::max<int64_t>(dims, 1) : d;
}
const graph::TensorInfo& Call::info(size_t i) const {
  const Operand& operand = this->operand(i);
  supported(operand.is_value() && operand.value()->info() != nullptr, "nothing is known of argument '",
            node.callable().schema().arguments()[i].name(), "'");
  return *operand.value()->info();
}
const graph::TensorInfo& Call::result_info(size_t i) const {
  supported(node.result(i)->info() != nullptr, "nothing is known of its result");
  return *node.result(i)->info();
}
int64_t Call::fixed(size_t i, int64_t dim) const {
  const IntExpr& size = info(i).sizes.at(static_cast<size_t>(dim));
  supported(size.is_constant(), "a size of argument '", node.callable().schema().arguments()[i].name(), "' may differ");
  return size.value();
}
Name Call::in(size_t i, ScalarType dtype) const {
  const Operand& operand = this->operand(i);
  if (operand.is_constant() && operand.constant().isScalar()) return x.scalar(operand.constant(), dtype);
  if (operand.is_constant() && operand.constant().isTensor()) {
    return x.cast(x.tensor(operand), operand.constant().toTensor().scalar_type(), dtype);
  }
  const bool is_tensor = operand.is_value() && operand.value()->type()->kind() == c10::TypeKind::TensorType;
  if (is_tensor) return x.cast(x.tensor(operand), this->dtype(i), dtype);
  return x.cast(op("Squeeze", {x.number(operand), x.ints({0})}), ScalarType::Long, dtype);
}

namespace {

struct Kind {
  ScalarType dtype;
  int priority;  // of a number, a tensor without dimensions, one with
};
int category(ScalarType dtype) {
  if (dtype == ScalarType::Bool) return 0;
  if (c10::isIntegralType(dtype, false)) return 1;
  return c10::isFloatingType(dtype) ? 2 : 3;
}

}  // namespace

ScalarType Call::promoted(size_t a, size_t b) const {
  const auto kind = [&](size_t i) -> Kind {
    const Operand& operand = this->operand(i);
    if (operand.is_constant() && operand.constant().isScalar()) {
      const IValue& v = operand.constant();
      return {v.isBool() ? ScalarType::Bool : v.isInt() ? ScalarType::Long : ScalarType::Float, 0};
    }
    if (operand.is_value() && operand.value()->info() != nullptr) {
      return {info(i).dtype, info(i).sizes.empty() ? 1 : 2};
    }
    return {ScalarType::Long, 0};
  };
  Kind first = kind(a), second = kind(b);
  if (first.priority == second.priority) return c10::promoteTypes(first.dtype, second.dtype);
  if (first.priority < second.priority) std::swap(first, second);
  return category(second.dtype) > category(first.dtype) ? second.dtype : first.dtype;
}

}  // namespace torch::onnx
