// Equality and deep copies of values.
#include "c10/value/ivalue.h"

#include <algorithm>
#include <map>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/generator.h"
#include "c10/core/storage.h"
#include "c10/core/tensor_impl.h"
#include "c10/value/function.h"
#include "c10/value/future.h"
#include "c10/value/object.h"

namespace c10 {
namespace {

// Equality inside containers: what is the same object is equal, even NaN.
bool equal_parts(const IValue& a, const IValue& b) { return a.is(b) || a == b; }

bool equal_lists(ArrayRef<IValue> a, ArrayRef<IValue> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), equal_parts);
}

bool equal_dicts(const detail::DictImpl& a, const detail::DictImpl& b) {
  if (a.count != b.count) return false;
  for (const auto& entry : a.entries) {
    if (!entry.live) continue;
    const int64_t found = b.find(entry.key);
    if (found < 0 || !equal_parts(entry.value, b.entries[static_cast<size_t>(found)].value)) return false;
  }
  return true;
}

}  // namespace

IValue IValue::equals(const IValue& other) const {
  if (isTensor() && other.isTensor()) {
    if (unsafe_tensor_impl() == other.unsafe_tensor_impl() && toTensor().numel() == 1) return IValue(at::eq(toTensor(), toTensor()));
    return IValue(at::eq(toTensor(), other.toTensor()));
  }
  if (tag_ != other.tag_) return false;
  switch (tag_) {
    case Tag::GenericList: return equal_lists(toListRef(), other.toListRef());
    case Tag::Tuple: return equal_lists(toTupleRef().elementsArrayRef(), other.toTupleRef().elementsArrayRef());
    case Tag::GenericDict: return equal_dicts(held<detail::DictImpl>(tag_), other.held<detail::DictImpl>(tag_));
    case Tag::Enum: return *toEnumHolder() == *other.toEnumHolder();
    default: return is(other);
  }
}

bool operator==(const IValue& a, const IValue& b) {
  const IValue result = a.equals(b);
  return result.isBool() ? result.toBool() : at::is_nonzero(result.toTensor());
}

// --- deep copies ---

// The originals are kept so that no other object can take their address.
struct IValue::Memo {
  std::map<const void*, std::pair<IValue, IValue>> copies;
};

IValue IValue::deepcopy(std::optional<Device> device) const {
  Memo memo;
  return deepcopy(memo, device);
}

IValue IValue::deepcopy(Memo& memo, std::optional<Device> device) const {
  if (!is_counted()) return *this;
  const auto found = memo.copies.find(payload_.object);
  if (found != memo.copies.end()) return found->second.second;
  const auto remember = [&](IValue copy) {
    memo.copies.emplace(payload_.object, std::pair(*this, copy));
    return copy;
  };
  switch (tag_) {
    case Tag::Tensor: {
      const at::Tensor source = toTensor();
      const bool move = device.has_value() && !source.device().is_meta();
      return remember(IValue(move ? at::to(source, source.options().device(*device), /*non_blocking=*/false, /*copy=*/true)
                                  : at::clone(source)));
    }
    case Tag::GenericList: {
      const auto& source = held<detail::ListImpl>(tag_);
      auto list = make_intrusive<detail::ListImpl>(std::vector<IValue>(), source.elementType);
      const IValue copy = remember(IValue(tag_, list));
      for (const IValue& element : source.list) list->list.push_back(element.deepcopy(memo, device));
      return copy;
    }
    case Tag::GenericDict: {
      const auto& source = held<detail::DictImpl>(tag_);
      auto dict = make_intrusive<detail::DictImpl>(source.keyType, source.valueType);
      const IValue copy = remember(IValue(tag_, dict));
      for (const auto& entry : source.entries) {
        if (entry.live) dict->insert(entry.key.deepcopy(memo, device), entry.value.deepcopy(memo, device), true);
      }
      return copy;
    }
    case Tag::Tuple: {
      std::vector<IValue> elements;
      for (const IValue& element : toTupleRef().elements()) elements.push_back(element.deepcopy(memo, device));
      const TypePtr type = toTupleRef().type();
      return remember(IValue(type->expectRef<TupleType>().is_named() ? ivalue::Tuple::createNamed(std::move(elements), type)
                                                                     : ivalue::Tuple::create(std::move(elements))));
    }
    case Tag::Object: {
      const ivalue::Object& source = toObjectRef();
      auto object = ivalue::Object::create(source.strong_type(), source.slots().size());
      const IValue copy = remember(IValue(object));
      if (isCustomClass()) {
        const ClassTypePtr type = source.type();
        TORCH_CHECK(type->hasMethod("__getstate__"), "Cannot deepcopy custom class ", source.name(),
                    ": it has no __getstate__ and __setstate__ (def_pickle)");
        type->getMethod("__setstate__")({copy, type->getMethod("__getstate__")({*this}).deepcopy(memo, device)});
        return copy;
      }
      for (size_t i = 0; i < source.slots().size(); ++i) object->setSlot(i, source.slots()[i].deepcopy(memo, device));
      return copy;
    }
    case Tag::String:
    case Tag::ComplexDouble:
    case Tag::Enum:
    case Tag::Generator:
      return *this;
    default:
      TORCH_CHECK(false, "Can't deepcopy IValue with tag: ", tag_name());
  }
}

}  // namespace c10
