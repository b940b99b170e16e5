// Which overload takes what a program gives, by the types.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "c10/dispatch/function_schema.h"
#include "c10/value/type.h"

namespace torch::jit {

/// How a value of one type is made to one of another.
enum class Conversion : uint8_t {
  kNone,
  kToFloat,      // of a number or a tensor with one element
  kToComplex,    // of a number
  kToInt,        // of a tensor with one element, or a number that is one
  kToScalar,     // of a tensor with one element
  kToBool,       // of a tensor with one element
  kToDevice,     // of a text
  kRepeat,       // a number, in a list of several
  kTupleToList,  // of elements of one type
};

/// What of it an overload may do.
enum class Leniency : uint8_t { kExact, kConversions, kNumbersFromTensors };

/// Where the value of an argument comes from.
struct ArgumentSource {
  enum class Kind : uint8_t { kGiven, kRest, kDefault };
  Kind kind = Kind::kDefault;
  size_t index = 0;   // of what is given, positional arguments first; of kRest, the first
  c10::TypePtr type;  // what the overload takes here
  Conversion conversion = Conversion::kNone;
  int64_t repeat = 0;
};
struct SchemaMatch {
  std::vector<ArgumentSource> arguments;
  std::vector<c10::TypePtr> returns;
};

/// Whether a value of type `from` may stand where `to` (a list of `size`, if it is one of fixed size) is wanted.
bool find_conversion(const c10::TypePtr& from, const c10::TypePtr& to, std::optional<int32_t> size, Leniency leniency,
                     ArgumentSource* out);

using NamedTypes = std::vector<std::pair<std::string, c10::TypePtr>>;
/// Nothing, and the reason in `why`, where the overload does not take them.
std::optional<SchemaMatch> match_schema(const c10::FunctionSchema& schema, const std::vector<c10::TypePtr>& positional,
                                        const NamedTypes& named, Leniency leniency, std::string* why);

/// The type of a value that is of either type; null where there is none.
c10::TypePtr unify_types(const c10::TypePtr& a, const c10::TypePtr& b);

}  // namespace torch::jit
