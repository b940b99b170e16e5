#include "jit/frontend/parser.h"

#include "jit/frontend/parser_base.h"

namespace torch::jit {
namespace {

using Kind = Token::Kind;

constexpr size_t kMostBytes = size_t{64} << 20;

void check_size(const std::shared_ptr<const Source>& source) {
  if (source->text().size() > kMostBytes)
    throw ErrorReport(SourceRange(source, 0, 0), "a program of more than ", kMostBytes, " bytes");
}

class Parser final : detail::ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Block program() {
    Block all;
    while (!at(Kind::kEnd)) {
      if (!at("def") && !at("class")) fail("def");
      all.push_back(at("def") ? function() : class_statement());
    }
    return all;
  }

 private:
  Block block() {
    const Level level(*this);
    Block statements;
    if (at(Kind::kNewline)) {
      advance();
      if (!at(Kind::kIndent)) fail("indent");
      advance();
      while (!at(Kind::kDedent) && !at(Kind::kEnd)) statement(statements);
      if (at(Kind::kDedent)) advance();
    } else {
      statement(statements);
    }
    return statements;
  }

  // One line: a statement with blocks, or simple ones with ";" between.
  void statement(Block& into) {
    if (at(Kind::kIndent)) fail("newline");
    if (at("if")) return into.push_back(if_statement());
    if (at("while")) return into.push_back(while_statement());
    if (at("for")) return into.push_back(for_statement());
    if (at("with")) return into.push_back(with_statement());
    if (at("def")) return into.push_back(function());
    if (at("class")) return into.push_back(class_statement());
    if (at("@")) fail_at(token().range, "decorators are not supported");
    for (const std::string_view word : {"try", "import", "from", "global", "nonlocal", "async", "except", "finally"}) {
      if (at(word)) fail_at(token().range, c10::str("'", word, "' statements are not supported"));
    }
    do {
      if (at(Kind::kNewline)) break;
      into.push_back(simple());
    } while (take(";"));
    end_of_line();
  }

  SourceRange end_of_line() {
    if (!at(Kind::kNewline)) fail("newline");
    SourceRange comment = token().type_comment;
    advance();
    return comment;
  }

  StmtPtr simple() {
    const SourceRange begin = token().range;
    if (take("pass")) return std::make_unique<PlainStmt>(Stmt::Kind::kPass, begin);
    if (take("break")) return std::make_unique<PlainStmt>(Stmt::Kind::kBreak, begin);
    if (take("continue")) return std::make_unique<PlainStmt>(Stmt::Kind::kContinue, begin);
    if (take("return")) {
      ExprPtr value = at_line_end() ? nullptr : expressions();
      return std::make_unique<ReturnStmt>(begin.to(last_range()), std::move(value));
    }
    if (take("raise")) {
      if (at_line_end()) fail("an exception");
      ExprPtr value = expression();
      if (at("from")) fail_at(token().range, "'raise ... from' is not supported");
      return std::make_unique<RaiseStmt>(begin.to(last_range()), std::move(value));
    }
    if (take("assert")) return assertion(begin);
    if (take("del")) return deletion(begin);
    return assignment(begin);
  }
  bool at_line_end() const { return at(Kind::kNewline) || at(";") || at(Kind::kEnd); }

  StmtPtr assertion(const SourceRange& begin) {
    auto node = std::make_unique<AssertStmt>(begin);
    node->condition = expression();
    if (take(",")) node->message = expression();
    node->range = begin.to(last_range());
    return node;
  }
  StmtPtr deletion(const SourceRange& begin) {
    auto node = std::make_unique<DeleteStmt>(begin);
    do node->targets.push_back(expression());
    while (take(","));
    node->range = begin.to(last_range());
    return node;
  }

  StmtPtr assignment(const SourceRange& begin) {
    ExprPtr first = expressions();
    for (const std::string_view op :
         {"+=", "-=", "*=", "/=", "//=", "%=", "**=", "@=", "&=", "|=", "^=", "<<=", ">>="}) {
      if (!take(op)) continue;
      ExprPtr value = expressions();
      return std::make_unique<AugmentedStmt>(begin.to(last_range()), std::move(first),
                                             std::string(op.substr(0, op.size() - 1)), std::move(value));
    }
    if (!at(":") && !at("=")) {
      const SourceRange range = first->range;
      return std::make_unique<ExpressionStmt>(range, std::move(first));
    }
    auto node = std::make_unique<AssignStmt>(begin);
    node->targets.push_back(std::move(first));
    if (take(":")) {
      node->type = expression();
      if (take("=")) node->value = expressions();
    } else {
      while (take("=")) {
        if (node->value != nullptr) node->targets.push_back(std::move(node->value));
        node->value = expressions();
      }
      if (at(Kind::kNewline) && token().type_comment.source() != nullptr)
        node->type = type_of_comment(token().type_comment);
    }
    node->range = begin.to(last_range());
    return node;
  }

  StmtPtr if_statement() {
    const Level level(*this);
    const SourceRange begin = token().range;
    advance();
    auto node = std::make_unique<IfStmt>(begin);
    node->condition = expression();
    node->range = begin.to(expect(":"));
    node->body = block();
    if (at("elif")) {
      node->other.push_back(if_statement());
    } else if (take("else")) {
      expect(":");
      node->other = block();
    }
    return node;
  }
  StmtPtr while_statement() {
    const SourceRange begin = expect("while");
    auto node = std::make_unique<WhileStmt>(begin);
    node->condition = expression();
    node->range = begin.to(expect(":"));
    node->body = block();
    no_else();
    return node;
  }
  void no_else() {
    if (at("else")) fail_at(token().range, "'else' branches of loops are not supported");
  }
  StmtPtr for_statement() {
    const SourceRange begin = expect("for");
    auto node = std::make_unique<ForStmt>(begin);
    const SourceRange first = token().range;
    std::vector<ExprPtr> targets;
    bool tuple = false;
    while (!at("in")) {
      targets.push_back(target());
      tuple = tuple || at(",");
      if (!take(",") && !at("in")) fail("in");
    }
    if (targets.empty()) fail("ident");
    if (tuple) {
      node->target = std::make_unique<TupleExpr>(first.to(last_range()), std::move(targets));
    } else {
      node->target = std::move(targets[0]);
    }
    expect("in");
    node->iterable = expressions();
    node->range = begin.to(expect(":"));
    node->body = block();
    no_else();
    return node;
  }
  // A name, or names in parentheses.
  ExprPtr target() {
    const Level level(*this);
    const SourceRange begin = token().range;
    if (!take("(")) {
      std::string name = expect_name();
      return std::make_unique<NameExpr>(begin, std::move(name));
    }
    std::vector<ExprPtr> items;
    while (!take(")")) {
      items.push_back(target());
      comma_or(")");
    }
    return std::make_unique<TupleExpr>(begin.to(last_range()), std::move(items));
  }
  StmtPtr with_statement() {
    const SourceRange begin = expect("with");
    auto node = std::make_unique<WithStmt>(begin);
    do {
      node->contexts.push_back(expression());
      node->targets.push_back(take("as") ? target() : nullptr);
    } while (take(","));
    node->range = begin.to(expect(":"));
    node->body = block();
    return node;
  }

  StmtPtr class_statement() {
    const Level level(*this);
    const SourceRange begin = expect("class");
    auto node = std::make_unique<ClassStmt>(begin);
    node->name = expect_name();
    if (take("(")) {
      if (!at(")")) node->base = expression();
      expect(")");
    }
    node->range = begin.to(expect(":"));
    node->body = block();
    return node;
  }

  StmtPtr function() {
    const Level level(*this);
    const SourceRange begin = expect("def");
    auto node = std::make_unique<DefStmt>(begin);
    node->name_range = token().range;
    node->name = expect_name();
    expect("(");
    bool keyword_only = false;
    while (!take(")")) {
      if (at("*") || at("**")) {
        const SourceRange star = token().range;
        const bool named = at("**");
        advance();
        if (named || !at(",")) fail_at(star, "functions with a variable number of arguments are not supported");
        keyword_only = true;
      } else {
        node->parameters.push_back(parameter(keyword_only));
      }
      comma_or(")");
    }
    if (take("->")) node->return_type = expression();
    node->range = begin.to(expect(":"));
    if (at(Kind::kNewline) && token().type_comment.source() != nullptr)
      signature_of_comment(*node, token().type_comment);
    node->body = block();
    if (!node->body.empty()) node->body_range = node->body.front()->range.to(last_text_range());
    return node;
  }
  Parameter parameter(bool keyword_only) {
    Parameter one;
    one.keyword_only = keyword_only;
    one.range = token().range;
    one.name = expect_name();
    if (take(":")) one.type = expression();
    if (take("=")) one.default_value = expression();
    return one;
  }

  static std::vector<Token> lex_comment(const SourceRange& comment) {
    return lex(comment.source(), comment.start(), comment.end());
  }
  static ExprPtr type_of_comment(const SourceRange& comment) {
    ExpressionParser parser(lex_comment(comment));
    ExprPtr type = parser.expression();
    parser.expect_end();
    return type;
  }
  // # type: (int, Tensor) -> Tensor
  void signature_of_comment(DefStmt& def, const SourceRange& comment) {
    Parser parser(lex_comment(comment));
    const SourceRange begin = parser.expect("(");
    std::vector<ExprPtr> types;
    while (!parser.take(")")) {
      types.push_back(parser.expression());
      parser.comma_or(")");
    }
    parser.expect("->");
    def.return_type = parser.expression();
    parser.expect_end();
    // A method's "self" has no type.
    const size_t first = def.parameters.size() == types.size() + 1 && def.parameters[0].name == "self" ? 1 : 0;
    if (def.parameters.size() != types.size() + first) {
      throw ErrorReport(begin.to(comment), "Number of type annotations for function parameters (", types.size(),
                        ") does not match the number of parameters on the function (", def.parameters.size(), ")!");
    }
    for (size_t i = 0; i < types.size(); ++i) def.parameters[i + first].type = std::move(types[i]);
  }
};

}  // namespace

Block parse_program(const std::shared_ptr<const Source>& source) {
  check_size(source);
  return Parser(lex(source)).program();
}

ExprPtr parse_expression(const std::shared_ptr<const Source>& source) {
  check_size(source);
  detail::ExpressionParser parser(lex(source));
  ExprPtr value = parser.expression();
  parser.expect_end();
  return value;
}

}  // namespace torch::jit
