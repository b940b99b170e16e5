// Places in the text of a program, and how errors show them.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "c10/util/string_util.h"

namespace torch::jit {

/// The text of a program and the name of the file that it comes from.
class Source {
 public:
  explicit Source(std::string text, std::string filename = "<string>", size_t starting_line_no = 1)
      : text_(std::move(text)), filename_(std::move(filename)), starting_line_no_(starting_line_no) {}
  const std::string& text() const { return text_; }
  const std::string& filename() const { return filename_; }
  size_t starting_line_no() const { return starting_line_no_; }

 private:
  std::string text_;
  std::string filename_;
  size_t starting_line_no_;
};

/// A part of a source: bytes from start() to before end().
class SourceRange {
 public:
  SourceRange() = default;
  SourceRange(std::shared_ptr<const Source> source, size_t start, size_t end)
      : source_(std::move(source)), start_(start), end_(end) {}
  const std::shared_ptr<const Source>& source() const { return source_; }
  size_t start() const { return start_; }
  size_t end() const { return end_; }
  std::string_view text() const;
  /// Counted as the source counts its lines.
  size_t line() const;
  /// The lines around it with the range underlined:
  ///
  ///     File "<string>", line 2
  ///   def f(a, b):
  ///     return a * c
  ///                ~ <--- HERE
  void highlight(std::string& out) const;
  std::string str() const;
  /// From the start of this one to the end of the other.
  SourceRange to(const SourceRange& last) const { return SourceRange(source_, start_, last.end_); }

 private:
  std::shared_ptr<const Source> source_;
  size_t start_ = 0;
  size_t end_ = 0;
};

/// What is wrong with a program, and where.
struct ErrorReport : std::exception {
  template <class... T>
  explicit ErrorReport(const SourceRange& range, const T&... message)
      : ErrorReport("\n" + c10::str(message...) + ":\n" + range.str() + "\n", range) {}
  /// `text` as it stands.
  ErrorReport(std::string text, SourceRange range) : text_(std::move(text)), range_(std::move(range)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  const SourceRange& range() const { return range_; }

 private:
  std::string text_;
  SourceRange range_;
};

}  // namespace torch::jit
