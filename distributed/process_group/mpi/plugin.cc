// MPI among the engines of a program that links it.
#include <numeric>

#include "c10/util/exception.h"
#include "distributed/process_group/backend_plugins.h"
#include "distributed/process_group/mpi/process_group_mpi.h"

namespace c10d {
namespace {

// The ranks of the default group must be mpirun's.
c10::intrusive_ptr<Backend> make_mpi(const DistributedBackendOptions& group,
                                     c10::intrusive_ptr<Backend::Options> given) {
  auto options = ProcessGroupMPI::Options::create();
  if (given) {
    const auto* const mpi = dynamic_cast<const ProcessGroupMPI::Options*>(given.get());
    TORCH_CHECK_TYPE(mpi != nullptr, "expected ProcessGroupMPI::Options for the engine mpi");
    options->compare_calls = mpi->compare_calls;
    options->stall_warning = mpi->stall_warning;
  }
  options->timeout = std::chrono::round<std::chrono::milliseconds>(group.timeout);
  options->group_name = group.group_id;
  options->group_desc = group.group_desc;
  options->global_ranks_in_group.assign(group.global_ranks_in_group.begin(), group.global_ranks_in_group.end());
  std::vector<int> ranks(group.global_ranks_in_group.begin(), group.global_ranks_in_group.end());
  if (ranks.empty()) {
    ranks.resize(static_cast<size_t>(group.group_size));
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  auto made = ProcessGroupMPI::createProcessGroupMPI(ranks, options);
  TORCH_CHECK_WITH(DistBackendError, made && made->getRank() == group.group_rank, "the engine mpi: rank ",
                   group.group_rank, " of the group is another rank by mpirun");
  return made;
}

[[maybe_unused]] const bool is_announced =
    register_backend({.name = MPI_BACKEND_NAME, .devices = {c10::DeviceType::CPU}, .make = make_mpi});

}  // namespace
}  // namespace c10d
