// Values as of declared types.
#pragma once

#include <cstdint>

#include "c10/value/ivalue.h"
#include "c10/value/type.h"

namespace torch::jit {

/// `value` with the type's kinds of elements: lists and dicts, which keep their identity, say them, tuples become named
/// ones where the type is one. What does not fit stays as it is: compare its type.
class Retyping {
 public:
  /// ValueError above so many values in all, those that are shared counted as often as they are mentioned.
  explicit Retyping(uint64_t most) : left_(most) {}
  c10::IValue operator()(const c10::IValue& value, const c10::TypePtr& type);

 private:
  uint64_t left_;
};

}  // namespace torch::jit
