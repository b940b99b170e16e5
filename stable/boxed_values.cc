#include "stable/boxed_values.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/generator.h"
#include "c10/value/ivalue.h"
#include "stable/conversions.h"

namespace torch::stable::detail {
namespace {

using c10::IValue;
using c10::Type;
using c10::TypeKind;

using List = std::vector<StableIValue>;

template <class T>
StableIValue handle_of(T value) {
  return reinterpret_cast<StableIValue>(new T(std::move(value)));
}
// What a handle holds, which ends with this.
template <class T>
T taken(StableIValue handle) {
  TORCH_CHECK(handle != 0, "expected a value, but its handle is null");
  const std::unique_ptr<T> owner(reinterpret_cast<T*>(handle));
  return std::move(*owner);
}

// Gives back what an unused value holds.
void release(StableIValue value, const Type& type) {
  if (value == 0) return;
  switch (type.kind()) {
    case TypeKind::TensorType: delete reinterpret_cast<at::Tensor*>(value); return;
    case TypeKind::GeneratorType: delete reinterpret_cast<at::Generator*>(value); return;
    case TypeKind::StringType: delete reinterpret_cast<std::string*>(value); return;
    case TypeKind::OptionalType: {
      const std::unique_ptr<StableIValue> inner(reinterpret_cast<StableIValue*>(value));
      return release(*inner, *type.containedTypes()[0]);
    }
    case TypeKind::ListType: {
      const std::unique_ptr<List> elements(reinterpret_cast<List*>(value));
      for (const StableIValue element : *elements) release(element, *type.containedTypes()[0]);
      return;
    }
    default: return;
  }
}

// Values of known types; those that nobody took are given back.
class Values {
 public:
  Values(const c10::OperatorHandle& op, ArrayRef<c10::Argument> types) : op_(op), types_(types) {}
  Values(const Values&) = delete;
  ~Values() {
    for (size_t i = taken_; i < values_.size(); ++i) release(values_[i], *types_[i].type());
  }

  void push(const IValue& value) {
    values_.push_back(0);
    values_.back() = stable_of(value, *types_[values_.size() - 1].type());
  }
  void push(StableIValue value) { values_.push_back(value); }
  IValue take() {
    const size_t i = taken_++;
    return value_of(values_[i], types_[i].type());
  }
  // Hands all of them over.
  List take_all() {
    taken_ = values_.size();
    return values_;
  }
  // They were not taken after all.
  void take_back() { taken_ = 0; }

 private:
  StableIValue stable_of(const IValue& value, const Type& type) const;
  IValue value_of(StableIValue value, const c10::TypePtr& type) const;
  [[noreturn]] void refuse(const Type& type) const {
    C10_THROW_ERROR(NotImplementedError, toString(op_.operator_name()) + ": the stable interface has no values of type " +
                                             type.str());
  }

  const c10::OperatorHandle& op_;
  ArrayRef<c10::Argument> types_;
  List values_;
  size_t taken_ = 0;
};

StableIValue Values::stable_of(const IValue& value, const Type& type) const {
  switch (type.kind()) {
    case TypeKind::TensorType: return handle_of(value.isNone() ? at::Tensor() : value.toTensor());
    case TypeKind::IntType:
      return static_cast<StableIValue>(value.isBool() ? static_cast<int64_t>(value.toBool()) : value.toInt());
    case TypeKind::BoolType: return value.isInt() ? value.toInt() != 0 : value.toBool();
    case TypeKind::FloatType: return from(value.isInt() ? static_cast<double>(value.toInt()) : value.toDouble());
    case TypeKind::DeviceObjType: return from(Device(value.toDevice().type(), value.toDevice().index()));
    case TypeKind::StringType: return handle_of(value.toStringRef());
    case TypeKind::GeneratorType: return handle_of(value.toGenerator());
    case TypeKind::OptionalType:
      return value.isNone() ? 0 : handle_of(stable_of(value, *type.containedTypes()[0]));
    case TypeKind::ListType: {
      const Type& element = *type.containedTypes()[0];
      auto elements = std::make_unique<List>();
      try {
        for (const IValue& v : value.toListRef()) elements->push_back(stable_of(v, element));
      } catch (...) {
        release(reinterpret_cast<StableIValue>(elements.release()), type);
        throw;
      }
      return reinterpret_cast<StableIValue>(elements.release());
    }
    default: refuse(type);
  }
}

IValue Values::value_of(StableIValue value, const c10::TypePtr& type) const {
  switch (type->kind()) {
    case TypeKind::TensorType: return IValue(taken<at::Tensor>(value));
    case TypeKind::IntType: return IValue(static_cast<int64_t>(value));
    case TypeKind::BoolType: return IValue(static_cast<bool>(value));
    case TypeKind::FloatType: return IValue(to<double>(value));
    case TypeKind::DeviceObjType: return IValue(c10::Device(to<Device>(value)));
    case TypeKind::StringType: return IValue(taken<std::string>(value));
    case TypeKind::GeneratorType: return IValue(taken<at::Generator>(value));
    case TypeKind::OptionalType:
      return value == 0 ? IValue() : value_of(taken<StableIValue>(value), type->containedTypes()[0]);
    case TypeKind::ListType: {
      const c10::TypePtr& element = type->containedTypes()[0];
      const List elements = taken<List>(value);
      c10::List<IValue> result(element);
      size_t i = 0;
      try {
        while (i < elements.size()) result.push_back(value_of(elements[i++], element));
      } catch (...) {
        for (; i < elements.size(); ++i) release(elements[i], *element);
        throw;
      }
      return IValue(std::move(result));
    }
    default: refuse(*type);
  }
}

}  // namespace

void BoxedFunction::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) const {
  const c10::FunctionSchema& schema = op.schema();
  const size_t inputs = schema.arguments().size(), outputs = schema.returns().size();
  Values arguments(op, schema.arguments());
  for (size_t i = 0; i < inputs; ++i) arguments.push((*stack)[stack->size() - inputs + i]);
  stack->resize(stack->size() - inputs);
  List slots = arguments.take_all();
  slots.resize(std::max({inputs, outputs, size_t{1}}));
  try {
    function_(slots.data(), inputs, outputs);
  } catch (const WrongCounts&) {
    arguments.take_back();
    throw;
  }
  Values results(op, schema.returns());
  for (size_t i = 0; i < outputs; ++i) results.push(slots[i]);
  for (size_t i = 0; i < outputs; ++i) stack->push_back(results.take());
}

void call_operator(const c10::OperatorHandle& op, StableIValue* stack) {
  const c10::FunctionSchema& schema = op.schema();
  Values arguments(op, schema.arguments());
  for (size_t i = 0; i < schema.arguments().size(); ++i) arguments.push(stack[i]);
  c10::Stack values;
  for (size_t i = 0; i < schema.arguments().size(); ++i) values.push_back(arguments.take());
  op.callBoxed(values);
  Values results(op, schema.returns());
  for (const IValue& value : values) results.push(value);
  const List slots = results.take_all();
  std::copy(slots.begin(), slots.end(), stack);
}

}  // namespace torch::stable::detail
