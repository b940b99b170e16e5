// Reads expressions; the statements' parser is made of it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/frontend/lexer.h"
#include "jit/frontend/tree.h"

namespace torch::jit::detail {

class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  ExprPtr expression();
  // What may stand to the right of "=" and "return", and in subscripts: also a tuple without parentheses.
  ExprPtr expressions();
  void expect_end() {
    if (at(Token::Kind::kNewline)) advance();
    if (!at(Token::Kind::kEnd)) fail("an end");
  }

 protected:
  static constexpr int kMostLevels = 200;

  // Counts how deep the text nests: what it holds is destroyed and compiled by recursion.
  class Level {
   public:
    explicit Level(ExpressionParser& parser) : parser_(parser) { parser.enter(); }
    ~Level() { --parser_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    ExpressionParser& parser_;
  };

  const Token& token() const { return tokens_[at_]; }
  const SourceRange& last_range() const { return tokens_[at_ - 1].range; }
  // Of the last token that is no end of a line or a block.
  const SourceRange& last_text_range() const {
    size_t i = at_ - 1;
    while (i > 0 && (tokens_[i].kind == Token::Kind::kNewline || tokens_[i].kind == Token::Kind::kDedent)) --i;
    return tokens_[i].range;
  }
  void advance() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  bool at(Token::Kind kind) const { return token().kind == kind; }
  // Whether a symbol or a keyword is next.
  bool at(std::string_view text) const;
  bool take(std::string_view text) {
    if (!at(text)) return false;
    advance();
    return true;
  }
  SourceRange expect(std::string_view text) {
    const SourceRange range = token().range;
    if (!take(text)) fail(text);
    return range;
  }
  // Between what stands in brackets.
  void comma_or(std::string_view close) {
    if (!take(",") && !at(close)) fail(close);
  }
  // A name that is no keyword.
  bool at_name() const;
  std::string expect_name();
  [[noreturn]] void fail(std::string_view wanted) const;
  [[noreturn]] void fail_at(const SourceRange& range, std::string_view message) const;
  void enter();
  // Adds a node on top of its parts.
  template <class T>
  ExprPtr on_top(std::unique_ptr<T> node, int depth_below) {
    node->depth = depth_below + 1;
    if (node->depth > kMostLevels) too_deep(node->range);
    return node;
  }
  [[noreturn]] void too_deep(const SourceRange& range) const;

 private:
  ExprPtr binary(int precedence);
  ExprPtr unary();
  ExprPtr postfix(ExprPtr value);
  ExprPtr atom();
  ExprPtr number();
  ExprPtr string();
  ExprPtr parenthesis();
  ExprPtr list();
  ExprPtr dict();
  ExprPtr call(ExprPtr function);
  ExprPtr index();
  ExprPtr comprehension(const SourceRange& begin, ExprPtr key, ExprPtr value, std::string_view close);
  // "<", "not in" ... where it binds at least as tightly; takes it.
  std::string comparison();
  ExprPtr comparisons();

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int level_ = 0;
};

}  // namespace torch::jit::detail
