#pragma once

#include <string>
#include <unordered_set>

#include "optim/state_dict.h"

// Saving and loading by walks over fields.
namespace torch::optim {

/// Collects fields.
class FieldSaver : public FieldVisitor {
 public:
  c10::Dict<c10::IValue, c10::IValue> dict;

 protected:
  bool field(const char* name, Kind kind, c10::IValue& value) override;
};

/// Reads fields. Tensors are copied; those of a parameter's sizes must fit `like`, whose layout, dtype and device they
/// take.
class FieldLoader : public FieldVisitor {
 public:
  /// `path` is where the part stands, for messages. With `strict` every field must be there, but for those that
  /// older files do not have.
  FieldLoader(c10::IValue part, std::string path, const at::Tensor* like, bool strict = false)
      : part_(std::move(part)), path_(std::move(path)), like_(like), strict_(strict) {}

  /// ValueError for parts that no field asked for.
  void check_all_used() const;
  const std::unordered_set<std::string>& used() const { return used_; }

 protected:
  bool field(const char* name, Kind kind, c10::IValue& value) override;

 private:
  c10::IValue tensors(const char* name, Kind kind, const c10::IValue& found) const;
  at::Tensor copy(const char* name, Kind kind, const at::Tensor& found) const;

  c10::IValue part_;
  std::string path_;
  const at::Tensor* like_;
  bool strict_;
  std::unordered_set<std::string> used_;
};

}  // namespace torch::optim
