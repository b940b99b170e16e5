// The element type of an operation on several arguments.
//
// Arguments fall into three categories: tensors with dimensions, tensors without any, and numbers (or tensors that
// stand for one). A higher category decides unless a lower one has a higher kind (bool < integer < floating-point <
// complex); then the result has the lower category's kind. Within a category types promote by the lattice of
// promoteTypes.
//
//   TypePromotion p;
//   p.add(kInt, ArgumentCategory::Dim);       // int tensor
//   p.add(kDouble, ArgumentCategory::Number); // + 2.5
//   p.result() == kFloat                      // the default dtype
#pragma once

#include "c10/core/default_dtype.h"
#include "c10/core/scalar.h"
#include "c10/core/scalar_type.h"

namespace c10 {

enum class ArgumentCategory : uint8_t { Dim, ZeroDim, Number };

class TypePromotion {
 public:
  // A number's type counts as the default type of its kind: Double as the default dtype, complex likewise.
  void add(ScalarType type, ArgumentCategory category) {
    if (category == ArgumentCategory::Number) {
      if (isComplexType(type)) {
        type = get_default_complex_dtype().toScalarType();
      } else if (isFloatingType(type)) {
        type = get_default_dtype_as_scalartype();
      }
    }
    ScalarType& slot = types_[static_cast<size_t>(category)];
    if (slot == type) return;
    if (category == ArgumentCategory::Number && isIntegralType(slot, false) && isIntegralType(type, false)) {
      slot = kUInt64;  // one of two integers is beyond int64
    } else {
      slot = slot == ScalarType::Undefined ? type : promoteTypes(slot, type);
    }
  }
  void add(const Scalar& number) { add(number.type(), ArgumentCategory::Number); }
  // A tensor of `dim` dimensions; a wrapped number is a 0-dim tensor that was made from a number.
  void add_tensor(ScalarType type, int64_t dim, bool is_wrapped_number) {
    add(type, dim > 0             ? ArgumentCategory::Dim
              : is_wrapped_number ? ArgumentCategory::Number
                                  : ArgumentCategory::ZeroDim);
  }

  // Undefined where nothing was added.
  ScalarType result() const { return combine(types_[0], combine(types_[1], types_[2])); }

 private:
  static ScalarType combine(ScalarType higher, ScalarType lower) {
    if (higher == ScalarType::Undefined) return lower;
    if (lower == ScalarType::Undefined || higher == lower || isComplexType(higher)) return higher;
    if (isFloatingType(higher)) return isComplexType(lower) ? toComplexType(higher) : higher;
    if (isComplexType(lower)) return lower;  // of unsigned integers, too, which promoteTypes does not take
    // Bool takes anything from below; an integer type only a higher kind.
    if (higher == kBool || isFloatingType(lower)) return promoteTypes(higher, lower);
    return higher;
  }

  ScalarType types_[3] = {ScalarType::Undefined, ScalarType::Undefined, ScalarType::Undefined};
};

// Of two tensors, or a tensor and a number, without building the state.
inline ScalarType result_type(ScalarType a, ArgumentCategory ca, ScalarType b, ArgumentCategory cb) {
  if (a == b && ca == cb && ca != ArgumentCategory::Number) return a;
  TypePromotion p;
  p.add(a, ca);
  p.add(b, cb);
  return p.result();
}

}  // namespace c10
