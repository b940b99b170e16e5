// Recorded values that are wrong, because the PyTorch that recorded them computes them wrongly.
#pragma once

#include <string>

#include "aten/core/tensor.h"
#include "c10/dispatch/registry.h"

namespace conformance {

// A value that differs from its record.
struct Recorded {
  const std::string& name;  // of the operator, without overload
  const c10::OperatorHandle& op;
  const c10::Stack& args;
  size_t result;
  int gradient;          // which one, or -1 where `got` is a result
  at::Tensor cotangent;  // of the first result, for a gradient
  const at::Tensor& got;
  const at::Tensor& expected;
};

// Whether a rule of recorder_errors.cc explains the difference, that is: the record has the known fault, and `got` is right.
bool recorder_erred(const Recorded& value);

}  // namespace conformance
