#include "distributed/process_group/mpi/process_group_mpi.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "distributed/process_group/mpi/mpi_engine.h"

namespace c10d {

ProcessGroupMPI::ProcessGroupMPI(std::unique_ptr<Engine> engine, c10::intrusive_ptr<Options> options)
    : HostBackend(std::move(engine), options) {
  TORCH_CHECK_VALUE(options->threads == 1, "ProcessGroupMPI: threads must be 1, got ", options->threads);
}

c10::intrusive_ptr<ProcessGroupMPI> ProcessGroupMPI::createProcessGroupMPI(std::vector<int> ranks,
                                                                           c10::intrusive_ptr<Options> options) {
  const MpiWorld world = MpiWorld::get();
  if (ranks.empty()) {
    ranks.resize(static_cast<size_t>(world.size));
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  for (const int rank : ranks) {
    TORCH_CHECK_VALUE(rank >= 0 && rank < world.size, "createProcessGroupMPI: rank ", rank,
                      " is no rank of a world of ", world.size);
  }
  TORCH_CHECK_VALUE(std::set<int>(ranks.begin(), ranks.end()).size() == ranks.size(),
                    "createProcessGroupMPI: a rank stands twice in ", c10::Join(", ", ranks));
  if (std::find(ranks.begin(), ranks.end(), world.rank) == ranks.end()) return {};
  return c10::make_intrusive<ProcessGroupMPI>(make_mpi_engine(ranks, options->timeout), options);
}

}  // namespace c10d
