// A reduction of CUDA tensors as kernels get it.
#pragma once

#include <cstdint>

#include "aten/cpu/reduce/reduce.h"
#include "aten/cuda/elementwise_call.h"

namespace at::cuda {

inline constexpr int kMaxReduceDims = 12;
inline constexpr uint32_t kReduceThreads = 256;

/// Dimensions, the innermost first, and what each of `kOperands` operands moves along them, in bytes.
template <int kOperands>
struct Dims {
  int count = 0;
  FastDivisor sizes[kMaxReduceDims];
  int64_t strides[kOperands][kMaxReduceDims] = {};
};

// How the elements of a reduction are read.
enum class ReduceAccess {
  kElements,       // one by one
  kVectors,        // neighbours along the reduction, kReduceVector a turn
  kOutputVectors,  // neighbours along the outputs, kReduceOutputs together
};
inline constexpr uint32_t kReduceVector = 8, kReduceOutputs = 4;

/// Neighbours that a thread reads at once along the reduction, by their size.
template <size_t kItem>
inline constexpr int kReducePiece = kItem < 2 ? 8 : static_cast<int>(16 / kItem);
inline uint32_t reduce_piece(size_t item) {
  return item < 2 ? 8 : static_cast<uint32_t>(16 / item);
}

// A second input, of the first one's layout and dtype, of operations on pairs of elements, and two numbers for each output or position.
struct ReducePair {
  const char* second = nullptr;
  const double* center = nullptr;
  const double* scale = nullptr;
};

/// One launch: at most 2^31 - 1 outputs, of at most 2^31 - 1 elements each.
struct ReduceCall {
  const char* name;
  ScalarType in_dtype;
  const char* in;
  Dims<3> kept;  // strides of the input and of the two results
  Dims<1> reduced;
  uint32_t outputs, elements;
  int64_t position;  // of the first element among all that the results take
  int64_t first_output;  // among all outputs
  char* out[2];      // null: not wanted
  ScalarType out_dtype[2];
  cpu::ReduceParams params;
  ReducePair pair;
  ReduceAccess access;
  uint32_t piece, piece_shift;  // of kVectors: neighbours that are read at once, a power of two, and which
  bool lanes_reduce;  // a block's first dimension runs along the reduction, its second along outputs; else the other way about
  uint32_t threads;   // along the reduction
  // A reduction that several blocks share leaves states, those of an output together; a launch of its own joins them.
  uint32_t pieces, first_piece, total_pieces;
  char* states;  // null where pieces is 1
};

/// What the host needs to know of an operation's kernels, by the type that it computes in.
struct ReduceLaunchers {
  int64_t state_size;
  bool ordered;  // results depend on positions: these are those of the logical order
  void (*pieces)(const ReduceCall& call);
  void (*join)(const ReduceCall& call);
};

using ReduceFinder = ReduceLaunchers (*)(ScalarType in_dtype, const cpu::ReduceParams& params);

}  // namespace at::cuda
