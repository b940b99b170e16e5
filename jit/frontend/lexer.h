// The words of a program in TorchScript.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/frontend/source_range.h"

namespace torch::jit {

struct Token {
  enum class Kind {
    kName,     // also the keywords
    kNumber,   // as written
    kString,   // with its quotes
    kSymbol,   // operators and brackets
    kNewline,  // the end of a statement
    kIndent,
    kDedent,
    kEnd,
  };
  Kind kind;
  SourceRange range;
  // Of a line's end: what "# type: " in or right below the line says. Empty (no source) where there is none.
  SourceRange type_comment = {};

  std::string_view text() const { return range.text(); }
};

/// The words of source[begin, end). Lines inside brackets are one; the first line's indentation is that of the whole
/// program. Throws ErrorReport for characters that no word begins with, strings without an end and indentation that
/// fits no line above.
std::vector<Token> lex(const std::shared_ptr<const Source>& source, size_t begin, size_t end);
inline std::vector<Token> lex(const std::shared_ptr<const Source>& source) {
  return lex(source, 0, source->text().size());
}

}  // namespace torch::jit
