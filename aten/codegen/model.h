#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aten/codegen/ops.pb.h"
#include "c10/dispatch/function_schema.h"

namespace kindling::codegen {

// A parameter of a generated C++ function. `carries_keys` is set for those that decide where a call goes.
struct Param {
  std::string type;
  std::string name;
  std::string default_value;  // empty: none
  int argument = -1;          // its index in the schema; of the first of four for `options`
  bool carries_keys = false;
  bool is_options = false;
  bool is_out = false;
};

// How a schema looks in C++: the parameters in the schema's order (out= tensors last) and the result.
struct Signature {
  std::vector<Param> params;
  std::string result;

  std::string types() const;       // "const Tensor&, int64_t"
  std::string parameters() const;  // "const Tensor& self, int64_t dim"
  std::string arguments() const;   // "self, dim"
  // The parameters with defaults where C++ allows them; `outs_first` as in name_out(out, self, ...).
  std::string declaration(bool outs_first) const;
};

enum class Form { kFunctional, kInplace, kOut };

// One callable form of an operator.
struct Variant {
  Form form = Form::kFunctional;
  c10::FunctionSchema schema;
  Signature signature;
  bool function = false;  // at::name; all have it but those whose method is a hand-written member
  bool method = false;
  bool nondifferentiable = false;
  bool calls_functional = false;
  std::vector<Kernel> kernels;  // its own ones, of strided tensors
  std::vector<Kernel> layout_kernels;  // and of other layouts

  // "add__Tensor" for add_.Tensor: the operator object's name in at::operators.
  std::string identifier() const;
  // The function of that key, or nullptr.
  const Kernel* kernel(Kernel::Key key) const;
  bool composite() const { return kernel(Kernel::COMPOSITE) != nullptr; }
  // One function is the kernel for CPU tensors and the COMPOSITE one; a last argument says as which it is called.
  bool kernel_knows_key() const;
  std::vector<int> tensor_results() const;
};

// One table entry: the functional form, or the mutating one where only that exists, and what is generated beside it.
struct Operator {
  Op entry;
  Variant main;
  std::optional<Variant> inplace;
  std::optional<Variant> out;

  bool structured() const { return !entry.meta().empty(); }
  bool alias() const { return !entry.alias_of().empty(); }
  // The name and the family ("" for its own) of what it is an alias of.
  std::string alias_name() const;
  std::string alias_family() const;
  // Whether it copies what another one gives, or changes a copy as that does in place.
  bool copies() const { return !entry.copy_of().empty(); }
  bool changes_copy() const { return copies() && entry.copy_of().back() == '_'; }
  bool composite() const { return alias() || copies() || main.composite(); }
  bool has_kernel() const { return alias() || copies() || !main.kernels.empty() || !main.layout_kernels.empty(); }
  bool differentiable(const Variant& variant) const;
  std::vector<const Variant*> variants() const;
  // Whether the form has a function for nested tensors that follows from `element_wise`: it has none of its own.
  bool element_wise_for_nested(const Variant& variant) const;
  // Whether layers.cc has a constant for the form.
  bool has_layers(const Variant& variant) const {
    return !variant.layout_kernels.empty() || element_wise_for_nested(variant);
  }
};

struct Table {
  std::string family;
  std::vector<Operator> operators;
};

// The operator of the same name that has the same arguments and after them a dtype; null where there is none.
const Operator* overload_with_dtype(const Table& table, const Operator& op);

// The inputs a derivative line is for: `input: "a, b"` and `input: "a" input: "b"` are the same.
std::vector<std::string> inputs_of(const Derivative& derivative);

// Those a forward entry is for: where it names none, all that have a derivative.
std::vector<std::string> forward_inputs(const Operator& op, const Forward& forward);

// Whether the table lets the result of that number have a gradient.
bool has_gradient(const Operator& op, size_t result);

// Reads and checks a table. On failure returns nullopt and a message that names the entry.
std::optional<Table> read_table(const std::string& family, const std::string& text, std::string* error);

// The C++ form of a schema. `required` names arguments whose default is left out.
Signature cpp_signature(const c10::FunctionSchema& schema, const std::vector<std::string>& required);

// The type of one argument or result, e.g. "const std::optional<Tensor>&".
std::string cpp_argument_type(const c10::Argument& argument);
std::string cpp_result_type(const c10::FunctionSchema& schema);

bool is_tensor_like(const c10::ArgumentShape& type);

}  // namespace kindling::codegen
