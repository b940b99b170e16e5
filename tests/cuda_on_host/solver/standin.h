// cuSOLVER's dense functions on the host, for tests: this library defines those that the library's callers use, with
// the toolkit's own prototypes, and computes by LAPACK when the stream comes to it. It refuses what the library
// documents as unsupported and reports what it would silently accept (cuda_standin::misuse()): memory that is not the
// device's, leading dimensions that are too small, a workspace of another size than the library asked for. It fills
// workspaces with NaN, and what is left of a matrix that a function overwrites.
#pragma once

#include <cusolverDn.h>

#include <cstddef>
#include <cstdint>

namespace cusolver_standin {

struct Options {
  // The call with this number, counted from 0 as calls() does, fails without effect. Functions that give something back
  // never fail.
  int64_t fail_call = -1;
  cusolverStatus_t fail_with = CUSOLVER_STATUS_ALLOC_FAILED;
};

/// The state of a process that has not called the library yet. Handles and parameters that are alive stay valid.
void reset(const Options& options = {});

/// Calls since reset() of functions that return a status, but those that give something back.
uint64_t calls();

/// Handles, and objects of parameters, that are alive.
size_t live_handles();
size_t live_params();

}  // namespace cusolver_standin
