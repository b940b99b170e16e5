#include "aten/core/boxing.h"

#include <string>

namespace at::boxing {

std::vector<Tensor> tensors_of(const IValue& value) { return value.toTensorVector(); }

c10::List<std::optional<Tensor>> optional_tensors_of(const IValue& value) {
  if (value.isOptionalTensorList()) return value.toOptionalTensorList();
  return c10::List<std::optional<Tensor>>(value.to<std::vector<std::optional<Tensor>>>());
}

// One number stands for a list of one.
std::vector<double> doubles_of(const IValue& value) {
  if (value.isDouble() || value.isInt()) return {value.toScalar().toDouble()};
  std::vector<double> numbers;
  for (const IValue& element : value.toListRef()) numbers.push_back(element.toScalar().toDouble());
  return numbers;
}

std::vector<int64_t> integers_of(const IValue& value) {
  if (value.isInt()) return {value.toInt()};
  return value.toIntVector();
}

std::vector<Scalar> scalars_of(const IValue& value) { return value.to<std::vector<Scalar>>(); }

std::vector<Dimname> dimnames_of(const IValue& value) {
  std::vector<Dimname> names;
  for (const IValue& element : value.toListRef()) names.push_back(from_ivalue<Dimname>(element));
  return names;
}

std::vector<bool> bools_of(const IValue& value, size_t count) {
  std::vector<bool> values = value.toBoolVector();
  TORCH_CHECK_TYPE(values.size() == count, "expected ", count, " booleans, got ", values.size());
  return values;
}

void push(Stack& stack, const Dimname& value) {
  if (value.isWildcard()) {
    stack.emplace_back();
  } else {
    stack.emplace_back(value.name());
  }
}

void push(Stack& stack, DimnameList values) {
  Stack names;
  for (const Dimname& name : values) push(names, name);
  stack.emplace_back(std::move(names));
}

void push(Stack& stack, const TensorOptions& options) {
  push(stack, options.scalar_type_opt());
  push(stack, options.layout_opt());
  push(stack, options.device_opt());
  push(stack, options.pinned_memory_opt());
}

TensorOptions options_of(const IValue* values) {
  TensorOptions options;
  if (!values[0].isNone()) options = options.dtype(values[0].toScalarType());
  if (!values[1].isNone()) options = options.layout(values[1].toLayout());
  if (!values[2].isNone()) options = options.device(values[2].toDevice());
  if (!values[3].isNone()) options = options.pinned_memory(values[3].toBool());
  return options;
}

void rethrow_for_argument(const OperatorBase& op, size_t argument) {
  try {
    throw;
  } catch (const c10::Error& error) {
    TORCH_CHECK_TYPE(false, op.name, "(): argument ", argument, ": ", error.what_without_backtrace());
  }
}

}  // namespace at::boxing
