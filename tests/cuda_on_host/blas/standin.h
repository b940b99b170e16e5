// cuBLASLt and the functions of cuBLAS that programs call, on the host, for tests: this library defines them with the
// toolkit's own prototypes and computes by loops when the stream comes to it. It refuses what the library documents as
// unsupported, reports what it would silently accept (cuda_standin::misuse()), fills both ends of the workspace with
// NaN, and is hostile where the library has a choice: the first algorithm that it proposes wants all the workspace that
// is offered and, where that is allowed, adds parts of a sum in the type of the result; the second one wants none.
#pragma once

#include <cublas_api.h>

#include <cstddef>
#include <cstdint>

namespace cublas_standin {

struct Options {
  // The call with this number, counted from 0 as calls() does, fails without effect. Functions that give something back
  // never fail.
  int64_t fail_call = -1;
  cublasStatus_t fail_with = CUBLAS_STATUS_ALLOC_FAILED;
  // cublasLtMatmulAlgoGetHeuristic finds nothing for products with an epilogue.
  bool refuse_epilogues = false;
  // It proposes no algorithm that works without workspace.
  bool needs_workspace = false;
};

/// The state of a process that has not called the library yet. Descriptors and handles that are alive stay valid.
void reset(const Options& options = {});

/// Calls since reset() of functions that return a status, but those that give something back; of
/// cublasLtMatmulAlgoGetHeuristic.
uint64_t calls();
uint64_t heuristic_calls();

/// Handles and descriptors that are alive.
size_t live_handles();
size_t live_descriptors();

}  // namespace cublas_standin
