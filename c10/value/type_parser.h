// Types from text, as schemas write them: "Tensor?[]", "Dict(str, Tensor[])", "(Tensor, int[]?)", "Future(int)",
// "__torch__.torch.classes.my.Stack".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "c10/value/type.h"

namespace c10 {

// Which memory an argument or a result shares: "(a)", "(a!)" for what is written, "(a -> *)", "(a|b)". `containedTypes`: of what
// is in a list or an optional; "Tensor(a!)[]" says it of the elements.
class AliasInfo {
 public:
  bool isWrite() const { return is_write_; }
  void setIsWrite(bool is_write) { is_write_ = is_write; }
  // Sorted. "*" is the wildcard.
  const std::vector<std::string>& beforeSets() const { return before_; }
  const std::vector<std::string>& afterSets() const { return after_; }
  void addBeforeSet(const std::string& name);
  void addAfterSet(const std::string& name);
  const std::vector<AliasInfo>& containedTypes() const { return contained_; }
  void addContainedType(AliasInfo info) { contained_.push_back(std::move(info)); }
  bool isWildcardBefore() const { return before_.size() == 1 && before_[0] == "*"; }
  bool isWildcardAfter() const { return after_.size() == 1 && after_[0] == "*"; }
  // "a!", "a -> *"; empty where it names no set.
  std::string str() const;
  friend bool operator==(const AliasInfo&, const AliasInfo&) = default;

 private:
  bool is_write_ = false;
  std::vector<std::string> before_;
  std::vector<std::string> after_;
  std::vector<AliasInfo> contained_;
};

namespace detail {

class TextCursor;

struct ParsedType {
  TypePtr type;                 // as written: with ScalarType, SymInt ...
  std::optional<int32_t> size;  // of a list of fixed size: 2 in int[2]
  std::optional<AliasInfo> alias;
};

// Reads one type, with its alias annotations; false where there is none.
bool parse_type(TextCursor& in, ParsedType* out);

}  // namespace detail

// Whatever the text, it returns: the type, or null with a message.
TypePtr try_parse_type(std::string_view text, std::string* error);
// Throws c10::Error. The type is that of values: ints for ScalarType and SymInt.
TypePtr parseType(std::string_view text);

}  // namespace c10

namespace torch::jit {
using c10::parseType;
}
