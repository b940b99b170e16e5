// Ranks that have some of the layers each.
#pragma once

#include <memory>

#include "examples/gpt/trainer.h"

namespace gpt {

// The ranks of the default group as a pipeline: each computes a part of the layers, for the whole batch, by 1F1B, and
// has parameters, gradients and optimizer state of that part only. Rank 0 has the whole while it saves a checkpoint.
std::unique_ptr<Ranks> pipeline_ranks();

}  // namespace gpt
