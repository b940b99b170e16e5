#include "export/pt2/graph_writer.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "c10/util/exception.h"
#include "c10/value/list.h"
#include "export/pt2/enums.h"
#include "export/pt2/lowering.h"
#include "export/pt2/metadata.h"
#include "graph/ir/text.h"

namespace torch::pt2 {
namespace {

using c10::IValue;
using c10::TypeKind;
using graph::Block;
using graph::IntExpr;
using graph::Node;
using graph::Operand;
using graph::TensorInfo;
using graph::Value;

// Where a value stands, for messages: the node that has no form in these files, and why.
template <class... Parts>
[[noreturn]] void refuse(const Node& node, const Parts&... parts) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "a .pt2 file has no form for\n  ", graph::print_node(node), "\n", parts...);
  __builtin_unreachable();
}
template <class... Parts>
void check(bool good, const Node& node, const Parts&... parts) {
  TORCH_CHECK_VALUE(good, parts..., " in\n  ", graph::print_node(node));
}

json real_json(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "Infinity" : "-Infinity";
  return v;
}

// --- names ---

bool is_keyword(std::string_view name) {
  static const std::set<std::string_view> kKeywords = {
      "False",   "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class",   "continue", "def",   "del",    "elif", "else",   "except", "for",      "from",
      "finally", "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",      "pass",     "raise", "return", "self", "try",    "while",  "with",     "yield"};
  return kKeywords.count(name) > 0;
}
// Names that Python has already. As names of inputs PyTorch's code gives them a number behind, "input_1", and takes no
// notice of an input that has that name.
bool is_builtin(std::string_view name) {
  static const std::set<std::string_view> kBuiltins = {
      "abs",        "aiter",      "all",        "anext",    "any",      "ascii",       "bin",          "bool",
      "breakpoint", "bytearray",  "bytes",      "callable", "chr",      "classmethod", "compile",      "complex",
      "copyright",  "credits",    "delattr",    "device",   "dict",     "dir",         "divmod",       "enumerate",
      "eval",       "exec",       "exit",       "filter",   "float",    "format",      "frozenset",    "getattr",
      "globals",    "hasattr",    "hash",       "help",     "hex",      "id",          "inf",          "input",
      "int",        "isinstance", "issubclass", "iter",     "len",      "license",     "list",         "locals",
      "map",        "max",        "memoryview", "min",      "nan",      "next",        "object",       "oct",
      "open",       "ord",        "pow",        "print",    "property", "quit",        "range",        "repr",
      "reversed",   "round",      "set",        "setattr",  "slice",    "sorted",      "staticmethod", "str",
      "sum",        "super",      "torch",      "tuple",    "type",     "vars",        "zip"};
  return kBuiltins.count(name) > 0;
}
bool is_letter(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name(const std::string& name) {
  return !name.empty() && !is_digit(name[0]) && !is_keyword(name) &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
}
// What looks most like it.
std::string as_name(const std::string& text) {
  std::string name;
  for (const char c : text) name += is_letter(c) || is_digit(c) ? c : '_';
  if (name.empty() || is_digit(name[0])) name.insert(0, "_");
  return is_keyword(name) || is_builtin(name) ? name + "_" : name;
}

// --- values ---

bool is_tensor_list(const c10::Type& type) {
  const auto* list = type.castRaw<c10::ListType>();
  return list != nullptr && list->getElementType()->kind() == TypeKind::TensorType;
}
const c10::Type* without_optional(const c10::Type* type) {
  const auto* optional = type == nullptr ? nullptr : type->castRaw<c10::OptionalType>();
  return optional == nullptr ? type : without_optional(optional->getElementType().get());
}

// Where its JSON stands: an element of a list stands where the list is made.
const Block* home(const Value* value) {
  const Node* node = value->node();
  if (node != nullptr && node->kind() == Node::Kind::kUnpack && node->operand(0).is_value() &&
      is_tensor_list(*node->operand(0).value()->type())) {
    return home(node->operand(0).value());
  }
  return value->block();
}
bool stands_within(const Value* value, const Block& outer) {
  const Block* block = home(value);
  while (block != nullptr && block != &outer) block = block->owner() == nullptr ? nullptr : block->owner()->block();
  return block != nullptr;
}

template <class F>
void for_all(const Block& block, const F& f) {
  for (const Node* node : block) {
    f(*node);
    for (size_t i = 0; i < node->block_count(); ++i) for_all(node->block(i), f);
  }
  f(*block.return_node());
}

// Nodes that have no JSON of their own: their results stand for something else.
bool is_transparent(const Node& node) {
  return node.kind() == Node::Kind::kUnpack || node.kind() == Node::Kind::kList || node.kind() == Node::Kind::kTuple ||
         node.calls("torch::wrapped_number");
}

bool equal(const IValue& a, const IValue& b) {
  if (a.isNone() || b.isNone()) return a.isNone() && b.isNone();
  if (a.isBool() || b.isBool()) return a.isBool() && b.isBool() && a.toBool() == b.toBool();
  if (a.isInt() || b.isInt()) return a.isInt() && b.isInt() && a.toInt() == b.toInt();
  if (a.isDouble() || b.isDouble()) return a.isDouble() && b.isDouble() && a.toDouble() == b.toDouble();
  if (a.isString() || b.isString()) return a.isString() && b.isString() && a.toStringRef() == b.toStringRef();
  if (a.isDevice() || b.isDevice()) return a.isDevice() && b.isDevice() && a.toDevice() == b.toDevice();
  if (!a.isList() || !b.isList() || !a.type()->equals(*b.type())) return false;
  const auto x = a.toListRef(), y = b.toListRef();
  return x.size() == y.size() &&
         std::equal(x.begin(), x.end(), y.begin(), [](const IValue& p, const IValue& q) { return equal(p, q); });
}

}  // namespace

GraphWriter::GraphWriter(const graph::Graph& graph, const GraphSignature& signature,
                         std::map<std::string, int64_t> hints, const OpaqueSizes& opaque)
    : signature_(signature), ranges_(graph.symbols()), hints_(std::move(hints)), opaque_(opaque) {
  const auto collect = [&](const IntExpr& e) { e.collect_symbols(symbols_); };
  for_all(graph.block(), [&](const Node& node) {
    for (size_t i = 0; i < node.result_count(); ++i) {
      const Value* result = node.result(i);
      if (result->expr() != nullptr) collect(*result->expr());
      // What a node makes a list of is known; others are what they are taken apart into.
      if (is_tensor_list(*result->type()) && node.kind() != Node::Kind::kList) {
        for (const graph::Use& use : result->uses()) {
          if (use.node->kind() != Node::Kind::kUnpack || meanings_.count(result) > 0) continue;
          std::vector<Operand> parts;
          for (size_t k = 0; k < use.node->result_count(); ++k) parts.emplace_back(use.node->result(k));
          meanings_.emplace(result, std::move(parts));
        }
      }
    }
    if (node.kind() == Node::Kind::kList || node.kind() == Node::Kind::kTuple) {
      std::vector<Operand> parts;
      for (const Operand& part : node.operands()) {
        parts.push_back(meaning(part));
        if (parts.back().is_list()) refuse(node, "it makes a list of lists");
      }
      meanings_.emplace(node.result(), std::move(parts));
    } else if (node.calls("torch::wrapped_number")) {
      meanings_.emplace(node.result(), meaning(node.operand(0)));
    } else if (node.kind() == Node::Kind::kUnpack) {
      const Operand whole = meaning(node.operand(0));
      if (!whole.is_list()) refuse(node, "what it takes apart is no list that another node makes");
      check(whole.list().size() == node.result_count(), node, "a list of ", whole.list().size(), " elements");
      for (size_t i = 0; i < node.result_count(); ++i) {
        // The first that takes a list apart gives its elements their names.
        const Operand& part = whole.list()[i];
        if (!part.is_value() || part.value() != node.result(i)) meanings_.emplace(node.result(i), part);
      }
    }
  });
  for (size_t i = 0; i < graph.block().input_count(); ++i) {
    if (graph.block().input(i)->expr() != nullptr) collect(*graph.block().input(i)->expr());
  }
  root_ = block(graph.block(), {}, false);
}

std::string GraphWriter::Scope::fresh(const std::string& base) {
  std::string name = base;
  for (int64_t& i = numbers[base]; !taken.insert(name).second;) name = base + "_" + std::to_string(++i);
  return name;
}

Operand GraphWriter::meaning(const Operand& o) const {
  if (o.is_value()) {
    const auto found = meanings_.find(o.value());
    return found == meanings_.end() ? o : meaning(found->second);
  }
  if (!o.is_list()) return o;
  std::vector<Operand> parts;
  for (const Operand& part : o.list()) parts.push_back(meaning(part));
  return parts;
}

// --- names and tables of a graph ---

void GraphWriter::name_values(const Block& b, const std::vector<const Value*>& captured, Scope& scope) {
  std::vector<std::pair<const Value*, std::string>> own;  // with a name in case it has none
  for (size_t i = 0; i < b.input_count(); ++i) own.emplace_back(b.input(i), "arg");
  for (const Node* node : b) {
    if (is_transparent(*node)) continue;
    const bool calls = node->kind() == Node::Kind::kCall;
    const std::string base = calls ? node->callable().schema().base_name() : "getitem";
    const std::string op = base.substr(0, base.find('.'));
    for (size_t i = 0; i < node->result_count(); ++i) {
      const Operand whole = meaning(Operand(node->result(i)));
      if (!whole.is_list()) {
        own.emplace_back(node->result(i), node->result_count() == 1 ? op : "getitem");
        continue;
      }
      for (const Operand& part : whole.list()) own.emplace_back(part.value(), "getitem");
    }
  }
  const auto numbered = [&](const std::string& name) {
    return std::any_of(own.begin(), own.end(), [&](const auto& other) {
      const std::string& text = other.first->name();
      return text.size() > name.size() + 1 && text.compare(0, name.size() + 1, name + "_") == 0 &&
             text.find_first_not_of("0123456789", name.size() + 1) == std::string::npos;
    });
  };
  for (const auto& [value, base] : own) {
    if (is_builtin(value->name()) && numbered(value->name())) continue;
    if (is_name(value->name()) && scope.taken.insert(value->name()).second) scope.names.emplace(value, value->name());
  }
  const auto name = [&](const Value* value, const std::string& base) {
    if (scope.names.count(value) > 0) return;
    scope.names.emplace(value, scope.fresh(as_name(value->name().empty() ? base : value->name())));
  };
  for (const Value* value : captured) name(value, "arg");
  for (const auto& [value, base] : own) name(value, base);
}

// `maker`: the node that has it, or gets it.
void GraphWriter::declare(const Value* value, Scope& scope, const Node* maker) {
  const std::string& name = scope.names.at(value);
  const std::string place = maker == nullptr ? " of the graph" : " of\n  " + graph::print_node(*maker);
  switch (kind_of(value)) {
    case 't': {
      const TensorInfo* info = info_of(value);
      TORCH_CHECK_VALUE(info != nullptr, "the sizes and the dtype of the tensor '", name, "'", place,
                        "\nare not known (Value::info), which a .pt2 file must say");
      for (const auto* all : {&info->sizes, &info->strides}) {
        for (const IntExpr& e : *all) e.collect_symbols(symbols_);
      }
      info->storage_offset.collect_symbols(symbols_);
      scope.tensors[name] = json_of(*info, ranges_, hints_, opaque_);
      return;
    }
    case 'i':
      scope.ints[name] = number_json(value);
      return;
    case 'b':
      scope.bools[name] = number_json(value);
      return;
    case 'f':
      scope.floats[name] = number_json(value);
      return;
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "a .pt2 file has no form for the value '", name, "' of type ",
                                  value->type()->str(), place);
  }
}

json GraphWriter::inputs(const Block& b, const std::vector<const Value*>& captured, Scope& scope) {
  json list = json::array();
  const Node& end = *b.return_node();
  for (size_t i = 0; i < b.input_count(); ++i) {
    const Value* input = b.input(i);
    if (b.owner() == nullptr) {
      input_names_.push_back(scope.names.at(input));
      const InputSpec& spec = signature_.inputs.at(i);
      if (spec.kind == InputSpec::Kind::kConstant) {
        TORCH_CHECK_NOT_IMPLEMENTED(spec.value.isNone() || spec.value.isScalar() || spec.value.isString(),
                                    "a .pt2 file has no form for input ", i, ", a constant of type ",
                                    spec.value.tagKind());
        TORCH_CHECK_NOT_IMPLEMENTED(input->uses().empty(), "input ", i,
                                    " stands for a constant, which nodes of a .pt2 file cannot use");
        list.push_back(constant(spec.value, nullptr, end));
        continue;
      }
    }
    declare(input, scope, b.owner());
    list.push_back(use(input, scope, end));
  }
  for (const Value* value : captured) {
    declare(value, scope, b.owner());
    list.push_back(use(value, scope, end));
  }
  return list;
}

json GraphWriter::block(const Block& b, const std::vector<const Value*>& captured, bool single) {
  int depth = 0;
  for (const Node* owner = b.owner(); owner != nullptr; owner = owner->block()->owner()) ++depth;
  if (depth > kDeepestGraphs) refuse(*b.owner(), "it stands in more than ", kDeepestGraphs, " others");
  Scope scope;
  name_values(b, captured, scope);
  json j = {{"inputs", inputs(b, captured, scope)},
            {"nodes", json::array()},
            {"outputs", json::array()},
            {"is_single_tensor_return", single},
            {"custom_obj_values", json::object()}};
  for (const Node* node : b) {
    if (!is_transparent(*node))
      j["nodes"].push_back(node->block_count() > 0 ? higher(*node, scope) : call(*node, scope));
  }
  for (const Operand& output : b.outputs()) {
    const Operand whole = meaning(output);
    if (whole.is_list() || (whole.is_constant() && whole.constant().isList())) {
      refuse(*b.return_node(), "its results are tensors and numbers");
    }
    j["outputs"].push_back(argument(output, nullptr, std::nullopt, scope, *b.return_node()));
  }
  j["tensor_values"] = std::move(scope.tensors);
  j["sym_int_values"] = std::move(scope.ints);
  j["sym_bool_values"] = std::move(scope.bools);
  j["sym_float_values"] = std::move(scope.floats);
  return j;
}

// --- arguments ---

json GraphWriter::use(const Value* value, const Scope& scope, const Node& user) const {
  const auto found = scope.names.find(value);
  if (found == scope.names.end()) {
    if (is_tensor_list(*value->type())) refuse(user, "it takes a list of tensors whose length is not known");
    refuse(user, "it takes a value of type ", value->type()->str());
  }
  switch (kind_of(value)) {
    case 't':
      return {{"as_tensor", {{"name", found->second}}}};
    case 'i':
      return {{"as_sym_int", {{"as_name", found->second}}}};
    case 'b':
      return {{"as_sym_bool", {{"as_name", found->second}}}};
    case 'f':
      return {{"as_sym_float", {{"as_name", found->second}}}};
    default:
      refuse(user, "it takes a value of type ", value->type()->str());
  }
}

json GraphWriter::constant(const IValue& v, const c10::Type* type, const Node& user) const {
  const TypeKind kind = type == nullptr ? TypeKind::AnyType : type->kind();
  if (v.isNone()) return {{"as_none", true}};
  if (v.isBool()) return {{"as_bool", v.toBool()}};
  if (v.isInt()) {
    switch (kind) {
      case TypeKind::ScalarTypeType:
        return {{"as_scalar_type", number_or_refuse(static_cast<c10::ScalarType>(v.toInt()), "dtype")}};
      case TypeKind::LayoutType:
        return {{"as_layout", number_or_refuse(static_cast<c10::Layout>(v.toInt()), "layout")}};
      case TypeKind::MemoryFormatType:
        return {{"as_memory_format", number_or_refuse(static_cast<c10::MemoryFormat>(v.toInt()), "memory format")}};
      case TypeKind::FloatType:
      case TypeKind::SymFloatType:
        return {{"as_float", static_cast<double>(v.toInt())}};
      default:
        return {{"as_int", v.toInt()}};
    }
  }
  if (v.isDouble()) return {{"as_float", real_json(v.toDouble())}};
  if (v.isComplexDouble()) {
    const auto c = v.toComplexDouble();
    return {{"as_complex", {{"real", real_json(c.real())}, {"imag", real_json(c.imag())}}}};
  }
  if (v.isString()) return {{"as_string", v.toStringRef()}};
  if (v.isDevice()) return {{"as_device", json_of(v.toDevice())}};
  refuse(user, "it takes a constant of type ", v.tagKind());
}

json GraphWriter::list_argument(const std::vector<Operand>& parts, const c10::Type* element, const Scope& scope,
                                const Node& user) const {
  const c10::Type* inner = without_optional(element);
  const TypeKind kind = inner == nullptr ? TypeKind::AnyType : inner->kind();
  std::string kinds;  // one a part, as kind_of; '0' for None
  bool values = false;
  for (const Operand& part : parts) {
    if (part.is_value()) {
      kinds += kind_of(part.value());
      values = values || kinds.back() != 't';
    } else if (part.is_constant()) {
      const IValue& v = part.constant();
      kinds += v.isNone() ? '0' : v.isBool() ? 'b' : v.isInt() ? 'i' : v.isDouble() ? 'f' : v.isString() ? 's' : '?';
    } else {
      refuse(user, "it takes a list of lists");
    }
  }
  const auto only = [&](std::string_view some) { return kinds.find_first_not_of(some) == std::string::npos; };
  json list = json::array();
  if (kind == TypeKind::TensorType || (inner == nullptr && only("t0"))) {
    if (!only("t0")) refuse(user, "it takes a list of tensors and other values");
    const bool all_there = only("t");
    for (const Operand& part : parts) {
      if (all_there) {
        list.push_back(use(part.value(), scope, user).at("as_tensor"));
      } else if (part.is_value()) {
        list.push_back(use(part.value(), scope, user));
      } else {
        list.push_back({{"as_none", true}});
      }
    }
    return {{all_there ? "as_tensors" : "as_optional_tensors", std::move(list)}};
  }
  const bool wants_floats = kind == TypeKind::FloatType || kind == TypeKind::SymFloatType;
  struct Kind {
    const char* some;
    const char* constants;
    const char* symbols;
    const char* one;
  };
  constexpr Kind kInts = {"i", "as_ints", "as_sym_ints", "as_int"},
                 kBools = {"b", "as_bools", "as_sym_bools", "as_bool"},
                 kFloats = {"if", "as_floats", "as_sym_floats", "as_float"};
  if (!parts.empty() && only("s")) {
    for (const Operand& part : parts) list.push_back(part.constant().toStringRef());
    return {{"as_strings", std::move(list)}};
  }
  const bool empty_of_truths = parts.empty() && (kind == TypeKind::BoolType || kind == TypeKind::SymBoolType);
  if (parts.empty() && kind == TypeKind::StringType) return {{"as_strings", std::move(list)}};
  const Kind& form = empty_of_truths || (!parts.empty() && only("b")) ? kBools
                     : !wants_floats && only("i")                     ? kInts
                                                                      : kFloats;
  if (!only(form.some)) refuse(user, "it takes a list of values of several kinds");
  for (const Operand& part : parts) {
    json one;
    if (part.is_value()) {
      if (kind_of(part.value()) != form.one[3]) refuse(user, "it takes a list of values of several kinds");
      list.push_back({{"as_name", scope.names.at(part.value())}});
      continue;
    }
    const IValue& v = part.constant();
    if (v.isBool()) {
      one = v.toBool();
    } else if (v.isInt() && &form == &kInts) {
      one = v.toInt();
    } else {
      one = real_json(v.isInt() ? static_cast<double>(v.toInt()) : v.toDouble());
    }
    list.push_back(values ? json({{form.one, one}}) : one);
  }
  return {{values ? form.symbols : form.constants, std::move(list)}};
}

// `type`: what the schema says, or null. `size`: of a list of fixed size.
json GraphWriter::argument(const Operand& given, const c10::Type* type, std::optional<int32_t> size, const Scope& scope,
                           const Node& user) const {
  const Operand o = meaning(given);
  const c10::Type* wanted = without_optional(type);
  const auto* list = wanted == nullptr ? nullptr : wanted->castRaw<c10::ListType>();
  const c10::Type* element = list == nullptr ? nullptr : list->getElementType().get();
  if (o.is_list()) return list_argument(o.list(), element, scope, user);
  if (o.is_value()) return use(o.value(), scope, user);
  const IValue& v = o.constant();
  if (v.isList()) {
    std::vector<Operand> parts;
    for (const IValue& part : v.toListRef()) parts.emplace_back(part);
    return list_argument(parts, element, scope, user);
  }
  if (list != nullptr && !v.isNone()) {
    return list_argument(std::vector<Operand>(static_cast<size_t>(std::max(1, size.value_or(1))), Operand(v)), element,
                         scope, user);
  }
  return constant(v, wanted, user);
}

// --- nodes ---

json GraphWriter::named_node(const Node& node, std::string target, json inputs, json outputs, Scope& scope) {
  json metadata = json::object();
  if (node.source() != nullptr) {
    const auto* notes = dynamic_cast<const NodeMetadata*>(node.source().get());
    if (notes != nullptr) {
      metadata = notes->notes();
    } else {
      metadata["stack_trace"] = node.source()->text();
    }
  }
  // A node of one tensor has its name.
  const bool plain =
      node.kind() == Node::Kind::kCall && node.result_count() == 1 && scope.names.count(node.result()) > 0;
  std::string name;
  if (plain) {
    name = scope.names.at(node.result());
  } else {
    const size_t dot =
        target.find_last_of('.', node.kind() == Node::Kind::kCall ? target.find_last_of('.') - 1 : std::string::npos);
    name = target.substr(dot + 1);
    name = scope.fresh(as_name(name.substr(0, name.find('.'))));
  }
  return {{"target", std::move(target)},
          {"inputs", std::move(inputs)},
          {"outputs", std::move(outputs)},
          {"metadata", std::move(metadata)},
          {"is_hop_single_tensor_return", node.kind() == Node::Kind::kCall ? json(nullptr) : json(false)},
          {"name", std::move(name)}};
}

json GraphWriter::results(const Node& node, Scope& scope) {
  json outputs = json::array();
  for (size_t i = 0; i < node.result_count(); ++i) {
    const Value* result = node.result(i);
    const Operand whole = meaning(Operand(node.result(i)));
    if (whole.is_list()) {
      json list = json::array();
      for (const Operand& part : whole.list()) {
        declare(part.value(), scope, &node);
        list.push_back({{"name", scope.names.at(part.value())}});
      }
      outputs.push_back({{"as_tensors", std::move(list)}});
      continue;
    }
    if (is_tensor_list(*result->type())) refuse(node, "it makes a list of tensors whose length is not known");
    // What nobody knows or uses is left out where there are others.
    if (node.result_count() > 1 && result->uses().empty() && kind_of(result) == 't' && info_of(result) == nullptr) {
      outputs.push_back({{"as_none", true}});
      continue;
    }
    declare(result, scope, &node);
    outputs.push_back(use(result, scope, node));
  }
  return outputs;
}

json GraphWriter::call(const Node& node, Scope& scope) {
  switch (node.kind()) {
    case Node::Kind::kCall:
      break;
    case Node::Kind::kGetAttr:
    case Node::Kind::kSetAttr:
      refuse(node, "its programs have no objects");
    case Node::Kind::kInvoke:
      refuse(node, "its programs have no functions");
    case Node::Kind::kRaise:
      refuse(node, "its programs raise nothing");
    default:
      refuse(node, "its values are tensors, numbers and lists of them");
  }
  const c10::FunctionSchema& schema = node.callable().schema();
  std::string target = scalar_target(node);
  if (target.empty()) {
    const bool known = node.callable().handle() != nullptr || node.callable() == sym_size();
    if (!known) refuse(node, "it is no operator of the dispatcher");
    if (graph::opens_files(schema.name())) refuse(node, "no program may open files");
    target = "torch.ops." + schema.ns() + "." + schema.name().substr(schema.ns().size() + 2) + "." +
             (schema.overload_name().empty() ? "default" : schema.overload_name());
  }
  if (schema.is_vararg() || schema.is_varret()) refuse(node, "it has no fixed number of arguments and results");
  const std::vector<c10::Argument>& arguments = schema.arguments();
  const auto at_default = [&](size_t i) {
    return node.operand(i).is_constant() && arguments[i].default_value().has_value() &&
           equal(node.operand(i).constant(), *arguments[i].default_value());
  };
  // Positional ones stand in order, without those behind the last that matters.
  size_t positional = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].kwarg_only() && !at_default(i)) positional = i + 1;
  }
  json inputs = json::array();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool keyword = arguments[i].kwarg_only();
    if (keyword ? at_default(i) : i >= positional) continue;
    inputs.push_back({{"name", arguments[i].name()},
                      {"arg", argument(node.operand(i), arguments[i].real_type().get(), arguments[i].N(), scope, node)},
                      {"kind", keyword ? 2 : 1}});
  }
  json outputs = results(node, scope);
  return named_node(node, std::move(target), std::move(inputs), std::move(outputs), scope);
}

// Of its blocks, in the order in which they are met.
std::vector<const Value*> GraphWriter::captured_by(const Node& node) const {
  std::vector<const Value*> all;
  std::set<const Value*> seen;
  for (size_t i = 0; i < node.block_count(); ++i) {
    const Block& b = node.block(i);
    for_all(b, [&](const Node& inner) {
      if (is_transparent(inner)) return;
      for (const Operand& o : inner.operands()) {
        meaning(o).for_values([&](const Value* v) {
          bool own = false;
          for (size_t k = 0; k < node.block_count(); ++k) own = own || stands_within(v, node.block(k));
          if (!own && seen.insert(v).second) all.push_back(v);
        });
      }
    });
  }
  return all;
}

json GraphWriter::inner_graph(const char* name, const Block& b, const std::vector<const Value*>& captured,
                              bool single) {
  const std::string unique = std::string(name) + "_graph_" + std::to_string(next_graph_++);
  return {{"as_graph", {{"name", unique}, {"graph", block(b, captured, single)}}}};
}

json GraphWriter::higher(const Node& node, Scope& scope) {
  const std::vector<const Value*> captured = captured_by(node);
  std::vector<Operand> outside;
  for (const Value* v : captured) outside.emplace_back(const_cast<Value*>(v));
  json inputs = json::array();
  const auto add = [&](json argument) { inputs.push_back({{"name", ""}, {"arg", std::move(argument)}, {"kind", 1}}); };
  // Also numbers, where they have names, stand in lists of tensors.
  const auto add_list = [&](const std::vector<Operand>& parts) {
    if (!std::all_of(parts.begin(), parts.end(), [](const Operand& o) { return o.is_value(); })) {
      return add(list_argument(parts, nullptr, scope, node));
    }
    json list = json::array();
    for (const Operand& part : parts) {
      use(part.value(), scope, node);
      list.push_back({{"name", scope.names.at(part.value())}});
    }
    add({{"as_tensors", std::move(list)}});
  };
  const auto listed = [&](const Operand& o) {
    check(o.is_list(), node, "expected a list of operands");
    add_list(meaning(o).list());
  };
  const auto with_captured = [&](const Operand& o) {
    check(o.is_list(), node, "expected a list of operands");
    std::vector<Operand> all = meaning(o).list();
    all.insert(all.end(), outside.begin(), outside.end());
    add_list(all);
  };
  std::string target = "torch.ops.higher_order.";
  switch (node.kind()) {
    case Node::Kind::kIf:
      target += "cond";
      add(argument(node.operand(0), nullptr, std::nullopt, scope, node));
      add(inner_graph("true", node.block(0), captured));
      add(inner_graph("false", node.block(1), captured));
      add_list(outside);
      break;
    case Node::Kind::kWhile:
      target += "while_loop";
      add(inner_graph("while_loop_cond", node.block(0), captured, /*single=*/true));
      add(inner_graph("while_loop_body", node.block(1), captured));
      listed(node.operand(0));
      with_captured(node.operand(1));
      break;
    case Node::Kind::kMap:
      target += "map_impl";
      add(inner_graph("map_body", node.block(0), captured));
      listed(node.operand(0));
      with_captured(node.operand(1));
      break;
    case Node::Kind::kScan:
      target += "scan";
      add(inner_graph("scan_combine", node.block(0), captured));
      listed(node.operand(0));
      listed(node.operand(1));
      with_captured(node.operand(2));
      break;
    case Node::Kind::kScope: {
      const bool autocast = node.name() == "autocast";
      if (!autocast && node.name() != "set_grad_enabled") refuse(node, "its scopes are autocast and set_grad_enabled");
      check(node.operands().size() == (autocast ? 4 : 1), node, "expected ", autocast ? 4 : 1, " operands");
      target += autocast ? "wrap_with_autocast" : "wrap_with_set_grad_enabled";
      for (size_t i = 0; i < node.operands().size(); ++i) {
        const bool dtype = autocast && i == 1;
        add(argument(node.operand(i), dtype ? c10::ScalarTypeType::get().get() : nullptr, std::nullopt, scope, node));
      }
      add(inner_graph("submod", node.block(0), captured));
      for (const Operand& o : outside) add(argument(o, nullptr, std::nullopt, scope, node));
      break;
    }
    case Node::Kind::kLoop:
      refuse(node, "its loops are while_loop, map and scan, over tensors");
    default:
      refuse(node, "it has blocks");
  }
  json outputs = results(node, scope);
  return named_node(node, std::move(target), std::move(inputs), std::move(outputs), scope);
}

}  // namespace torch::pt2
