// NCCL on the host, for tests: this library defines the functions that process groups call with the toolkit's own
// prototypes. Ranks are threads of one process, each with a device of its own. What a rank asks for takes part once its
// stream comes to it, and is done when all ranks' have: a rank that never comes keeps the others waiting, as NCCL does,
// until their communicators are aborted. Ranks that do not ask for the same wait for ever, too, and are reported
// (cuda_standin::misuse()).
#pragma once

#include <nccl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace nccl_standin {

struct Options {
  // The call with this number, counted from 0 as calls() does, fails without effect. Those that give something back
  // never fail.
  int64_t fail_call = -1;
  ncclResult_t fail_with = ncclSystemError;
  // How often a communicator that does not block says of each call that it goes on.
  int in_progress = 1;
  // How long ncclCommAbort takes.
  std::chrono::milliseconds abort_takes{0};
};

/// The state of a process that has not called the library yet. Communicators that are alive stay valid.
void reset(const Options& options = {});

/// Calls since reset(), but of those that give something back, or ask for errors.
uint64_t calls();
/// From now on the communicators of this rank have an error.
void fail_later(int rank, ncclResult_t error);
/// Communicators that were made, and neither destroyed nor aborted.
size_t live_communicators();

}  // namespace nccl_standin
