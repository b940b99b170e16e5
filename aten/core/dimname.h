#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "c10/util/array_ref.h"

namespace c10 {

/// A name with a namespace before it: "dimname::N".
class Symbol {
 public:
  Symbol() = default;
  static Symbol fromQualString(std::string name) { return Symbol(std::move(name)); }
  static Symbol dimname(const std::string& name) { return Symbol("dimname::" + name); }

  bool is_dimname() const { return name_.rfind("dimname::", 0) == 0; }
  const char* toQualString() const { return name_.c_str(); }
  /// Without the namespace.
  const char* toUnqualString() const {
    const size_t at = name_.rfind("::");
    return name_.c_str() + (at == std::string::npos ? 0 : at + 2);
  }
  friend bool operator==(const Symbol& a, const Symbol& b) { return a.name_ == b.name_; }
  friend bool operator!=(const Symbol& a, const Symbol& b) { return a.name_ != b.name_; }

 private:
  explicit Symbol(std::string name) : name_(std::move(name)) {}
  std::string name_;
};

}  // namespace c10

namespace at {
using c10::Symbol;

// The name of a tensor's dimension: an identifier, or the wildcard "*", which matches every name.
class Dimname {
 public:
  Dimname() : name_("*") {}
  explicit Dimname(std::string name) : name_(std::move(name)) {}
  static Dimname fromSymbol(const Symbol& name) { return Dimname(name.toUnqualString()); }
  static Dimname wildcard() { return Dimname(); }

  std::string_view name() const { return name_; }
  Symbol symbol() const { return Symbol::dimname(name_); }
  bool isWildcard() const { return name_ == "*"; }
  bool matches(const Dimname& other) const { return isWildcard() || other.isWildcard() || name_ == other.name_; }
  friend bool operator==(const Dimname& a, const Dimname& b) { return a.name_ == b.name_; }

 private:
  std::string name_;
};

using DimnameList = c10::ArrayRef<Dimname>;

}  // namespace at
