#include "aten/codegen/formula.h"

#include <algorithm>
#include <cctype>

namespace kindling::codegen {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Where the quoted text that begins at `begin` ends.
size_t end_of_quoted(std::string_view text, size_t begin) {
  for (size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[begin]) {
      return i + 1;
    }
  }
  return text.size();
}

bool ends_in_access(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(' ') + 1);
  return text.ends_with('.') || text.ends_with("->") || text.ends_with("::");
}

}  // namespace

bool FormulaNames::next() {
  const size_t begin = end_;
  size_t i = begin;
  while (i < formula_.size()) {
    if (formula_[i] == '"' || formula_[i] == '\'') {
      i = end_of_quoted(formula_, i);
    } else if (is_digit(formula_[i])) {
      while (i < formula_.size() && (in_name(formula_[i]) || formula_[i] == '.')) ++i;
    } else if (in_name(formula_[i])) {
      break;
    } else {
      ++i;
    }
  }
  before_ = formula_.substr(begin, i - begin);
  const size_t name = i;
  while (i < formula_.size() && in_name(formula_[i])) ++i;
  name_ = formula_.substr(name, i - name);
  end_ = i;
  member_ = ends_in_access(formula_.substr(0, name)) || formula_.substr(end_).starts_with("::");
  return !name_.empty();
}

bool FormulaNames::is_called() const {
  const size_t next = formula_.find_first_not_of(' ', end_);
  return next != std::string_view::npos && formula_[next] == '(';
}

bool FormulaNames::take(std::string_view text) {
  if (!formula_.substr(end_).starts_with(text)) return false;
  end_ += text.size();
  return true;
}

}  // namespace kindling::codegen
