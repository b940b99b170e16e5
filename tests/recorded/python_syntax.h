// The grammar of the Python expressions that recorded calls are written in: literals, names, calls, attributes,
// subscripts, operators, `a if b else c`, lambdas and `:=`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace recorded {

struct PythonNode {
  enum class Kind {
    kInteger,
    kFloat,
    kImaginary,
    kText,
    kBytes,
    kName,  // also True, False, None
    kEllipsis,
    kList,
    kTuple,
    kDict,       // keys and values in turn
    kAttribute,  // text of children[0]
    kCall,       // children[0] of the others; names[i] names children[i], or is empty
    kSubscript,  // children[0][children[1]]
    kSlice,      // three children, null where left out
    kUnary,      // text
    kBinary,     // text
    kCondition,  // children[0] if children[1] else children[2]
    kLambda,     // children[0] is its body
    kAssignment  // text := children[0]
  };
  Kind kind;
  std::string text;
  std::vector<std::shared_ptr<PythonNode>> children;
  std::vector<std::string> names;
};
using PythonNodePtr = std::shared_ptr<PythonNode>;

// Throws conformance::BadSet where the text is no such expression.
PythonNodePtr parse_python(std::string_view text);

}  // namespace recorded
