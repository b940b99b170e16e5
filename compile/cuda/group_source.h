// A group as CUDA C++: the second way to write down what compile/aot prints for processors. The text needs no header:
// the functions that CUDA operators are made of (aten/cuda/loops, aten/cuda/rows) stand in front of it.
//
//   extern "C" __global__ void fused(const float* p0, ..., float* q0, const Shape shape);
//
// Sizes and strides are arguments: groups that do the same share a text where dimensions, broadcasts and neighbours in
// memory are alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compile/group/group.h"
#include "compile/group/operators.h"

namespace torch::compiler::cuda {

inline constexpr const char* kKernel = "fused";

/// A group's kernel in several ways.
enum class KernelForm : uint8_t {
  kVectors,  ///< neighbours are read and written together
  kSingle,   ///< one by one: addresses are no multiples of what neighbours have
  kOrdered,  ///< the same, and of a row no neighbours are one thread's: so the operator does it at such addresses
};
inline constexpr size_t kKernelForms = 3;

/// A tensor that the kernel reads or writes.
struct KernelOperand {
  int64_t item;                  ///< bytes of an element
  bool vector;                   ///< neighbours are read together: the address is a multiple of their bytes, at most 16
  bool placed;                   ///< where its elements are is computed from strides
  bool orders;                   ///< where its address is no multiple, the operator takes the row's elements in order
  std::vector<int64_t> strides;  ///< in elements, one a dimension that is left
};

struct KernelSource {
  std::string functions;                ///< what kernels call
  std::string kernels[kKernelForms];    ///< behind that, one of these; empty where it is none of its own
  std::vector<KernelOperand> operands;  ///< inputs, then outputs
  std::vector<int64_t> sizes;           ///< of the dimensions that are left, the innermost first
  int64_t numel = 0;
  int64_t row = 0;         ///< elements of a row; 0: it has none
  int threads_of_row = 0;  ///< of a block of 256
  int piece = 1;           ///< neighbours in a row that are one thread's
  int lanes = 1;           ///< elements that are read together
  bool wide = false;       ///< whether strides have 64 bits
};

/// Whether kernels have the functions that it is made of.
bool prints(const Lowered& lowered);

/// The kernel of a group whose sizes are numbers. Throws ValueError for one that is not as group.h says, or has what
/// prints() refuses.
KernelSource print_kernel(const Group& group);

/// What stands in front of `functions`.
const char* prelude();

}  // namespace torch::compiler::cuda
