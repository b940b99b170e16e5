#include "jit/frontend/lexer.h"

#include <algorithm>

#include "c10/value/text_cursor.h"

namespace torch::jit {
namespace {

using Kind = Token::Kind;
using c10::detail::TextCursor;

// Longest first.
constexpr std::string_view kSymbols[] = {
    "**=", "//=", ">>=", "<<=", "...", "**", "//", ">>", "<<", "<=", ">=", "==", "!=", "->", "+=", "-=",
    "*=",  "/=",  "%=",  "@=",  "&=",  "|=", "^=", ":=", "+",  "-",  "*",  "/",  "%",  "@",  "&",  "|",
    "^",   "~",   "<",   ">",   "(",   ")",  "[",  "]",  "{",  "}",  ",",  ":",  ".",  "=",  ";",  "!"};
constexpr std::string_view kTypeComment = "# type:";

bool is_hex(char c) {
  return TextCursor::is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

class Lexer {
 public:
  Lexer(const std::shared_ptr<const Source>& source, size_t begin, size_t end)
      : source_(source), text_(std::string_view(source->text()).substr(0, end)), at_(begin) {}

  std::vector<Token> run() {
    while (true) {
      if (at_line_start_ && brackets_ == 0) {
        if (!start_line()) break;
      }
      skip_blanks();
      if (at_ >= text_.size()) break;
      if (text_[at_] == '\n') {
        end_line();
      } else {
        word();
      }
    }
    at_ = text_.size();
    if (brackets_ == 0 && !tokens_.empty() && tokens_.back().kind != Kind::kNewline) add_newline(at_);
    for (; brackets_ == 0 && indents_.size() > 1; indents_.pop_back()) add(Kind::kDedent, at_, at_);
    add(Kind::kEnd, at_, at_);
    return std::move(tokens_);
  }

 private:
  char next(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  SourceRange range(size_t from, size_t to) const { return SourceRange(source_, from, std::min(to, text_.size())); }
  void add(Kind kind, size_t from, size_t to) { tokens_.push_back({kind, range(from, to)}); }

  void add_newline(size_t end) {
    add(Kind::kNewline, at_, end);
    tokens_.back().type_comment = std::move(type_comment_);
    type_comment_ = SourceRange();
  }

  // Counts the line's indentation; false at the end of the text.
  bool start_line() {
    while (true) {
      const size_t begin = at_;
      size_t columns = 0;
      for (; next() == ' ' || next() == '\t'; ++at_) columns += next() == '\t' ? 8 - columns % 8 : 1;
      if (at_ >= text_.size()) return false;
      if (next() == '\r' && next(1) == '\n') ++at_;
      if (next() == '\n') {
        ++at_;
        continue;
      }
      if (next() == '#') {
        comment();
        continue;
      }
      at_line_start_ = false;
      indentation(columns, begin);
      return true;
    }
  }

  void indentation(size_t columns, size_t begin) {
    if (indents_.empty()) {
      indents_.push_back(columns);
    } else if (columns > indents_.back()) {
      indents_.push_back(columns);
      add(Kind::kIndent, begin, at_);
    } else if (columns < indents_.back()) {
      for (; indents_.size() > 1 && columns < indents_.back(); indents_.pop_back()) add(Kind::kDedent, at_, at_);
      if (columns != indents_.back()) {
        throw ErrorReport("invalid indent level " + std::to_string(columns) + ":\n" + range(begin, at_).str(),
                          range(begin, at_));
      }
    }
  }

  void end_line() {
    if (brackets_ == 0) {
      add_newline(at_ + 1);
      at_line_start_ = true;
    }
    ++at_;
  }

  void skip_blanks() {
    while (true) {
      if (next() == ' ' || next() == '\t' || next() == '\f' ||
          (next() == '\r' && (next(1) == '\n' || at_ + 1 == text_.size()))) {
        ++at_;
      } else if (next() == '\\' && next(1) == '\n') {
        at_ += 2;
      } else if (next() == '#') {
        comment();
      } else {
        return;
      }
    }
  }

  void comment() {
    const size_t begin = at_;
    at_ = std::min(text_.find('\n', at_), text_.size());
    const std::string_view line = text_.substr(begin, at_ - begin);
    if (brackets_ > 0 || line.substr(0, kTypeComment.size()) != kTypeComment) return;
    const SourceRange type = range(begin + kTypeComment.size(), at_);
    if (type.text().find("ignore") != std::string_view::npos) return;
    if (at_line_start_ && !tokens_.empty() && tokens_.back().kind == Kind::kNewline) {
      if (tokens_.back().type_comment.source() == nullptr) tokens_.back().type_comment = type;
    } else if (!at_line_start_) {
      type_comment_ = type;
    }
  }

  void word() {
    const size_t begin = at_;
    const char c = next();
    if (TextCursor::is_letter(c)) {
      while (TextCursor::is_letter(next()) || TextCursor::is_digit(next())) ++at_;
      return add(Kind::kName, begin, at_);
    }
    if (TextCursor::is_digit(c) || (c == '.' && TextCursor::is_digit(next(1)))) return number();
    if (c == '"' || c == '\'') return quoted();
    for (const std::string_view symbol : kSymbols) {
      if (text_.substr(at_, symbol.size()) != symbol) continue;
      at_ += symbol.size();
      if (symbol == "(" || symbol == "[" || symbol == "{") ++brackets_;
      if ((symbol == ")" || symbol == "]" || symbol == "}") && brackets_ > 0) --brackets_;
      return add(Kind::kSymbol, begin, at_);
    }
    throw ErrorReport(
        "expected a valid token but found '" + std::string(1, c) + "' here:\n" + range(at_, at_ + 1).str(),
        range(at_, at_ + 1));
  }

  void number() {
    const size_t begin = at_;
    if (next() == '0' && (next(1) == 'x' || next(1) == 'X')) {
      at_ += 2;
      while (is_hex(next())) ++at_;
      return add(Kind::kNumber, begin, at_);
    }
    while (TextCursor::is_digit(next())) ++at_;
    if (next() == '.') ++at_;
    while (TextCursor::is_digit(next())) ++at_;
    if (next() == 'e' || next() == 'E') {
      const size_t sign = next(1) == '+' || next(1) == '-' ? 1 : 0;
      if (TextCursor::is_digit(next(1 + sign))) at_ += 2 + sign;
      while (TextCursor::is_digit(next())) ++at_;
    }
    if (next() == 'j') ++at_;
    add(Kind::kNumber, begin, at_);
  }

  void quoted() {
    const size_t begin = at_;
    const char quote = next();
    const size_t quotes = next(1) == quote && next(2) == quote ? 3 : 1;
    at_ += quotes;
    while (at_ < text_.size()) {
      if (next() == '\\') {
        at_ += 2;
      } else if (next() == quote && (quotes == 1 || (next(1) == quote && next(2) == quote))) {
        at_ += quotes;
        return add(Kind::kString, begin, at_);
      } else if (next() == '\n' && quotes == 1) {
        break;
      } else {
        ++at_;
      }
    }
    throw ErrorReport("expected a string with a closing quote here:\n" + range(begin, begin + quotes).str(),
                      range(begin, begin + quotes));
  }

  std::shared_ptr<const Source> source_;
  std::string_view text_;
  size_t at_;
  size_t brackets_ = 0;
  bool at_line_start_ = true;
  SourceRange type_comment_;  // of this line
  std::vector<size_t> indents_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> lex(const std::shared_ptr<const Source>& source, size_t begin, size_t end) {
  return Lexer(source, begin, end).run();
}

}  // namespace torch::jit
