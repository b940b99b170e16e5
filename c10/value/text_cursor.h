// A place in a text that is being parsed, and the first error.
#pragma once

#include <string>
#include <string_view>

namespace c10::detail {

class TextCursor {
 public:
  // `what`: "schema", "type".
  TextCursor(std::string_view text, const char* what) : text_(text), what_(what) {}

  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  bool failed() const { return failed_; }
  const std::string& error() const { return error_; }
  size_t position() const { return pos_; }
  void go_back(size_t position) { pos_ = position; }
  std::string_view since(size_t begin) const { return text_.substr(begin, pos_ - begin); }

  // Notes what was expected here, unless something went wrong before. Always false.
  bool fail(std::string_view expected) {
    if (failed_) return false;
    failed_ = true;
    error_ = std::string(what_) + " \"" + std::string(text_.substr(0, 200)) + "\", column " + std::to_string(pos_ + 1) + ": expected " +
             std::string(expected);
    error_ += pos_ < text_.size() ? ", got '" + std::string(text_.substr(pos_, 12)) + "'" : ", got the end";
    return false;
  }
  void skip_space() {
    while (pos_ < text_.size() && (text_[pos_] == ' ' || text_[pos_] == '\t' || text_[pos_] == '\n')) ++pos_;
  }
  bool at_end() {
    skip_space();
    return pos_ == text_.size();
  }
  // The next character as it stands, 0 at the end.
  char next() const { return pos_ < text_.size() ? text_[pos_] : '\0'; }
  void advance() { ++pos_; }
  bool peek(std::string_view token) {
    skip_space();
    return text_.substr(pos_, token.size()) == token;
  }
  bool accept(std::string_view token) {
    if (!peek(token)) return false;
    pos_ += token.size();
    return true;
  }
  // A token that no letter or digit follows.
  bool accept_word(std::string_view word) {
    if (!peek(word)) return false;
    const size_t end = pos_ + word.size();
    if (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) return false;
    pos_ = end;
    return true;
  }
  bool expect(std::string_view token) { return accept(token) || fail("'" + std::string(token) + "'"); }
  bool identifier(std::string* out, std::string_view what) {
    skip_space();
    const size_t begin = pos_;
    if (is_letter(next())) {
      while (is_letter(next()) || is_digit(next())) ++pos_;
    }
    if (pos_ == begin) return fail(what);
    *out = since(begin);
    return true;
  }
  bool digits() {
    const size_t begin = pos_;
    while (is_digit(next())) ++pos_;
    return pos_ > begin;
  }

 private:
  std::string_view text_;
  const char* what_;
  size_t pos_ = 0;
  bool failed_ = false;
  std::string error_;
};

}  // namespace c10::detail
