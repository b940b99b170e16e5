#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "jit/frontend/literals.h"
#include "jit/frontend/parser_base.h"

namespace torch::jit::detail {
namespace {

using Kind = Token::Kind;

constexpr std::string_view kKeywords[] = {"False",   "None",     "True",     "and",    "as",    "assert", "break",
                                          "class",   "continue", "def",      "del",    "elif",  "else",   "except",
                                          "finally", "for",      "from",     "global", "if",    "import", "in",
                                          "is",      "lambda",   "nonlocal", "not",    "or",    "pass",   "raise",
                                          "return",  "try",      "while",    "with",   "yield", "async",  "await"};
bool is_keyword(std::string_view text) {
  return std::find(std::begin(kKeywords), std::end(kKeywords), text) != std::end(kKeywords);
}

std::string found(const Token& token) {
  switch (token.kind) {
    case Kind::kName:
      return is_keyword(token.text()) ? std::string(token.text()) : "ident";
    case Kind::kNumber:
      return "number";
    case Kind::kString:
      return "string_literal";
    case Kind::kSymbol:
      return std::string(token.text());
    case Kind::kNewline:
      return "newline";
    case Kind::kIndent:
      return "indent";
    case Kind::kDedent:
      return "dedent";
    case Kind::kEnd:
      return "eof";
  }
  return "";
}

// From the loosest to the tightest, below comparisons.
constexpr std::string_view kArithmetic[][5] = {{"|"},        {"^"},      {"&"},
                                               {"<<", ">>"}, {"+", "-"}, {"*", "/", "//", "%", "@"}};
constexpr int kLevels = 6;

int deepest(const std::vector<ExprPtr>& nodes) {
  int depth = 0;
  for (const ExprPtr& node : nodes) depth = std::max(depth, node->depth);
  return depth;
}
int depth_of(const ExprPtr& node) {
  return node == nullptr ? 0 : node->depth;
}

}  // namespace

bool ExpressionParser::at(std::string_view text) const {
  return (at(Kind::kSymbol) || at(Kind::kName)) && token().text() == text;
}
bool ExpressionParser::at_name() const {
  return at(Kind::kName) && !is_keyword(token().text());
}

std::string ExpressionParser::expect_name() {
  if (!at_name()) fail("ident");
  std::string name(token().text());
  advance();
  return name;
}

void ExpressionParser::fail(std::string_view wanted) const {
  fail_at(token().range, c10::str("expected ", wanted, " but found '", found(token()), "' here"));
}
void ExpressionParser::fail_at(const SourceRange& range, std::string_view message) const {
  throw ErrorReport(c10::str(message, ":\n", range.str()), range);
}
void ExpressionParser::too_deep(const SourceRange& range) const {
  fail_at(range, c10::str("more than ", kMostLevels, " levels inside each other"));
}
void ExpressionParser::enter() {
  if (++level_ > kMostLevels) {
    --level_;
    too_deep(token().range);
  }
}

ExprPtr ExpressionParser::expressions() {
  const SourceRange begin = token().range;
  std::vector<ExprPtr> items;
  items.push_back(expression());
  if (!at(",")) return std::move(items[0]);
  while (take(",")) {
    if (at(Kind::kNewline) || at("=") || at(")") || at("]") || at(Kind::kEnd)) break;
    items.push_back(expression());
  }
  const int depth = deepest(items);
  return on_top(std::make_unique<TupleExpr>(begin.to(last_range()), std::move(items)), depth);
}

ExprPtr ExpressionParser::expression() {
  const Level level(*this);
  const SourceRange begin = token().range;
  if (at("lambda") || at("yield") || at("await"))
    fail_at(begin, c10::str("'", token().text(), "' expressions are not supported"));
  if (take("*")) {
    ExprPtr value = binary(0);
    const int depth = value->depth;
    return on_top(std::make_unique<StarredExpr>(begin.to(last_range()), std::move(value)), depth);
  }
  ExprPtr value = binary(0);
  if (!take("if")) return value;
  ExprPtr condition = binary(0);
  expect("else");
  ExprPtr other = expression();
  const int depth = std::max({value->depth, condition->depth, other->depth});
  return on_top(std::make_unique<ConditionalExpr>(begin.to(last_range()), std::move(condition), std::move(value),
                                                  std::move(other)),
                depth);
}

// 0: or, 1: and, 2: not and comparisons, then arithmetic.
ExprPtr ExpressionParser::binary(int precedence) {
  if (precedence == 2) {
    const SourceRange begin = token().range;
    if (!take("not")) return comparisons();
    const Level level(*this);
    ExprPtr operand = binary(2);
    const int depth = operand->depth;
    return on_top(std::make_unique<UnaryExpr>(begin.to(last_range()), "not", std::move(operand)), depth);
  }
  if (precedence == 3 + kLevels) return unary();
  ExprPtr left = binary(precedence + 1);
  const auto op = [&]() -> std::string {
    if (precedence < 2) return take(precedence == 0 ? "or" : "and") ? (precedence == 0 ? "or" : "and") : "";
    for (const std::string_view name : kArithmetic[precedence - 3]) {
      if (!name.empty() && at(Kind::kSymbol) && take(name)) return std::string(name);
    }
    return "";
  };
  for (std::string name; !(name = op()).empty();) {
    ExprPtr right = binary(precedence + 1);
    const int depth = std::max(left->depth, right->depth);
    const SourceRange range = left->range.to(last_range());
    left = on_top(std::make_unique<BinaryExpr>(range, std::move(name), std::move(left), std::move(right)), depth);
  }
  return left;
}

std::string ExpressionParser::comparison() {
  for (const std::string_view name : {"==", "!=", "<=", ">=", "<", ">"}) {
    if (take(name)) return std::string(name);
  }
  if (take("in")) return "in";
  if (take("is")) return take("not") ? "is not" : "is";
  if (at("not")) {
    advance();
    expect("in");
    return "not in";
  }
  return "";
}

ExprPtr ExpressionParser::comparisons() {
  std::vector<ExprPtr> operands;
  std::vector<std::string> ops;
  operands.push_back(binary(3));
  for (std::string op; !(op = comparison()).empty();) {
    ops.push_back(std::move(op));
    operands.push_back(binary(3));
  }
  if (ops.empty()) return std::move(operands[0]);
  const int depth = deepest(operands);
  const SourceRange range = operands[0]->range.to(last_range());
  if (ops.size() == 1)
    return on_top(
        std::make_unique<BinaryExpr>(range, std::move(ops[0]), std::move(operands[0]), std::move(operands[1])), depth);
  auto chain = std::make_unique<ChainExpr>(range);
  chain->ops = std::move(ops);
  chain->operands = std::move(operands);
  return on_top(std::move(chain), depth);
}

ExprPtr ExpressionParser::unary() {
  const SourceRange begin = token().range;
  for (const std::string_view op : {"-", "+", "~"}) {
    if (!take(op)) continue;
    const Level level(*this);
    ExprPtr operand = unary();
    const int depth = operand->depth;
    return on_top(std::make_unique<UnaryExpr>(begin.to(last_range()), std::string(op), std::move(operand)), depth);
  }
  ExprPtr base = postfix(atom());
  if (!take("**")) return base;
  const Level level(*this);
  ExprPtr exponent = unary();
  const int depth = std::max(base->depth, exponent->depth);
  const SourceRange range = base->range.to(last_range());
  return on_top(std::make_unique<BinaryExpr>(range, "**", std::move(base), std::move(exponent)), depth);
}

ExprPtr ExpressionParser::postfix(ExprPtr value) {
  while (true) {
    if (take(".")) {
      const int depth = value->depth;
      const SourceRange begin = value->range;
      std::string name = expect_name();
      value = on_top(std::make_unique<AttributeExpr>(begin.to(last_range()), std::move(value), std::move(name)), depth);
    } else if (at("(")) {
      value = call(std::move(value));
    } else if (take("[")) {
      ExprPtr where = index();
      expect("]");
      const int depth = std::max(value->depth, where->depth);
      const SourceRange begin = value->range;
      value =
          on_top(std::make_unique<SubscriptExpr>(begin.to(last_range()), std::move(value), std::move(where)), depth);
    } else {
      return value;
    }
  }
}

ExprPtr ExpressionParser::call(ExprPtr function) {
  expect("(");
  int depth = function->depth;
  const SourceRange begin = function->range;
  auto node = std::make_unique<CallExpr>(begin, std::move(function));
  while (!take(")")) {
    if (at("**")) fail_at(token().range, "keyword arguments from a dictionary are not supported");
    ExprPtr value = expression();
    if (const NameExpr* name = value->as<NameExpr>(); name != nullptr && take("=")) {
      Keyword keyword{name->range, name->name, expression()};
      depth = std::max(depth, keyword.value->depth);
      node->keywords.push_back(std::move(keyword));
    } else {
      if (!node->keywords.empty()) fail_at(value->range, "a positional argument follows a keyword argument");
      if (at("for")) fail_at(value->range, "generator expressions are not supported");
      depth = std::max(depth, value->depth);
      node->arguments.push_back(std::move(value));
    }
    comma_or(")");
  }
  node->range = begin.to(last_range());
  return on_top(std::move(node), depth);
}

// What stands in brackets behind a value: expressions and slices.
ExprPtr ExpressionParser::index() {
  const SourceRange begin = token().range;
  std::vector<ExprPtr> parts;
  bool tuple = false;
  do {
    if (at("]")) break;
    const SourceRange first = token().range;
    ExprPtr bounds[3];
    int colons = 0;
    while (colons < 3) {
      if (!at(":") && !at("]") && !at(",")) bounds[colons] = expression();
      if (!at(":") || colons == 2) break;
      advance();
      ++colons;
    }
    if (colons == 0) {
      if (bounds[0] == nullptr) fail("an index");
      parts.push_back(std::move(bounds[0]));
    } else {
      auto slice = std::make_unique<SliceExpr>(first.to(last_range()));
      const int depth = std::max({depth_of(bounds[0]), depth_of(bounds[1]), depth_of(bounds[2])});
      slice->start = std::move(bounds[0]);
      slice->stop = std::move(bounds[1]);
      slice->step = std::move(bounds[2]);
      parts.push_back(on_top(std::move(slice), depth));
    }
    tuple = tuple || at(",");
  } while (take(","));
  if (parts.empty()) fail("an index");
  if (!tuple) return std::move(parts[0]);
  const int depth = deepest(parts);
  return on_top(std::make_unique<TupleExpr>(begin.to(last_range()), std::move(parts)), depth);
}

ExprPtr ExpressionParser::atom() {
  const SourceRange range = token().range;
  using Value = ConstantExpr::Value;
  for (const auto& [text, value] :
       {std::pair{"True", Value::kTrue}, {"False", Value::kFalse}, {"None", Value::kNone}, {"...", Value::kEllipsis}}) {
    if (take(text)) return std::make_unique<ConstantExpr>(range, value);
  }
  if (at("(")) return parenthesis();
  if (at("[")) return list();
  if (at("{")) return dict();
  if (at(Kind::kNumber)) return number();
  if (at(Kind::kString)) return string();
  if (!at_name()) fail("an expression");
  std::string name = expect_name();
  if (at(Kind::kString) && token().range.start() == range.end())
    fail_at(range.to(token().range), c10::str("strings with the prefix '", name, "' are not supported"));
  return std::make_unique<NameExpr>(range, std::move(name));
}

ExprPtr ExpressionParser::number() {
  const SourceRange range = token().range;
  advance();
  NumberLiteral literal;
  if (!read_number(range.text(), &literal)) fail_at(range, "no number that fits is written like this");
  switch (literal.kind) {
    case NumberLiteral::Kind::kInt:
      return std::make_unique<IntExpr>(range, literal.integer);
    case NumberLiteral::Kind::kFloat:
      return std::make_unique<FloatExpr>(range, literal.number);
    case NumberLiteral::Kind::kImaginary:
      return std::make_unique<ImaginaryExpr>(range, literal.number);
  }
  return nullptr;
}

ExprPtr ExpressionParser::string() {
  const SourceRange begin = token().range;
  std::string value;
  while (at(Kind::kString)) {
    if (!append_string(token().text(), value)) fail_at(token().range, "unknown escape sequence in a string");
    advance();
  }
  return std::make_unique<StringExpr>(begin.to(last_range()), std::move(value));
}

ExprPtr ExpressionParser::parenthesis() {
  const Level level(*this);
  const SourceRange begin = expect("(");
  std::vector<ExprPtr> items;
  bool comma = false;
  while (!take(")")) {
    items.push_back(expression());
    if (at("for")) fail_at(items.back()->range, "generator expressions are not supported");
    comma = at(",");
    comma_or(")");
  }
  if (items.size() == 1 && !comma) return std::move(items[0]);
  const int depth = deepest(items);
  return on_top(std::make_unique<TupleExpr>(begin.to(last_range()), std::move(items)), depth);
}

ExprPtr ExpressionParser::list() {
  const Level level(*this);
  const SourceRange begin = expect("[");
  std::vector<ExprPtr> items;
  while (!take("]")) {
    items.push_back(expression());
    if (items.size() == 1 && at("for")) return comprehension(begin, nullptr, std::move(items[0]), "]");
    comma_or("]");
  }
  const int depth = deepest(items);
  return on_top(std::make_unique<ListExpr>(begin.to(last_range()), std::move(items)), depth);
}

ExprPtr ExpressionParser::dict() {
  const Level level(*this);
  const SourceRange begin = expect("{");
  auto node = std::make_unique<DictExpr>(begin);
  while (!take("}")) {
    ExprPtr key = expression();
    if (!at(":")) fail_at(key->range, "sets are not supported");
    expect(":");
    ExprPtr value = expression();
    if (node->keys.empty() && at("for")) return comprehension(begin, std::move(key), std::move(value), "}");
    node->keys.push_back(std::move(key));
    node->values.push_back(std::move(value));
    comma_or("}");
  }
  node->range = begin.to(last_range());
  const int depth = std::max(deepest(node->keys), deepest(node->values));
  return on_top(std::move(node), depth);
}

ExprPtr ExpressionParser::comprehension(const SourceRange& begin, ExprPtr key, ExprPtr value, std::string_view close) {
  auto node = std::make_unique<ComprehensionExpr>(begin);
  expect("for");
  node->key = std::move(key);
  node->value = std::move(value);
  const SourceRange first = token().range;
  std::vector<ExprPtr> names;
  do {
    if (at("in")) break;
    names.push_back(binary(3));
  } while (take(","));
  if (names.size() == 1) {
    node->target = std::move(names[0]);
  } else {
    node->target = std::make_unique<TupleExpr>(first.to(last_range()), std::move(names));
  }
  expect("in");
  node->iterable = binary(0);
  if (take("if")) node->condition = binary(0);
  if (at("for") || at("if")) fail_at(token().range, "comprehensions with several 'for' or 'if' are not supported");
  expect(close);
  node->range = begin.to(last_range());
  const int depth =
      std::max({depth_of(node->key), node->value->depth, node->iterable->depth, depth_of(node->condition)});
  return on_top(std::move(node), depth);
}

}  // namespace torch::jit::detail
