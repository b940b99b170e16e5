// A compiled function: operations whose overloads and conversions are decided, in blocks as the source has them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "c10/value/function.h"
#include "c10/value/ivalue.h"
#include "c10/value/type.h"
#include "jit/compiler/schema_matching.h"
#include "jit/frontend/source_range.h"
#include "jit/operators/operators.h"

namespace torch::jit {

struct Program;

// Where a value goes: to a variable's slot, or its parts to several.
struct Target {
  size_t slot = 0;
  std::vector<Target> parts;
  bool is_tuple = false;
  SourceRange range;
};

struct Operation;
using OperationPtr = std::unique_ptr<Operation>;

struct Operation {
  enum class Kind {
    kConstant,
    kLoad,          // a variable
    kCall,          // `callables[0]` of the inputs
    kCallFunction,  // `function` of the inputs
    kTuple,
    kList,
    kDict,         // keys and values in turn
    kTupleGet,     // element `slot` of a tuple
    kTupleSlice,   // elements `slot` to `end`
    kAttribute,    // attribute `slot` of an object
    kMember,       // "name" or "value" (text) of an enum's member
    kConditional,  // condition, value, other
    kAnd,
    kOr,
    kConvert,
    kIndex,          // a tensor by indices
    kIndexPut,       // a tensor by indices, to the last input
    kSlice,          // an index: start, stop, step
    kEllipsis,       // an index
    kIsInstance,     // of `type_tested`
    kRange,          // start, stop, step
    kEnumerate,      // a list, the first number
    kZip,            // lists
    kComprehension,  // list, value[, key][, condition]
    kPrint,
  };
  Operation(Kind kind, SourceRange range, c10::TypePtr type)
      : kind(kind), range(std::move(range)), type(std::move(type)) {}
  Kind kind;
  SourceRange range;
  c10::TypePtr type;
  std::vector<OperationPtr> inputs;
  c10::IValue constant;
  size_t slot = 0;
  size_t end = 0;
  Conversion conversion = Conversion::kNone;
  bool has_condition = false;  // of a comprehension
  std::vector<Callable> callables;
  Function* function = nullptr;
  std::shared_ptr<Program> program;  // of a function of the same unit
  c10::TypePtr type_tested;
  Target target;
};

struct Step {
  enum class Kind { kEvaluate, kAssign, kIf, kWhile, kFor, kReturn, kRaise, kBreak, kContinue, kNoGrad };
  Step(Kind kind, SourceRange range) : kind(kind), range(std::move(range)) {}
  Kind kind;
  SourceRange range;
  OperationPtr value;  // the condition, the list or what is assigned, returned or said; null for None
  Target target;
  std::vector<Step> body;
  std::vector<Step> other;
  std::string text;  // of kRaise, the class of the exception
};

struct Program {
  std::string name;
  std::vector<Step> body;
  size_t slots = 0;  // the parameters come first
};

}  // namespace torch::jit
