#include "aten/core/boxing.h"

#include <string>

#include "c10/core/tensor_impl.h"

namespace c10 {

at::Tensor IValue::toTensor() const& {
  TensorImpl* impl = unsafe_tensor_impl();
  return impl == nullptr ? at::Tensor() : at::Tensor(intrusive_ptr<TensorImpl>::reclaim_copy(impl));
}

at::Tensor IValue::toTensor() && {
  TensorImpl* impl = unsafe_tensor_impl();
  if (impl == nullptr) return at::Tensor();
  tag_ = Tag::None;
  return at::Tensor(intrusive_ptr<TensorImpl>::reclaim(impl));
}

std::vector<at::Tensor> IValue::toTensorVector() const { return at::boxing::tensors_of(*this); }

}  // namespace c10

namespace at::boxing {
namespace {

// An enumerator's number within [0, count).
int64_t checked_enumerator(const IValue& value, int64_t count, const char* what) {
  const int64_t number = value.toInt();
  TORCH_CHECK_TYPE(number >= 0 && number < count, "expected a ", what, ", got the integer ", number);
  return number;
}

template <class T, class F>
std::vector<T> elements(const IValue& value, F convert) {
  std::vector<T> result;
  const std::vector<IValue>& list = value.toListRef();
  result.reserve(list.size());
  for (const IValue& element : list) result.push_back(convert(element));
  return result;
}

}  // namespace

template <>
Layout from_ivalue(const IValue& value) {
  return static_cast<Layout>(checked_enumerator(value, static_cast<int64_t>(Layout::NumOptions), "layout"));
}

template <>
MemoryFormat from_ivalue(const IValue& value) {
  return static_cast<MemoryFormat>(checked_enumerator(value, static_cast<int64_t>(MemoryFormat::NumOptions), "memory format"));
}

template <>
Generator from_ivalue(const IValue& value) {
  auto object = value.object(IValue::Tag::Generator);
  return Generator(intrusive_ptr<GeneratorImpl>::reclaim(static_cast<GeneratorImpl*>(object.release())));
}

template <>
Storage from_ivalue(const IValue& value) {
  auto object = value.object(IValue::Tag::Storage);
  return Storage(intrusive_ptr<StorageImpl>::reclaim(static_cast<StorageImpl*>(object.release())));
}

template <>
Stream from_ivalue(const IValue& value) {
  const auto [device, id] = value.toStream();
  return Stream(device, id);
}

std::vector<Tensor> tensors_of(const IValue& value) {
  return elements<Tensor>(value, [](const IValue& v) { return v.toTensor(); });
}

c10::List<std::optional<Tensor>> optional_tensors_of(const IValue& value) {
  return c10::List<std::optional<Tensor>>(elements<std::optional<Tensor>>(
      value, [](const IValue& v) { return v.isNone() ? std::optional<Tensor>() : std::optional<Tensor>(v.toTensor()); }));
}

std::vector<double> doubles_of(const IValue& value) {
  if (value.isDoubleList()) return value.toDoubleList();
  if (value.isIntList()) return std::vector<double>(value.toIntList().begin(), value.toIntList().end());
  if (value.isDouble() || value.isInt()) return {value.toDouble()};
  return elements<double>(value, [](const IValue& v) { return v.toDouble(); });
}

std::vector<int64_t> integers_of(const IValue& value) {
  if (value.isIntList()) return value.toIntList();
  if (value.isInt()) return {value.toInt()};
  return elements<int64_t>(value, [](const IValue& v) { return v.toInt(); });
}

std::vector<Scalar> scalars_of(const IValue& value) {
  if (value.isIntList()) return std::vector<Scalar>(value.toIntList().begin(), value.toIntList().end());
  if (value.isDoubleList()) return std::vector<Scalar>(value.toDoubleList().begin(), value.toDoubleList().end());
  return elements<Scalar>(value, [](const IValue& v) { return v.toScalar(); });
}

std::vector<Dimname> dimnames_of(const IValue& value) {
  return elements<Dimname>(value, [](const IValue& v) { return from_ivalue<Dimname>(v); });
}

std::vector<bool> bools_of(const IValue& value, size_t count) {
  std::vector<bool> values =
      value.isBoolList() ? value.toBoolList() : elements<bool>(value, [](const IValue& v) { return v.toBool(); });
  TORCH_CHECK_TYPE(values.size() == count, "expected ", count, " booleans, got ", values.size());
  return values;
}

void push(Stack& stack, const Generator& value) {
  stack.emplace_back(IValue::Tag::Generator, value.getIntrusivePtr());
}

void push(Stack& stack, const Storage& value) {
  stack.emplace_back(IValue::Tag::Storage,
                     intrusive_ptr<StorageImpl>::reclaim_copy(value.unsafeGetStorageImpl()));
}

void push(Stack& stack, const Stream& value) { stack.push_back(IValue::stream(value.device(), value.id())); }

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

void push(Stack& stack, const c10::List<std::optional<Tensor>>& tensors) {
  stack.emplace_back(std::vector<IValue>(tensors.begin(), tensors.end()));
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
  if (!values[1].isNone()) options = options.layout(from_ivalue<Layout>(values[1]));
  if (!values[2].isNone()) options = options.device(from_ivalue<Device>(values[2]));
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
