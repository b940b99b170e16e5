// cuFFT on the host, for tests: this library defines the functions that the backend calls with the toolkit's own
// prototypes and computes with the CPU's transforms when the stream comes to it. It refuses what the library documents
// as unsupported, reports what it would silently accept (cuda_standin::misuse()), fills the work area, and what is
// transformed to real numbers, with NaN, and wants a work area for every plan.
#pragma once

#include <cufft.h>

#include <cstddef>
#include <cstdint>

namespace cufft_standin {

struct Options {
  // The call with this number, counted from 0 as calls() does, fails without effect. cufftDestroy never fails.
  int64_t fail_call = -1;
  cufftResult fail_with = CUFFT_ALLOC_FAILED;
};

/// The state of a process that has not called the library yet. Plans that are alive stay valid.
void reset(const Options& options = {});

/// Calls since reset(), but of cufftDestroy.
uint64_t calls();
/// Those of cufftXtMakePlanMany.
uint64_t plans_made();
/// Plans that are alive.
size_t live_plans();

}  // namespace cufft_standin
