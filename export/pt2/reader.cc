#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "aten/core/tensor.h"
#include "aten/ops/creation/ops.h"
#include "c10/util/exception.h"
#include "c10/value/dict.h"
#include "c10/value/list.h"
#include "export/pt2/document.h"
#include "export/pt2/enums.h"
#include "export/pt2/expr.h"
#include "export/pt2/metadata.h"
#include "export/pt2/pt2.h"
#include "export/pt2/scalar_operators.h"
#include "export/pt2/trees.h"
#include "utils/pickle/file.h"
#include "utils/pickle/zip.h"
#include "utils/serialize/file_error.h"

namespace torch {
namespace {

using c10::IValue;
using graph::Block;
using graph::Graph;
using graph::Node;
using graph::Operand;
using graph::TensorInfo;
using graph::Value;
using nlohmann::json;
using pickle::ZipReader;
using pickle::ZipRecord;
using pt2::Document;
using pt2::kDeepestGraphs;
using pt2::kMostDimensions;

constexpr uint64_t kMostJson = uint64_t{1} << 30;

// --- graphs ---

using Names = std::map<std::string, Operand>;

class GraphReader {
 public:
  // `opaque`: gets the sizes that are no expressions of this library; null where there may be none.
  GraphReader(const Document& doc, std::set<std::string>& missing, std::map<std::string, std::string>* opaque)
      : doc_(doc), missing_(missing), opaque_(opaque) {}

  std::optional<graph::IntExpr> size(const json& j) const {
    const auto [tag, held] = doc_.chosen(j, "a size");
    if (tag == "as_int") return doc_.whole(*held, "a size");
    if (tag != "as_expr") doc_.fail("a size of the unknown kind '", tag.substr(0, 40), "'");
    std::string error;
    std::optional<graph::IntExpr> e = expr(*held, &error);
    if (!error.empty()) doc_.fail("a size: ", error);
    return e;
  }
  std::optional<graph::IntExpr> expr(const json& j, std::string* error) const {
    const std::string text = doc_.text(doc_.at(j, "expr_str"), "an expression");
    std::optional<graph::IntExpr> e = pt2::parse_sympy(text, error);
    if (e.has_value() || !error->empty() || opaque_ == nullptr) return e;
    std::string& symbol = opaque_symbols_[text];
    if (symbol.empty()) {
      symbol = "opaque" + std::to_string(opaque_->size());
      opaque_->emplace(symbol, text);
    }
    return graph::IntExpr::symbol(symbol);
  }
  // Of a number that a node makes, which is what the node says: null for what is no whole number of this library.
  std::optional<graph::IntExpr> hinted(const json& j) const {
    const auto [tag, held] = doc_.chosen(j, "a number");
    if (tag == "as_int") return doc_.whole(*held, "a number");
    std::string error;
    return expr(*held, &error);
  }
  c10::ScalarType dtype(const json& j) const {
    const int64_t number = doc_.whole(j, "a dtype");
    const std::optional<c10::ScalarType> type = pt2::dtype_of(number);
    if (!type.has_value()) doc_.fail("a dtype with the unknown number ", number);
    return *type;
  }
  c10::Layout layout(const json& j) const {
    const int64_t number = doc_.whole(j, "a layout");
    const std::optional<c10::Layout> known = pt2::layout_of(number);
    if (!known.has_value()) doc_.fail("a layout with the unknown number ", number);
    return *known;
  }
  c10::Device device(const json& j) const {
    const std::string type = doc_.text(doc_.at(j, "type"), "a device");
    const json* index = doc_.find(j, "index");
    try {
      return c10::Device(index == nullptr ? type : type + ":" + std::to_string(doc_.whole(*index, "a device's index")));
    } catch (const c10::Error& error) {
      doc_.fail("a device: ", error.msg());
    }
  }
  // Null where a size is not known.
  std::optional<TensorInfo> tensor_info(const json& j) const {
    TensorInfo info;
    info.dtype = dtype(doc_.at(j, "dtype"));
    info.layout = layout(doc_.at(j, "layout"));
    info.device = device(doc_.at(j, "device"));
    info.requires_grad = doc_.truth(doc_.at(j, "requires_grad"), "requires_grad");
    bool known = true;
    const auto sizes = [&](const char* name) {
      std::vector<graph::IntExpr> all;
      for (const json& one : doc_.list(doc_.at(j, name), "sizes")) {
        if (all.size() >= kMostDimensions) doc_.fail("a tensor of more than ", kMostDimensions, " dimensions");
        const std::optional<graph::IntExpr> e = size(one);
        known = known && e.has_value();
        all.push_back(e.value_or(0));
      }
      return all;
    };
    info.sizes = sizes("sizes");
    info.strides = sizes("strides");
    if (const std::optional<graph::IntExpr> offset = size(doc_.at(j, "storage_offset"))) {
      info.storage_offset = *offset;
    } else {
      known = false;
    }
    return known ? std::optional<TensorInfo>(std::move(info)) : std::nullopt;
  }

  // The block's nodes and outputs. `names` has what is visible; those of the block come to it.
  void read(const json& j, Block& block, Names names, int depth) {
    if (depth > kDeepestGraphs) doc_.fail("more than ", kDeepestGraphs, " graphs in each other");
    for (const json& node : doc_.list(doc_.at(j, "nodes"), "nodes")) read_node(node, block, names, j, depth);
    std::vector<Operand> outputs;
    for (const json& output : doc_.list(doc_.at(j, "outputs"), "outputs")) {
      if (const auto name = named(output); name.has_value() && tokens_.count(name->first) > 0) continue;
      for (Operand& one : listed(output, names)) outputs.push_back(std::move(one));
    }
    block.set_outputs(std::move(outputs));
  }

  // What stands in the file for the order of effects, which is no value.
  void add_token(const json& argument) {
    const auto name = named(argument);
    if (!name.has_value()) doc_.fail("a token without a name");
    tokens_.insert(name->first);
  }

  void define(Names& names, const std::string& name, Value* value) const {
    value->set_name(name);
    if (!names.emplace(name, value).second) doc_.fail("two values of the name '", name.substr(0, 100), "'");
  }
  // What an argument names, if it does.
  std::optional<std::pair<std::string, c10::TypePtr>> named(const json& argument) const {
    const auto [tag, held] = doc_.chosen(argument, "an argument");
    const auto symbol = [&](c10::TypePtr type) -> std::optional<std::pair<std::string, c10::TypePtr>> {
      const auto [kind, name] = doc_.chosen(*held, "a number");
      if (kind != "as_name") return std::nullopt;
      return std::pair(doc_.text(*name, "a name"), std::move(type));
    };
    if (tag == "as_tensor") {
      return std::pair(doc_.text(doc_.at(*held, "name"), "a name"), c10::TypePtr(c10::TensorType::get()));
    }
    if (tag == "as_sym_int") return symbol(c10::IntType::get());
    if (tag == "as_sym_bool") return symbol(c10::BoolType::get());
    if (tag == "as_sym_float") return symbol(c10::FloatType::get());
    return std::nullopt;
  }
  // What the graph `in` says of a value.
  void set_info(Value* value, const std::string& name, const json* in) const {
    if (in == nullptr) return;
    const auto said = [&](const char* table) -> const json* {
      const json* all = doc_.find(*in, table);
      return all == nullptr ? nullptr : doc_.find(*all, name.c_str());
    };
    if (value->type()->kind() == c10::TypeKind::TensorType) {
      if (const json* info = said("tensor_values")) value->set_info(tensor_info(*info));
    } else if (value->type()->kind() == c10::TypeKind::IntType) {
      if (const json* number = said("sym_int_values")) value->set_expr(hinted(*number));
    }
  }

  IValue constant(const std::string& tag, const json& held, const c10::TypePtr& wanted) const {
    const c10::TypeKind kind = element_kind(wanted);
    if (tag == "as_none") return {};
    if (tag == "as_int") {
      const int64_t v = doc_.whole(held, "a number");
      return kind == c10::TypeKind::FloatType ? IValue(static_cast<double>(v)) : IValue(v);
    }
    if (tag == "as_float") return doc_.real(held, "a number");
    if (tag == "as_bool") return doc_.truth(held, "a truth value");
    if (tag == "as_string") return doc_.text(held, "a text");
    if (tag == "as_complex") {
      return c10::complex<double>(doc_.real(doc_.at(held, "real"), "a number"),
                                  doc_.real(doc_.at(held, "imag"), "a number"));
    }
    if (tag == "as_scalar_type") return static_cast<int64_t>(dtype(held));
    if (tag == "as_layout") return static_cast<int64_t>(layout(held));
    if (tag == "as_memory_format") {
      const std::optional<c10::MemoryFormat> format = pt2::memory_format_of(doc_.whole(held, "a memory format"));
      if (!format.has_value()) doc_.fail("an unknown memory format");
      return static_cast<int64_t>(*format);
    }
    if (tag == "as_device") return device(held);
    if (tag == "as_ints" && kind != c10::TypeKind::FloatType) {
      if (held.empty() && wanted != nullptr) return empty_list(wanted);
      c10::List<int64_t> list;
      for (const json& one : doc_.list(held, "numbers")) list.push_back(doc_.whole(one, "a number"));
      return list;
    }
    if (tag == "as_floats" || tag == "as_ints") {
      c10::List<double> list;
      for (const json& one : doc_.list(held, "numbers")) list.push_back(doc_.real(one, "a number"));
      return list;
    }
    if (tag == "as_bools") {
      c10::List<bool> list;
      for (const json& one : doc_.list(held, "truth values")) list.push_back(doc_.truth(one, "a truth value"));
      return list;
    }
    if (tag == "as_strings") {
      c10::List<std::string> list;
      for (const json& one : doc_.list(held, "texts")) list.push_back(doc_.text(one, "a text"));
      return list;
    }
    doc_.fail("an argument of the unknown kind '", tag.substr(0, 40), "'");
  }

 private:
  // Of a list that may be left out, the kind of its elements.
  static c10::TypeKind element_kind(const c10::TypePtr& type) {
    if (type == nullptr) return c10::TypeKind::AnyType;
    if (const auto optional = type->cast<c10::OptionalType>()) return element_kind(optional->getElementType());
    if (const auto list = type->cast<c10::ListType>()) return element_kind(list->getElementType());
    return type->kind();
  }
  static IValue empty_list(const c10::TypePtr& wanted) {
    if (const auto optional = wanted->cast<c10::OptionalType>()) return empty_list(optional->getElementType());
    const auto list = wanted->cast<c10::ListType>();
    return c10::impl::GenericList(list == nullptr ? c10::TypePtr(c10::IntType::get()) : list->getElementType());
  }

  static bool is_number(const Operand& o) {
    if (o.is_constant()) return o.constant().isScalar();
    if (!o.is_value()) return false;
    const c10::TypeKind kind = o.value()->type()->kind();
    return kind == c10::TypeKind::IntType || kind == c10::TypeKind::FloatType || kind == c10::TypeKind::BoolType;
  }

  Operand lookup(const std::string& name, const Names& names) const {
    const auto found = names.find(name);
    if (found == names.end()) doc_.fail("a value '", name.substr(0, 100), "' that nothing has made");
    return found->second;
  }
  Operand symbolic(const json& j, const Names& names) const {
    const auto [tag, held] = doc_.chosen(j, "a number");
    if (tag == "as_name") return lookup(doc_.text(*held, "a name"), names);
    return IValue(constant(tag, *held, nullptr));
  }
  Operand tensor(const json& j, const Names& names) const {
    return lookup(doc_.text(doc_.at(j, "name"), "a name"), names);
  }

  Operand operand(const json& argument, const Names& names, const c10::TypePtr& wanted) const {
    const auto [tag, held] = doc_.chosen(argument, "an argument");
    if (tag == "as_tensor") return tensor(*held, names);
    if (tag == "as_sym_int" || tag == "as_sym_bool" || tag == "as_sym_float") return symbolic(*held, names);
    std::vector<Operand> parts;
    if (tag == "as_tensors") {
      for (const json& one : doc_.list(*held, "tensors")) parts.push_back(tensor(one, names));
      return parts;
    }
    if (tag == "as_sym_ints" || tag == "as_sym_bools" || tag == "as_sym_floats") {
      for (const json& one : doc_.list(*held, "numbers")) parts.push_back(symbolic(one, names));
      return parts;
    }
    const auto optional_tensor = [&](const json& j) -> Operand {
      const auto [kind, content] = doc_.chosen(j, "a tensor or none");
      if (kind == "as_none") return IValue();
      if (kind != "as_tensor") doc_.fail("expected a tensor or none, but got '", kind.substr(0, 40), "'");
      return tensor(*content, names);
    };
    if (tag == "as_optional_tensor") return optional_tensor(*held);
    if (tag == "as_optional_tensors") {
      for (const json& one : doc_.list(*held, "tensors")) parts.push_back(optional_tensor(one));
      return parts;
    }
    return IValue(constant(tag, *held, wanted));
  }
  // The operands that an argument of a higher-order operator, or an output, stands for.
  std::vector<Operand> listed(const json& argument, const Names& names) const {
    Operand all = operand(argument, names, nullptr);
    if (all.is_list()) return all.list();
    if (all.is_constant() && all.constant().isList()) {
      std::vector<Operand> parts;
      for (const IValue& v : all.constant().toListRef()) parts.emplace_back(v);
      return parts;
    }
    return {all};
  }

  // The results of a node by the names that the file gives them.
  void name_results(const json& outputs, Node* node, Block& block, Names& names, const json* in) {
    size_t i = 0;
    for (const json& output : doc_.list(outputs, "outputs")) {
      if (i >= node->result_count()) doc_.fail("a node with more outputs than it has results");
      Value* result = node->result(i++);
      const auto [tag, held] = doc_.chosen(output, "an output");
      if (tag == "as_none") continue;
      if (tag == "as_tensors" || tag == "as_optional_tensors") {
        Node* parts = block.append(block.graph().make(Node::Kind::kUnpack, {result}));
        for (const json& one : doc_.list(*held, "tensors")) {
          const json* part = &one;
          Value* value = parts->add_result(c10::TensorType::get());
          if (tag == "as_optional_tensors") {
            const auto [kind, content] = doc_.chosen(one, "a tensor or none");
            if (kind == "as_none") continue;
            part = content;
          }
          const std::string name = doc_.text(doc_.at(*part, "name"), "a name");
          define(names, name, value);
          set_info(value, name, in);
        }
        continue;
      }
      const auto name = named(output);
      if (!name.has_value()) doc_.fail("an output of the unknown kind '", tag.substr(0, 40), "'");
      result->set_type(name->second);
      define(names, name->first, result);
      set_info(result, name->first, in);
    }
  }

  // Notes of the exporter.
  void annotate(const json& j, Node* node) const {
    const json* metadata = doc_.find(j, "metadata");
    if (metadata == nullptr || metadata->empty()) return;
    std::map<std::string, std::string> notes;
    for (const auto& [name, note] : doc_.object(*metadata, "notes").items())
      notes.emplace(name, doc_.text(note, "a note"));
    node->set_source(std::make_shared<pt2::NodeMetadata>(std::move(notes)));
  }

  void read_node(const json& j, Block& block, Names& names, const json& in, int depth) {
    const std::string target = doc_.text(doc_.at(j, "target"), "a target");
    constexpr std::string_view kHigher = "torch.ops.higher_order.", kOps = "torch.ops.";
    if (target.compare(0, kHigher.size(), kHigher) == 0) {
      return read_higher(target.substr(kHigher.size()), j, block, names, in, depth);
    }
    std::optional<graph::Callable> callable;
    if (target.compare(0, kOps.size(), kOps) == 0) {
      const std::string full = target.substr(kOps.size());
      const size_t first = full.find('.'), second = full.rfind('.');
      if (first == std::string::npos || first == second)
        doc_.fail("a target that is no operator: '", target.substr(0, 100), "'");
      const std::string name = full.substr(0, first) + "::" + full.substr(first + 1, second - first - 1);
      std::string overload = full.substr(second + 1);
      if (overload == "default") overload.clear();
      if (const auto op =
              graph::opens_files(name) ? std::nullopt : c10::Dispatcher::singleton().findSchema(name, overload)) {
        callable.emplace(*op);
      } else {
        missing_.insert(overload.empty() ? name : name + "." + overload);
        return skip_node(j, block, names);
      }
    } else {
      callable = pt2::scalar_operator(target);
      if (!callable.has_value()) doc_.fail("a target that is no operator: '", target.substr(0, 100), "'");
    }
    const std::vector<c10::Argument>& arguments = callable->schema().arguments();
    std::vector<std::optional<Operand>> given(arguments.size());
    size_t position = 0;
    for (const json& input : doc_.list(doc_.at(j, "inputs"), "inputs")) {
      const std::string name = doc_.text(doc_.at(input, "name"), "an argument's name");
      size_t i = position++;
      // Python's operators have no names for their arguments.
      if (!name.empty() && callable->handle() != nullptr) {
        const std::optional<int> found = callable->schema().argument_index(name);
        if (!found.has_value()) doc_.fail(target, " has no argument '", name.substr(0, 100), "'");
        i = static_cast<size_t>(*found);
      }
      if (i >= given.size() || given[i].has_value()) doc_.fail(target, " has an argument too many");
      given[i] = operand(doc_.at(input, "arg"), names, arguments[i].type());
      if (element_kind(arguments[i].type()) == c10::TypeKind::TensorType && is_number(*given[i])) {
        given[i] = block.append(block.graph().call(pt2::wrapped_number(), {*given[i]}))->result();
      }
    }
    std::vector<Operand> operands;
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].has_value()) {
        operands.push_back(std::move(*given[i]));
      } else if (arguments[i].default_value().has_value()) {
        operands.emplace_back(*arguments[i].default_value());
      } else {
        doc_.fail(target, " lacks its argument '", arguments[i].name(), "'");
      }
    }
    Node* const node = block.append(block.graph().call(*callable, std::move(operands)));
    annotate(j, node);
    name_results(doc_.at(j, "outputs"), node, block, names, &in);
  }
  // Of an operator that is not there: its results get names, so that the others can be looked for.
  void skip_node(const json& j, Block& block, Names& names) {
    Node* const node = block.append(block.graph().make(Node::Kind::kInvoke));
    node->set_name("missing");
    for (size_t i = 0; i < doc_.list(doc_.at(j, "outputs"), "outputs").size(); ++i)
      node->add_result(c10::AnyType::get());
    name_results(doc_.at(j, "outputs"), node, block, names, nullptr);
  }

  struct SubGraph {
    const json* graph;
    std::vector<std::string> inputs;
  };
  SubGraph sub_graph(const json& argument) const {
    const auto [tag, held] = doc_.chosen(argument, "an argument");
    if (tag != "as_graph") doc_.fail("expected a graph, but got '", tag.substr(0, 40), "'");
    SubGraph sub{&doc_.at(*held, "graph"), {}};
    for (const json& input : doc_.list(doc_.at(*sub.graph, "inputs"), "inputs")) {
      const auto name = named(input);
      if (!name.has_value()) doc_.fail("an input of an inner graph that has no name");
      sub.inputs.push_back(name->first);
    }
    return sub;
  }
  // A block that sees the operands under the names of the inner graph's inputs.
  void enclose(const SubGraph& sub, const std::vector<Operand>& operands, Node* node, int depth) {
    if (sub.inputs.size() != operands.size()) {
      doc_.fail("an inner graph of ", sub.inputs.size(), " inputs that gets ", operands.size());
    }
    Names names;
    for (size_t i = 0; i < operands.size(); ++i) names.emplace(sub.inputs[i], operands[i]);
    read(*sub.graph, node->add_block(), std::move(names), depth + 1);
  }
  // A block whose inputs those are.
  void parameterize(const SubGraph& sub, Node* node, int depth) {
    Block& block = node->add_block();
    Names names;
    for (const json& input : *doc_.find(*sub.graph, "inputs")) {
      const auto name = named(input);
      Value* value = block.add_input(name->second);
      define(names, name->first, value);
      set_info(value, name->first, sub.graph);
    }
    read(*sub.graph, block, std::move(names), depth + 1);
  }

  void read_higher(const std::string& name, const json& j, Block& block, Names& names, const json& in, int depth) {
    const json& inputs = doc_.list(doc_.at(j, "inputs"), "inputs");
    const auto argument = [&](size_t i) -> const json& {
      if (i >= inputs.size()) doc_.fail(name, " lacks argument ", i);
      return doc_.at(inputs[i], "arg");
    };
    const auto operands_from = [&](size_t first) {
      std::vector<Operand> all;
      for (size_t i = first; i < inputs.size(); ++i) {
        for (Operand& one : listed(argument(i), names)) all.push_back(std::move(one));
      }
      return all;
    };
    const auto add_results = [&](Node* node) {
      for (const json& output : doc_.list(doc_.at(j, "outputs"), "outputs")) {
        const auto [tag, held] = doc_.chosen(output, "an output");
        if (tag != "as_tensors") {
          const auto named_result = named(output);
          if (!named_result.has_value()) doc_.fail("an output of the unknown kind '", tag.substr(0, 40), "'");
          Value* result = node->add_result(named_result->second);
          define(names, named_result->first, result);
          set_info(result, named_result->first, &in);
          continue;
        }
        for (const json& one : doc_.list(*held, "tensors")) {
          const std::string result_name = doc_.text(doc_.at(one, "name"), "a name");
          Value* result = node->add_result(c10::TensorType::get());
          define(names, result_name, result);
          set_info(result, result_name, &in);
        }
      }
    };
    const auto make = [&](Node::Kind kind, std::vector<Operand> operands) {
      Node* node = block.append(block.graph().make(kind, std::move(operands)));
      annotate(j, node);
      return node;
    };
    if (name == "cond") {
      Node* node = make(Node::Kind::kIf, {operand(argument(0), names, nullptr)});
      const std::vector<Operand> operands = operands_from(3);
      enclose(sub_graph(argument(1)), operands, node, depth);
      enclose(sub_graph(argument(2)), operands, node, depth);
      return add_results(node);
    }
    if (name == "while_loop") {
      Node* node = make(Node::Kind::kWhile, {Operand(listed(argument(2), names)), Operand(listed(argument(3), names))});
      parameterize(sub_graph(argument(0)), node, depth);
      parameterize(sub_graph(argument(1)), node, depth);
      return add_results(node);
    }
    if (name == "map_impl") {
      Node* node = make(Node::Kind::kMap, {Operand(listed(argument(1), names)), Operand(listed(argument(2), names))});
      parameterize(sub_graph(argument(0)), node, depth);
      return add_results(node);
    }
    if (name == "scan") {
      Node* node = make(Node::Kind::kScan, {Operand(listed(argument(1), names)), Operand(listed(argument(2), names)),
                                            Operand(listed(argument(3), names))});
      parameterize(sub_graph(argument(0)), node, depth);
      return add_results(node);
    }
    const bool grad_mode = name == "wrap_with_set_grad_enabled";
    if (grad_mode || name == "wrap_with_autocast") {
      const size_t graph_at = grad_mode ? 1 : 4;
      std::vector<Operand> mode;
      for (size_t i = 0; i < graph_at; ++i) mode.push_back(operand(argument(i), names, nullptr));
      Node* node = make(Node::Kind::kScope, std::move(mode));
      node->set_name(grad_mode ? "set_grad_enabled" : "autocast");
      enclose(sub_graph(argument(graph_at)), operands_from(graph_at + 1), node, depth);
      return add_results(node);
    }
    if (name == "with_effects") {
      // The order of a block is that of its effects: the token that says so in the file is dropped.
      const auto [tag, op] = doc_.chosen(argument(1), "an argument");
      if (tag != "as_operator") doc_.fail("with_effects takes an operator, but got '", tag.substr(0, 40), "'");
      json call = j;
      call["target"] = doc_.text(*op, "an operator");
      call["inputs"].erase(0);
      call["inputs"].erase(0);
      json results = json::array();
      const json& outputs = doc_.list(doc_.at(j, "outputs"), "outputs");
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (i == 0) {
          add_token(outputs[i]);
        } else if (doc_.chosen(outputs[i], "an output").first != "as_none") {
          results.push_back(outputs[i]);
        }
      }
      call["outputs"] = std::move(results);
      return read_node(call, block, names, in, depth);
    }
    doc_.fail("the higher-order operator '", name.substr(0, 100), "', which is not known");
  }

  const Document& doc_;
  std::set<std::string> tokens_;
  std::set<std::string>& missing_;
  std::map<std::string, std::string>* opaque_;
  mutable std::map<std::string, std::string> opaque_symbols_;  // by text
};

// --- programs ---

class ProgramReader {
 public:
  ProgramReader(std::shared_ptr<serialize::FileBytes> bytes) : zip_(std::move(bytes)) {}

  const std::string& file() const { return zip_.bytes()->origin(); }
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    serialize::throw_format_error(c10::str(file(), ": ", parts...));
  }

  // Before 2.8 there is one, without a name.
  bool old_layout() const { return zip_.find("serialized_exported_program.json") != nullptr; }
  std::vector<std::string> names() const {
    if (old_layout()) return {"model"};
    std::vector<std::string> all;
    for (const ZipRecord& record : zip_.records()) {
      constexpr std::string_view kFolder = "models/", kEnd = ".json";
      const std::string_view name = record.name;
      if (name.size() > kFolder.size() + kEnd.size() && name.substr(0, kFolder.size()) == kFolder &&
          name.substr(name.size() - kEnd.size()) == kEnd) {
        all.emplace_back(name.substr(kFolder.size(), name.size() - kFolder.size() - kEnd.size()));
      }
    }
    return all;
  }

  ExportedProgram read(std::string name) {
    if (!old_layout()) {
      if (text("archive_format") != "pt2")
        fail("is no archive of torch.export: its format is '", text("archive_format"), "'");
      const std::vector<std::string> all = names();
      if (name.empty()) {
        if (all.size() != 1 && std::find(all.begin(), all.end(), "model") == all.end()) {
          fail("has ", all.size(), " programs; one is to be named");
        }
        name = all.size() == 1 ? all[0] : "model";
      }
      if (std::find(all.begin(), all.end(), name) == all.end()) fail("has no program '", name, "'");
    }
    if (const ZipRecord* order = zip_.find("byteorder"); order != nullptr && zip_.read(*order, 16) != "little") {
      fail("was written on a big-endian machine, which is not supported");
    }
    const std::string record = old_layout() ? "serialized_exported_program.json" : "models/" + name + ".json";
    const Document doc(file(), record);
    const json program = doc.parse(text(record));
    check_version(doc, program);

    ExportedProgram out;
    if (old_layout()) {
      load_tensors("serialized_state_dict.pt", out.state_dict);
      load_tensors("serialized_constants.pt", out.constants);
      out.example_inputs = examples("serialized_example_inputs.pt");
    } else {
      load_weights("data/weights/", name + "_weights_config.json", out.state_dict);
      load_weights("data/constants/", name + "_constants_config.json", out.constants);
      out.example_inputs = examples("data/sample_inputs/" + name + ".pt");
    }
    read_graph(doc, program, out);
    return out;
  }

 private:
  std::string text(const std::string& name) const {
    const ZipRecord* record = zip_.find(name);
    if (record == nullptr) fail("has no record ", name);
    return zip_.read(*record, kMostJson);
  }

  static void check_version(const Document& doc, const json& program) {
    const json& version = doc.at(program, "schema_version");
    const int64_t major = doc.whole(doc.at(version, "major"), "a version");
    if (major != 8) {
      doc.fail("a program of schema version ", major, ".", doc.whole(doc.at(version, "minor"), "a version"),
               "; version 8 can be read");
    }
  }

  void load_tensors(const char* name, std::map<std::string, at::Tensor>& into) {
    const ZipRecord* record = zip_.find(name);
    if (record == nullptr) fail("has no record ", name);
    if (record->size == 0) return;
    auto bytes = std::make_shared<serialize::FileBytes>(zip_.read(*record, record->size), file() + ": " + name);
    const IValue all = pickle::load(bytes);
    if (!all.isGenericDict()) fail(name, " has no tensors by name");
    for (const auto& entry : all.toGenericDict()) {
      if (!entry.key().isString() || !entry.value().isTensor()) fail(name, " has no tensors by name");
      into.emplace(entry.key().toStringRef(), entry.value().toTensor());
    }
  }

  // None for what is not there or holds objects of Python: a program runs without.
  IValue examples(const std::string& name) const {
    const ZipRecord* record = zip_.find(name);
    if (record == nullptr || record->size == 0) return {};
    try {
      return pickle::load(
          std::make_shared<serialize::FileBytes>(zip_.read(*record, record->size), file() + ": " + name));
    } catch (const c10::Error&) {
      return {};
    }
  }

  void load_weights(const std::string& folder, const std::string& config, std::map<std::string, at::Tensor>& into) {
    const Document doc(file(), folder + config);
    const json all = doc.parse(text(folder + config));
    std::set<std::string> missing;
    const GraphReader reader(doc, missing, nullptr);
    std::map<std::string, c10::Storage> storages;
    for (const auto& [name, payload] : doc.object(doc.at(all, "config"), "tensors").items()) {
      const std::string path = doc.text(doc.at(payload, "path_name"), "a record's name");
      if (const json* pickled = doc.find(payload, "use_pickle");
          pickled != nullptr && doc.truth(*pickled, "use_pickle")) {
        doc.fail("'", name, "' is a pickled object, which is not supported");
      }
      const std::optional<TensorInfo> info = reader.tensor_info(doc.at(payload, "tensor_meta"));
      if (!info.has_value()) doc.fail("'", name, "' has sizes that are not known");
      at::Tensor tensor = tensor_of(doc, folder + path, name, *info, storages);
      const json* is_param = doc.find(payload, "is_param");
      if (is_param != nullptr && doc.truth(*is_param, "is_param") && info->requires_grad)
        tensor.set_requires_grad(true);
      into.emplace(name, std::move(tensor));
    }
  }

  at::Tensor tensor_of(const Document& doc, const std::string& path, const std::string& name, const TensorInfo& info,
                       std::map<std::string, c10::Storage>& storages) {
    const auto numbers = [&](const std::vector<graph::IntExpr>& all) {
      std::vector<int64_t> values;
      for (const graph::IntExpr& e : all) {
        if (!e.is_constant() || e.value() < 0) doc.fail("'", name, "' has a size or stride that is ", e.str());
        values.push_back(e.value());
      }
      return values;
    };
    const std::vector<int64_t> sizes = numbers(info.sizes), strides = numbers(info.strides);
    const int64_t offset = numbers({info.storage_offset})[0];
    if (info.layout != c10::Layout::Strided || sizes.size() != strides.size())
      doc.fail("'", name, "' is no strided tensor");
    if (!info.device.is_cpu()) {
      doc.fail("'", name, "' lies on ", info.device.str(), "; programs are read to the CPU");
    }
    const auto item = static_cast<__int128>(c10::elementSize(info.dtype));
    __int128 last = offset, elements = 1;
    for (size_t d = 0; d < sizes.size(); ++d) {
      elements *= sizes[d];
      if (elements > INT64_MAX) doc.fail("'", name, "' is too large");
      if (sizes[d] > 0) last += static_cast<__int128>(sizes[d] - 1) * strides[d];
      if (last > INT64_MAX) doc.fail("'", name, "' reaches too far");
    }
    const __int128 needed = elements == 0 ? 0 : (last + 1) * item;
    auto found = storages.find(path);
    if (found == storages.end()) {
      const ZipRecord* record = zip_.find(path);
      if (record == nullptr) doc.fail("'", name, "' lies in ", path, ", which is not there");
      // A record of no bytes means zeros, which cost no more than what the file declares.
      const bool zeros = record->size == 0 && needed > 0;
      if (zeros && needed > (__int128{1} << 31)) doc.fail("'", name, "' is left out of the file and too large");
      const size_t bytes = zeros ? static_cast<size_t>(needed) : record->size;
      c10::Storage storage = at::empty({static_cast<int64_t>(bytes)}, at::TensorOptions().dtype(at::kByte)).storage();
      char* data = static_cast<char*>(storage.mutable_data());
      if (zeros) {
        std::fill_n(data, bytes, char{0});
      } else if (record->deflated) {
        zip_.inflate(*record, data);
      } else {
        zip_.check(*record);
        std::copy_n(zip_.stored(*record), bytes, data);
      }
      found = storages.emplace(path, std::move(storage)).first;
    }
    const size_t bytes = found->second.nbytes();
    if (needed > static_cast<__int128>(bytes)) {
      doc.fail("'", name, "' needs more than the ", bytes, " bytes of ", path);
    }
    if (bytes % c10::elementSize(info.dtype) != 0) doc.fail(path, " has no whole number of elements of '", name, "'");
    at::Tensor tensor = at::empty({0}, at::TensorOptions().dtype(info.dtype));
    tensor.set_(found->second, offset, sizes, strides);
    return tensor;
  }

  void read_graph(const Document& doc, const json& program, ExportedProgram& out) {
    const json& module = doc.at(program, "graph_module");
    const json &body = doc.at(module, "graph"), &signature = doc.at(module, "signature");
    std::set<std::string> missing;
    GraphReader reader(doc, missing, &out.opaque_sizes);
    Block& block = out.graph->block();

    if (const json* ranges = doc.find(program, "range_constraints")) {
      for (const auto& [symbol, range] : doc.object(*ranges, "ranges").items()) {
        const json *low = doc.find(range, "min_val"), *high = doc.find(range, "max_val");
        out.graph->symbols()[symbol] = {low == nullptr ? INT64_MIN : doc.whole(*low, "a range's end"),
                                        high == nullptr ? INT64_MAX : doc.whole(*high, "a range's end")};
      }
    }
    Names names;
    const json &inputs = doc.list(doc.at(body, "inputs"), "inputs"),
               &input_specs = doc.list(doc.at(signature, "input_specs"), "input specs");
    if (inputs.size() != input_specs.size()) {
      doc.fail(inputs.size(), " inputs, but ", input_specs.size(), " of them in the signature");
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (doc.chosen(input_specs[i], "an input spec").first == "token") {
        reader.add_token(inputs[i]);
        continue;
      }
      const auto name = reader.named(inputs[i]);
      Value* value = block.add_input(name.has_value() ? name->second : c10::TypePtr(c10::AnyType::get()));
      if (name.has_value()) {
        reader.define(names, name->first, value);
        reader.set_info(value, name->first, &body);
      }
      std::string own;
      out.signature.inputs.push_back(input_spec(doc, reader, input_specs[i], out, own));
      if (!name.has_value()) value->set_name(own);
    }
    reader.read(body, block, std::move(names), 0);
    for (const json& spec : doc.list(doc.at(signature, "output_specs"), "output specs")) {
      if (doc.chosen(spec, "an output spec").first == "token") continue;
      out.signature.outputs.push_back(output_spec(doc, spec, out));
    }
    if (out.signature.outputs.size() != block.outputs().size()) {
      doc.fail(block.outputs().size(), " outputs, but ", out.signature.outputs.size(), " of them in the signature");
    }
    read_calls(doc, module, out);
    out.guards = texts(doc, program, "guards_code");
    const std::vector<std::string> verifiers = texts(doc, program, "verifiers");
    out.functional = std::find(verifiers.begin(), verifiers.end(), "ATEN") != verifiers.end();
    TORCH_CHECK_NOT_IMPLEMENTED(missing.empty(), file(), ": ", missing_text(missing));
    try {
      verify(*out.graph);
    } catch (const c10::ValueError& error) {
      doc.fail(error.msg());
    }
  }
  static std::string missing_text(const std::set<std::string>& missing) {
    std::string text =
        "the program calls operators that are not linked (//aten/ops:registry has all of aten, "
        "//aten/quantized:library those of quantized and quantized_decomposed):";
    for (const std::string& name : missing) text += " " + name;
    return text;
  }

  // `name`: of a constant.
  static InputSpec input_spec(const Document& doc, const GraphReader& reader, const json& j, const ExportedProgram& out,
                              std::string& name) {
    const auto [tag, held] = doc.chosen(j, "an input spec");
    InputSpec spec;
    const auto stored = [&](InputSpec::Kind kind, const char* field) {
      spec.kind = kind;
      spec.target = doc.text(doc.at(*held, field), "a name");
      if (out.state_dict.count(spec.target) == 0 && out.constants.count(spec.target) == 0) {
        doc.fail("the signature names a tensor '", spec.target.substr(0, 100), "', which is not there");
      }
    };
    if (tag == "user_input") {
      const auto [kind, content] = doc.chosen(doc.at(*held, "arg"), "an argument");
      const bool symbolic = reader.named(doc.at(*held, "arg")).has_value();
      if (!symbolic && kind != "as_tensor") {
        spec.kind = InputSpec::Kind::kConstant;
        spec.value = reader.constant(kind, *content, nullptr);
      }
    } else if (tag == "parameter") {
      stored(InputSpec::Kind::kParameter, "parameter_name");
    } else if (tag == "buffer") {
      stored(InputSpec::Kind::kBuffer, "buffer_name");
      spec.persistent = doc.truth(doc.at(*held, "persistent"), "persistent");
    } else if (tag == "tensor_constant") {
      stored(InputSpec::Kind::kConstantTensor, "tensor_constant_name");
    } else if (tag == "constant_input") {
      name = doc.text(doc.at(*held, "name"), "a name");
      const auto [kind, content] = doc.chosen(doc.at(*held, "value"), "a constant");
      spec.kind = InputSpec::Kind::kConstant;
      spec.value = reader.constant(kind, *content, nullptr);
    } else {
      doc.fail("an input of the kind '", tag.substr(0, 40), "', which is not supported");
    }
    return spec;
  }
  static OutputSpec output_spec(const Document& doc, const json& j, const ExportedProgram& out) {
    const auto [tag, held] = doc.chosen(j, "an output spec");
    using Kind = OutputSpec::Kind;
    struct Known {
      const char* tag;
      Kind kind;
      const char* target;
    };
    constexpr Known kKnown[] = {{"user_output", Kind::kUser, nullptr},
                                {"loss_output", Kind::kLoss, nullptr},
                                {"buffer_mutation", Kind::kBufferMutation, "buffer_name"},
                                {"parameter_mutation", Kind::kParameterMutation, "parameter_name"},
                                {"user_input_mutation", Kind::kInputMutation, "user_input_name"},
                                {"gradient_to_parameter", Kind::kParameterGradient, "parameter_name"},
                                {"gradient_to_user_input", Kind::kInputGradient, "user_input_name"}};
    for (const Known& known : kKnown) {
      if (tag != known.tag) continue;
      OutputSpec spec{known.kind, ""};
      if (known.target != nullptr) spec.target = doc.text(doc.at(*held, known.target), "a name");
      const bool stored = spec.kind == Kind::kBufferMutation || spec.kind == Kind::kParameterMutation;
      bool there = !stored || out.state_dict.count(spec.target) > 0 || out.constants.count(spec.target) > 0;
      if (spec.kind == Kind::kInputMutation) {
        there = false;
        for (size_t i = 0; i < out.graph->block().input_count(); ++i) {
          there = there || (out.signature.inputs[i].kind == InputSpec::Kind::kUser &&
                            out.graph->block().input(i)->name() == spec.target);
        }
      }
      if (!there) doc.fail("the signature changes '", spec.target.substr(0, 100), "', which is not there");
      return spec;
    }
    doc.fail("an output of the unknown kind '", tag.substr(0, 40), "'");
  }

  static std::vector<std::string> texts(const Document& doc, const json& j, const char* name) {
    std::vector<std::string> all;
    if (const json* list = doc.find(j, name)) {
      for (const json& one : doc.list(*list, name)) all.push_back(doc.text(one, name));
    }
    return all;
  }
  static void read_calls(const Document& doc, const json& module, ExportedProgram& out) {
    const json* named = doc.find(module, "treespec_namedtuple_fields");
    bool whole = false;
    for (const json& entry : doc.list(doc.at(module, "module_call_graph"), "calls")) {
      const std::string name = doc.text(doc.at(entry, "fqn"), "a name");
      if (!name.empty() || whole) {
        out.modules.push_back(name);
        continue;
      }
      const json& call = doc.at(entry, "signature");
      out.in_spec = pt2::tree_of(doc, doc.text(doc.at(call, "in_spec"), "a tree"), named);
      out.out_spec = pt2::tree_of(doc, doc.text(doc.at(call, "out_spec"), "a tree"), named);
      out.argument_names = texts(doc, call, "forward_arg_names");
      whole = true;
    }
    if (!whole) doc.fail("no call of the whole program");
  }

  ZipReader zip_;
};

}  // namespace

ExportedProgram load_exported(std::shared_ptr<serialize::FileBytes> bytes, const std::string& name) {
  return ProgramReader(std::move(bytes)).read(name);
}
ExportedProgram load_exported(const std::string& path, const std::string& name) {
  return load_exported(std::make_shared<serialize::FileBytes>(path), name);
}
std::vector<std::string> exported_names(const std::string& path) {
  return ProgramReader(std::make_shared<serialize::FileBytes>(path)).names();
}

}  // namespace torch
