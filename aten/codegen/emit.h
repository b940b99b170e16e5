#pragma once

#include <map>
#include <string>
#include <vector>

#include "aten/codegen/evidence.h"
#include "aten/codegen/model.h"

// The files made from a table. Each function returns the text of one.
namespace kindling::codegen {

// ops.h: the functions in namespace at, bare or with their doc comments.
std::string emit_functions(const Table& table);
std::string emit_documented_functions(const Table& table, const Evidence& evidence);
// operators.h: the operator objects in namespace at::operators.
std::string emit_operator_declarations(const Table& table);
// kernels.h: the functions in namespace at::native that the table names, as their files have to define them.
std::string emit_kernel_declarations(const Table& table);
// ops.cc: operator objects, functions, Tensor methods, and the forms made from a kernel.
std::string emit_operators(const Table& table);
// cuda.cc: what the operators do with CUDA tensors, by kernels that tables name with `key: CUDA`.
std::string emit_cuda(const Table& table);
// registry.cc: schemas and boxed forms, by name.
std::string emit_registry(const Table& table);
// autograd/derivatives/<family>.cc: what records a call, and the gradients.
std::string emit_derivatives(const Table& table);
// autograd/derivatives/<family>_forward.cc: what gives results their tangents.
std::string emit_forward(const Table& table);
// autocast.cc: what autocast does with calls of the operators that have a policy.
std::string emit_autocast(const Table& table);
// layers.cc: the kernels of layouts as constants that operators name, with autocast's where an operator has both.
std::string emit_layers(const Table& table);
// nested.cc: the functions for nested tensors of operators that work element by element.
std::string emit_nested(const Table& table);
// decompositions.h: the functions in namespace at::decompositions that the table names, as their file has to define
// them.
std::string emit_decomposition_declarations(const Table& table);
// boxed_decompositions.cc: a constant for each of them, which a stack can be handed to.
std::string emit_decompositions(const Table& table);
// The constant that the form's entry in the registry names, as `TypedDecomposition<...> id`; empty where it has none.
struct DecompositionName {
  std::string type, id;
};
DecompositionName decomposition_of(const Operator& op, const Variant& variant);
// Whether autocast.cc has something for the operator.
bool has_autocast_kernel(const Operator& op);
// tensor_methods.inc: the declarations of all Tensor methods.
std::string emit_methods(const std::vector<Table>& tables);
// Parts of ops.h and of tensor_methods.inc: `f(x, 1)` where an overload of f takes a bool in the place of a dimension.
std::string emit_int_functions(const Table& table);
std::string emit_int_methods(const Table& table);
// autograd/factories.h: the functions of namespace torch that make tensors and honour TensorOptions::requires_grad.
std::string emit_factories(const std::vector<Table>& tables);
// "add binary": a line for each operator's functional form, with the families that have it. What <ATen/ops/NAME.h> include.
std::string emit_operator_families(const std::vector<Table>& tables);
// How operators take distributed tensors, by name: aten/ops/sharding_table.h.
std::string emit_sharding(const std::vector<Table>& tables);
// How operators compute inside vmap, by name: aten/codegen/batching_table.h.
std::string emit_batching(const std::vector<Table>& tables);
// The words of one operator: those of `batch`, or what follows from `element_wise` or `sharding`; else empty.
std::string batching_words(const Operator& op);
// The operators that vmap calls sample by sample.
std::vector<std::string> looped_operators(const std::vector<Table>& tables);
// torch/special.h and the like: the operators special_f are f of namespace torch::special.
std::string emit_group(const std::vector<Table>& tables, const std::string& group);
// ATen/MetaFunctions.h: at::meta::f.
std::string emit_meta_functions(const std::vector<Table>& tables);
// docs/operators.md.
std::string emit_documentation(const std::vector<Table>& tables, const Evidence& evidence);

// The examples of the doc comments as tests.
std::string emit_examples(const Table& table);

// operator_facts.inc: each operator's name, family and kind of derivative, for tests that leave none out.
std::string emit_facts(const std::vector<Table>& tables);
// kernel_names.inc: the functions that compute operators on the CPU, for programs that call them without the operators.
std::string emit_kernel_names(const std::vector<Table>& tables);

// The comment above the functions of a name; empty for names without one.
std::string doc_comment(const Table& table, const std::string& name, const Evidence& evidence);
// What public operator lacks a doc comment or an example; empty where none does.
std::string undocumented(const Table& table);

// Shared by the emitters.
// The text with each $name$ replaced by its value; every name has one.
using Values = std::map<std::string, std::string>;
std::string print(const char* text, const Values& values);
// The texts with `separator` between them.
std::string joined(const std::vector<std::string>& texts, const char* separator = ", ");
std::string file_header(const Table& table);
// The line that includes what defines c10::List, where the text names it: that header is as long as the tensor's.
std::string list_header(const std::string& text);
std::string quoted(const std::string& text);
// The parameters without self, as a method has them.
Signature method_signature(const Signature& signature);

}  // namespace kindling::codegen
