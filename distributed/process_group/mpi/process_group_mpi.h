// Process groups of CPU tensors on MPI.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "distributed/process_group/host_backend.h"

namespace c10d {

constexpr const char* MPI_BACKEND_NAME = "mpi";

/// All collectives, and messages between two ranks, by MPI: programs are started by mpirun, which says who is which
/// rank. See HostBackend for what happens when something fails.
///
/// MPI is started by the first group for MPI_THREAD_MULTIPLE, unless the program has done so, and then ended at exit.
/// An operation of MPI that has begun cannot be called back: after an error of the group its memory stays until the
/// process ends, and a process that ends while others do not ends the job (MPI_Abort) three seconds later. A rank that
/// is killed ends the job at once: that is mpirun's doing, which then names the rank.
///
/// Sums of half and bfloat16 are made in their own precision, step by step.
///
///   auto group = c10d::ProcessGroupMPI::createProcessGroupMPI();
///   std::vector<at::Tensor> t{torch::full({4}, group->getRank())};
///   group->allreduce(t)->wait();
///
///   mpirun -n 4 ./program
class ProcessGroupMPI : public HostBackend {
 public:
  struct Options : HostOptions {
    explicit Options(std::chrono::milliseconds timeout = kBackendDefaultTimeout)
        : HostOptions(MPI_BACKEND_NAME, timeout) {
      threads = 1;  // MPI's collectives have no tags: all ranks begin them in one order
    }
    static c10::intrusive_ptr<Options> create(std::chrono::milliseconds timeout = kBackendDefaultTimeout) {
      return c10::make_intrusive<Options>(timeout);
    }
  };

  ProcessGroupMPI(std::unique_ptr<Engine> engine, c10::intrusive_ptr<Options> options);

  /// A group of these ranks of the world, in this order; empty: of all. Called by those ranks; by others, too, if they
  /// like, who get null. Throws DistBackendError where a rank does not come within the options' timeout, and
  /// c10::ValueError for ranks that are not there or twice.
  static c10::intrusive_ptr<ProcessGroupMPI> createProcessGroupMPI(
      std::vector<int> ranks = {}, c10::intrusive_ptr<Options> options = Options::create());
};

}  // namespace c10d
