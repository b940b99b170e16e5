// Ranks that compute each layer together.
#pragma once

#include <memory>

#include "distributed/tensor/parallel/style.h"
#include "examples/gpt/trainer.h"

namespace gpt {

// How each layer of a Gpt is computed; the loss then takes a torch::distributed::tensor::parallel::loss_parallel().
torch::distributed::tensor::parallel::ParallelizePlan tensor_parallel_plan();

// The ranks of the default group in tensor parallelism: each computes some of the heads, of the hidden features and of
// the vocabulary, for the whole batch, and the loss without gathering the logits. Their number divides the heads. Every
// rank keeps the whole weights and optimizer state, for validation and checkpoints, and cuts its part of the weights
// out for each step; activations and products are shared.
std::unique_ptr<Ranks> tensor_parallel_ranks();

}  // namespace gpt
