#include "c10/dispatch/ivalue.h"

#include <array>
#include <new>

#include "c10/core/tensor_impl.h"

namespace c10 {
namespace {

constexpr std::array<std::string_view, 16> kTagNames{"None",   "Tensor",  "Int",        "Double",   "Bool", "Device",  "Stream",    "ComplexDouble",
                                                     "String", "IntList", "DoubleList", "BoolList", "List", "Storage", "Generator", "Object"};

// Where lists wait that were in a list which this thread is freeing; null where it frees none.
thread_local constinit std::vector<IValue>* dying_lists = nullptr;

void put_aside(std::vector<IValue>& from, std::vector<IValue>& to) noexcept {
  for (IValue& element : from) {
    if (element.tag() != IValue::Tag::List) continue;
    try {
      to.push_back(std::move(element));
    } catch (const std::bad_alloc&) {
      return;  // the rest is freed where it is
    }
  }
}

}  // namespace

detail::IValueHolder<std::vector<IValue>>::IValueHolder(std::vector<IValue>&& v) : value(std::move(v)) {}
detail::IValueHolder<std::vector<IValue>>::~IValueHolder() {
  if (dying_lists != nullptr) {
    put_aside(value, *dying_lists);
    return;
  }
  std::vector<IValue> waiting;
  put_aside(value, waiting);
  dying_lists = &waiting;
  while (!waiting.empty()) {
    const IValue next = std::move(waiting.back());
    waiting.pop_back();
  }
  dying_lists = nullptr;
}

IValue::IValue(const Scalar& value) {
  switch (value.type()) {
    case ScalarType::Long: *this = IValue(value.toLong()); break;
    case ScalarType::Bool: *this = IValue(value.toBool()); break;
    case ScalarType::ComplexDouble: *this = IValue(value.toComplexDouble()); break;
    default: *this = IValue(value.toDouble());
  }
}

std::string_view IValue::tag_name() const { return kTagNames[static_cast<size_t>(tag_)]; }

Scalar IValue::toScalar() const {
  switch (tag_) {
    case Tag::Int: return Scalar(payload_.integer);
    case Tag::Double: return Scalar(payload_.number);
    case Tag::Bool: return Scalar(payload_.integer != 0);
    case Tag::ComplexDouble: return Scalar(toComplexDouble());
    default: TORCH_CHECK_TYPE(false, "expected Scalar, got ", tag_name());
  }
}

bool IValue::isTensorList() const {
  if (tag_ != Tag::List) return false;
  for (const IValue& element : toListRef()) {
    if (!element.isTensor()) return false;
  }
  return true;
}

TensorImpl* IValue::unsafe_tensor_impl() const {
  if (isNone()) return nullptr;
  check(Tag::Tensor);
  return static_cast<TensorImpl*>(payload_.object);
}

void IValue::wrong_tag(Tag expected) const {
  TORCH_CHECK_TYPE(false, "expected ", kTagNames[static_cast<size_t>(expected)], ", got ", tag_name());
}

}  // namespace c10
