// NVRTC on the host, for tests: this library defines its functions with the toolkit's own prototypes and compiles texts
// with the C++ compiler that built the test, for the executor (tests/cuda_on_host/simt). What it makes is loaded by the
// runtime's stand-in. It knows the options that are listed in nvrtc.cc and refuses others.
#pragma once

#include <nvrtc.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nvrtc_standin {

struct Options {
  /// The call with this number, counted from 0 as calls() does, fails without effect. nvrtcDestroyProgram never fails.
  int64_t fail_call = -1;
  nvrtcResult fail_with = NVRTC_ERROR_OUT_OF_MEMORY;
  /// What nvrtcGetSupportedArchs lists.
  std::vector<int> architectures = {75, 80, 90, 100};
};

/// The state of a process that has not called the library yet. Programs that are alive stay valid; what was compiled
/// before is not compiled anew.
void reset(const Options& options = {});

/// Calls since reset() of functions that return a status.
uint64_t calls();
size_t live_programs();
/// The texts that were compiled since reset(), and for which architecture.
struct Compiled {
  std::string text, architecture;
};
std::vector<Compiled> compiled();

}  // namespace nvrtc_standin
