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

/// Walks over the fields of an options or state object. One walk, written once for each class, serves saving, loading and
/// comparing.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  /// An undefined tensor is a field that is not there.
  virtual void tensor(const char* name, at::Tensor& value) = 0;
  virtual void number(const char* name, double& value) = 0;
  virtual void integer(const char* name, int64_t& value) = 0;
  virtual void flag(const char* name, bool& value) = 0;
};

}  // namespace torch::optim
