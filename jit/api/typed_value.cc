#include "jit/api/typed_value.h"

#include <utility>
#include <vector>

#include "c10/util/exception.h"
#include "c10/value/dict.h"
#include "c10/value/list.h"

namespace torch::jit {

using c10::IValue;
using c10::TypeKind;
using c10::TypePtr;

namespace {

bool fits(const IValue& value, const TypePtr& type) {
  return (value.isNone() && type->kind() == TypeKind::TensorType) || value.type()->isSubtypeOf(type);
}

}  // namespace

IValue Retyping::operator()(const IValue& value, const TypePtr& type) {
  TORCH_CHECK_VALUE(left_-- > 0, "too many values in lists, dicts and tuples");
  switch (type->kind()) {
    case TypeKind::OptionalType:
      return value.isNone() ? value : (*this)(value, type->containedType(0));
    case TypeKind::UnionType: {
      // As the first of its types that it can be.
      for (const TypePtr& member : type->containedTypes()) {
        const IValue typed = fits(value, member) ? value : (*this)(value, member);
        if (fits(typed, member)) return typed;
      }
      return value;
    }
    case TypeKind::ListType: {
      if (!value.isList()) return value;
      const c10::List<IValue> list = value.toList();
      bool all_fit = true;
      for (size_t i = 0; i < list.size(); ++i) {
        list.set(i, (*this)(list.get(i), type->containedType(0)));
        all_fit = all_fit && fits(list.get(i), type->containedType(0));
      }
      if (all_fit) list.unsafeSetElementType(type->containedType(0));
      return value;
    }
    case TypeKind::DictType: {
      if (!value.isGenericDict()) return value;
      const c10::impl::GenericDict dict = value.toGenericDict();
      bool all_fit = true;
      for (const auto& entry : dict) {
        entry.setValue((*this)(entry.value(), type->containedType(1)));
        all_fit = all_fit && fits(entry.key(), type->containedType(0)) && fits(entry.value(), type->containedType(1));
      }
      if (all_fit) {
        dict.unsafeSetKeyType(type->containedType(0));
        dict.unsafeSetValueType(type->containedType(1));
      }
      return value;
    }
    case TypeKind::TupleType: {
      if (!value.isTuple()) return value;
      const auto& tuple = type->expectRef<c10::TupleType>();
      std::vector<IValue> parts = value.toTupleRef().elements().vec();
      if (parts.size() != tuple.elements().size()) return value;
      for (size_t i = 0; i < parts.size(); ++i) parts[i] = (*this)(parts[i], tuple.elements()[i]);
      if (tuple.is_named()) return c10::ivalue::Tuple::createNamed(std::move(parts), type);
      return c10::ivalue::Tuple::create(std::move(parts));
    }
    default:
      return value;
  }
}

}  // namespace torch::jit
