#include "export/onnx/importer.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "c10/dispatch/registry.h"
#include "export/onnx/onnx.h"
#include "third_party/onnx/onnx.pb.h"
#include "utils/serialize/file_io.h"

namespace torch::onnx {

using graph::Block;
using graph::Node;
using graph::Value;
using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;

namespace {

constexpr int kDeepest = 32;  // graphs and functions in each other
// What local functions become.
constexpr size_t kMostInlinedNodes = 100000, kMostInlinedBytes = size_t{1} << 30;
constexpr int64_t kFirstOpset = 7, kLastOpset = 28;

const std::map<std::string_view, Operator>& operators() {
  static const std::map<std::string_view, Operator>& all = *[] {
    auto* made = new std::map<std::string_view, Operator>;
    for (const c10::ArrayRef<Operator> table :
         {math_operators(), shape_operators(), network_operators(), control_operators(), quantized_operators()}) {
      for (const Operator& op : table) {
        TORCH_INTERNAL_ASSERT(made->emplace(op.name, op).second, op.name);
      }
    }
    return made;
  }();
  return all;
}

class NodeSource : public graph::Source {
 public:
  explicit NodeSource(std::string text) : text_(std::move(text)) {}
  std::string text() const override { return text_; }

 private:
  std::string text_;
};

std::string domain_of(const std::string& domain) {
  return domain == "ai.onnx" ? "" : domain;
}
std::string shortened(const std::string& name) {
  return name.substr(0, 100);
}

template <class Imports>
std::map<std::string, int64_t> opsets_of(const Imports& imports) {
  std::map<std::string, int64_t> opsets;
  for (const auto& one : imports) opsets.emplace(domain_of(one.domain()), one.version());
  return opsets;
}

// Attributes that stand for those of the call are put in their places; those that the call leaves out go.
void substitute(google::protobuf::RepeatedPtrField<NodeProto>& nodes,
                const std::map<std::string, const AttributeProto*>& given) {
  for (NodeProto& node : nodes) {
    auto& attributes = *node.mutable_attribute();
    for (int i = attributes.size() - 1; i >= 0; --i) {
      AttributeProto& one = attributes[i];
      if (one.has_ref_attr_name() && !one.ref_attr_name().empty()) {
        const auto found = given.find(one.ref_attr_name());
        if (found == given.end()) {
          attributes.DeleteSubrange(i, 1);
        } else {
          const std::string name = one.name();
          one = *found->second;
          one.set_name(name);
        }
        continue;
      }
      if (one.has_g()) substitute(*one.mutable_g()->mutable_node(), given);
      for (GraphProto& graph : *one.mutable_graphs()) substitute(*graph.mutable_node(), given);
    }
  }
}

}  // namespace

Importer::Importer(::onnx::ModelProto& model, std::string origin, DataFolder folder)
    : model_(model), origin_(std::move(origin)), folder_(std::move(folder)) {}
Importer::~Importer() = default;

at::Tensor Importer::tensor(const ::onnx::TensorProto& proto) const {
  try {
    return tensor_of(proto, folder_);
  } catch (c10::Error& error) {
    error.add_context("in " + origin_);
    throw;
  }
}

std::string Importer::unique(const std::string& name) {
  int64_t& next = used_names_[name];
  if (next++ == 0) return name;
  return unique(name + "." + std::to_string(next - 1));
}

Value* Importer::value_of(Constant& constant) {
  if (constant.value != nullptr) return constant.value;
  const std::string name = unique(constant.name);
  constant.value = out_.graph->block().add_input(c10::TensorType::get(), name);
  graph::TensorInfo info;
  info.dtype = constant.tensor.scalar_type();
  for (const int64_t size : constant.tensor.sizes()) info.sizes.emplace_back(size);
  for (const int64_t stride : constant.tensor.strides()) info.strides.emplace_back(stride);
  constant.value->set_info(std::move(info));
  InputSpec spec;
  spec.target = name;
  const bool parameter = constant.initializer && c10::isFloatingType(constant.tensor.scalar_type());
  spec.kind = parameter ? InputSpec::Kind::kParameter : InputSpec::Kind::kConstantTensor;
  (parameter ? out_.state_dict : out_.constants).emplace(name, constant.tensor);
  out_.signature.inputs.push_back(std::move(spec));
  return constant.value;
}

std::optional<graph::Callable> Importer::callable(std::string_view name) {
  if (name.substr(0, 6) == "onnx::") return onnx::callable(name);
  const size_t dot = name.find('.');
  const auto op = c10::Dispatcher::singleton().findSchema(
      name.substr(0, dot), dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1));
  if (op.has_value()) return graph::Callable(*op);
  missing_.emplace(name);
  return std::nullopt;
}

void Importer::define(Scope& scope, const std::string& name, Item item) {
  if (name.empty()) return;
  if (item.value != nullptr && item.value->name().empty()) item.value->set_name(unique(name));
  if (!scope.names.emplace(name, std::move(item)).second) fail("two values of the name '", shortened(name), "'");
}
Item Importer::lookup(const Scope& scope, const std::string& name) const {
  for (const Scope* at = &scope; at != nullptr; at = at->outer) {
    const auto found = at->names.find(name);
    if (found != at->names.end()) return found->second;
  }
  fail("a value '", shortened(name), "' that nothing has made");
}

void Importer::constants_of(const GraphProto& graph, Scope& scope) {
  for (const auto& proto : graph.initializer()) {
    auto constant = std::make_shared<Constant>();
    constant->name = proto.name();
    constant->tensor = tensor(proto);
    constant->initializer = true;
    Item item;
    item.dtype = constant->tensor.scalar_type();
    item.constant = std::move(constant);
    item.narrow = is_narrow(proto.data_type());
    if (proto.name().empty()) fail("an initializer without a name");
    define(scope, proto.name(), std::move(item));
  }
  TORCH_CHECK_NOT_IMPLEMENTED(graph.sparse_initializer_size() == 0, origin_, ": sparse initializers are not supported");
}

void Importer::input(const ::onnx::ValueInfoProto& info, Scope& scope) {
  const std::string name = shortened(info.name());
  TORCH_CHECK_NOT_IMPLEMENTED(info.type().has_tensor_type(), origin_, ": input '", name,
                              "' is no tensor, which is not supported");
  const auto& type = info.type().tensor_type();
  const std::optional<c10::ScalarType> dtype = storage_dtype_of(type.elem_type());
  TORCH_CHECK_NOT_IMPLEMENTED(dtype.has_value(), origin_, ": input '", name, "' is of ONNX's type ", type.elem_type(),
                              ", which is not supported");
  Item item;
  item.dtype = *dtype;
  item.narrow = is_narrow(type.elem_type());
  item.value = out_.graph->block().add_input(c10::TensorType::get());
  if (type.has_shape()) {
    graph::TensorInfo about;
    about.dtype = *dtype;
    for (const auto& dim : type.shape().dim()) {
      if (dim.has_dim_value()) {
        if (dim.dim_value() < 0) fail("input '", name, "' has a size of ", dim.dim_value());
        about.sizes.emplace_back(dim.dim_value());
        continue;
      }
      const std::string& symbol = dim.dim_param();
      const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
      const bool plain = !symbol.empty() && symbol.size() < 100 && std::all_of(symbol.begin(), symbol.end(), letter) &&
                         std::isdigit(static_cast<unsigned char>(symbol[0])) == 0;
      std::string own = symbol;
      if (!plain) {
        own = "size" + std::to_string(out_.graph->symbols().size());
        while (out_.graph->symbols().count(own) > 0) own += "_";
      }
      out_.graph->symbols().emplace(own, graph::IntRange{0, INT64_MAX});
      about.sizes.push_back(graph::IntExpr::symbol(own));
    }
    graph::IntExpr stride = 1;
    about.strides.resize(about.sizes.size());
    for (size_t d = about.sizes.size(); d-- > 0;) {
      about.strides[d] = stride;
      stride = stride * about.sizes[d];
    }
    item.value->set_info(std::move(about));
  }
  InputSpec spec;
  spec.target = info.name();
  out_.signature.inputs.push_back(std::move(spec));
  out_.in_spec.children[0].children.emplace_back();
  define(scope, info.name(), std::move(item));
}

void Importer::check_opset(const std::map<std::string, int64_t>& opsets) const {
  const auto found = opsets.find("");
  TORCH_CHECK_NOT_IMPLEMENTED(found == opsets.end() || (found->second >= kFirstOpset && found->second <= kLastOpset),
                              origin_, ": opset ", found->second, "; ", kFirstOpset, " to ", kLastOpset,
                              " are supported");
}

void Importer::inline_function(const FunctionProto& function, const NodeProto& call, Scope& scope, Block& block,
                               int depth) {
  if (depth >= kDeepest) fail("more than ", kDeepest, " graphs and functions in each other");
  if (!open_.insert(&function).second) fail("a function '", shortened(function.name()), "' that calls itself");
  inlined_nodes_ += static_cast<size_t>(function.node_size());
  inlined_bytes_ += function.ByteSizeLong();
  if (inlined_nodes_ > kMostInlinedNodes || inlined_bytes_ > kMostInlinedBytes) {
    fail("its functions become more than ", kMostInlinedNodes, " nodes, or ", kMostInlinedBytes, " bytes");
  }
  std::map<std::string, const AttributeProto*> given;
  for (const AttributeProto& attribute : call.attribute()) given.emplace(attribute.name(), &attribute);
  FunctionProto own = function;
  substitute(*own.mutable_node(), given);

  auto& opsets = function_opsets_[&function];
  if (opsets.empty()) opsets = opsets_of(function.opset_import());
  Scope inner;
  inner.opsets = opsets.empty() ? scope.opsets : &opsets;
  check_opset(*inner.opsets);
  if (call.input_size() > own.input_size() || call.output_size() > own.output_size()) {
    fail("a call of the function '", shortened(own.name()), "' with ", call.input_size(), " inputs and ",
         call.output_size(), " outputs; it has ", own.input_size(), " and ", own.output_size());
  }
  for (int i = 0; i < own.input_size(); ++i) {
    const bool given_input = i < call.input_size() && !call.input(i).empty();
    define(inner, own.input(i), given_input ? lookup(scope, call.input(i)) : Item());
  }
  for (const NodeProto& one : own.node()) node(one, inner, block, depth + 1);
  for (int i = 0; i < call.output_size(); ++i) {
    if (!call.output(i).empty()) define(scope, call.output(i), lookup(inner, own.output(i)));
  }
  open_.erase(&function);
}

void Importer::node(const NodeProto& node, Scope& scope, Block& block, int depth) {
  const std::string domain = domain_of(node.domain());
  const auto function = functions_.find({domain, node.op_type()});
  if (function != functions_.end()) return inline_function(*function->second, node, scope, block, depth);
  const auto version = scope.opsets->find(domain);
  const auto found = operators().find(node.op_type());
  if (!domain.empty() || version == scope.opsets->end() || found == operators().end() ||
      version->second < found->second.since) {
    unknown_.insert(domain.empty() ? node.op_type() : domain + "::" + node.op_type());
    TORCH_CHECK_NOT_IMPLEMENTED(false, origin_, ": ", unknown_text());
  }
  Emitter emitter(*this, node, scope, block, version->second, found->second.target, depth);
  Node* const before = block.return_node()->previous();
  try {
    found->second.emit(emitter);
    emitter.check_all_read();
  } catch (c10::Error& error) {
    const std::string where = emitter.where();
    if (error.msg().compare(0, where.size(), where) != 0) error.add_context("in " + where);
    throw;
  }
  const auto source = std::make_shared<const NodeSource>(emitter.where());
  for (Node* made = before->next(); made != block.return_node(); made = made->next()) made->set_source(source);
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    const auto n = static_cast<size_t>(i);
    emitter.supported(n < emitter.outputs.size(), "output ", i, " ('", shortened(node.output(i)), "')");
    define(scope, node.output(i), std::move(emitter.outputs[n]));
  }
}

std::string Importer::unknown_text() const {
  std::string text = "operators that are not known, or not in the opset that the model names:";
  for (const std::string& name : unknown_) text += " " + shortened(name);
  return text;
}

// Finds all operators that are not known, to report them at once.
void Importer::look_for_unknown(const GraphProto& graph) {
  for (const NodeProto& node : graph.node()) {
    const std::string domain = domain_of(node.domain());
    if (functions_.count({domain, node.op_type()}) == 0) {
      const auto version = opsets_.find(domain);
      const auto found = operators().find(node.op_type());
      if (!domain.empty() || version == opsets_.end() || found == operators().end() ||
          version->second < found->second.since) {
        unknown_.insert(domain.empty() ? node.op_type() : domain + "::" + node.op_type());
      }
    }
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) look_for_unknown(attribute.g());
    }
  }
}

std::vector<Item> Importer::body(const GraphProto& graph, Block& block, const Scope& outer,
                                 const std::vector<Item>& inputs, int depth) {
  if (depth >= kDeepest) fail("more than ", kDeepest, " graphs and functions in each other");
  Scope scope;
  scope.outer = &outer;
  scope.opsets = outer.opsets;
  constants_of(graph, scope);
  if (static_cast<size_t>(graph.input_size()) != inputs.size()) {
    fail("a graph '", shortened(graph.name()), "' of ", graph.input_size(), " inputs where ", inputs.size(),
         " are given");
  }
  for (size_t i = 0; i < inputs.size(); ++i) define(scope, graph.input(static_cast<int>(i)).name(), inputs[i]);
  for (const NodeProto& one : graph.node()) node(one, scope, block, depth + 1);
  std::vector<Item> outputs;
  for (const auto& output : graph.output()) {
    Item item = lookup(scope, output.name());
    if (item.absent()) fail("an output '", shortened(output.name()), "' that is left out");
    if (item.narrow) fail("an output '", shortened(output.name()), "' of numbers of less than a byte");
    if (item.value == nullptr) item.value = value_of(*item.constant);
    outputs.push_back(std::move(item));
  }
  return outputs;
}

ExportedProgram Importer::run() {
  if (!model_.has_graph()) fail("has no graph: it is no ONNX model");
  opsets_ = opsets_of(model_.opset_import());
  if (opsets_.count("") == 0) fail("names no opset");
  check_opset(opsets_);
  for (const FunctionProto& function : model_.functions()) {
    if (!functions_.emplace(std::pair(domain_of(function.domain()), function.name()), &function).second) {
      fail("two functions of the name '", shortened(function.name()), "'");
    }
  }
  look_for_unknown(model_.graph());
  TORCH_CHECK_NOT_IMPLEMENTED(unknown_.empty(), origin_, ": ", unknown_text());

  out_.in_spec.kind = out_.out_spec.kind = TreeSpec::Kind::kTuple;
  out_.in_spec.children.resize(2);
  out_.in_spec.children[0].kind = TreeSpec::Kind::kTuple;
  out_.in_spec.children[1].kind = TreeSpec::Kind::kDict;
  Scope scope;
  scope.opsets = &opsets_;
  constants_of(model_.graph(), scope);
  // They have been copied.
  model_.mutable_graph()->clear_initializer();
  // Those of old models are among the inputs, too.
  for (const auto& info : model_.graph().input()) {
    if (scope.names.count(info.name()) == 0 || scope.names.at(info.name()).constant == nullptr) input(info, scope);
  }
  Block& block = out_.graph->block();
  for (const NodeProto& one : model_.graph().node()) node(one, scope, block, 0);
  std::vector<graph::Operand> outputs;
  for (const auto& output : model_.graph().output()) {
    Item item = lookup(scope, output.name());
    if (item.absent()) fail("an output '", shortened(output.name()), "' that is left out");
    if (item.narrow) fail("an output '", shortened(output.name()), "' of numbers of less than a byte");
    outputs.emplace_back(item.value == nullptr ? value_of(*item.constant) : item.value);
    out_.signature.outputs.emplace_back();
    out_.signature.outputs.back().target = output.name();
    out_.out_spec.children.emplace_back();
  }
  if (outputs.size() == 1) out_.out_spec = TreeSpec();
  block.set_outputs(std::move(outputs));
  std::string missing;
  for (const std::string& name : missing_) missing += " " + name;
  TORCH_CHECK_NOT_IMPLEMENTED(
      missing_.empty(), origin_,
      ": the model needs operators that are not linked (//aten/ops:registry has all):", missing);
  verify(*out_.graph);
  return std::move(out_);
}

namespace {

ExportedProgram read(std::string_view bytes, const std::string& origin, DataFolder folder) {
  ::onnx::ModelProto model;
  if (bytes.size() > INT32_MAX || !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    serialize::throw_format_error(origin + ": is no ONNX model: its messages cannot be read");
  }
  return Importer(model, origin, std::move(folder)).run();
}

}  // namespace

ExportedProgram load_from_memory(std::string_view bytes, const std::string& folder) {
  return read(bytes, "an ONNX model", {folder, ""});
}
ExportedProgram load(const std::string& path) {
  serialize::check_path(path);
  const serialize::MappedFile file(path);
  const auto folder_of = [](const std::filesystem::path& file) {
    return file.has_parent_path() ? file.parent_path().string() : ".";
  };
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return read(file.bytes(), path, {folder_of(path), error ? "" : folder_of(real)});
}

}  // namespace torch::onnx
