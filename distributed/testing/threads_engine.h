// Ranks that are threads of one process: the engine by which others are judged. Reductions go from rank 0 upwards,
// 16-bit numbers step by step.
#pragma once

#include <memory>
#include <vector>

#include "distributed/process_group/engine.h"

namespace c10d::testing {

/// One for each rank of a group; they may outlive each other. An engine that goes away ends what the others wait for.
std::vector<std::unique_ptr<Engine>> threads_engines(int size);

}  // namespace c10d::testing
