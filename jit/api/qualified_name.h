#pragma once

#include <string>
#include <utility>

namespace c10 {

/// "a.b.c": a name inside others.
class QualifiedName {
 public:
  QualifiedName() = default;
  /* implicit */ QualifiedName(std::string name) : name_(std::move(name)) {}
  /* implicit */ QualifiedName(const char* name) : name_(name) {}
  QualifiedName(const QualifiedName& prefix, const std::string& name)
      : name_(prefix.name_.empty() ? name : prefix.name_ + "." + name) {}
  const std::string& qualifiedName() const { return name_; }
  /// "c" and "a.b"
  std::string name() const { return name_.substr(name_.rfind('.') + 1); }
  std::string prefix() const {
    const size_t dot = name_.rfind('.');
    return dot == std::string::npos ? "" : name_.substr(0, dot);
  }
  friend bool operator==(const QualifiedName& a, const QualifiedName& b) { return a.name_ == b.name_; }

 private:
  std::string name_;
};

}  // namespace c10
