#include "aten/decompositions/decompose.h"

#include <utility>
#include <vector>

#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "c10/util/exception.h"

namespace at {
namespace decomposition_constants {
extern const char linked;
}  // namespace decomposition_constants

namespace {

using c10::Argument;
using c10::IValue;

// The decompositions of the operators: named here, so that they are linked where somebody asks for one.
const char* const volatile constants = &decomposition_constants::linked;

// What only says how a new tensor is made, for a form that is given one.
IValue option_of(const std::string& argument, const Tensor& out) {
  if (argument == "dtype") return IValue(out.scalar_type());
  if (argument == "layout") return IValue(out.layout());
  if (argument == "device") return IValue(out.device());
  return IValue();
}

// The arguments of the functional form, by name from those of a form that writes into `out`.
c10::Stack functional_arguments(const c10::FunctionSchema& functional, const c10::FunctionSchema& schema,
                                const c10::Stack& stack, const Tensor& out) {
  c10::Stack arguments;
  for (const Argument& argument : functional.arguments()) {
    if (argument.is_out()) continue;
    const auto index = schema.argument_index(argument.name());
    arguments.push_back(index ? stack[*index] : option_of(argument.name(), out));
  }
  return arguments;
}

}  // namespace

bool has_decomposition(const c10::OperatorHandle& op) {
  (void)constants;
  return op.decomposition() != nullptr;
}

void decompose(const c10::OperatorHandle& op, c10::Stack& stack) {
  TORCH_CHECK_NOT_IMPLEMENTED(has_decomposition(op), toString(op.operator_name()), " has no decomposition");
  const c10::Decomposition& decomposition = *op.decomposition();
  op.fill_defaults(stack);
  const c10::FunctionSchema& schema = op.schema();
  std::vector<Tensor> outs;
  bool in_place = false;
  for (size_t i = 0; i < stack.size(); ++i) {
    const Argument& argument = schema.arguments()[i];
    if (!argument.is_write()) continue;
    outs.push_back(stack[i].toTensor());
    in_place = !argument.is_out();
  }
  if (outs.empty()) return decomposition.from_stack(decomposition, stack);

  const c10::OperatorHandle functional(*decomposition.op.entry);
  c10::Stack results = functional_arguments(functional.schema(), schema, stack, outs[0]);
  decomposition.from_stack(decomposition, results);
  const std::string name = schema.name();
  // All are checked before one is written.
  for (size_t i = 0; i < outs.size(); ++i) {
    const Tensor result = results[i].toTensor();
    in_place ? structured::prepare_inplace(name.c_str(), outs[i], result)
             : structured::prepare_out(name.c_str(), outs[i], result);
  }
  for (size_t i = 0; i < outs.size(); ++i) at::copy_(outs[i], results[i].toTensor(), false);
  stack.assign(outs.begin(), outs.end());
}

}  // namespace at
