#pragma once

#include <cstdint>

#include "aten/cpu/isa.h"
#include "aten/cpu/strided_loop.h"
#include "c10/core/scalar_type.h"

// Pointwise operators over operands of any layout and dtype. An operator is a loop over contiguous runs in a compute type
// (float for half and bfloat16, int32 for the small integers and bool, uint64 for the unsigned ones beyond uint8); operands that are strided, broadcast or of another
// dtype pass through buffers in the first-level cache. So an operator is instantiated once a compute type, never once a
// combination of dtypes or layouts.

namespace at::cuda {
struct ElementKernels;
}

namespace at::cpu {

/// `data` holds the outputs, then the inputs; n contiguous elements each, in the compute types. An output may be the same
/// memory as an input, never overlap it otherwise.
using ElementLoop = void (*)(char* const* data, int64_t n, const void* context);
using ElementTable = IsaTable<ElementLoop>;

/// An operator's loops by compute type; what is missing is not defined for that type. Few operators know the unsigned types
/// beyond uint8, and fewer the floating-point types of eight bits, which are computed in float.
struct ElementOp {
  ElementTable float32;
  ElementTable float64;
  ElementTable int32;
  ElementTable int64;
  ElementTable complex64;
  ElementTable complex128;
  ElementTable uint64 = {};
  bool float8 = false;
  // The same for CUDA tensors (aten/cuda/elementwise.h); null in programs without them.
  const cuda::ElementKernels* cuda = nullptr;
};

/// The operator with its loop for the unsigned types; `float8`: also for the floating-point types of eight bits.
constexpr ElementOp with_unsigned(ElementOp op, ElementTable uint64, bool float8 = false) {
  op.uint64 = uint64;
  op.float8 = float8;
  return op;
}
constexpr ElementOp with_float8(ElementOp op) {
  op.float8 = true;
  return op;
}

constexpr ElementOp with_cuda(ElementOp op, const cuda::ElementKernels* kernels) {
  op.cuda = kernels;
  return op;
}

/// Defines the operator `name`, with kernels for CUDA tensors where those of its name in namespace on_cuda are linked.
#define AT_ELEMENT_OP(name, ...)                                   \
  namespace on_cuda {                                              \
  [[gnu::weak]] extern const ::at::cuda::ElementKernels name;      \
  }                                                                \
  constinit const ElementOp name = ::at::cpu::with_cuda(::at::cpu::ElementOp(__VA_ARGS__), &on_cuda::name)

/// The type in which elements of `dtype` are computed: float for half, bfloat16 and those of eight bits, int32 for bool, uint8,
/// int8, int16, uint64 for uint16, uint32.
c10::ScalarType compute_type(c10::ScalarType dtype);

/// The loop for compute_type(dtype) on this processor, or null.
ElementLoop find_loop(const ElementOp& op, c10::ScalarType dtype);

/// One operand of an elementwise call: the loop sees elements of type `compute`, memory holds `dtype`.
struct ElementArg {
  Operand operand;
  c10::ScalarType dtype;
  c10::ScalarType compute;
};

/// Runs `loop` over `args`, the `outputs` outputs first. The shape is the first output's; inputs broadcast to it. An output
/// may be exactly an input (same address, strides, dtype), and must not overlap one otherwise.
void elementwise(ElementLoop loop, const void* context, const ElementArg* args, int outputs, int count,
                 int64_t grain = kPointwiseGrain);

/// The same for operands that are all contiguous, n elements each, in the loop's own types.
void elementwise_contiguous(ElementLoop loop, const void* context, char* const* data, const int64_t* item_sizes,
                            int outputs, int count, int64_t n, int64_t grain = kPointwiseGrain);

}  // namespace at::cpu
