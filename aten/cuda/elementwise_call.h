// A call of a pointwise operator as kernels get it.
#pragma once

#include <cstdint>

#include "c10/core/scalar_type.h"

namespace at::cuda {

using c10::ScalarType;

inline constexpr int kMaxElementwiseInputs = 4;
inline constexpr int kMaxElementwiseDims = 12;

/// Division of 32-bit numbers by one that is known before the kernel runs: a product and a shift (Granlund and
/// Montgomery 1994).
struct FastDivisor {
  FastDivisor() = default;
  explicit FastDivisor(uint32_t by);

  uint32_t divisor = 1;
  uint32_t multiplier = 1;
  uint32_t shift = 0;
};

/// One call as a kernel gets it: at most 2^31 - 1 elements in merged dimensions, the innermost first.
struct ElementwiseCall {
  struct Operand {
    char* data;  // null: the number in `numbers`
    ScalarType dtype;
    bool contiguous;                       // element i lies at i * its size
    int64_t strides[kMaxElementwiseDims];  // in bytes
  };

  const char* name;
  uint32_t numel;
  int dims;
  int inputs;
  ScalarType compute;
  FastDivisor sizes[kMaxElementwiseDims];
  Operand operands[1 + kMaxElementwiseInputs];          // the output first
  alignas(16) char numbers[kMaxElementwiseInputs][16];  // in the compute type
  alignas(16) char params[64];
};

using ElementLauncher = void (*)(const ElementwiseCall& call);

struct ListCall;

/// An operator's kernels by compute type, as cpu::ElementOp has its loops; what is missing is not defined for that
/// type. A kernel takes operands of any layout and dtype.
struct ElementKernels {
  ElementLauncher float32 = nullptr;
  ElementLauncher float64 = nullptr;
  ElementLauncher int32 = nullptr;
  ElementLauncher int64 = nullptr;
  ElementLauncher complex64 = nullptr;
  ElementLauncher complex128 = nullptr;
  ElementLauncher uint64 = nullptr;
  // On lists of tensors (aten/cuda/foreach/list_call.h); null where they are taken one by one.
  void (*lists)(ScalarType dtype, const ListCall& call) = nullptr;
};

}  // namespace at::cuda
