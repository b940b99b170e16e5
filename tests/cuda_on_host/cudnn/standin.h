// cuDNN's graph interface on the host, for tests: this library defines its functions with the toolkit's own prototypes,
// and runs graphs of convolutions and pointwise operations by loops when the stream comes to it. It refuses what the
// library refuses, reports what that would silently accept (cuda_standin::misuse()), fills both ends of the workspace
// with NaN, and is hostile where the library has a choice. What heuristics propose, in this order:
//
//   mode A        an engine that turns out not to take the graph; one that adds up in the type of 16-bit results
//                 (REDUCED_PRECISION_REDUCTION); for float32 one that rounds its operands to half (TENSOR_CORE,
//                 DOWN_CONVERT_INPUTS) and one that rounds them to TF32 (TENSOR_CORE); one whose sums have another
//                 order in every run (NONDETERMINISTIC); one without such notes. All want workspace.
//   fallback      one without notes and workspace.
//
// Pointwise operations behind a convolution are for tensor cores only: for 16-bit numbers, and for float32 by way of
// TF32; there is no fallback.
//
// Of recurrent networks the standard algorithm: packed sequences (SEQ_MAJOR_PACKED), LSTM with projections, GRU, RNN.
// Weights lie in the buffer with gaps; what a backward pass reads of the reserve it overwrites.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>

namespace cudnn_standin {

struct Options {
  // The call with this number, counted from 0 as calls() does, fails without effect. Functions that give something back
  // never fail.
  int64_t fail_call = -1;
  cudnnStatus_t fail_with = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
  // Mode A proposes nothing.
  bool only_fallback = false;
  // Neither mode proposes anything.
  bool no_engines = false;
  // Recurrent networks are described, but not run.
  bool no_networks = false;
};

/// The state of a process that has not called the library yet. Descriptors and handles that are alive stay valid.
void reset(const Options& options = {});

/// Calls since reset() of functions that return a status, but those that give something back; plans that were
/// finalized; executions.
uint64_t calls();
uint64_t plans();
uint64_t executions();
/// Of recurrent networks, forward and backward, and how float32 was multiplied by the last one.
uint64_t network_executions();
cudnnMathType_t last_network_math();
/// The numerical notes of the engine that ran last, one bit each.
uint64_t last_notes();

/// Handles and descriptors that are alive.
size_t live_handles();
size_t live_descriptors();

}  // namespace cudnn_standin
