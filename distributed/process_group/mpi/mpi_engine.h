// MPI as an engine.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "distributed/process_group/engine.h"

namespace c10d {

/// What a launcher (mpirun) has told this process. Starts MPI where the program has not.
struct MpiWorld {
  int rank = 0;
  int size = 1;
  /// Throws DistBackendError where MPI cannot be started, or not for several threads (MPI_THREAD_MULTIPLE).
  static MpiWorld get();
};

/// An engine of these ranks of the world, in this order; all of them call it, and no other. Throws DistBackendError
/// where one of them does not within the timeout.
///
/// Operations of all ranks are carried out one at a time, in the order of calls, which is to be the same on all ranks.
std::unique_ptr<Engine> make_mpi_engine(const std::vector<int>& ranks, std::chrono::milliseconds timeout);

}  // namespace c10d
