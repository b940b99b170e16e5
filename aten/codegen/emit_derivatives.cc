#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include "aten/codegen/emit.h"
#include "aten/codegen/formula.h"

namespace kindling::codegen {
namespace {

using c10::Argument;
using c10::ArgumentShape;

// A property of a tensor that is kept instead of the tensor: the method, and the type of what is kept.
struct Property {
  const char* method;
  const char* type;
};
constexpr std::array<Property, 10> kProperties{{
    {"sizes", "IntArrayRef"},
    {"strides", "IntArrayRef"},
    {"scalar_type", "ScalarType"},
    {"dim", "int64_t"},
    {"numel", "int64_t"},
    {"storage_offset", "int64_t"},
    {"options", "TensorOptions"},
    {"device", "Device"},
    {"is_complex", "bool"},
    {"defined", "bool"},
}};

// A value in a node's extra block.
struct ExtraField {
  std::string type;  // of the argument; kept as Kept<type>
  std::string name;
  std::string value;  // an expression in the wrapper
};

// What backward needs, found from the identifiers in the formulas.
class FormulaReader {
 public:
  FormulaReader(const Variant& main, const std::set<std::string>& result_names)
      : main_(main), result_names_(result_names) {}

  // Rewrites one formula; notes what it uses under `line`.
  std::string read(const std::string& formula, int line) {
    std::string out;
    FormulaNames names(formula);
    while (names.next()) {
      out += names.before();
      out += names.is_member() ? names.name() : use(names, line);
    }
    return out.append(names.before());
  }

  std::map<std::string, std::set<int>> tensors;  // saved arguments, by the lines that use them
  std::set<std::string> results;                 // saved results
  std::vector<ExtraField> extra;
  bool grad = false, grads = false;

 private:
  void add_extra(const std::string& type, const std::string& name, const std::string& value) {
    for (const ExtraField& field : extra) {
      if (field.name == name) return;
    }
    extra.push_back({type, name, value});
  }

  std::string use(FormulaNames& names, int line) {
    const std::string word = names.name();
    if (word == "grad") grad = true;
    if (word == "grads") grads = true;
    if (result_names_.count(word)) {
      results.insert(word);
      return word;
    }
    for (const Param& param : main_.signature.params) {
      if (param.name != word) continue;
      if (!param.carries_keys || param.is_options) {
        add_extra(param.type, word, word);
        return word;
      }
      return use_tensor(param, names, line);
    }
    return word;
  }

  std::string use_tensor(const Param& param, FormulaNames& names, int line) {
    const std::string& word = param.name;
    if (main_.schema.arguments()[param.argument].shape().list) {
      if (names.take(".size()")) return word + "_count";
      if (names.take(".sizes()")) {
        add_extra("std::vector<DimVector>", word + "_sizes", "keep_sizes(" + word + ")");
        return word + "_sizes";
      }
      if (names.take(".scalar_types()")) {
        add_extra("std::vector<ScalarType>", word + "_scalar_types", "keep_dtypes(" + word + ")");
        return word + "_scalar_types";
      }
    } else {
      if (names.take(".size(")) {
        add_property(param, "sizes", "IntArrayRef");
        return "size_at(" + word + "_sizes, ";
      }
      for (const Property& property : kProperties) {
        if (!names.take("." + std::string(property.method) + "()")) continue;
        add_property(param, property.method, property.type);
        return word + "_" + property.method;
      }
    }
    tensors[word].insert(line);
    return word;
  }

  void add_property(const Param& param, const std::string& method, const std::string& type) {
    const std::string name = param.name + "_" + method;
    const bool optional = main_.schema.arguments()[param.argument].shape().optional;
    const char* value = "$name$.$method$()";
    if (method == "defined") {
      value = "or_undefined($name$).defined()";
    } else if (optional) {
      value = type == "Device"
                  ? "or_undefined($name$).defined() ? keep(or_undefined($name$).$method$()) : Device(DeviceType::CPU)"
                  : "or_undefined($name$).defined() ? keep(or_undefined($name$).$method$()) : Kept<$type$>()";
    }
    add_extra(type, name, print(value, {{"name", param.name}, {"method", method}, {"type", type}}));
  }

  const Variant& main_;
  const std::set<std::string>& result_names_;
};

// "max_pool2d" is MaxPool2D: letters behind a digit are large, too.
std::string camel_case(const std::string& name) {
  std::string out;
  bool upper = true;
  for (const char c : name) {
    if (c != '_') out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = std::isalpha(static_cast<unsigned char>(c)) == 0;
  }
  return out;
}

class DerivativeEmitter {
 public:
  DerivativeEmitter(const Operator& op, int overload_index) : op_(op), overload_index_(overload_index) {}

  std::string emit() {
    const bool any = op_.differentiable(op_.main) || (op_.inplace && op_.differentiable(*op_.inplace));
    if (!any) return "";
    if (op_.entry.derivative_size() > 0) {
      analyse();
      emit_node();
    }
    for (const Variant* variant : op_.variants()) {
      if (variant->form == Form::kOut || !op_.differentiable(*variant)) continue;
      out_ +=
          "namespace at::autograd_kernels {\nusing namespace torch::autograd;\nusing namespace "
          "torch::autograd::generated;\n";
      out_ += print("$result$ $id$($parameters$) {\n", {{"result", variant->signature.result},
                                                        {"id", variant->identifier()},
                                                        {"parameters", variant->signature.parameters()}});
      if (op_.entry.derivative_size() > 0) {
        emit_recording(*variant);
      } else {
        emit_not_implemented(*variant);
      }
      out_ += "}\n}\n";
    }
    return print("\n// $schema$\n$text$", {{"schema", op_.main.schema.str()}, {"text", out_}});
  }

 private:
  struct Input {  // a differentiable argument
    const Param* param;
    bool list;
    std::string edge;  // an expression
  };
  struct Line {
    std::vector<std::string> inputs;
    std::string formula;
    bool grad = false;
  };
  struct Saved {  // a tensor argument or result that is kept
    std::string name;
    bool list = false;
    bool result = false;
    bool written = false;  // an argument that the call writes to, self apart: kept as the call left it
    int output_nr = 0;
    std::set<int> lines;
    std::string slot;
  };

  bool mutating() const { return op_.main.form == Form::kInplace; }
  ArgumentShape type_of(const Param& param) const { return op_.main.schema.arguments()[param.argument].shape(); }
  bool is_written(const Param& param) const { return op_.main.schema.arguments()[param.argument].is_write(); }
  std::string kind() const { return "k_" + op_.main.identifier(); }
  std::string extra_type() const { return "Extra_" + op_.main.identifier(); }

  std::string single_result_name() const { return "result"; }

  void analyse() {
    const auto& returns = op_.main.schema.returns();
    list_result_ = returns.size() == 1 && returns[0].shape().list;
    std::map<std::string, int> numbers;
    if (returns.size() == 1 || mutating()) {
      numbers["result"] = 0;
    } else {
      for (size_t i = 0; i < returns.size(); ++i) numbers["result" + std::to_string(i)] = static_cast<int>(i);
    }
    std::set<std::string> names;
    for (const auto& [name, number] : numbers) names.insert(name);
    FormulaReader reader(op_.main, names);
    int line_number = 0;
    std::set<std::string> differentiable;
    for (const Derivative& derivative : op_.entry.derivative()) {
      Line line;
      line.inputs = inputs_of(derivative);
      reader.grad = false;
      line.formula = reader.read(derivative.formula(), line_number++);
      line.grad = reader.grad;
      differentiable.insert(line.inputs.begin(), line.inputs.end());
      lines_.push_back(std::move(line));
    }
    uses_grads_ = reader.grads;

    int fixed = 0;
    std::string lists;
    for (const Param& param : op_.main.signature.params) {
      if (!differentiable.count(param.name)) {
        if (param.carries_keys && !param.is_options) others_.push_back(&param);
        continue;
      }
      const bool list = type_of(param).list;
      inputs_.push_back({&param, list, std::to_string(fixed) + lists});
      if (list) {
        lists += " + " + param.name + "_count";
        counts_.insert(param.name);
      } else {
        ++fixed;
      }
    }
    edges_ = std::to_string(fixed) + lists;

    // Hooks see what is saved in this order: arguments by name, as PyTorch has them, then results.
    int slot = 0;
    for (const auto& [name, lines] : reader.tensors) {
      const auto& params = op_.main.signature.params;
      const auto param = std::find_if(params.begin(), params.end(), [&](const Param& p) { return p.name == name; });
      if (param == params.end()) continue;
      Saved saved;
      saved.name = name;
      saved.list = type_of(*param).list;
      saved.written = name != "self" && is_written(*param);
      saved.lines = lines;
      if (!saved.list) saved.slot = std::to_string(slot++);
      saved_.push_back(std::move(saved));
    }
    for (const std::string& name : reader.results) {
      Saved saved;
      saved.name = name;
      saved.list = list_result_;
      saved.result = true;
      saved.output_nr = numbers[name];
      if (!saved.list) saved.slot = std::to_string(slot++);
      saved_.push_back(std::move(saved));
    }
    std::string saved_lists;
    for (Saved& saved : saved_) {
      if (!saved.list) continue;
      saved.slot = std::to_string(slot) + saved_lists;
      saved_lists += " + " + saved.name + "_count";
      counts_.insert(saved.name);
    }
    saved_count_ = std::to_string(slot) + saved_lists;
    extra_ = reader.extra;
    // A formula may name the length of a list without the list itself.
    for (const Line& line : lines_) {
      for (const Param& param : op_.main.signature.params) {
        if (param.carries_keys && !param.is_options && type_of(param).list &&
            line.formula.find(param.name + "_count") != std::string::npos) {
          counts_.insert(param.name);
        }
      }
    }
    for (const std::string& name : counts_) extra_.push_back({"uint32_t", name + "_count", name + "_count"});
  }

  // --- the node ---
  void emit_node() {
    const std::string& own = op_.entry.node();
    const std::string name =
        (own.empty() ? camel_case(op_.main.schema.name()) : own) + "Backward" + std::to_string(overload_index_);
    const Values values{
        {"id", op_.main.identifier()}, {"Extra", extra_type()}, {"kind", kind()}, {"name", quoted(name)}};
    const auto of_field = [](const ExtraField& field) { return Values{{"type", field.type}, {"name", field.name}}; };
    out_ += "namespace torch::autograd::generated {\nnamespace {\n";
    if (!extra_.empty()) {
      out_ += print("struct $Extra$ {\n", values);
      for (const ExtraField& field : extra_) out_ += print("  Kept<$type$> $name$;\n", of_field(field));
      out_ += "};\n";
    }
    out_ += print("void apply_$id$(GenericNode& node, const Tensor* raw_grads, Tensor* grad_inputs) {\n", values);
    if (!extra_.empty()) {
      out_ += print("  const $Extra$& extra = node.extra<$Extra$>();\n", values);
      for (const ExtraField& field : extra_) {
        out_ += print("  [[maybe_unused]] decltype(auto) $name$ = shown(extra.$name$);\n", of_field(field));
      }
    }
    for (const Saved& saved : saved_) {
      out_ += print(
          saved.list ? "  const std::vector<Tensor> $name$ = unpack_list(node, $slot$, $name$_count);\n"
                     : "  const SavedRef $name$_saved = node.saved($slot$);\n  const Tensor& $name$ = $name$_saved;\n",
          {{"name", saved.name}, {"slot", saved.slot}});
    }
    const bool several = op_.main.schema.returns().size() > 1 || list_result_;
    const bool grad = std::any_of(lines_.begin(), lines_.end(), [](const Line& line) { return line.grad; });
    if (grad) out_ += "  const Tensor& grad = raw_grads[0];\n";
    if (uses_grads_) out_ += "  const std::vector<Tensor> grads = materialize_grads(node, raw_grads);\n";
    for (const Line& line : lines_) emit_line(line, several && line.grad);
    out_ += "}\n";
    out_ += print(
        extra_.empty()
            ? "constexpr NodeKind $kind${$name$, &apply_$id$, nullptr};\n}\n}\n"
            : "constexpr NodeKind $kind${$name$, &apply_$id$, std::is_trivially_destructible_v<$Extra$> ? nullptr : "
              "&GenericNode::drop_extra<$Extra$>};\n}\n}\n",
        values);
  }

  const Input& input(const std::string& name) const {
    return *std::find_if(inputs_.begin(), inputs_.end(), [&](const Input& i) { return i.param->name == name; });
  }

  void emit_line(const Line& line, bool only_with_grad) {
    Values values{{"guard", only_with_grad ? "grad.defined() && " : ""},
                  {"formula", line.formula},
                  {"count", std::to_string(line.inputs.size())}};
    if (line.inputs.size() == 1) {
      const Input& in = input(line.inputs[0]);
      values["edge"] = in.edge;
      values["name"] = in.param->name;
      out_ += print(
          in.list
              ? "  if ($guard$needs_any(node, $edge$, $name$_count)) put_list(node, grad_inputs, $edge$, $formula$);\n"
              : "  if ($guard$node.needs($edge$)) grad_inputs[$edge$] = $formula$;\n",
          values);
      return;
    }
    std::vector<std::string> needs;
    for (const std::string& name : line.inputs) {
      needs.push_back(print(input(name).list ? "needs_any(node, $edge$, $name$_count)" : "node.needs($edge$)",
                            {{"edge", input(name).edge}, {"name", name}}));
    }
    values["mask"] = joined(needs);
    values["any"] = joined(needs, " || ");
    out_ += print(only_with_grad ? "  if ($guard$($any$)) {\n" : "  if ($any$) {\n", values);
    out_ += print(
        "    [[maybe_unused]] const std::array<bool, $count$> grad_input_mask{$mask$};\n    auto grads_of_inputs = "
        "$formula$;\n",
        values);
    for (size_t i = 0; i < line.inputs.size(); ++i) {
      const Input& in = input(line.inputs[i]);
      const char* const call = in.list ? "put_list(node, grad_inputs, $edge$, $grad$)" : "grad_inputs[$edge$] = $grad$";
      const std::string grad = "std::move(std::get<" + std::to_string(i) + ">(grads_of_inputs))";
      out_ += "    if (" + needs[i] + ") " + print(call, {{"edge", in.edge}, {"grad", grad}}) + ";\n";
    }
    out_ += "  }\n";
  }

  // --- the wrapper ---
  static std::string tensor_arguments(const Variant& variant) {
    std::vector<std::string> names;
    for (const Param& param : variant.signature.params) {
      if (param.carries_keys && !param.is_options) names.push_back(param.name);
    }
    return joined(names);
  }

  std::string differentiable_arguments() const {
    std::vector<std::string> names;
    for (const Input& in : inputs_) names.push_back(in.param->name);
    return joined(names);
  }

  static std::string call(const Variant& variant) {
    std::vector<std::string> names;
    for (const Param& param : variant.signature.params) names.push_back(param.name);
    return print("operators::$id$($arguments$)", {{"id", variant.identifier()}, {"arguments", joined(names)}});
  }

  void emit_node_set_up(const Variant& variant, const std::string& indent, const std::string& results) {
    const bool in_place = variant.form == Form::kInplace;
    for (const std::string& name : counts_) {
      out_ += print("$indent$const auto $name$_count = static_cast<uint32_t>($name$.size());\n",
                    {{"indent", indent}, {"name", name}});
    }
    Values values{{"indent", indent},      {"kind", kind()},     {"edges", edges_},
                  {"saved", saved_count_}, {"results", results}, {"Extra", extra_type()}};
    out_ += print(
        extra_.empty()
            ? "$indent$node = GenericNode::make($kind$, {.edges = $edges$, .saved = $saved$, .results = $results$});\n"
            : "$indent$node = GenericNode::make($kind$, {.edges = $edges$, .saved = $saved$, .results = $results$, "
              ".extra_bytes = sizeof($Extra$)});\n",
        values);
    for (const Input& in : inputs_) {
      out_ += print(in.list ? "$indent$set_edges(*node, $edge$, $name$);\n"
                            : "$indent$node->set_edge($edge$, or_undefined($name$));\n",
                    {{"indent", indent}, {"edge", in.edge}, {"name", in.param->name}});
    }
    if (!extra_.empty()) {
      std::vector<std::string> kept;
      for (const ExtraField& field : extra_) {
        kept.push_back(print("Kept<$type$>(keep($value$))", {{"type", field.type}, {"value", field.value}}));
      }
      values["kept"] = joined(kept);
      out_ += print("$indent$node->emplace_extra<$Extra$>($kept$);\n", values);
    }
    emit_saving(indent, in_place, false);
  }

  // Of the arguments that the call writes to, or of the others.
  void emit_saving(const std::string& indent, bool in_place, bool written) {
    for (const Saved& saved : saved_) {
      if (saved.result || saved.written != written) continue;
      Values values{{"indent", indent}};
      const bool before = in_place && saved.name == "self";
      values["slot"] = saved.slot;
      values["name"] = saved.name;
      values["needs"] = needs_of(saved);
      values["value"] =
          before ? "saved_before_inplace(self)" : print(saved.list ? "$name$" : "or_undefined($name$)", values);
      out_ += print(saved.list ? "$indent$if ($needs$) save_list(*node, $slot$, $value$);\n"
                               : "$indent$if ($needs$) node->save($slot$, $value$);\n",
                    values);
    }
  }

  // Whether a gradient is wanted whose formula uses what is saved.
  std::string needs_of(const Saved& saved) const {
    std::vector<std::string> needs;
    for (int line : saved.lines) {
      for (const std::string& name : lines_[line].inputs) {
        const Input& in = input(name);
        needs.push_back(print(in.list ? "needs_any(*node, $edge$, $name$_count)" : "node->needs($edge$)",
                              {{"edge", in.edge}, {"name", name}}));
      }
    }
    return joined(needs, " || ");
  }

  void check_others() {
    for (const Param* param : others_) {
      if (mutating() && param->name == "self") continue;
      out_ += print("  check_no_gradient($op$, $quoted$, $name$);\n",
                    {{"op", quoted(op_.main.schema.name())}, {"quoted", quoted(param->name)}, {"name", param->name}});
    }
  }

  void emit_recording(const Variant& variant) {
    check_others();
    const auto& returns = variant.schema.returns();
    Values values{
        {"arguments", differentiable_arguments()}, {"call", call(variant)}, {"result", variant.signature.result}};
    const auto save_outputs = [&](const char* text) {
      for (const Saved& saved : saved_) {
        if (!saved.result) continue;
        const std::string number = std::to_string(saved.output_nr);
        const std::string value = returns.size() > 1 ? "std::get<" + number + ">(result)" : "result";
        out_ += print(text, {{"slot", saved.slot}, {"value", value}, {"number", number}});
      }
    };
    if (variant.form == Form::kInplace) {
      out_ += print(
          "  const bool record = any_requires_grad($arguments$);\n  check_inplace(self, record);\n  GenericNode::Ptr "
          "node;\n"
          "  if (record) {\n",
          values);
      emit_node_set_up(variant, "    ", "1");
      out_ += print(
          "  }\n  {\n    c10::AutoDispatchBelowAutograd below;\n    $call$;\n  }\n  if (node) {\n    "
          "rebase_history(self, node);\n",
          values);
      emit_saving("    ", true, true);
      save_outputs("    node->save_output($slot$, self, 0);\n");
      out_ += "  }\n";
      if (!returns.empty()) out_ += "  return self;\n";
      return;
    }
    values["run"] = print("[&] {\n    c10::AutoDispatchBelowAutograd below;\n    return $call$;\n  }()", values);
    if (list_result_) {
      out_ += print(
          "  std::vector<Tensor> result = $run$;\n  if (any_requires_grad($arguments$)) {\n    GenericNode::Ptr "
          "node;\n",
          values);
      emit_node_set_up(variant, "    ", "static_cast<uint32_t>(result.size())");
      const bool views = !returns[0].alias().empty();
      out_ += views ? "    set_multi_view_history(result, node);\n" : "    set_history(result, node);\n";
      save_outputs("    for (uint32_t i = 0; i < result.size(); ++i) node->save_output($slot$ + i, result[i], i);\n");
      out_ += "  }\n  return result;\n";
      return;
    }
    out_ += print("  GenericNode::Ptr node;\n  if (any_requires_grad($arguments$)) {\n", values);
    emit_node_set_up(variant, "    ", std::to_string(std::max<size_t>(returns.size(), 1)));
    out_ += print("  }\n  $result$ result = $run$;\n  if (node) {\n", values);
    emit_set_history(returns.size());
    emit_saving("    ", false, true);
    save_outputs("    node->save_output($slot$, $value$, $number$);\n");
    out_ += "  }\n  return result;\n";
  }

  // Of each result that may have a gradient; lists have theirs set otherwise.
  void emit_set_history(size_t results) {
    for (size_t i = 0; i < results; ++i) {
      const ArgumentShape type = op_.main.schema.returns()[i].shape();
      if (!is_tensor_like(type) || (type.list && op_.entry.derivative_size() == 0) || !has_gradient(op_, i)) continue;
      out_ += print(results == 1 ? "    set_history(result, node, $i$);\n"
                                 : "    set_history(std::get<$i$>(result), node, $i$);\n",
                    {{"i", std::to_string(i)}});
    }
  }

  void emit_not_implemented(const Variant& variant) {
    const auto& returns = variant.schema.returns();
    const bool in_place = variant.schema.is_mutable() && variant.form == Form::kInplace;
    const bool list =
        in_place ? variant.schema.arguments()[0].shape().list : returns.size() == 1 && returns[0].shape().list;
    Values values{{"name", quoted(variant.schema.name())},
                  {"tensors", tensor_arguments(variant)},
                  {"call", call(variant)},
                  {"result", variant.signature.result},
                  {"results", std::to_string(in_place ? 1 : returns.size())}};
    if (list)
      values["results"] = in_place ? "static_cast<uint32_t>(self.size())" : "static_cast<uint32_t>(result.size())";
    values["node"] = print("not_implemented_node($name$, $results$, $tensors$)", values);
    if (in_place) {
      out_ += print(
          "  check_inplace(self, any_requires_grad($tensors$));\n  GenericNode::Ptr node = $node$;\n"
          "  {\n    c10::AutoDispatchBelowAutograd below;\n    $call$;\n  }\n  if (node) rebase_history(self, node);\n",
          values);
      if (!returns.empty()) out_ += "  return self;\n";
      return;
    }
    out_ += print("  $result$ result = [&] {\n    c10::AutoDispatchBelowAutograd below;\n    return $call$;\n  }();\n",
                  values);
    if (list) {
      out_ += print("  if (GenericNode::Ptr node = $node$) set_history(result, node);\n", values);
    } else {
      out_ += print("  if (GenericNode::Ptr node = $node$) {\n", values);
      emit_set_history(returns.size());
      out_ += "  }\n";
    }
    out_ += "  return result;\n";
  }

  const Operator& op_;
  const int overload_index_;
  std::string out_;
  bool list_result_ = false;
  bool uses_grads_ = false;
  std::vector<Line> lines_;
  std::vector<Input> inputs_;
  std::vector<const Param*> others_;
  std::vector<Saved> saved_;
  std::vector<ExtraField> extra_;
  std::set<std::string> counts_;
  std::string edges_;
  std::string saved_count_;
};

}  // namespace

std::string emit_derivatives(const Table& table) {
  std::string out = file_header(table);
  out += print(
      "#include <array>\n#include <type_traits>\n#include <utility>\n\n#include \"aten/ops/$family$/operators.h\"\n"
      "#include \"autograd/derivatives/functions.h\"\n#include \"autograd/derivatives/support.h\"\n",
      {{"family", table.family}});
  std::map<std::string, int> overloads;
  for (const Operator& op : table.operators) {
    const int index = op.entry.derivative_size() > 0 ? overloads[op.main.schema.name()]++ : 0;
    out += DerivativeEmitter(op, index).emit();
  }
  return out;
}

}  // namespace kindling::codegen
