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
using c10::SchemaType;

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
  FormulaReader(const Variant& main, const std::set<std::string>& result_names) : main_(main), result_names_(result_names) {}

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
  std::set<std::string> results;                  // saved results
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
    if (main_.schema.arguments()[param.argument].type().list) {
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
    const bool optional = main_.schema.arguments()[param.argument].type().optional;
    std::string value = param.name + "." + method + "()";
    if (method == "defined") {
      value = "or_undefined(" + param.name + ").defined()";
    } else if (optional) {
      const std::string fallback = type == "Device" ? "Device(DeviceType::CPU)" : "Kept<" + type + ">()";
      value = "or_undefined(" + param.name + ").defined() ? keep(or_undefined(" + param.name + ")." + method + "()) : " + fallback;
    }
    add_extra(type, name, value);
  }

  const Variant& main_;
  const std::set<std::string>& result_names_;
};

std::string camel_case(const std::string& name) {
  std::string out;
  bool upper = true;
  for (char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
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
      out_ += "namespace at::autograd_kernels {\nusing namespace torch::autograd;\nusing namespace torch::autograd::generated;\n";
      out_ += variant->signature.result + " " + variant->identifier() + "(" + variant->signature.parameters() + ") {\n";
      if (op_.entry.derivative_size() > 0) {
        emit_recording(*variant);
      } else {
        emit_not_implemented(*variant);
      }
      out_ += "}\n}\n";
    }
    return "\n// " + op_.main.schema.str() + "\n" + out_;
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
    int output_nr = 0;
    std::set<int> lines;
    std::string slot;
  };

  bool mutating() const { return op_.main.form == Form::kInplace; }
  const SchemaType& type_of(const Param& param) const { return op_.main.schema.arguments()[param.argument].type(); }
  std::string kind() const { return "k_" + op_.main.identifier(); }
  std::string extra_type() const { return "Extra_" + op_.main.identifier(); }

  std::string single_result_name() const { return "result"; }

  void analyse() {
    const auto& returns = op_.main.schema.returns();
    list_result_ = returns.size() == 1 && returns[0].type().list;
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

    int slot = 0;
    for (const Param& param : op_.main.signature.params) {
      const auto used = reader.tensors.find(param.name);
      if (used == reader.tensors.end()) continue;
      Saved saved;
      saved.name = param.name;
      saved.list = type_of(param).list;
      saved.lines = used->second;
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
    const std::string id = op_.main.identifier();
    out_ += "namespace torch::autograd::generated {\nnamespace {\n";
    if (!extra_.empty()) {
      out_ += "struct " + extra_type() + " {\n";
      for (const ExtraField& field : extra_) out_ += "  Kept<" + field.type + "> " + field.name + ";\n";
      out_ += "};\n";
    }
    out_ += "void apply_" + id + "(GenericNode& node, const Tensor* raw_grads, Tensor* grad_inputs) {\n";
    if (!extra_.empty()) {
      out_ += "  const " + extra_type() + "& extra = node.extra<" + extra_type() + ">();\n";
      for (const ExtraField& field : extra_) {
        out_ += "  [[maybe_unused]] decltype(auto) " + field.name + " = shown(extra." + field.name + ");\n";
      }
    }
    for (const Saved& saved : saved_) {
      if (saved.list) {
        out_ += "  const std::vector<Tensor> " + saved.name + " = unpack_list(node, " + saved.slot + ", " + saved.name + "_count);\n";
      } else {
        out_ += "  const SavedRef " + saved.name + "_saved = node.saved(" + saved.slot + ");\n  const Tensor& " + saved.name +
                " = " + saved.name + "_saved;\n";
      }
    }
    const bool several = op_.main.schema.returns().size() > 1 || list_result_;
    const bool grad = std::any_of(lines_.begin(), lines_.end(), [](const Line& line) { return line.grad; });
    if (grad) out_ += "  const Tensor& grad = raw_grads[0];\n";
    if (uses_grads_) out_ += "  const std::vector<Tensor> grads = materialize_grads(node, raw_grads);\n";
    for (const Line& line : lines_) emit_line(line, several && line.grad);
    out_ += "}\n";
    const std::string drop =
        extra_.empty() ? "nullptr"
                       : "std::is_trivially_destructible_v<" + extra_type() + "> ? nullptr : &GenericNode::drop_extra<" + extra_type() + ">";
    out_ += "constexpr NodeKind " + kind() + "{" + quoted(camel_case(op_.main.schema.name()) + "Backward" + std::to_string(overload_index_)) +
            ", &apply_" + id + ", " + drop + "};\n}\n}\n";
  }

  const Input& input(const std::string& name) const {
    return *std::find_if(inputs_.begin(), inputs_.end(), [&](const Input& i) { return i.param->name == name; });
  }

  void emit_line(const Line& line, bool only_with_grad) {
    const std::string guard = only_with_grad ? "grad.defined() && " : "";
    if (line.inputs.size() == 1) {
      const Input& in = input(line.inputs[0]);
      if (in.list) {
        out_ += "  if (" + guard + "needs_any(node, " + in.edge + ", " + in.param->name + "_count)) put_list(node, grad_inputs, " + in.edge +
                ", " + line.formula + ");\n";
      } else {
        out_ += "  if (" + guard + "node.needs(" + in.edge + ")) grad_inputs[" + in.edge + "] = " + line.formula + ";\n";
      }
      return;
    }
    std::string needs;
    std::string any;
    for (const std::string& name : line.inputs) {
      needs += (needs.empty() ? "" : ", ") + ("node.needs(" + input(name).edge + ")");
      any += (any.empty() ? "" : " || ") + ("node.needs(" + input(name).edge + ")");
    }
    out_ += "  if (" + (guard.empty() ? any : guard + "(" + any + ")") + ") {\n    [[maybe_unused]] const std::array<bool, " +
            std::to_string(line.inputs.size()) + "> grad_input_mask{" + needs + "};\n    auto grads_of_inputs = " + line.formula + ";\n";
    for (size_t i = 0; i < line.inputs.size(); ++i) {
      const std::string& edge = input(line.inputs[i]).edge;
      out_ += "    if (node.needs(" + edge + ")) grad_inputs[" + edge + "] = std::move(std::get<" + std::to_string(i) +
              ">(grads_of_inputs));\n";
    }
    out_ += "  }\n";
  }

  // --- the wrapper ---
  std::string tensor_arguments(const Variant& variant) const {
    std::string text;
    for (const Param& param : variant.signature.params) {
      if (param.carries_keys && !param.is_options) text += (text.empty() ? "" : ", ") + param.name;
    }
    return text;
  }

  std::string differentiable_arguments() const {
    std::string text;
    for (const Input& in : inputs_) text += (text.empty() ? "" : ", ") + in.param->name;
    return text;
  }

  std::string call(const Variant& variant) const {
    std::string text;
    for (const Param& param : variant.signature.params) text += (text.empty() ? "" : ", ") + param.name;
    return "operators::" + variant.identifier() + "(" + text + ")";
  }

  void emit_node_set_up(const Variant& variant, const std::string& indent, const std::string& results) {
    const bool in_place = variant.form == Form::kInplace;
    for (const std::string& name : counts_) {
      out_ += indent + "const auto " + name + "_count = static_cast<uint32_t>(" + name + ".size());\n";
    }
    out_ += indent + "node = GenericNode::make(" + kind() + ", {.edges = " + edges_ + ", .saved = " + saved_count_ + ", .results = " + results +
            (extra_.empty() ? "" : ", .extra_bytes = sizeof(" + extra_type() + ")") + "});\n";
    for (const Input& in : inputs_) {
      out_ += indent + (in.list ? "set_edges(*node, " + in.edge + ", " + in.param->name + ")"
                                : "node->set_edge(" + in.edge + ", or_undefined(" + in.param->name + "))") +
              ";\n";
    }
    if (!extra_.empty()) {
      out_ += indent + "node->emplace_extra<" + extra_type() + ">(";
      for (size_t i = 0; i < extra_.size(); ++i) {
        out_ += (i > 0 ? ", " : "") + ("Kept<" + extra_[i].type + ">(keep(" + extra_[i].value + "))");
      }
      out_ += ");\n";
    }
    for (const Saved& saved : saved_) {
      if (saved.result) continue;
      std::string needs;
      for (int line : saved.lines) {
        for (const std::string& name : lines_[line].inputs) {
          const Input& in = input(name);
          needs += (needs.empty() ? "" : " || ") + (in.list ? "needs_any(*node, " + in.edge + ", " + name + "_count)" : "node->needs(" + in.edge + ")");
        }
      }
      std::string value = saved.list ? saved.name : "or_undefined(" + saved.name + ")";
      if (in_place && saved.name == "self") value = "saved_before_inplace(self)";
      out_ += indent + "if (" + needs + ") " + (saved.list ? "save_list(*node, " : "node->save(") + saved.slot + ", " + value + ");\n";
    }
  }

  void check_others() {
    for (const Param* param : others_) {
      if (mutating() && param->name == "self") continue;
      out_ += "  check_no_gradient(" + quoted(op_.main.schema.name()) + ", " + quoted(param->name) + ", " + param->name + ");\n";
    }
  }

  void emit_recording(const Variant& variant) {
    check_others();
    const std::string record = "any_requires_grad(" + differentiable_arguments() + ")";
    const auto& returns = variant.schema.returns();
    if (variant.form == Form::kInplace) {
      out_ += "  const bool record = " + record + ";\n  check_inplace(self, record);\n  GenericNode::Ptr node;\n  if (record) {\n";
      emit_node_set_up(variant, "    ", "1");
      out_ += "  }\n  {\n    c10::AutoDispatchBelowAutograd below;\n    " + call(variant) + ";\n  }\n";
      out_ += "  if (node) {\n    rebase_history(self, node);\n";
      for (const Saved& saved : saved_) {
        if (saved.result) out_ += "    node->save_output(" + saved.slot + ", self, 0);\n";
      }
      out_ += "  }\n";
      if (!returns.empty()) out_ += "  return self;\n";
      return;
    }
    const std::string run = "[&] {\n    c10::AutoDispatchBelowAutograd below;\n    return " + call(variant) + ";\n  }();\n";
    if (list_result_) {
      out_ += "  std::vector<Tensor> result = " + run + "  if (" + record + ") {\n    GenericNode::Ptr node;\n";
      const std::set<std::string> before = counts_;
      emit_node_set_up(variant, "    ", "static_cast<uint32_t>(result.size())");
      const bool views = !returns[0].alias().empty();
      out_ += views ? "    set_multi_view_history(result, node);\n" : "    set_history(result, node);\n";
      for (const Saved& saved : saved_) {
        if (saved.result) {
          out_ += "    for (uint32_t i = 0; i < result.size(); ++i) node->save_output(" + saved.slot + " + i, result[i], i);\n";
        }
      }
      out_ += "  }\n  return result;\n";
      return;
    }
    out_ += "  GenericNode::Ptr node;\n  if (" + record + ") {\n";
    emit_node_set_up(variant, "    ", std::to_string(std::max<size_t>(returns.size(), 1)));
    out_ += "  }\n  " + variant.signature.result + " result = " + run + "  if (node) {\n";
    const auto result = [&](size_t i) {
      return returns.size() == 1 ? std::string("result") : "std::get<" + std::to_string(i) + ">(result)";
    };
    for (size_t i = 0; i < returns.size(); ++i) {
      if (!is_tensor_like(returns[i].type()) || !has_gradient(op_, i)) continue;
      out_ += "    set_history(" + result(i) + ", node, " + std::to_string(i) + ");\n";
    }
    for (const Saved& saved : saved_) {
      if (saved.result) {
        out_ += "    node->save_output(" + saved.slot + ", " + result(saved.output_nr) + ", " + std::to_string(saved.output_nr) + ");\n";
      }
    }
    out_ += "  }\n  return result;\n";
  }

  void emit_not_implemented(const Variant& variant) {
    const auto& returns = variant.schema.returns();
    const std::string name = quoted(variant.schema.name());
    const auto node = [&](const std::string& results) {
      return "not_implemented_node(" + name + ", " + results + ", " + tensor_arguments(variant) + ")";
    };
    if (variant.schema.is_mutable() && variant.form == Form::kInplace) {
      const bool list = variant.schema.arguments()[0].type().list;
      out_ += "  check_inplace(self, any_requires_grad(" + tensor_arguments(variant) + "));\n";
      out_ += "  GenericNode::Ptr node = " + node(list ? "static_cast<uint32_t>(self.size())" : "1") + ";\n";
      out_ += "  {\n    c10::AutoDispatchBelowAutograd below;\n    " + call(variant) + ";\n  }\n  if (node) rebase_history(self, node);\n";
      if (!returns.empty()) out_ += "  return self;\n";
      return;
    }
    out_ += "  " + variant.signature.result + " result = [&] {\n    c10::AutoDispatchBelowAutograd below;\n    return " + call(variant) + ";\n  }();\n";
    if (returns.size() == 1 && returns[0].type().list) {
      out_ += "  if (GenericNode::Ptr node = " + node("static_cast<uint32_t>(result.size())") + ") set_history(result, node);\n";
    } else {
      out_ += "  if (GenericNode::Ptr node = " + node(std::to_string(returns.size())) + ") {\n";
      for (size_t i = 0; i < returns.size(); ++i) {
        if (!is_tensor_like(returns[i].type()) || returns[i].type().list || !has_gradient(op_, i)) continue;
        out_ += "    set_history(" + (returns.size() == 1 ? std::string("result") : "std::get<" + std::to_string(i) + ">(result)") + ", node, " +
                std::to_string(i) + ");\n";
      }
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
  out +=
      "#include <array>\n#include <type_traits>\n#include <utility>\n\n#include \"aten/ops/" + table.family +
      "/operators.h\"\n#include \"autograd/derivatives/functions.h\"\n#include \"autograd/derivatives/support.h\"\n";
  std::map<std::string, int> overloads;
  for (const Operator& op : table.operators) {
    const int index = op.entry.derivative_size() > 0 ? overloads[op.main.schema.name()]++ : 0;
    out += DerivativeEmitter(op, index).emit();
  }
  return out;
}

}  // namespace kindling::codegen
