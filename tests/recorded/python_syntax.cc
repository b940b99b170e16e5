#include "tests/recorded/python_syntax.h"

#include <cctype>

#include "tests/conformance/case_set.h"

namespace recorded {
namespace {

using conformance::BadSet;
using Kind = PythonNode::Kind;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  PythonNodePtr whole() {
    PythonNodePtr all = expression();
    skip_spaces();
    if (at_ != text_.size()) fail("an end");
    return all;
  }

 private:
  [[noreturn]] void fail(const std::string& wanted) const {
    throw BadSet("expected " + wanted + " at column " + std::to_string(at_) + " of " + std::string(text_));
  }
  static PythonNodePtr node(Kind kind, std::string text = "", std::vector<PythonNodePtr> children = {}) {
    return std::make_shared<PythonNode>(PythonNode{kind, std::move(text), std::move(children), {}});
  }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool starts(std::string_view token) {
    skip_spaces();
    return text_.substr(at_).rfind(token, 0) == 0;
  }
  bool take(std::string_view token) {
    if (!starts(token)) return false;
    at_ += token.size();
    return true;
  }
  void need(std::string_view token) {
    if (!take(token)) fail(std::string(token));
  }
  static bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  bool take_word(std::string_view word) {
    if (!starts(word) || (at_ + word.size() < text_.size() && in_word(text_[at_ + word.size()]))) return false;
    at_ += word.size();
    return true;
  }
  std::string word() {
    skip_spaces();
    const size_t start = at_;
    while (at_ < text_.size() && in_word(text_[at_])) ++at_;
    if (at_ == start) fail("a name");
    return std::string(text_.substr(start, at_ - start));
  }

  PythonNodePtr expression() {
    if (take_word("lambda")) {
      while (!take(":")) ++at_;
      return node(Kind::kLambda, "", {expression()});
    }
    PythonNodePtr left = binary(0);
    if (left->kind == Kind::kName && take(":=")) return node(Kind::kAssignment, left->text, {expression()});
    if (take_word("if")) {
      PythonNodePtr condition = binary(0);
      if (!take_word("else")) fail("else");
      return node(Kind::kCondition, "", {left, condition, expression()});
    }
    return left;
  }

  // From the loosest to the tightest.
  std::string operator_of(int level) {
    static const std::vector<std::vector<std::string>> levels = {
        {"==", "!=", "<=", ">="}, {"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"//", "*", "/", "%", "@"}};
    if (level == 0 && !starts("<<") && !starts(">>") && !starts("<=") && !starts(">=")) {
      if (take("<")) return "<";
      if (take(">")) return ">";
    }
    if (level == 6 && starts("**")) return "";
    for (const std::string& name : levels[level]) {
      if (take(name)) return name;
    }
    return "";
  }
  PythonNodePtr binary(int level) {
    if (level == 7) return unary();
    PythonNodePtr left = binary(level + 1);
    for (std::string name; !(name = operator_of(level)).empty();)
      left = node(Kind::kBinary, name, {left, binary(level + 1)});
    return left;
  }
  PythonNodePtr unary() {
    for (const char* name : {"-", "~", "+"}) {
      if (take(name)) return node(Kind::kUnary, name, {unary()});
    }
    PythonNodePtr base = postfix();
    if (take("**")) return node(Kind::kBinary, "**", {base, unary()});
    return base;
  }
  PythonNodePtr postfix() {
    PythonNodePtr value = atom();
    while (true) {
      if (starts("...")) return value;
      if (take(".")) {
        value = node(Kind::kAttribute, word(), {value});
      } else if (take("(")) {
        value = call(value);
      } else if (take("[")) {
        value = node(Kind::kSubscript, "", {value, subscript()});
      } else {
        return value;
      }
    }
  }
  PythonNodePtr call(const PythonNodePtr& function) {
    PythonNodePtr all = node(Kind::kCall, "", {function});
    all->names.emplace_back();
    while (!take(")")) {
      std::string name;
      const size_t start = at_;
      skip_spaces();
      if (at_ < text_.size() && (std::isalpha(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) {
        name = word();
        if (!starts("=") || starts("==")) {
          name.clear();
          at_ = start;
        } else {
          need("=");
        }
      }
      all->children.push_back(expression());
      all->names.push_back(name);
      if (!take(",") && !starts(")")) fail(", or )");
    }
    return all;
  }
  PythonNodePtr subscript() {
    std::vector<PythonNodePtr> parts;
    bool tuple = false;
    while (!take("]")) {
      parts.push_back(part());
      if (take(",")) {
        tuple = true;
      } else if (!starts("]")) {
        fail(", or ]");
      }
    }
    return tuple ? node(Kind::kTuple, "", parts) : parts.at(0);
  }
  PythonNodePtr part() {
    PythonNodePtr bounds[3];
    bool slice = false;
    for (int i = 0; i < 3; ++i) {
      if (!starts(":") && !starts("]") && !starts(",")) bounds[i] = expression();
      if (!take(":")) break;
      slice = true;
    }
    return slice ? node(Kind::kSlice, "", {bounds[0], bounds[1], bounds[2]}) : bounds[0];
  }
  PythonNodePtr number() {
    const size_t start = at_;
    bool real = false;
    while (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) || text_[at_] == '.' ||
                                  text_[at_] == 'e' || (text_[at_] == '-' && text_[at_ - 1] == 'e'))) {
      real = real || text_[at_] == '.' || text_[at_] == 'e';
      ++at_;
    }
    const std::string digits(text_.substr(start, at_ - start));
    if (at_ < text_.size() && text_[at_] == 'j') {
      ++at_;
      return node(Kind::kImaginary, digits);
    }
    return node(real ? Kind::kFloat : Kind::kInteger, digits);
  }
  PythonNodePtr quoted(Kind kind) {
    const char quote = text_[at_++];
    std::string value;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      value += text_[at_++];
    }
    if (at_ == text_.size()) fail("a closing quote");
    ++at_;
    return node(kind, value);
  }
  PythonNodePtr items(Kind kind, const char* close) {
    PythonNodePtr all = node(kind);
    while (!take(close)) {
      all->children.push_back(expression());
      if (kind == Kind::kDict) {
        need(":");
        all->children.push_back(expression());
      }
      if (!take(",") && !starts(close)) fail(std::string(", or ") + close);
    }
    return all;
  }
  PythonNodePtr atom() {
    if (take("...")) return node(Kind::kEllipsis);
    if (take("[")) return items(Kind::kList, "]");
    if (take("{")) return items(Kind::kDict, "}");
    if (take("(")) {
      PythonNodePtr all = items(Kind::kTuple, ")");
      size_t last = at_ - 1;
      while (last > 0 && text_[last - 1] == ' ') --last;
      const bool comma = last > 0 && text_[last - 1] == ',';
      return all->children.size() == 1 && !comma ? all->children[0] : all;
    }
    skip_spaces();
    if (at_ == text_.size()) fail("a value");
    if (std::isdigit(static_cast<unsigned char>(text_[at_]))) return number();
    if (text_[at_] == '"' || text_[at_] == '\'') return quoted(Kind::kText);
    if (starts("b\"")) {
      ++at_;
      return quoted(Kind::kBytes);
    }
    return node(Kind::kName, word());
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

PythonNodePtr parse_python(std::string_view text) {
  return Parser(text).whole();
}

}  // namespace recorded
