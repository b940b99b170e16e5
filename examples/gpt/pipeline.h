// Ranks that have some of the layers each.
#pragma once

#include <memory>

#include "examples/gpt/trainer.h"

namespace gpt {

// The ranks of the default group as a pipeline: each computes a part of the layers, for the whole batch, by 1F1B. Every
// rank keeps the whole model and its optimizer state, for validation and checkpoints: gradients go from the rank that
// computes them to all.
std::unique_ptr<Ranks> pipeline_ranks();

}  // namespace gpt
