#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "c10/util/array_ref.h"

namespace at {

// The name of a tensor's dimension: an identifier, or the wildcard "*", which matches every name.
class Dimname {
 public:
  Dimname() : name_("*") {}
  explicit Dimname(std::string name) : name_(std::move(name)) {}
  static Dimname wildcard() { return Dimname(); }

  std::string_view name() const { return name_; }
  bool isWildcard() const { return name_ == "*"; }
  bool matches(const Dimname& other) const { return isWildcard() || other.isWildcard() || name_ == other.name_; }
  friend bool operator==(const Dimname& a, const Dimname& b) { return a.name_ == b.name_; }

 private:
  std::string name_;
};

using DimnameList = c10::ArrayRef<Dimname>;

}  // namespace at
