#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/value/ivalue.h"

namespace torch::optim {

/// What an optimizer or a schedule remembers: nested dicts and lists under the names that Python's state_dict() has,
/// {"state": {0: {"step": ..., "exp_avg": ...}}, "param_groups": [{"lr": ..., "params": [0, 1]}]}. A dotted path names
/// a place in it: "state.0.exp_avg", "param_groups.0.lr". Copies share the dicts, and tensors share their data with the
/// optimizer: write or clone() them before the next step.
class StateDict {
 public:
  StateDict();
  /// ValueError unless `tree` is a dict.
  StateDict(c10::IValue tree);

  const c10::IValue& tree() const { return tree_; }
  operator c10::IValue() const { return tree_; }

  bool contains(std::string_view path) const { return find(path, nullptr); }
  /// ValueError where there is no such name.
  c10::IValue at(std::string_view path) const;
  at::Tensor tensor(std::string_view path) const { return at(path).toTensor(); }
  /// A number, a flag, or a tensor of one element.
  double number(std::string_view path) const;
  int64_t integer(std::string_view path) const;

  /// The last name of `path` is replaced, or added to a dict that is there.
  void set(std::string_view path, c10::IValue value);
  /// False where there is no such name in a dict.
  bool erase(std::string_view path);
  /// A copy of its own, tensors too.
  StateDict clone() const;

 private:
  bool find(std::string_view path, c10::IValue* value) const;

  c10::IValue tree_;
};

/// The part of a dict or of a list that has this name or number; false where there is none. A dict may have its numbers
/// as texts.
bool find_part(const c10::IValue& whole, std::string_view name, c10::IValue* part);
/// Names of a dict, numbers of a list.
std::vector<std::string> names_of_parts(const c10::IValue& whole);

/// A number of steps, epochs or the like that a file holds as `name`, also as a tensor of one element: throws
/// ValueError unless it is a whole number from 0 to 2^53.
int64_t checked_count(const c10::IValue& value, std::string_view name);
/// A real number, also as a tensor of one element; ValueError for something else.
double checked_number(const c10::IValue& value, std::string_view name);
/// The number after `count`; the last one there is stays.
inline int64_t next_count(int64_t count) {
  return count == INT64_MAX ? count : count + 1;
}

/// Walks over the fields of an options or state object, under Python's names. One walk, written once for each class,
/// serves saving, loading and comparing.
///
///   void visit(FieldVisitor& visitor) override {
///     visitor("lr", lr_);
///     visitor("betas", betas_);
///   }
class FieldVisitor {
 public:
  enum class Kind : uint8_t {
    kValue,      ///< numbers, flags, texts, tuples of them
    kLikeParam,  ///< a tensor of the parameter's sizes
    kTensor,     ///< a tensor of other sizes, or a list of tensors
    kStep,       ///< a number of steps; Python has it as a tensor
    kNumber,     ///< a number that Python has as a tensor of the default dtype
  };
  using Betas = std::tuple<double, double>;
  using Coefficients = std::tuple<double, double, double>;
  using Epsilons = std::tuple<std::optional<double>, double>;

  virtual ~FieldVisitor() = default;

  void operator()(const char* name, bool& value);
  void operator()(const char* name, double& value);
  void operator()(const char* name, int64_t& value);
  void operator()(const char* name, std::string& value);
  void operator()(const char* name, std::optional<bool>& value);
  void operator()(const char* name, std::optional<int64_t>& value);
  void operator()(const char* name, std::optional<std::string>& value);
  void operator()(const char* name, std::vector<double>& value);
  void operator()(const char* name, std::vector<int64_t>& value);
  void operator()(const char* name, Betas& value);
  void operator()(const char* name, Coefficients& value);
  void operator()(const char* name, Epsilons& value);
  /// An undefined tensor is a field that is not there.
  void operator()(const char* name, at::Tensor& value, Kind kind = Kind::kLikeParam);
  void operator()(const char* name, std::deque<at::Tensor>& value);
  void operator()(const char* name, std::optional<std::vector<at::Tensor>>& value);
  /// A value as it stands in the dict.
  void operator()(const char* name, c10::IValue& value) { field(name, Kind::kValue, value); }
  void step(const char* name, int64_t& value);
  void tensor_number(const char* name, double& value);

 protected:
  /// Shows a field's value, None where it is not there. True: `value` is new and goes into the field.
  virtual bool field(const char* name, Kind kind, c10::IValue& value) = 0;
};

}  // namespace torch::optim
