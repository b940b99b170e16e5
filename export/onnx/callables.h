// What graphs of ONNX models call besides the operators of the dispatcher: what ONNX computes from sizes, and operators
// that no other has the meaning of.
#pragma once

#include "c10/util/array_ref.h"
#include "graph/ir/callable.h"

namespace torch::onnx {

struct OwnCallable {
  const char* schema;
  graph::Callable::Function function;
};

/// A table for each family of operators.
c10::ArrayRef<OwnCallable> shape_callables();
c10::ArrayRef<OwnCallable> math_callables();
c10::ArrayRef<OwnCallable> window_callables();
c10::ArrayRef<OwnCallable> network_callables();
c10::ArrayRef<OwnCallable> quantized_callables();

}  // namespace torch::onnx
