#pragma once

// Between values of the dispatcher and those of the stable interface.

#include <cstdint>

#include "aten/core/library.h"
#include "stable/shim.h"

namespace torch::stable::detail {

/// A kernel of the stable interface as one of the dispatcher. Throws c10::Error for arguments of types that the interface does
/// not have (Scalar, complex, Dict, tuples, Storage, Stream).
class BoxedFunction final : public c10::OperatorKernel {
 public:
  using Function = void (*)(StableIValue* stack, uint64_t num_args, uint64_t num_outputs);
  explicit BoxedFunction(Function function) : function_(function) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) const;

 private:
  Function function_;
};

/// Calls an operator with all arguments of its schema. They are consumed, also where it throws; the results take their place.
void call_operator(const c10::OperatorHandle& op, StableIValue* stack);

}  // namespace torch::stable::detail
