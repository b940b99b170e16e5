// How values that are nested in tuples, lists and dictionaries lie in a row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "c10/value/ivalue.h"

namespace torch {

/// The shape of a nested value. None counts as a value.
struct TreeSpec {
  enum class Kind : uint8_t { kLeaf, kTuple, kList, kDict, kNamedTuple };
  Kind kind = Kind::kLeaf;
  std::vector<c10::IValue> keys;    ///< of a dict, in order
  std::vector<std::string> fields;  ///< of a named tuple
  /// Of a named tuple; of a tuple or dict, the type where it is not Python's own: "collections.OrderedDict",
  /// "torch.Size".
  std::string name;
  std::vector<TreeSpec> children;

  size_t leaves() const;
  /// The values in order. Throws ValueError that names the place where `value` has another shape; `what` names the
  /// whole.
  std::vector<c10::IValue> flatten(const c10::IValue& value, std::string_view what) const;
  /// A value of this shape. Throws ValueError for another number of values.
  c10::IValue unflatten(c10::ArrayRef<c10::IValue> values) const;
};

}  // namespace torch
