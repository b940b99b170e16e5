#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/scalar.h"

namespace torch::optim {

/// What an optimizer or a schedule remembers, as named tensors and named numbers, in a fixed order, for a checkpoint to
/// write. Names are paths: "state.3.exp_avg", "state.3.step", "param_groups.0.lr". Tensors share their data with
/// the optimizer: write or clone them before the next step.
struct StateDict {
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  std::vector<std::pair<std::string, at::Scalar>> scalars;

  /// Null where there is no such name.
  const at::Tensor* tensor(std::string_view name) const;
  const at::Scalar* scalar(std::string_view name) const;
};

/// A number of steps, epochs or the like that a file holds as `name`: throws ValueError unless it is from 0 to 2^53.
int64_t checked_count(const at::Scalar& value, std::string_view name);
/// The number after `count`; the last one there is stays.
inline int64_t next_count(int64_t count) { return count == INT64_MAX ? count : count + 1; }

/// Walks over the fields of an options or state object. One walk, written once for each class, serves saving, loading and
/// comparing.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  /// An undefined tensor is a field that is not there.
  virtual void tensor(const char* name, at::Tensor& value) = 0;
  virtual void number(const char* name, double& value) = 0;
  virtual void integer(const char* name, int64_t& value) = 0;
  /// A number of steps. What is loaded must be one: from 0 to 2^53, which every number type holds exactly.
  virtual void count(const char* name, int64_t& value) { integer(name, value); }
  virtual void flag(const char* name, bool& value) = 0;
};

}  // namespace torch::optim
