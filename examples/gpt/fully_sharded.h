// Ranks that have a part of every parameter each.
#pragma once

#include <memory>

#include "examples/gpt/trainer.h"

namespace gpt {

// The ranks of the default group, with parameters, gradients and optimizer state spread over them: each computes all
// layers for its part of the batch, and has a block's parameters only while it computes that block.
std::unique_ptr<Ranks> fully_sharded_ranks();

}  // namespace gpt
