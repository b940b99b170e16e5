#pragma once

#include <string>
#include <string_view>

namespace kindling::codegen {

// The names in a formula, which is a C++ expression, one after the other. Text in quotes and numbers hold no names.
//
//   FormulaNames names("mul(grad, self.sizes(), 2)");
//   while (names.next()) use(names.before(), names.name());  // "" "mul", "(" "grad", ", " "self", "." "sizes"
//   use(names.before());                                    // "(), 2)"
class FormulaNames {
 public:
  explicit FormulaNames(std::string_view formula) : formula_(formula) {}

  // Goes to the next name; false at the end.
  bool next();
  const std::string& name() const { return name_; }
  // The text between the last name, with what was taken after it, and this one; at the end what is left.
  std::string_view before() const { return before_; }
  // Whether the name belongs to what stands before it (. -> ::) or is a namespace or class (before ::).
  bool is_member() const { return member_; }
  // Whether it is called like a function.
  bool is_called() const;
  // Takes `text` where it comes right after the name.
  bool take(std::string_view text);

 private:
  std::string_view formula_;
  std::string_view before_;
  std::string name_;
  size_t end_ = 0;  // of what was read
  bool member_ = false;
};

}  // namespace kindling::codegen
