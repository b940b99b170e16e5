// Ranks that compute each layer together, in several groups that have a part of the batch each.
#pragma once

#include <cstdint>
#include <memory>

#include "examples/gpt/trainer.h"

namespace gpt {

// The ranks of the default group as a mesh of size / `tensor` rows with `tensor` ranks each. Those of a row compute
// each layer together (tensor_parallel.h), for the row's part of the batch; what each of them has of the parameters,
// gradients and optimizer state is spread over its column (fully_sharded.h). `tensor` divides the heads. Throws
// c10::ValueError where it does not divide the ranks.
std::unique_ptr<Ranks> two_dimensional_ranks(int64_t tensor);

}  // namespace gpt
