#include <algorithm>
#include <optional>
#include <set>

#include "aten/codegen/emit.h"
#include "aten/codegen/formula.h"

// Forward mode: the wrappers that give results their tangents.
namespace kindling::codegen {
namespace {

using c10::ArgumentShape;

// What a formula names, and how it reads where the arguments themselves are at hand.
struct Reading {
  std::string text;
  bool result = false;  // the value of a result
  bool self = false;    // the value of `self`, not only its sizes and the like
};

constexpr const char* kProperties[] = {".sizes()",      ".size(",         ".strides()", ".dim()",
                                       ".numel()",      ".scalar_type()", ".options()", ".storage_offset()",
                                       ".is_complex()", ".defined()",     ".device()"};

// `reused`: a derivative's formula, which sees optional tensors as tensors that may be undefined.
Reading read_formula(const Operator& op, const std::string& formula, bool reused) {
  Reading reading;
  FormulaNames names(formula);
  while (names.next()) {
    reading.text += names.before();
    const std::string& word = names.name();
    const auto index = names.is_member() ? std::nullopt : op.main.schema.argument_index(word);
    if (!names.is_member() && word.rfind("result", 0) == 0) reading.result = true;
    if (!index || !is_tensor_like(op.main.schema.arguments()[*index].shape())) {
      reading.text += word;
      continue;
    }
    const ArgumentShape type = op.main.schema.arguments()[*index].shape();
    if (type.list && reused && names.take(".sizes()")) {
      reading.text += "keep_sizes(" + word + ")";
      continue;
    }
    if (type.list && reused && names.take(".scalar_types()")) {
      reading.text += "keep_dtypes(" + word + ")";
      continue;
    }
    reading.text += type.optional && !type.list && reused ? "or_undefined(" + word + ")" : word;
    const auto property =
        std::find_if(std::begin(kProperties), std::end(kProperties), [&](const char* p) { return names.take(p); });
    if (property != std::end(kProperties)) {
      reading.text += *property;
    } else if (word == "self") {
      reading.self = true;
    }
  }
  reading.text += names.before();
  return reading;
}

class ForwardEmitter {
 public:
  explicit ForwardEmitter(const Operator& op) : op_(op) {}

  std::string emit() {
    for (const Variant* variant : op_.variants()) {
      if (!op_.differentiable(*variant)) continue;
      const Signature& signature = variant->signature;
      const Values values{{"result", signature.result},
                          {"id", variant->identifier()},
                          {"parameters", signature.parameters()},
                          {"arguments", signature.arguments()}};
      wrappers_ +=
          print("$result$ $id$($parameters$) {\n  return torch::autograd::generated::forward_$id$($arguments$);\n}\n",
                values);
      out_ += print("$result$ forward_$id$($parameters$) {\n", values);
      if (variant->form == Form::kOut) {
        emit_refusal(*variant, true);
      } else if (op_.entry.forward_size() == 0) {
        emit_refusal(*variant, false);
      } else if (variant->form == Form::kInplace) {
        emit_inplace(*variant);
      } else if (list_result()) {
        emit_list(*variant);
      } else {
        emit_functional(*variant);
      }
      out_ += "}\n";
    }
    return out_;
  }

  // What the operators call. Formulas stand in another namespace, where a function's name means that function.
  const std::string& wrappers() const { return wrappers_; }

 private:
  struct Term {
    std::string condition;  // an expression: whether an input of it has a tangent
    std::string value;
    bool result = false;
    bool self = false;
    int number = 0;  // of the result
  };

  ArgumentShape type_of(const std::string& name) const {
    return op_.main.schema.arguments()[*op_.main.schema.argument_index(name)].shape();
  }
  bool list_result() const { return op_.main.schema.returns().size() == 1 && op_.main.schema.returns()[0].shape().list; }

  std::string call(const Variant& variant) const {
    return print("operators::$id$($arguments$)",
                 {{"id", variant.identifier()}, {"arguments", variant.signature.arguments()}});
  }

  static std::vector<std::string> tensors_of(const Variant& variant) {
    std::vector<std::string> names;
    for (const Param& param : variant.signature.params) {
      if (param.carries_keys && !param.is_options) names.push_back(param.name);
    }
    return names;
  }

  std::string result_name(int number) const {
    return op_.main.schema.returns().size() > 1 && op_.main.form == Form::kFunctional
               ? "result" + std::to_string(number)
               : "result";
  }

  void emit_refusal(const Variant& variant, bool is_out) {
    const std::string& name = variant.schema.name();
    out_ += print(
        "  const ForwardScope scope;\n  refuse_tangents($name$, $is_out$, has_tangent($tensors$));\n  return $call$;\n",
        {{"name", quoted(is_out ? name + "_out" : name)},
         {"is_out", is_out ? "true" : "false"},
         {"tensors", joined(tensors_of(variant))},
         {"call", call(variant)}});
  }

  // The inputs whose tangents formulas use.
  std::set<std::string> used_tangents() const {
    std::set<std::string> used;
    for (const Forward& forward : op_.entry.forward()) {
      for (const std::string& name : forward_inputs(op_, forward)) used.insert(name);
    }
    return used;
  }

  // These declared; other inputs must have none.
  void declare_tangents(const Variant& variant) {
    const std::set<std::string> used = used_tangents();
    out_ += "  const ForwardScope scope;\n";
    for (const std::string& name : tensors_of(variant)) {
      const Values values{{"name", name}, {"op", quoted(variant.schema.name())}};
      if (used.count(name)) {
        out_ += print(type_of(name).list ? "  const std::vector<Tensor> $name$_t = tangents_of($name$);\n"
                      : variant.form == Form::kInplace && name == "self"
                          ? "  Tensor $name$_t = tangent_of($name$);\n"
                          : "  const Tensor $name$_t = tangent_of(or_undefined($name$));\n",
                      values);
      } else if (!(variant.form == Form::kInplace && name == "self")) {
        out_ += print("  refuse_tangents($op$, false, has_tangent($name$));\n", values);
      }
    }
  }

  static std::vector<std::string> tangents_named(std::vector<std::string> inputs) {
    for (std::string& name : inputs) name += "_t";
    return inputs;
  }

  static std::string any_of(const std::vector<std::string>& inputs) {
    return print("any_defined($tangents$)", {{"tangents", joined(tangents_named(inputs))}});
  }

  // An input's tangent, zeros where it has none.
  std::string filled(const std::string& name) const {
    return print(type_of(name).list ? "or_zeros($name$_t, $name$)" : "or_zeros($name$_t, or_undefined($name$))",
                 {{"name", name}});
  }

  std::vector<Term> terms() const {
    std::vector<Term> all;
    for (const Forward& forward : op_.entry.forward()) {
      const std::vector<std::string> inputs = forward_inputs(op_, forward);
      if (forward.formula() == "auto_element_wise" || forward.formula() == "auto_adjoint") {
        const char* function = forward.formula() == "auto_adjoint" ? "adjoint_tangent" : "elementwise_tangent";
        for (const std::string& name : inputs) all.push_back(term_of_derivative(function, name, forward.result()));
        continue;
      }
      Term term;
      term.condition = any_of(inputs);
      term.number = forward.result();
      if (forward.formula() == "auto_linear") {
        std::vector<std::string> arguments;
        for (const Param& param : op_.main.signature.params) {
          const bool linear = std::count(inputs.begin(), inputs.end(), param.name) > 0;
          term.self |= param.name == "self" && !linear;
          arguments.push_back(linear ? filled(param.name) : param.name);
        }
        term.value = print(
            op_.main.schema.returns().size() > 1 ? "std::get<$number$>(operators::$id$($arguments$))"
                                                 : "operators::$id$($arguments$)",
            {{"number", std::to_string(term.number)}, {"id", op_.main.identifier()}, {"arguments", joined(arguments)}});
      } else {
        const Reading reading = read_formula(op_, forward.formula(), false);
        term.value = reading.text;
        term.result = reading.result;
        term.self = reading.self;
        if (inputs.size() > 1) {
          std::vector<std::string> bindings;
          std::vector<std::string> parameters;
          for (const std::string& name : inputs) {
            bindings.push_back(filled(name));
            parameters.push_back(
                print("[[maybe_unused]] const $type$& $name$_t",
                      {{"type", type_of(name).list ? "std::vector<Tensor>" : "Tensor"}, {"name", name}}));
          }
          term.value = print("[&]($parameters$) -> $type$ { return $value$; }($bindings$)",
                             {{"parameters", joined(parameters)},
                              {"type", list_result() ? "std::vector<Tensor>" : "Tensor"},
                              {"value", term.value},
                              {"bindings", joined(bindings)}});
        }
      }
      all.push_back(std::move(term));
    }
    return all;
  }

  // A term made of the input's derivative.
  Term term_of_derivative(const std::string& function, const std::string& name, int number) const {
    for (const Derivative& derivative : op_.entry.derivative()) {
      const std::vector<std::string> inputs = inputs_of(derivative);
      const auto place = std::find(inputs.begin(), inputs.end(), name);
      if (place == inputs.end()) continue;
      const Reading reading = read_formula(op_, derivative.formula(), true);
      Term term;
      term.condition = any_of({name});
      term.number = number;
      term.result = reading.result;
      term.self = reading.self;
      std::vector<std::string> mask;
      for (const std::string& other : inputs) mask.emplace_back(other == name ? "true" : "false");
      Values values{{"function", function},
                    {"name", name},
                    {"result", result_name(number)},
                    {"formula", reading.text},
                    {"count", std::to_string(inputs.size())},
                    {"mask", joined(mask)},
                    {"place", std::to_string(place - inputs.begin())}};
      values["body"] =
          print(inputs.size() == 1 ? "return $formula$;"
                                   : "[[maybe_unused]] const std::array<bool, $count$> grad_input_mask{$mask$}; "
                                     "return std::get<$place$>($formula$);",
                values);
      term.value = print(
          "$function$($name$_t, $result$, [&]([[maybe_unused]] const Tensor& grad) -> Tensor { $body$ })", values);
      return term;
    }
    return {};  // read_table refuses this
  }

  // Those that need the result, those that do not, or both.
  void emit_terms(const std::vector<Term>& terms, int number, const char* indent, const std::string& tangent,
                  std::optional<bool> with_result) {
    for (const Term& term : terms) {
      if (term.number != number || term.result != with_result.value_or(term.result)) continue;
      out_ += print("$indent$if ($tangent$.wanted() && $condition$) $tangent$.add($value$);\n",
                    {{"indent", indent}, {"tangent", tangent}, {"condition", term.condition}, {"value", term.value}});
    }
  }

  void emit_functional(const Variant& variant) {
    declare_tangents(variant);
    const auto& returns = variant.schema.returns();
    out_ += print("  $result$ result = $call$;\n", {{"result", variant.signature.result}, {"call", call(variant)}});
    const std::vector<Term> all = terms();
    for (size_t i = 0; i < returns.size() && returns.size() > 1; ++i) {
      out_ += print("  [[maybe_unused]] const auto& result$i$ = std::get<$i$>(result);\n", {{"i", std::to_string(i)}});
    }
    for (size_t i = 0; i < returns.size(); ++i) {
      if (!is_tensor_like(returns[i].shape()) || !has_gradient(op_, i)) continue;
      const int number = static_cast<int>(i);
      const std::string name = result_name(number);
      const bool covered = std::any_of(all.begin(), all.end(), [&](const Term& term) { return term.number == number; });
      if (!covered) {
        std::set<std::string> conditions;
        for (const Term& term : all) conditions.insert(term.condition);
        out_ += print("  refuse_tangents($op$, false, is_differentiable($name$) && ($any$));\n",
                      {{"op", quoted(variant.schema.name())},
                       {"name", name},
                       {"any", joined({conditions.begin(), conditions.end()}, " || ")}});
        continue;
      }
      const Values values{{"tangent", "tangent" + std::to_string(i)}, {"name", name}};
      out_ += print("  Tangent $tangent$($name$);\n", values);
      emit_terms(all, number, "  ", values.at("tangent"), std::nullopt);
      out_ += print("  $tangent$.commit();\n", values);
    }
    out_ += "  return result;\n";
  }

  void emit_list(const Variant& variant) {
    declare_tangents(variant);
    out_ += print("  std::vector<Tensor> result = $call$;\n", {{"call", call(variant)}});
    for (const Term& term : terms()) {
      out_ += print("  set_tangents(result, $condition$ ? $value$ : std::vector<Tensor>());\n",
                    {{"condition", term.condition}, {"value", term.value}});
    }
    out_ += "  return result;\n";
  }

  void emit_inplace(const Variant& variant) {
    declare_tangents(variant);
    const std::vector<Term> all = terms();
    const auto& returns = op_.main.schema.returns();
    const bool view = op_.main.form == Form::kFunctional && !returns.empty() && !returns[0].alias().empty();
    // What formulas see of self and its tangent, both of which are written over. A graph needs copies that stay.
    std::vector<std::string> of_self, after_call;
    for (const Term& term : all) {
      if (term.self) (term.result ? after_call : of_self).push_back(term.condition);
    }
    const bool keep_self = !view && !(of_self.empty() && after_call.empty());
    const bool keep_tangent = !view && used_tangents().count("self") != 0;
    if (keep_tangent || (keep_self && !of_self.empty())) {
      std::vector<std::string> values = tensors_of(variant);
      for (const std::string& name : tensors_of(variant)) {
        if (used_tangents().count(name) != 0) values.push_back(name + "_t");
      }
      out_ += print("  const bool recorded = is_recorded($values$);\n", {{"values", joined(values)}});
    }
    if (keep_self) {
      std::vector<std::string> conditions = after_call;
      for (const std::string& condition : of_self) conditions.push_back("(recorded && " + condition + ")");
      const std::string condition = joined(conditions, " || ");
      out_ += print("  const Tensor self_before = $condition$ ? saved_before_inplace(self) : self;\n",
                    {{"condition", condition}});
    }
    if (keep_tangent) out_ += "  if (recorded && self_t.defined()) self_t = at::clone(self_t);\n";
    out_ += "  Tangent tangent(self);\n";
    // Before the inputs change; what needs the result as well finds the old self under its name.
    out_ += "  {\n    [[maybe_unused]] const Tensor& result = self;\n";
    constexpr const char* kBefore = "    [[maybe_unused]] const Tensor& self = self_before;\n";
    if (keep_self && !of_self.empty()) out_ += kBefore;
    emit_terms(all, 0, "    ", "tangent", false);
    out_ += print("  }\n  $call$;\n", {{"call", call(variant)}});
    if (std::any_of(all.begin(), all.end(), [](const Term& term) { return term.result; })) {
      out_ += "  {\n    [[maybe_unused]] const Tensor& result = self;\n";
      if (!after_call.empty()) out_ += kBefore;
      emit_terms(all, 0, "    ", "tangent", true);
      out_ += "  }\n";
    }
    // A view operator changes the geometry: the new tangent shows the numbers of the old one.
    out_ += view ? "  tangent.commit_geometry();\n" : "  tangent.commit_inplace();\n";
    if (variant.signature.result != "void") out_ += "  return self;\n";
  }

  const Operator& op_;
  std::string out_;
  std::string wrappers_;
};

}  // namespace

std::string emit_forward(const Table& table) {
  std::string out = file_header(table);
  out += print(
      "#include <array>\n#include <utility>\n\n#include \"aten/ops/$family$/operators.h\"\n"
      "#include \"autograd/derivatives/forward_support.h\"\n#include \"autograd/derivatives/functions.h\"\n"
      "#include \"autograd/derivatives/support.h\"\n\nnamespace torch::autograd::generated {\nnamespace {\n",
      {{"family", table.family}});
  std::string wrappers;
  for (const Operator& op : table.operators) {
    ForwardEmitter emitter(op);
    const std::string text = emitter.emit();
    if (!text.empty()) out += print("\n// $schema$\n$text$", {{"schema", op.main.schema.str()}, {"text", text}});
    wrappers += emitter.wrappers();
  }
  return out + "\n}\n}\n\nnamespace at::forward_kernels {\n" + wrappers + "}\n";
}

}  // namespace kindling::codegen
