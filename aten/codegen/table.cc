#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <sstream>

#include "aten/codegen/formula.h"
#include "aten/codegen/model.h"

namespace kindling::codegen {
namespace {

using c10::Argument;
using c10::FunctionSchema;

class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text.empty()) text = "line " + std::to_string(line + 1) + ", column " + std::to_string(column + 1) + ": " + message;
  }
  std::string text;
};

Form form_of(const FunctionSchema& schema) {
  for (const Argument& argument : schema.arguments()) {
    if (argument.is_out()) return Form::kOut;
  }
  const auto& arguments = schema.arguments();
  if (!arguments.empty() && arguments[0].is_write()) return Form::kInplace;
  return Form::kFunctional;
}

// Whether the arguments of `a` and `b` are the same but for out tensors and the tensor options.
bool same_inputs(const FunctionSchema& a, const FunctionSchema& b) {
  const auto relevant = [](const FunctionSchema& schema) {
    std::vector<std::pair<std::string, c10::ArgumentShape>> inputs;
    for (const Argument& argument : schema.arguments()) {
      const std::string& name = argument.name();
      if (argument.is_out() || name == "dtype" || name == "layout" || name == "device" || name == "pin_memory" ||
          name == "memory_format") {
        continue;
      }
      c10::ArgumentShape type = argument.shape();
      type.list_size = -1;
      inputs.emplace_back(name, type);
    }
    return inputs;
  };
  return relevant(a) == relevant(b);
}

// An argument that a formula calls like a function: its name hides that of the function.
std::optional<std::string> called_argument(const FunctionSchema& schema, const std::string& formula) {
  FormulaNames names(formula);
  while (names.next()) {
    if (!names.is_member() && names.is_called() && schema.argument_index(names.name())) return names.name();
  }
  return std::nullopt;
}

// What is wrong with an operator's forward entries; empty where nothing is. `derived`: the inputs that have a derivative.
std::string forward_problem(const Operator& op, const std::set<std::string>& derived) {
  if (op.entry.forward_size() == 0) return "";
  const FunctionSchema& schema = op.main.schema;
  if (op.entry.nondifferentiable() || op.composite()) {
    return "forward derivatives of an operator that is nondifferentiable or COMPOSITE are never used";
  }
  const bool list = schema.returns().size() == 1 && schema.returns()[0].shape().list;
  if (list && op.entry.forward_size() > 1) return "one forward entry for a list of results";
  std::set<std::string> covered;
  std::set<std::pair<int, std::string>> seen;
  for (const Forward& forward : op.entry.forward()) {
    const size_t results = std::max<size_t>(schema.returns().size(), 1);
    if (forward.result() < 0 || static_cast<size_t>(forward.result()) >= results) {
      return "a forward derivative of result " + std::to_string(forward.result());
    }
    const std::string& formula = forward.formula();
    const bool of_derivative = formula == "auto_element_wise" || formula == "auto_adjoint";
    if (const auto name = called_argument(schema, forward.formula())) {
      return "a formula calls '" + *name + "', which is an argument here; write at::" + *name;
    }
    if (op.main.form == Form::kInplace && forward.formula() == "auto_linear") {
      return "auto_linear calls the functional form, which this operator has not";
    }
    if (of_derivative && list) return formula + " for a list of results";
    for (const std::string& input : forward_inputs(op, forward)) {
      const auto index = schema.argument_index(input);
      if (!index || !is_tensor_like(schema.arguments()[*index].shape())) return "a forward derivative for '" + input + "', which is no tensor argument";
      if (of_derivative && !derived.count(input)) return formula + " for '" + input + "', which has no derivative";
      if (of_derivative && schema.arguments()[*index].shape().list) return formula + " for '" + input + "', which is a list";
      if (!seen.emplace(forward.result(), input).second) return "two forward derivatives for '" + input + "'";
      covered.insert(input);
    }
  }
  for (const std::string& input : derived) {
    if (!covered.count(input)) return "'" + input + "' has a derivative, but no forward derivative";
  }
  return "";
}

// "f" or "a::f".
bool is_function_name(const std::string& text) {
  FormulaNames names(text);
  bool any = false;
  while (names.next()) {
    if (names.before() != (any ? "::" : "")) return false;
    any = true;
  }
  return any && names.before().empty();
}

bool is_one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// What is wrong with a form that calls the functional one.
std::string call_problem(const Variant& main, const Variant& variant) {
  if (!variant.calls_functional) return "";
  if (!variant.kernels.empty() || !variant.layout_kernels.empty())
    return "calls_functional of a form with a kernel of its own";
  const auto& results = main.schema.returns();
  const bool one_tensor = results.size() == 1 && is_tensor_like(results[0].shape()) && !results[0].shape().list;
  if (variant.form != Form::kOut || main.form != Form::kFunctional || !one_tensor) {
    return "calls_functional is a fact of out= forms of operators that return one tensor";
  }
  return "";
}

// What is wrong with a rule that is a word, which begins with auto_, or the name of a function.
std::string rule_problem(const char* field, const std::string& rule, std::initializer_list<const char*> words) {
  if (rule.empty() || is_one_of(rule, words)) return "";
  if (rule.rfind("auto_", 0) == 0) return std::string(field) + " is the unknown word '" + rule + "'";
  return is_function_name(rule) ? "" : std::string(field) + " is '" + rule + "', which is no function's name";
}

// What is wrong with words like "along(dim) scale(grad_output)"; which words there are, those know who read them
// (//distributed/tensor, //func).
std::string words_problem(const char* field, const std::string& rule, std::initializer_list<const char*> known) {
  std::istringstream words(rule);
  for (std::string word; words >> word;) {
    const size_t open = word.find('(');
    const bool closed = open == std::string::npos || (open + 1 < word.size() && word.back() == ')');
    if (!closed) {
      return std::string(field) + " has the word '" + word + "', whose parentheses hold nothing or do not close";
    }
    const std::string problem = rule_problem(field, word.substr(0, open), known);
    if (!problem.empty()) return problem;
  }
  return "";
}

std::string autocast_problem(const Operator& op, const std::string& policy) {
  if (policy.empty()) return "";
  if (!is_one_of(policy,
                 {"LOWER_PRECISION_FP", "FP32", "FP32_SET_OPT_DTYPE", "FP32_APPEND_DTYPE", "PROMOTE", "BANNED"})) {
    return "autocast is the unknown policy '" + policy + "'";
  }
  if (op.main.form != Form::kFunctional) return "autocast of a form that writes to its arguments";
  if (policy == "FP32_SET_OPT_DTYPE" && !op.main.schema.argument_index("dtype")) {
    return "autocast is FP32_SET_OPT_DTYPE, but there is no argument 'dtype'";
  }
  return "";
}

// What is wrong with what an entry says for batches, autocast, distributed tensors and decomposition; empty where
// nothing is.
std::string rules_problem(const Operator& op) {
  const Op& entry = op.entry;
  const FunctionSchema& schema = op.main.schema;
  const bool list = schema.returns().size() == 1 && schema.returns()[0].shape().list;
  const bool view = !schema.returns().empty() && !schema.returns()[0].alias().empty() && !schema.is_mutable();
  if (entry.element_wise() && (op.composite() || list || view || schema.returns().empty())) {
    return "element_wise is a fact of operators with kernels of backends that make tensors, not of views, lists or "
           "COMPOSITE ones";
  }
  // Beside a kernel for the CPU modes see the operator, not what it is composed of.
  const bool beside_cpu = op.main.kernel(Kernel::CPU) != nullptr;
  if (op.composite() && !entry.decomposition().empty() && !beside_cpu) {
    return "the decomposition of an operator that is COMPOSITE or an alias is never used";
  }
  if ((op.alias() || op.copies()) && !entry.batch().empty()) return "batch of an alias or a copy is never used";
  if (const std::string problem = words_problem("batch", entry.batch(), {"auto_element_wise", "auto_view"});
      !problem.empty()) {
    return problem;
  }
  if (entry.batch() == "auto_view" && !view) return "batch is auto_view, but no result is a view";
  for (const std::string& policy : {entry.autocast().cpu(), entry.autocast().cuda()}) {
    if (const std::string problem = autocast_problem(op, policy); !problem.empty()) return problem;
  }
  if (const std::string problem =
          words_problem("sharding", entry.sharding(), {"auto_element_wise", "auto_replicate"});
      !problem.empty()) {
    return problem;
  }
  return rule_problem("decomposition", entry.decomposition(), {});
}

// Whether an entry that stands for another one says what only that one may say.
bool has_rules_of_its_own(const Operator& op) {
  return !op.main.kernels.empty() || op.structured() || op.entry.derivative_size() > 0 || op.entry.nondifferentiable();
}

struct Reader {
  std::string* error;
  std::set<std::string> names;

  bool fail(const std::string& schema, const std::string& message) {
    *error = "operator \"" + schema + "\": " + message;
    return false;
  }

  bool kernels_ok(const std::string& schema, const google::protobuf::RepeatedPtrField<Kernel>& kernels) {
    std::set<int> keys, layouts;
    for (const Kernel& kernel : kernels) {
      if (kernel.key() == Kernel::UNSPECIFIED) return fail(schema, "a kernel without a key");
      if (kernel.function().empty()) return fail(schema, "a kernel without a function");
      if (!(kernel.key() >= Kernel::SPARSE_CPU ? layouts : keys).insert(kernel.key()).second) return fail(schema, "two kernels of the key " + Kernel::Key_Name(kernel.key()));
    }
    std::set<int> beside = keys;
    beside.erase(Kernel::COMPOSITE);
    beside.erase(Kernel::CUDA);
    const bool beside_cpu = beside == std::set<int>{Kernel::CPU};
    if (keys.size() > 1 && keys.count(Kernel::COMPOSITE) && !beside_cpu) {
      return fail(schema, "beside one of COMPOSITE only one of CPU, and with that one of CUDA, stands");
    }
    if (layouts.count(Kernel::NESTED_CPU) && layouts.count(Kernel::NESTED_COMPOSITE)) {
      return fail(schema, "two kernels for nested tensors");
    }
    const bool below_autograd =
        layouts.count(Kernel::SPARSE_CPU) || layouts.count(Kernel::NESTED_CPU) || layouts.count(Kernel::QUANTIZED_CPU);
    if (keys == std::set<int>{Kernel::COMPOSITE} && below_autograd) {
      return fail(schema, "an operator that is COMPOSITE never reaches a kernel of a layout below autograd");
    }
    return true;
  }

  // Those of layouts apart.
  static void assign(const google::protobuf::RepeatedPtrField<Kernel>& kernels, Variant* variant) {
    for (const Kernel& kernel : kernels) {
      (kernel.key() >= Kernel::SPARSE_CPU ? variant->layout_kernels : variant->kernels).push_back(kernel);
    }
  }

  // One a key.
  static void spread(google::protobuf::RepeatedPtrField<Kernel>* kernels) {
    for (int i = 0, given = kernels->size(); i < given; ++i) {
      const Kernel kernel = kernels->Get(i);
      for (const int key : kernel.also()) {
        Kernel* const further = kernels->Add();
        further->set_key(static_cast<Kernel::Key>(key));
        further->set_function(kernel.function());
      }
      kernels->Mutable(i)->clear_also();
    }
  }

  bool read_variant(const std::string& text, const Op& op, Variant* variant) {
    std::string problem;
    auto schema = c10::try_parse_schema(text, &problem);
    if (!schema) {
      *error = problem;
      return false;
    }
    if (!schema->ns().empty()) return fail(text, "a schema in a table has no namespace");
    if (!names.insert(schema->qualified_name()).second) return fail(text, "this name stands in the table twice");
    const std::vector<std::string> required(op.required_in_cpp().begin(), op.required_in_cpp().end());
    variant->schema = *std::move(schema);
    variant->signature = cpp_signature(variant->schema, required);
    variant->form = form_of(variant->schema);
    return true;
  }
};

}  // namespace

const Operator* overload_with_dtype(const Table& table, const Operator& op) {
  const auto& params = op.main.signature.params;
  for (const Operator& other : table.operators) {
    const auto& longer = other.main.signature.params;
    if (other.main.schema.name() != op.main.schema.name() || longer.size() != params.size() + 1) continue;
    const bool same = std::equal(params.begin(), params.end(), longer.begin(),
                                 [](const Param& a, const Param& b) { return a.name == b.name; });
    if (same && longer.back().name == "dtype") return &other;
  }
  return nullptr;
}

std::vector<std::string> inputs_of(const Derivative& derivative) {
  std::vector<std::string> names;
  for (const std::string& text : derivative.input()) {
    size_t begin = 0;
    while (begin <= text.size()) {
      const size_t end = std::min(text.find(',', begin), text.size());
      std::string name = text.substr(begin, end - begin);
      name.erase(0, name.find_first_not_of(' '));
      name.erase(name.find_last_not_of(' ') + 1);
      names.push_back(std::move(name));
      begin = end + 1;
    }
  }
  return names;
}

std::vector<std::string> forward_inputs(const Operator& op, const Forward& forward) {
  std::vector<std::string> names;
  if (forward.input_size() == 0) {
    for (const Derivative& derivative : op.entry.derivative()) {
      for (std::string& name : inputs_of(derivative)) names.push_back(std::move(name));
    }
    return names;
  }
  Derivative same;
  *same.mutable_input() = forward.input();
  return inputs_of(same);
}

bool has_gradient(const Operator& op, size_t result) {
  const int number = static_cast<int>(result);
  return number >= op.entry.output_differentiability_size() || op.entry.output_differentiability(number);
}

std::string Variant::identifier() const {
  const std::string& overload = schema.overload_name();
  return overload.empty() ? schema.name() : schema.name() + "_" + overload;
}

const Kernel* Variant::kernel(Kernel::Key key) const {
  for (const Kernel& candidate : kernels) {
    if (candidate.key() == key) return &candidate;
  }
  return nullptr;
}

bool Variant::kernel_knows_key() const {
  const Kernel* const of_cpu = kernel(Kernel::CPU);
  return of_cpu != nullptr && composite() && of_cpu->function() == kernel(Kernel::COMPOSITE)->function();
}

std::vector<int> Variant::tensor_results() const {
  std::vector<int> results;
  for (size_t i = 0; i < schema.returns().size(); ++i) {
    if (is_tensor_like(schema.returns()[i].shape())) results.push_back(static_cast<int>(i));
  }
  return results;
}

bool Operator::differentiable(const Variant& variant) const {
  if (composite() && variant.form != Form::kOut) return false;
  if (variant.composite() || entry.nondifferentiable() || variant.nondifferentiable || !has_kernel()) return false;
  bool tensor_input = false;
  for (const Argument& argument : variant.schema.arguments()) tensor_input |= is_tensor_like(argument.shape());
  return tensor_input && (!main.tensor_results().empty() || variant.schema.is_mutable());
}

std::string Operator::alias_name() const {
  const size_t slash = entry.alias_of().find('/');
  return slash == std::string::npos ? entry.alias_of() : entry.alias_of().substr(slash + 1);
}

std::string Operator::alias_family() const {
  const size_t slash = entry.alias_of().find('/');
  return slash == std::string::npos ? "" : entry.alias_of().substr(0, slash);
}

bool Operator::element_wise_for_nested(const Variant& variant) const {
  if (!entry.element_wise() || composite() || variant.form == Form::kOut || main.kernels.empty()) return false;
  return std::none_of(variant.layout_kernels.begin(), variant.layout_kernels.end(), [](const Kernel& kernel) {
    return kernel.key() == Kernel::NESTED_CPU || kernel.key() == Kernel::NESTED_COMPOSITE;
  });
}

std::vector<const Variant*> Operator::variants() const {
  std::vector<const Variant*> all{&main};
  if (inplace) all.push_back(&*inplace);
  if (out) all.push_back(&*out);
  return all;
}

std::optional<Table> read_table(const std::string& family, const std::string& text, std::string* error) {
  Family proto;
  google::protobuf::TextFormat::Parser parser;
  FirstError first_error;
  parser.RecordErrorsTo(&first_error);
  if (!parser.ParseFromString(text, &proto)) {
    *error = first_error.text.empty() ? "the table cannot be read" : first_error.text;
    return std::nullopt;
  }
  Table table;
  table.family = family;
  Reader reader{error, {}};
  for (Op& op : *proto.mutable_op()) {
    Reader::spread(op.mutable_kernel());
    if (op.has_inplace()) Reader::spread(op.mutable_inplace()->mutable_kernel());
    if (op.has_out()) Reader::spread(op.mutable_out()->mutable_kernel());
    Operator result;
    result.entry = op;
    Variant& main = result.main;
    if (!reader.read_variant(op.schema(), op, &main)) return std::nullopt;
    main.function = op.function() || !op.handwritten_method();
    main.method = op.method() && !op.handwritten_method();
    Reader::assign(op.kernel(), &main);
    if (!reader.kernels_ok(op.schema(), op.kernel())) return std::nullopt;
    const auto read_form = [&](const VariantEntry& entry, Form form, std::optional<Variant>* out) {
      Variant variant;
      if (!reader.read_variant(entry.schema(), op, &variant)) return false;
      if (variant.form != form) return reader.fail(entry.schema(), "this is not the form it stands for");
      if (!same_inputs(main.schema, variant.schema)) return reader.fail(entry.schema(), "its arguments differ from those of \"" + op.schema() + "\"");
      if (!reader.kernels_ok(entry.schema(), entry.kernel())) return false;
      variant.function = true;
      variant.method = entry.method();
      variant.nondifferentiable = entry.nondifferentiable();
      variant.calls_functional = entry.calls_functional();
      Reader::assign(entry.kernel(), &variant);
      if (const std::string problem = call_problem(main, variant); !problem.empty())
        return reader.fail(entry.schema(), problem);
      *out = std::move(variant);
      return true;
    };
    if (op.has_inplace() && !read_form(op.inplace(), Form::kInplace, &result.inplace)) return std::nullopt;
    if (op.has_out() && !read_form(op.out(), Form::kOut, &result.out)) return std::nullopt;
    if (main.method && !main.schema.argument_index("self")) {
      reader.fail(op.schema(), "a method needs an argument 'self'");
      return std::nullopt;
    }
    if (result.structured() && (result.composite() || main.kernel(Kernel::ANY))) {
      reader.fail(op.schema(), "a structured operator (meta) has kernels of backends only");
      return std::nullopt;
    }
    if (result.structured() && main.form != Form::kFunctional) {
      reader.fail(op.schema(), "a structured operator (meta) has a functional form");
      return std::nullopt;
    }
    std::set<std::string> derived;
    for (const Derivative& derivative : op.derivative()) {
      if (const auto name = called_argument(main.schema, derivative.formula())) {
        reader.fail(op.schema(), "a formula calls '" + *name + "', which is an argument here; write at::" + *name);
        return std::nullopt;
      }
      for (const std::string& input : inputs_of(derivative)) {
        if (!derived.insert(input).second) {
          reader.fail(op.schema(), "two derivatives for '" + input + "'");
          return std::nullopt;
        }
        const auto index = main.schema.argument_index(input);
        if (!index || !is_tensor_like(main.schema.arguments()[*index].shape())) {
          reader.fail(op.schema(), "a derivative for '" + input + "', which is no tensor argument");
          return std::nullopt;
        }
      }
    }
    if (op.element_wise() && op.forward_size() == 0 && op.derivative_size() > 0) {
      result.entry.add_forward()->set_formula("auto_element_wise");
    }
    std::string problem = forward_problem(result, derived);
    if (problem.empty()) problem = rules_problem(result);
    if (!problem.empty()) {
      reader.fail(op.schema(), problem);
      return std::nullopt;
    }
    if (op.derivative_size() > 0 && (op.nondifferentiable() || result.composite())) {
      reader.fail(op.schema(), "derivatives of an operator that is nondifferentiable or COMPOSITE are never used");
      return std::nullopt;
    }
    if (result.alias() && has_rules_of_its_own(result)) {
      reader.fail(op.schema(), "an alias has no kernel and no derivative of its own");
      return std::nullopt;
    }
    if (result.copies() && (result.alias() || has_rules_of_its_own(result))) {
      reader.fail(op.schema(), "a copy has no kernel and no derivative of its own");
      return std::nullopt;
    }
    table.operators.push_back(std::move(result));
  }
  for (const Operator& op : table.operators) {
    const Autocast& autocast = op.entry.autocast();
    const bool appends = autocast.cpu() == "FP32_APPEND_DTYPE" || autocast.cuda() == "FP32_APPEND_DTYPE";
    if (!appends || overload_with_dtype(table, op) != nullptr) continue;
    reader.fail(op.entry.schema(), "autocast is FP32_APPEND_DTYPE, but no overload has the same arguments and a dtype");
    return std::nullopt;
  }
  for (const Operator& op : table.operators) {
    if (!op.copies()) continue;
    const bool found = std::any_of(table.operators.begin(), table.operators.end(), [&](const Operator& other) {
      const bool in_place = other.main.form == Form::kInplace;
      return other.main.schema.name() == op.entry.copy_of() && in_place == op.changes_copy();
    });
    if (!found) {
      reader.fail(op.entry.schema(), "a copy of '" + op.entry.copy_of() + "', which is not in this table");
      return std::nullopt;
    }
  }
  for (const Operator& op : table.operators) {
    if (!op.alias() || !op.alias_family().empty()) continue;
    const bool found = std::any_of(table.operators.begin(), table.operators.end(), [&](const Operator& other) {
      return other.main.schema.name() == op.alias_name() && !other.alias();
    });
    if (!found) {
      reader.fail(op.entry.schema(), "an alias of '" + op.alias_name() + "', which is not in this table");
      return std::nullopt;
    }
  }
  return table;
}

}  // namespace kindling::codegen
